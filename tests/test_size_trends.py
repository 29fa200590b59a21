"""Does a lead grow with size? By another way, and how often the words are wrong."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from experiments.sizes import page, trend
from experiments.sizes.grid import WIDTHS, ablation, full
from experiments.sizes.slopes import size_trends
from experiments.tables.results import Results, TaskFacts
from posenc_jax.config import config_hash
from posenc_jax.drawing.paper import source_of_png
from posenc_jax.statistics import holm
from posenc_jax.training.memory import parameters_of
from posenc_jax.verdict.cells import JudgedCell
from posenc_jax.verdict.tables import SEEDS

SIZES = (25_000, 100_000, 400_000)


def drawn(generator, slope, spreads=(0.02, 0.05, 0.2), seeds=8, together=0.0):
    """Leads of seeds at three sizes, whose spread grows with size; ``together``: the share that a seed has at all."""
    shared = generator.normal(size=seeds)
    return {
        size: dict(enumerate(0.1 + slope * number + spread * (together * shared + generator.normal(size=seeds))))
        for number, (size, spread) in enumerate(zip(SIZES, spreads, strict=True))
    }


def test_the_slope_of_every_seed_and_students_interval():
    leads = drawn(np.random.default_rng(0), 0.1)
    (found,) = size_trends({"copy": leads}).values()
    x = [math.log2(size) / 2 for size in SIZES]
    slopes = [stats.linregress(x, [leads[size][seed] for size in SIZES]).slope for seed in range(8)]
    low, high = stats.ttest_1samp(slopes, 0).confidence_interval(0.95)
    assert found.slope == pytest.approx(np.mean(slopes), abs=1e-12)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    assert found.p == pytest.approx(stats.ttest_1samp(slopes, 0).pvalue, abs=1e-12)


def test_words():
    up = {size: {seed: 0.1 * number + 0.01 * seed * number for seed in range(4)} for number, size in enumerate(SIZES)}
    down = {size: {seed: -lead for seed, lead in own.items()} for size, own in up.items()}
    mixed = {size: {seed: (-1) ** seed * lead for seed, lead in own.items()} for size, own in up.items()}
    found = size_trends({"up": up, "down": down, "mixed": mixed})
    assert {name: own.word for name, own in found.items()} == {
        "up": "grows",
        "down": "shrinks",
        "mixed": "cannot be told",
    }
    alone = {name: size_trends({name: own})[name].p for name, own in {"up": up, "down": down, "mixed": mixed}.items()}
    assert {name: own.p for name, own in found.items()} == pytest.approx(holm(alone)), "corrected together"


def test_what_has_no_interval_has_no_word():
    same = {size: {0: 0.1 * number, 1: 0.1 * number} for number, size in enumerate(SIZES)}
    one = {size: {0: 0.1 * number} for number, size in enumerate(SIZES)}
    apart = {size: {number: 0.1} for number, size in enumerate(SIZES)}
    for leads, seeds in ((same, 2), (one, 1), (apart, 0)):
        (found,) = size_trends({"copy": leads}).values()
        assert (found.seeds, found.low, found.p, found.word) == (seeds, None, None, "cannot be told")


def test_a_seed_without_a_size_is_left_out():
    leads = drawn(np.random.default_rng(1), 0.1)
    without = {size: {seed: lead for seed, lead in own.items() if seed} for size, own in leads.items()}
    leads[SIZES[1]].pop(0)
    assert size_trends({"copy": leads}) == size_trends({"copy": without})


def test_one_size_has_no_slope():
    with pytest.raises(ValueError, match=r"^copy has 1 size, and a slope needs two at least$"):
        size_trends({"copy": {25_000: {0: 0.1, 1: 0.2}}})


def results(scores, metric="accuracy", chance=0.25):
    """Results of an ablation over sizes; ``scores``: size -> label -> seed -> score of one longer length."""
    cells = tuple(
        JudgedCell(
            **{"table": f"t {size}", "label": label, "spec": label, "config": "", "seeds": tuple(own)},
            **{"learning_rates": {}, "tried": {}, "diverged": (), "seconds": None, "num_posenc_parameters": 0},
            by_metric={metric: {8: own}},
            num_parameters=4**number * 1000,
        )
        for number, (size, by_label) in enumerate(scores.items())
        for label, own in by_label.items()
    )
    facts = TaskFacts(metric, chance, {8: "beyond"})
    return Results({f"t {size}": facts for size in scores}, cells, (), {})


def test_the_table_of_an_ablation():
    seeds = range(4)
    scores = {
        size: {
            "rope": dict.fromkeys(seeds, 0.5),
            "alibi": {seed: 0.5 + 0.1 * number + 0.002 * seed * number for seed in seeds},
        }
        for number, size in enumerate(WIDTHS)
    }
    (row,) = trend.table_of(trend.rows_of(results(scores))).splitlines()[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:5] == ["alibi", "t", "0.000", "+0.103", "+0.206"]
    assert cells[5] == "+0.103 [0.099, 0.107]"
    assert cells[-2:] == ["4", "grows"]
    scores[next(iter(WIDTHS))] = {"rope": dict.fromkeys(seeds, 0.25), "alibi": dict.fromkeys(seeds, 0.25)}
    (row,) = trend.table_of(trend.rows_of(results(scores))).splitlines()[2:]
    assert row.endswith("| cannot be told (at a floor or at the best at d32) |"), "a lead of 0 there says nothing"


def test_a_size_that_was_not_learned_is_named():
    scores = {size: {"rope": {0: 0.5, 1: 0.5}, "alibi": {0: 0.6, 1: 0.7}} for size in WIDTHS}
    found = results(scores)
    first, second, last = WIDTHS
    within = {"rope": {first: 1.0, second: 0.93, last: 1.0}, "alibi": {first: 0.9, second: 0.95, last: 0.93}}
    cells = [
        dataclasses.replace(
            cell,
            by_metric={"accuracy": cell.by_metric["accuracy"] | {4: dict.fromkeys((0, 1), within[cell.label][size])}},
        )
        for size in WIDTHS
        for cell in found.cells
        if cell.table == f"t {size}"
    ]
    ranges = {4: "within", 8: "beyond"}
    tasks = {name: dataclasses.replace(facts, ranges=ranges) for name, facts in found.tasks.items()}
    found = dataclasses.replace(found, tasks=tasks, cells=tuple(cells))
    assert trend.unlearned(found, "t", "alibi") == (first,), "0.9 is 87 % of the way from 0.25, 0.93 is 91 %"
    assert trend.table_of(trend.rows_of(found)).endswith(f"; not learned by one or both at {first} |")


def test_a_lower_perplexity_is_a_lead_of_its_logarithm():
    scores = {size: {"rope": {0: 20.0, 1: 20.0}, "alibi": {0: 10.0, 1: 5.0}} for size in WIDTHS}
    found = trend.leads(results(scores, "perplexity", None), "t", "alibi")
    assert found == {
        number: {0: pytest.approx(math.log(2)), 1: pytest.approx(math.log(4))} for number in (1000, 4000, 16000)
    }


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({size: {"rope": {0: 0.5, 1: 0.5}} for size in WIDTHS}, "no table has the sizes d32, d64, d128 of an encoding"),
        ({size: {"rope": {0: 0.5}, "alibi": {0: 0.5}} for size in WIDTHS}, "share 1 seeds at all sizes of t: two are"),
    ],
)
def test_what_gives_no_table_is_refused(scores, said):
    with pytest.raises(ValueError, match=said):
        trend.rows_of(results(scores))


def test_sizes_differ_by_four_and_in_nothing_else():
    for config in (ablation("a", ("copy", "even_pairs"), ("alibi", "rope")), full()):
        by_size = {size: [run for run in config.runs if run.table.endswith(f" {size}")] for size in WIDTHS}
        assert len({len(own) for own in by_size.values()}) == 1
        for small, middle, large in zip(*by_size.values(), strict=True):
            counts = [parameters_of(run) for run in (small, middle, large)]
            if not small.table.startswith("python docs"):
                assert all(3.5 < later / own < 4.1 for own, later in itertools.pairwise(counts)), small.table
            plain = [dataclasses.replace(run, table="", model=small.model) for run in (small, middle, large)]
            assert plain[0] == plain[1] == plain[2]
            assert len({run.model.width_of_head for run in (small, middle, large)}) == 1


def test_the_picture_has_what_is_kept():
    assert source_of_png(page.PICTURE) == page.digest(), "python -m experiments.sizes.page"


def test_what_is_kept_is_of_the_ablation():
    """Every cell of a kept table has the config and the learning rates that `full` has, and a score of every seed."""
    found, asked = page.kept(), {(run.table, run.label): run for run in full().runs}
    for cell in found.cells:
        run = asked.pop((cell.table, cell.label))
        assert (cell.config, set(cell.tried)) == (config_hash(run), set(run.learning_rates)), cell.label
        assert all(set(by_seed) == set(SEEDS) for by_seed in next(iter(cell.by_metric.values())).values()), cell.label
    assert not {table.rpartition(" ")[0] for table, _ in asked} & {row.table for row in trend.rows_of(found)}
