"""The experiment on periodicity: its measures, and its reduced version in miniature."""

import dataclasses
import importlib
import json
import math

import numpy as np
import pytest

from posenc_jax import ablate
from posenc_jax.analysis import check_contract
from posenc_jax.analysis.kernels import kernel
from posenc_jax.config import config_hash
from posenc_jax.data.tasks import PositionOf
from posenc_jax.data.tasks.by_offset import curves
from posenc_jax.encodings import vaswani_frequencies

excess, figures, full, grid, measures, more, outcome, probe, readout, small = (
    importlib.import_module(f"experiments.periodicity.{name}")
    for name in ("excess", "figures", "full", "grid", "measures", "more", "outcome", "probe", "readout", "small")
)

N = 96


def confusing(rate, at, background=0.0):
    """The curves of a model that gives ``rate`` to the place ``at`` further, and ``background`` to every wrong one."""
    p, j = np.indices((N, N))
    given = np.where(p == j, 0.5, background) + rate * (j - p == at)
    return curves({"given": given, "said": given, "logit": given, "asked": np.ones((N, N))})


def excess_at(found, offset, which="given"):
    return measures.alias_excess(found[f"{which}_contrast"], found["asked_by_offset"], offset)


def test_alias_excess_is_the_planted_rate_at_one_sign_and_half_of_it_at_both():
    for background in (0.0, 0.01):
        found = confusing(0.2, 63, background)
        assert excess_at(found, 63) == pytest.approx(0.1, abs=1e-6)
        assert excess_at(found, 63, "said") == excess_at(found, 63)
        assert excess_at(found, 31) == pytest.approx(0, abs=1e-7)


def test_nothing_confused_has_no_excess():
    found = confusing(0.0, 63, 1 / N)
    for offset in range(2, 94):
        assert excess_at(found, offset) == pytest.approx(0, abs=1e-7)


def test_signs_weigh_as_their_questions_and_an_absent_one_not_at_all():
    assert measures.both_signs([1.0, None, 0.0, None, 4.0], [2, 0, 9, 0, 1], 2) == pytest.approx(2.0)
    assert measures.both_signs([None, None, 0.0, None, 4.0], [0, 0, 9, 0, 1], 2) == 4.0
    assert math.isnan(measures.both_signs([1.0, None, 0.0, None, 4.0], [2, 0, 9, 0, 1], 1))
    np.testing.assert_array_equal(measures.by_distance([1.0, None, 0.5, 2.0, 3.0], [1, 0, 1, 1, 1]), [0.5, 2.0, 2.0])


def test_a_pair_is_compared_with_the_places_beside_it():
    matrix = np.ones((N, N))
    matrix[5, 68] = 11
    matrix[5] *= 3  # asked three times as often
    here, beside, difference = measures.pair_excess(matrix, 5, 68)
    assert here == pytest.approx((11 / 106 + 1 / 96) / 2)
    assert beside == pytest.approx((2 / 106 + 2 / 96) / 4)
    assert difference == pytest.approx(here - beside)


def test_rank_correlation_leaves_the_right_answer_and_unasked_offsets_out():
    values = np.array([0.0, 3.0, 1.0, 2.0, 5.0])
    assert measures.rank_correlation(values, np.array([9.0, 30.0, 10.0, 20.0, np.nan])) == pytest.approx(1.0)
    assert measures.rank_correlation(values, np.array([9.0, 1.0, 3.0, 2.0, 0.0])) == pytest.approx(-1.0)
    # Ranks 3 1 2 4 of the values, 2.5 2.5 1 4 of the confusion, less their mean 2.5.
    tied = measures.rank_correlation(values, np.array([9.0, 2.0, 2.0, 1.0, 4.0]))
    assert tied == pytest.approx(3 / math.sqrt(5 * 4.5))
    assert math.isnan(measures.rank_correlation(values, np.array([9.0, 1.0, 1.0, 1.0, 1.0])))


@pytest.mark.slow
def test_trained_frequencies_keep_the_contract():
    """`check_contract` raises if not; only what the encoding does not claim is skipped."""
    assert {clause.status for clause in check_contract(grid.TrainedFrequencies())} == {"passed", "skipped"}


def test_the_grid_has_what_was_asked():
    for config, positions in ((small.config, 96), (full.config, 128)):
        assert {run.task.length for run in config.runs} == {positions}
        assert all(len(run.seeds) >= 4 for run in config.runs)
    labels = {(run.table, run.label) for run in full.config.runs}
    for width in (8, 16, 32, 64, 128, 256, 512):
        assert ("position_of by d_model", f"d_model {width}") in labels
        assert ("token_back by d_model", f"d_model {width}, tensor2tensor") in labels
    for table in ("position_of, d_model 8", "token_at, d_model 64", "token_back, d_model 64"):
        for label in (*grid.ENCODINGS, "base 1e2", "base 1e3", "base 1e5", "base 1e6", "bfloat16", "scale 0.1"):
            assert (table, label) in labels
    models = {run.label: run.model for run in full.widths(full.CENTRES[0])}
    assert [models[f"d_model {w}"].num_heads for w in (8, 32, 64, 512)] == [1, 1, 4, 32]


@pytest.fixture(scope="module")
def miniature(tmp_path_factory):
    """Three arms of the reduced version, 80 positions, four steps."""
    chosen = {
        ("position_of, d_model 8", "sinusoidal"),
        ("position_of, d_model 8", "600 steps"),
        ("token_back, d_model 8", "sinusoidal"),
    }
    runs = []
    for run in small.config.runs:
        if (run.table, run.label) in chosen:
            training = dataclasses.replace(run.training, steps=4, steps_per_call=2, log_every=2, validation_batches=1)
            task = dataclasses.replace(run.task, length=80)
            evaluation = dataclasses.replace(run.evaluation, lengths=(80,), num_examples=64)
            if run.label.endswith("steps"):
                run = dataclasses.replace(run, label="4 steps")
            runs.append(dataclasses.replace(run, task=task, training=training, evaluation=evaluation, seeds=(0, 1)))
    assert len(runs) == len(chosen)
    directory = tmp_path_factory.mktemp("periodicity") / "run"
    return ablate(dataclasses.replace(small.config, runs=tuple(runs)), directory).directory


@pytest.mark.slow
def test_the_reduced_version_runs_in_miniature(miniature):
    cells = excess.read(miniature)
    assert [cell.run.label for cell in cells] == ["sinusoidal", "4 steps", "sinusoidal"]
    for cell in cells:
        assert set(cell.seeds) == {0, 1}
        assert outcome.excess_of(cell, 63).n == 2
    plain = cells[0]
    np.testing.assert_allclose(plain.predicted(), kernel(vaswani_frequencies(8), np.arange(80)))
    confusion = np.array(plain.seeds[0]["confusion"])
    assert confusion.shape == (80, 80)
    assert confusion.sum() == 64


def test_theory_predicts_for_what_has_frequencies_and_keeps_its_positions():
    run = grid.centre(PositionOf(length=16), 8, 100, 1e-2, table="t")
    arms = {arm.label: excess.Arm(arm, {}).predicted() for arm in grid.encoding_arms(run)}
    without = {label for label, predicted in arms.items() if predicted is None}
    assert without == {"nope", "learned", "learned_fourier", "randomized sinusoidal", "t5", "alibi"}
    np.testing.assert_allclose(arms["trained frequencies"], kernel(vaswani_frequencies(8), np.arange(16)))
    assert all(predicted[0] == 1 for predicted in arms.values() if predicted is not None)


def test_the_plain_encoding_is_the_arm_that_others_are_compared_with():
    run = grid.centre(PositionOf(), 8, 100, 1e-2, table="t")
    for arm in (*grid.encoding_arms(run), *grid.noise_arms(run), *grid.base_arms(run)):
        assert (arm.task, arm.training, arm.seeds) == (run.task, run.training, run.seeds)
        assert (arm.posenc, arm.model) != (run.posenc, run.model)


def test_the_first_reading_is_of_its_record():
    kept = json.loads(excess.FILE.read_text())
    for config in (small.config, more.config):
        arms = kept[config.name]["arms"]
        assert [(arm["table"], arm["label"]) for arm in arms] == [(run.table, run.label) for run in config.runs]
        assert [arm["config"] for arm in arms] == [config_hash(run) for run in config.runs]
        assert [list(arm["seeds"]) for arm in arms] == [[str(seed) for seed in run.seeds] for run in config.runs]
        assert {"commit", "cpu", "jax", "numpy", "python"} <= set(kept[config.name]["environment"])


def test_the_probes_are_of_their_record():
    record = json.loads(probe.FILE.read_text())
    runs = {f"{run.table}: {run.label}": run for run in small.config.runs}
    assert {label: kept["config"] for label, kept in record.items()} == {
        shown: config_hash(runs[cell]) for cell, shown in probe.SHOWN.items()
    }
    for kept in record.values():
        token = [own["token"]["pairs"][str(other)][0] for own in kept["seeds"].values() for other in probe.PAIRS]
        assert max(abs(value - 0.5) for value in token) < 0.06


def test_the_readout_is_of_its_record():
    kept = json.loads(readout.RECORD.read_text())
    assert f"{readout.BEGIN}\n{readout.page(kept)}\n{readout.END}" in readout.README.read_text()
    for d in (16, 128):
        again = readout.readout(d, 100)
        assert again == pytest.approx([kept["widths"][str(d)][str(level)][0] for level in readout.LEVELS], rel=1e-3)


def test_the_readout_counts_the_excess_as_the_models_do():
    given = np.random.default_rng(0).random((readout.POSITIONS, readout.POSITIONS))
    found = curves({"given": given, "said": given, "logit": given, "asked": np.ones_like(given)})
    expected = measures.alias_excess(found["given_contrast"], found["asked_by_offset"], readout.ALIAS)
    assert readout.alias_excess(given) == pytest.approx(expected, rel=1e-5)
