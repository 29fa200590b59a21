"""A verdict tells the difference on each table as it comes, the fastest first, and changes no number by it."""

import dataclasses
import json
import statistics
from types import SimpleNamespace

import pytest
from measured_cells import measured
from trained_runs import Notes

from posenc_jax import Evaluation, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import parse
from posenc_jax.statistics import detectable, lead, widened
from posenc_jax.verdict import deciding, interim
from posenc_jax.verdict.card import record
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.deciding import decide
from posenc_jax.verdict.interim import fastest_first, first_seeds, sees
from posenc_jax.verdict.own_questions import own_table
from posenc_jax.verdict.tables import tables

TABLES = tables()
QUICK = {name: table for name, table in TABLES.items() if table.quick}
SEEDS = tuple(range(8))


class Heard(Notes):
    def __init__(self):
        super().__init__()
        self.cells = []

    def cell(self, text, number, total):
        self.cells.append((text, number, total))


@pytest.fixture
def asked(monkeypatch):
    """Which seeds of which table are measured, in order; ours score 0.1 more."""
    found = []

    def measure(table, slot, label, directory, *, seeds, otherwise=True, **_):
        found.append((table.name, label, seeds, otherwise))
        return measured({seed: 0.5 + 0.01 * seed + 0.1 * (label == "mine") for seed in seeds}, label, table=table.name)

    monkeypatch.setattr(deciding, "measure", measure)
    monkeypatch.setattr(deciding, "histories", lambda *_: ({}, False))
    monkeypatch.setattr(interim, "mode_of", lambda execution: "devices")
    monkeypatch.setattr(interim, "devices_here", lambda: type("Devices", (), {"count": 2}))
    return found


def test_the_fastest_table_is_first():
    assert fastest_first(QUICK) == ["copy", "bucket_sort", "even_pairs"]
    assert fastest_first(TABLES)[-1] == "counting"


def test_a_few_seeds_are_looked_at_first_where_that_changes_no_bit(asked, monkeypatch):
    assert first_seeds(QUICK["copy"], SEEDS) == (0, 1)
    monkeypatch.setattr(interim, "devices_here", lambda: type("Devices", (), {"count": 1}))
    assert first_seeds(QUICK["copy"], SEEDS) == (0, 1)
    monkeypatch.setattr(interim, "devices_here", lambda: type("Devices", (), {"count": 64}))
    assert first_seeds(QUICK["copy"], SEEDS) == SEEDS
    monkeypatch.setattr(interim, "mode_of", lambda execution: "vmap")
    assert first_seeds(QUICK["copy"], SEEDS) == SEEDS


def test_differences_are_told_as_they_come(asked, tmp_path):
    heard = Heard()
    card = decide({"mine": parse("alibi")}, {"rope": parse("rope")}, QUICK, tmp_path, seeds=SEEDS, reporter=heard)
    assert [own[:3] for own in asked[:4]] == [
        ("copy", "rope", (0, 1)),
        ("copy", "mine", (0, 1)),
        ("copy", "rope", SEEDS),
        ("copy", "mine", SEEDS),
    ]
    assert [own[3] for own in asked[:4]] == [False, False, True, True], "other scores have time"
    assert [own[0] for own in asked[4:]] == ["bucket_sort"] * 2 + ["even_pairs"] * 2
    first, *others = heard.notes
    assert first.startswith("first look at copy, 2 of 8 seeds: exact match mine 0.605, rope 0.505; difference +0.100")
    assert first.endswith(" (6 more seeds and 2 more tables to go)")
    assert [line[:12] for line in others] == ["copy, 8 seed", "bucket_sort,", "even_pairs, "]
    assert others[0].endswith("(2 more tables to go)")
    assert others[1].endswith("(1 more table to go)")
    assert others[2].endswith("]")
    assert [number for _, number, _ in heard.cells] == [0, 1, 0, 1, 2, 3, 4, 5]
    assert list(card.tables) == list(QUICK) == list(card.measured["mine"]), "the card keeps its order"
    assert [own.table for own in card.findings] == list(QUICK)


def test_what_no_arm_could_be_told_from_is_said_before_it_is_trained(tmp_path, monkeypatch):
    heard = Heard()

    def measure(table, slot, label, directory, **_):
        heard.note(f"{label} is measured")
        return measured((0.2, 0.9), label, table=table.name)

    monkeypatch.setattr(deciding, "measure", measure)
    monkeypatch.setattr(deciding, "histories", lambda *_: ({}, True))
    decide({"mine": parse("alibi")}, {"rope": parse("rope")}, ONE, tmp_path, seeds=(0, 1), reporter=heard, once=True)
    baseline, told, mine, _ = heard.notes
    assert (baseline, mine) == ("rope is measured", "mine is measured")
    assert told.startswith("on copy even a perfect arm could not be told from rope with 2 seeds, corrected for 1 row")


@pytest.mark.slow
def test_a_first_look_changes_no_number(tmp_path, monkeypatch):
    """Trained: a card with it and one without have equal scores, differences and words."""
    run = dataclasses.replace(
        TABLES["copy"].run,
        task=Copying(min_length=2, max_length=3, num_symbols=4),
        model=Transformer(d_model=8, num_layers=1, num_heads=1),
        training=Training(steps=8, batch_size=2, steps_per_call=2, log_every=2),
        evaluation=Evaluation(lengths=(2, 4), num_examples=4),
    )
    small = {"copy": dataclasses.replace(TABLES["copy"], run=run)}

    def made(folder):
        heard = Heard()
        card = decide(
            {"alibi": parse("alibi")},
            {"rope": parse("rope")},
            small,
            tmp_path / folder,
            seeds=(0, 1, 2),
            reporter=heard,
        )
        found = json.loads(json.dumps(record(card)))
        for by_table in found["measured"].values():
            by_table["copy"].pop("seconds")
            by_table["copy"].pop("milliseconds_per_step")
            by_table["copy"].pop("time_spread")
        return {name: found[name] for name in ("verdict", "findings", "otherwise", "measured")}, heard.notes

    monkeypatch.setattr(deciding, "first_seeds", lambda table, seeds: seeds[:2])
    with_look, notes = made("with")
    assert any(line.startswith("first look at copy, 2 of 3 seeds") for line in notes)
    monkeypatch.setattr(deciding, "first_seeds", lambda table, seeds: seeds)
    without, notes = made("without")
    assert not any(line.startswith("first look") for line in notes)
    assert with_look == without


@pytest.fixture
def grown(monkeypatch):
    """Grids on which something is measured; ours does best at a learning rate that is given, the baseline at any."""

    def measured_at(best):
        found = []

        def measure(table, slot, label, directory, *, seeds, **_):
            rates = table.run.learning_rates
            found.append((table.name, label, rates))
            tried = {rate: {s: 1.0 - (label == "mine") * abs(rate - best) for s in seeds} for rate in rates}
            return measured({s: 0.5 + 0.01 * s for s in seeds}, label, table=table.name, tried=tried)

        monkeypatch.setattr(deciding, "measure", measure)
        monkeypatch.setattr(deciding, "histories", lambda *_: ({}, True))
        return found

    return measured_at


ONE = {"copy": QUICK["copy"]}


def decided(tmp_path):
    heard = Heard()
    return decide({"mine": parse("alibi")}, {"rope": parse("rope")}, ONE, tmp_path, seeds=SEEDS, reporter=heard), heard


def test_the_grid_grows_for_all_arms_until_none_prefers_an_end(grown, tmp_path, monkeypatch):
    monkeypatch.setattr(interim, "plan_of", lambda cell, _: SimpleNamespace(hours=1.0 * len(cell.learning_rates)))
    found = grown(0.002)
    card, heard = decided(tmp_path)
    grids = [(5e-4, 1e-3), (5e-4, 1e-3, 2e-3), (5e-4, 1e-3, 2e-3, 4e-3)]
    assert found == [("copy", label, grid) for grid in grids for label in ("rope", "mine")]
    assert tuple(card.measured["mine"]["copy"].tried) == grids[-1]
    grew = "so all arms get a longer one: 0.0005, 0.001, 0.002, which takes about 2\u00a0h more"
    assert grew in "; ".join(heard.notes), "of one rate in each of two arms"
    said = " ".join(markdown_card(card).split())
    assert "Learning rates from 0.0005 to 0.004; every seed keeps" in said
    assert "at an end of the grid: of no arm." in said


def test_the_grid_has_a_bound_and_the_card_names_who_is_at_its_end(grown, tmp_path):
    grown(1.0)
    card, _ = decided(tmp_path)
    assert tuple(card.measured["mine"]["copy"].tried) == (5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.016)
    said = " ".join(markdown_card(card).split())
    assert "do best at an end of the grid: mine on copy." in said


def test_a_tie_is_no_preference():
    tie = {5e-4: {0: 1.0, 1: 1.0}, 1e-3: {0: 1.0, 1: 1.0}}
    assert widened((5e-4, 1e-3), [tie], 6) == (5e-4, 1e-3)
    low = {5e-4: {0: 1.0, 1: 1.0, 2: 0.5}, 1e-3: {0: 0.9, 1: 1.0, 2: None}}
    assert widened((5e-4, 1e-3), [tie, low], 6) == (2.5e-4, 5e-4, 1e-3), "one that diverged does not win"
    assert widened((5e-4, 1e-3), [low], 2) == (5e-4, 1e-3)
    assert lead(low) == pytest.approx(0.05)


RUN = Run(
    task=Copying(min_length=2, max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=1),
    training=Training(steps=40, batch_size=2, steps_per_call=2, log_every=2),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
)
OWN = {"copies": own_table("copies", RUN, "copies", "mine.py")}
ARMS = {"alibi": parse("alibi"), "rope": parse("rope")}


def test_the_price_is_told_first(monkeypatch):
    cells = [OWN["copies"].cell(slot, label, (0, 1)) for label, slot in ARMS.items()]
    monkeypatch.setattr(interim, "plan_of", lambda cell, _: SimpleNamespace(hours=0.25 * len(cell.replicas)))
    said = interim.estimate(ARMS, OWN, (0, 1), once=True)
    assert sum(len(cell.replicas) for cell in cells) == 12, "three learning rates, two seeds, two encodings"
    assert said.startswith("12 trainings of 2 encodings on 1 table: about 3\u00a0h on ")
    assert "excluding compilation; less if some are finished already, more if the grid of learning rates grows" in said
    assert said.endswith("grid of learning rates grows")
    steps = OWN["copies"].run.training.steps
    monkeypatch.setattr(interim, "plan_of", lambda cell, _: SimpleNamespace(hours=cell.training.steps / steps))
    said = interim.estimate(ARMS, OWN, (0, 1))
    assert "about 2\u00a0h on " in said
    assert said.endswith("and up to 4\u00a0h more where a table is not learned and trained again"), "twice the steps"
    monkeypatch.setattr(interim, "plan_of", lambda *_: SimpleNamespace(hours=None))
    assert "about - on" in interim.estimate(ARMS, OWN, (0, 1))


def test_the_difference_that_the_seeds_will_find_is_of_the_first_ones():
    ours = {"a": measured({0: 0.5, 1: 0.7}, "a"), "b": measured({0: 0.6, 1: 0.6}, "b")}
    theirs = {"rope": measured({0: 0.5, 1: 0.5}, "rope")}
    (line,) = sees(OWN["copies"], ours, theirs, 8, 2)
    deviation = statistics.fmean([statistics.variance([0.0, 0.2]), 0.0]) ** 0.5
    least = detectable(deviation, 8, confidence=0.975)
    said = f"with the spread of these, 8 seeds find a difference of {least:.3f} on copies in 8 of 10 repeats"
    of_few = "so few seeds show little of the spread, which may be larger"
    assert line == f"{said}, corrected for 2 rows; {of_few}"
    equal = {"a": measured({0: 0.5, 1: 0.5}, "a")}
    assert not list(sees(OWN["copies"], equal, theirs, 8, 1)), "no spread says nothing"
