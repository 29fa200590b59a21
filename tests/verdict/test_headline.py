"""At most five sentences in plain English."""

import dataclasses
import itertools

import pytest
from measured_cells import measured
from synthetic_ablation import begin_group
from trained_runs import CONFIG

from posenc_jax.results.timing import read_timing
from posenc_jax.runs import timing
from posenc_jax.runs.directory import Group
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.targets import target_here
from posenc_jax.runs.timing import Timings
from posenc_jax.statistics import Comparison, share_of
from posenc_jax.training.operations import Work
from posenc_jax.verdict.finding import Finding
from posenc_jax.verdict.headline import effect, headline
from posenc_jax.verdict.measuring import times_of_steps
from posenc_jax.verdict.tables import tables

KINDS = {name: table.asked.kind for name, table in tables().items()}
NAMES = list(KINDS)
SENTENCE = "mine against rope."
FEW = "; with fewer than 8, all of this is only a hint."


def finding(table, word, difference=0.1, p=0.01, baseline="rope", detectable=0.05):
    spread = None if difference is None else 0.02
    low, high = (None, None) if spread is None else (difference - spread, difference + spread)
    return Finding(table, baseline, Comparison(difference, low, high, p, detectable, 8, False), p, word, label="mine")


def unlearned(found, *arms):
    return dataclasses.replace(found, learned=tuple(own not in arms for own in (found.label, found.baseline)))


def of_pairs(found, pairs):
    return dataclasses.replace(found, comparison=found.comparison._replace(pairs=pairs))


def lines(*findings, seeds=8, sentences=(SENTENCE,), **times):
    """The sentences of findings that have a pair of every seed, unless they say how many."""
    findings = tuple(of_pairs(own, min(own.comparison.pairs, seeds)) for own in findings)
    labels = {"mine": {"milliseconds_per_step": 3.0, "time_spread": 1.1, "num_posenc_parameters": 1234}}
    labels |= {own.baseline: {"milliseconds_per_step": 2.0, "time_spread": 1.2} for own in findings}
    found = {
        label: {own.table: measured({}, label, **fields | times) for own in findings}
        for label, fields in labels.items()
    }
    return headline(sentences, found, findings, KINDS, tuple(range(seeds)), (), len(findings))


SPREAD = "(runs of one arm differ by a factor of 1.20 at most)"
COST = f"Cost: mine: 1.50 times rope's time per step {SPREAD}; 1,234 parameters of the encoding (rope: 0)."
BETTER, WORSE = finding("copy", "better", 0.2, 0.0001), finding("even_pairs", "worse", -0.1, 0.03)
SORT = finding("bucket_sort", "no difference seen", 0.01, 0.6, detectable=0.124)
CASES = {
    "better, worse and what is missed": (
        (BETTER, WORSE, SORT, finding("parity", "not measurable here", 0.0, None)),
        {},
        (
            SENTENCE,
            "Smallest p: < 0.001, for copy: +0.200 [0.180, 0.220].",
            "Paired seeds: 8.",
            COST,
            "Differences that 8 seeds often miss: below 0.124 for bucket_sort.",
        ),
    ),
    "a row that lost seeds": (
        (BETTER, of_pairs(finding("even_pairs", "better", 0.2, 0.009), 2)),
        {},
        (
            SENTENCE,
            "Smallest p: < 0.001, for copy: +0.200 [0.180, 0.220].",
            f"Paired seeds: 8, of which a row has 2 pairs, since others diverged{FEW}",
            COST,
        ),
    ),
    "two seeds far apart find nothing, as a difference of accuracies is 1 at most": (
        (finding("copy", "no difference seen", 0.25, 0.3, detectable=2.042),),
        {"seeds": 2},
        (
            SENTENCE,
            "Smallest p: 0.300, for copy: +0.250 [0.230, 0.270].",
            f"Paired seeds: 2{FEW}",
            COST,
            "Differences that 2 seeds often miss: of any size for copy.",
        ),
    ),
    "several baselines": (
        (finding("copy", "better"), finding("copy", "no difference seen", 0.0, 0.9, baseline="nope")),
        {"sentences": (SENTENCE, "mine against nope.")},
        (
            "2 rows (p corrected for 2 rows): better: copy (to rope) (p 0.010); "
            "no difference that 8 seeds can see: copy (to nope) (p 0.900).",
            "Smallest p: 0.010, for copy (to rope): +0.100 [0.080, 0.120].",
            "Paired seeds: 8.",
            f"{COST[:-1]}; mine: 1.50 times nope's time per step {SPREAD}; 1,234 parameters of the encoding (nope: 0).",
            "Differences that 8 seeds often miss: below 0.050 for copy (to nope).",
        ),
    ),
}


@pytest.mark.parametrize(("findings", "options", "said"), CASES.values(), ids=CASES)
def test_the_sentences(findings, options, said):
    assert lines(*findings, **options) == said


@pytest.mark.parametrize(
    ("ours", "spreads"),
    [(3.0, (1.6, 1.1)), (1.3, (1.0, 1.6)), (3.0, (1.1, None)), (None, (1.1, 1.1)), (3.0, (1.1, 1.1, 1.6))],
)
def test_times_are_left_out_where_groups_of_any_arm_differ_as_much(ours, spreads):
    fields = zip(("mine", "rope", "another"), (ours, 2.0, 2.0), spreads)
    cells = {
        label: {"copy": measured({}, label, milliseconds_per_step=time, time_spread=spread)}
        for label, time, spread in fields
    }
    said = headline((SENTENCE,), cells, (BETTER,), KINDS, tuple(range(8)), (), 1)
    assert said[3] == "Cost: mine: 0 parameters of the encoding (rope: 0)."


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (1.0, "Cost: mine: 0 parameters of the encoding (rope: 0)."),
        (
            1.5,
            "Cost: mine: 1.50 times rope's processor time per step (runs of one arm differ by a factor of 1.05 at",
        ),
    ],
)
def test_a_busy_machine_changes_no_ratio_of_times(tmp_path, monkeypatch, ours, said):
    """The wall gives both arms, the second trained beside a process that takes a core, times of other programs."""
    cells = {}
    for label, cost, load in (("mine", ours, 1.0), ("rope", 1.0, 4.0)):
        for number, own in enumerate((1.0, 1.05)):
            group = Group(tmp_path / label / f"group-{number:03d}", ((number, 1e-3),), 1, "0123abcd")
            begin_group(group.directory)
            for clock, second in (("perf_counter", load * cost), ("process_time", own * cost)):
                monkeypatch.setattr(timing.time, clock, itertools.count(0.0, second).__next__)
            with Timings(group, plan_of(CONFIG, target_here()), devices=1).phase("train") as meter:
                for _ in range(3):
                    meter.add(Work(100, 10), steps=50)
        times = times_of_steps(read_timing(tmp_path / label)[0])
        cells[label] = {"copy": measured({}, label, environments=({"platform": "cpu"},), **times)}
    monkeypatch.undo()
    assert headline((SENTENCE,), cells, (BETTER,), KINDS, tuple(range(8)), (), 1)[3].startswith(said)


def test_many_names_are_counted():
    said = lines(*(finding(name, "better") for name in NAMES), sentences=("", ""))
    assert said[0].endswith(" and 6 more in the table.")


def test_a_baseline_that_did_not_learn_either_is_named():
    own = unlearned(finding("even_pairs", "did not learn", -0.2, 0.001), "mine", "rope")
    assert own.said == "did not learn the task at this budget (nor did rope)"
    few = unlearned(finding("even_pairs", "cannot be told", 0.3, 0.2), "mine", "rope")
    assert few.said == "cannot be told with 8 seeds (no number would do; task learned by neither)"


def test_a_score_that_is_all_or_nothing_has_shares_in_place_of_an_interval():
    solved = dataclasses.replace(finding("copy", "better", 0.625), solved=(share_of(5, 8), share_of(0, 8)))
    assert effect(solved, KINDS["copy"]) == "+0.625 (solved by 5 of 8 [0.31, 0.86] against 0 of 8 [0.00, 0.32])"
    assert effect(finding("copy", "better", 0.2), KINDS["copy"]) == "+0.200 [0.180, 0.220]"
