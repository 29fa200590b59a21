"""The second reading of periodicity: its arms, its tables, and the power of its measures."""

import dataclasses
import json

import numpy as np
import pytest

from experiments.periodicity import along, power, share


def test_every_arm_has_a_config_and_a_kernel_with_side_lobes():
    from posenc_jax.analysis.kernels import lobes

    assert len({arm.name for arm in along.ARMS}) == len(along.ARMS)
    for arm in along.ARMS:
        run = arm.run(along.SEEDS)
        assert run.training.steps == arm.steps
        assert arm.steps % arm.every == 0
        assert lobes(arm.predicted()).main_lobe is not None, arm.name
    assert not set(along.PILOTS) & set(along.SEEDS)


def test_a_measure_at_an_accuracy_lies_between_the_scores_beside_it():
    rows = [{"accuracy": a, "share": s} for a, s in ((0.1, 9.0), (0.4, 1.0), (0.6, 2.0), (0.5, 7.0), (0.9, 3.0))]
    assert along.at_accuracy(rows, 0.5, "share") == pytest.approx(1.5)  # the first crossing
    assert along.at_accuracy(rows, 0.9, "share") == 3.0
    assert along.at_accuracy(rows, 0.95, "share") is None


def test_questions_of_both_signs():
    assert along.by_distance_count([1, 2, 9, 4, 5]).tolist() == [9, 6, 6]


@pytest.mark.slow
@pytest.mark.parametrize("task", along.TASKS)
def test_an_arm_in_miniature(task, tmp_path, monkeypatch):
    monkeypatch.setattr(along, "POSITIONS", 96)
    arm = along.Arm("tiny", task, "sinusoidal", 8, 1, 4, 2, 1e-2)
    found = along.measured(arm, (0, 1, 2))
    assert list(found["seeds"]) == ["0", "1", "2"]
    assert [row["step"] for row in found["seeds"]["2"]] == [2, 4]
    assert all(np.isfinite(list(row.values())).all() for rows in found["seeds"].values() for row in rows)
    assert found["seeds"]["0"] != found["seeds"]["1"]
    again = along.measured(arm, (2, 0))
    assert again["seeds"]["2"] == found["seeds"]["2"]  # a seed's numbers depend on no other


def test_planted_side_lobes_are_found_and_their_absence_too():
    observers = power.Observers(8, positions=96, simulated=6)
    for planted in (0.0, 0.5, 1.0):
        found = observers.measured(planted, 0.5)
        assert found["share"].mean() == pytest.approx(planted, abs=0.02)
    np.testing.assert_array_equal(found["alias excess"], found["excess at the peak"])  # of this width 63 is the peak
    given = observers.given(1.0, observers.beta(1.0, 0.5), 6)
    assert (given.argmax(-1) == np.arange(96)).mean() == pytest.approx(0.5, abs=0.01)  # as trained models are counted


def test_the_spread_between_trained_seeds_is_what_power_is_computed_from():
    trained, seen = (json.loads(file.read_text()) for file in (power.TRAINED, power.FILE))
    assert {"commit", "jax", "numpy", "python", "cpu"} <= set(seen["environment"])
    assert len(seen["rows"]) == len(power.WIDTHS) * len(power.ACCURACIES)
    for row in seen["rows"]:
        for name, measure in power.MEASURES.items():
            deviation, which = power.between_seeds(trained, row["d_model"], row["accuracy"], measure)
            assert (row[name]["between seeds"], row[name]["seeds"]) == (pytest.approx(deviation, rel=1e-3), which)
            assert row[name]["deviation"] >= row[name]["between seeds"]
        tolerance = 0.05 if row["d_model"] < 512 else 0.1  # there shares are far from normal
        assert row["share"]["found in simulation"] == pytest.approx(0.8, abs=tolerance)
    assert power.between_seeds(trained, 64, 0.9, "share") == power.between_seeds(trained, 64, 0.7, "share")
    assert power.between_seeds(trained, 512, 0.9, "share")[1] == "12 of d 512 at 0.5"


def test_claims_are_those_that_were_written_down():
    found = json.loads(share.FILE.read_text())
    assert len(share.claims(found)) == 13
    directions = (share.HERE / "directions.md").read_text()
    assert "two in 6: 13" in directions


def planted_arm(name, task, shares):
    """An arm whose seeds reach accuracy 0.5 with these shares (None: never)."""
    at = {str(level): {} for level in along.LEVELS}
    for seed, value in zip(along.SEEDS, shares):
        row = None if value is None else {"share": value, "lift": 10 * value, "alias_excess": 0.0}
        at["0.5"][str(seed)] = row
    arm = dataclasses.asdict(along.Arm(name, task, "sinusoidal", 8, 1, 4, 2, 1e-2))
    return {
        "arm": arm,
        "environment": {},
        "processor_seconds": 60,
        "at": at,
        "last accuracy": {"100": 0.7},
        "along": {},
    }


def test_means_are_over_the_seeds_that_get_there_and_differences_are_paired():
    found = {
        "environment": {},
        "arms": {
            "sinusoidal, d 8, position_of": planted_arm("sinusoidal, d 8", "position_of", [1.0, 0.5, None, 0.9]),
            "low side lobes, d 8, position_of": planted_arm(
                "low side lobes, d 8", "position_of", [0.2, None, 0.1, 0.3]
            ),
        },
    }
    plain = share.over_seeds(found, "sinusoidal, d 8, position_of", 0.5, "share")
    assert (plain.n, plain.mean) == (3, pytest.approx(0.8))
    tested = share.claims(found)
    assert list(tested) == ["1. sinusoidal, d 8: share", "3. low side lobes, d 8: share minus the plain sinusoid's"]
    difference = tested["3. low side lobes, d 8: share minus the plain sinusoid's"]
    assert (difference.n, difference.mean) == (2, pytest.approx(-0.7))
    text = share.page(found, {"environment": {}, "rows": []})
    assert "| sinusoidal, d 8 | 3 | 0.80 [" in text


def test_the_trend_is_the_slope_over_doublings():
    arms = {
        f"rope, head {h}, token_back": planted_arm(f"rope, head {h}", "token_back", [4.0 - i, 8.0 - 2 * i])
        for i, h in enumerate((8, 16, 32, 64))
    }
    trend = share.claims({"arms": arms})["5. RoPE: change of the lift for a head twice as wide"]
    assert trend.mean == pytest.approx(-15)
    assert trend.n == 2


def test_an_arm_that_was_measured_with_other_settings_is_not_taken_for_finished(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(along, "prepare_jax", lambda: None)
    monkeypatch.setattr(along, "measured", lambda arm, seeds: pytest.fail("nothing is to be measured"))
    arm = along.ARMS[0]
    kept = along.file_of(arm, tmp_path / "seeds")
    kept.parent.mkdir()
    kept.write_text(json.dumps({"arm": dataclasses.asdict(arm)}))
    again = ["--directory", str(tmp_path), "--arms", arm.name]
    assert along.main(again) == 0
    kept.write_text(json.dumps({"arm": {**dataclasses.asdict(arm), "steps": arm.steps + 1}}))
    with pytest.raises(SystemExit):
        along.main(again)
    assert "was measured with other settings of 'sinusoidal, d 8'" in capsys.readouterr().err
