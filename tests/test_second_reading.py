"""The second reading of periodicity: its arms, its tables, and the power of its measures."""

import dataclasses
import json

import numpy as np
import pytest

from experiments.periodicity import along, claims, inside, power, share, share_figures
from posenc_jax.statistics import holm, p_value


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


def test_where_trained_models_contradict_the_simulation_the_page_says_so():
    trained, seen = (json.loads(file.read_text()) for file in (power.TRAINED, power.FILE))
    for row in seen["rows"]:
        if row["accuracy"] >= 0.7 and row["d_model"] in (16, 32, 64):
            arm = f"sinusoidal, d {row['d_model']}, position_of"
            real = share.over_seeds(trained, arm, row["accuracy"], "alias_excess")
            assert real.low > row["alias excess"]["of the whole kernel"][0]
    assert "At accuracy 0.7 and 0.9 and widths 16 to 64 it lies above" in flat(share.PAGE)
    assert "is blind" not in flat(share.READING)


def test_the_committed_page_is_that_of_the_committed_numbers():
    found, seen = (json.loads(file.read_text()) for file in (share.FILE, power.FILE))
    assert share.PAGE.read_text() == share.page(found, seen), "run python -m experiments.periodicity.share"
    assert len(share.pages()) == 3
    for other in share.pages():
        assert share.filled(other.read_text(), found) == other.read_text(), f"{other}: run the same command"


def test_claims_are_those_that_were_written_down():
    found = json.loads(share.FILE.read_text())
    assert len(share.claims(found)) == 13
    directions = (share.HERE / "directions.md").read_text()
    assert "two in 6: 13" in directions


def test_what_was_not_among_the_thirteen_has_a_family_of_its_own():
    found = json.loads(share.FILE.read_text())
    later = claims.later_claims(found)
    assert not set(later) & set(claims.claims(found))
    for name in ("transformer_xl", "p-RoPE", "xPos", "shaw", "deberta", "t5", "fire", "learned"):
        assert any(claim.startswith(f"7. {name}, head 8: lift") for claim in later)
    adjusted = holm({claim: p_value(one) for claim, one in later.items()})
    before, _, after = share.PAGE.read_text().partition("Not among these 13")
    table = after.partition("\n## ")[0]
    for claim, one in later.items():
        assert f"| {claim} | {one.n} | {one.mean:.2f} [" in table
        assert f"| {adjusted[claim]:.2g} |" in next(line for line in table.splitlines() if f"| {claim} |" in line)
        assert claim not in before
    readme = flat(share.READING)
    more = later["seen: rope, 8 heads of 8: alias excess minus one head's"]
    assert f"{more.mean:.1f} points [{more.low:.1f}, {more.high:.1f}] more than a single head" in readme


def test_the_lift_of_the_kernel_itself_stands_beside_that_of_models():
    found, readme = json.loads(share.FILE.read_text()), flat(share.READING)
    heads = [f"rope, head {head}, token_back" for head in (8, 16, 32, 64)]
    own = [share.own_lift(found["arms"][name]["arm"]) for name in heads]
    assert own == pytest.approx([45.56, 11.37, 3.27, 0.45], abs=5e-3)
    lifts = [share.over_seeds(found, name, 0.5, "lift").mean for name in heads]
    assert "{:.1f}, {:.1f}, {:.1f}, {:.2f} %".format(*own) in readme
    parts = [lift / kernel for lift, kernel in zip(lifts, own)]
    assert "{:.2f}, {:.2f}, {:.2f} and {:.2f} of".format(*parts) in readme
    fire = share.over_seeds(found, "fire, head 8, token_back", 0.5, "lift")
    assert abs(fire.high) > max(lifts[1:])  # an aperiodic encoding: what the fit itself can be off
    assert f"{fire.mean:.2f} % [{fire.low:.2f}, {fire.high:.2f}]" in readme


def test_what_was_not_run_is_said():
    said = flat(share.READING).partition("Not run with this measure: ")[2].partition("## ")[0]
    arms = [kept["arm"] for kept in json.loads(share.FILE.read_text())["arms"].values()]
    others = {
        arm["d_model"] // arm["heads"] for arm in arms if arm["task"] == "token_back" and "rope" not in arm["posenc"]
    }
    assert others == {8, 16, 32, 64}
    assert {arm["task"] for arm in arms} == set(along.TASKS)
    assert max(arm["d_model"] for arm in arms) == 512
    assert {arm["posenc"] for arm in arms if arm["d_model"] > 64} == {"sinusoidal"}
    assert "other encodings than the plain sinusoid above d_model 64." in said


def flat(page):
    """A page's text, its line breaks taken for spaces."""
    return " ".join(page.read_text().split())


def test_the_shares_of_rope_are_in_the_answer_and_in_a_table_by_head():
    found, inner = (json.loads(file.read_text()) for file in (share.FILE, inside.FILE))
    arms = ("head 8", "8 heads of 8", "head 16", "head 32", "head 64")
    one, eight, *wide = (share.over_seeds(found, f"rope, {arm}, token_back", 0.5, "share") for arm in arms)
    readme = flat(share.READING)
    assert f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}] with one head of 8, {eight.mean:.2f} with 8" in readme
    assert "{:.2f}, {:.2f} and {:.2f} with one of 16, 32 and 64".format(*(i.mean for i in wide)) in readme
    within = [np.mean([*inside.values(inner, f"rope, head {size}", "share").values()]) for size in (16, 32)]
    assert "shares of {:.2f} and {:.2f}, the answers of such heads {:.2f}".format(*within, wide[0].mean) in readme
    assert f"| rope | 8 | 8 | {eight.n} | {eight.mean:.2f} [" in share.by_head(found)
    assert f"{share.by_head(found)}<!--" in (share.READING).read_text()


def test_the_widest_sinusoid_has_no_settled_share_and_the_figure_shows_all_of_it():
    found = json.loads(share.FILE.read_text())
    arm = "sinusoidal, d 128, position_of"
    last = np.array([rows[-1] for rows in found["arms"][arm]["along"].values()])
    at = [share.over_seeds(found, arm, level, "share").mean for level in (0.3, 0.5)]
    (low_accuracy, low), (high_accuracy, high) = last.min(0), last.max(0)
    readme = flat(share.READING)
    assert (
        f"{at[0]:.2f} at accuracy 0.3, {at[1]:.2f} at 0.5, {low:.2f} to {high:.2f} by seed at the last score "
        f"(accuracy {low_accuracy:.2f} to {high_accuracy:.2f})"
    ) in readme
    wider = "sinusoidal, d 256, position_of"
    last = np.array([rows[-1] for rows in found["arms"][wider]["along"].values()])
    more = [share.over_seeds(found, wider, level, "share").mean for level in (0.3, 0.5)]
    (low_accuracy, low), (high_accuracy, high) = last.min(0), last.max(0)
    assert (
        f"**At 256** as well, and faster: {more[0]:.2f}, {more[1]:.2f}, and {low:.2f} to {high:.2f} "
        f"(accuracy {low_accuracy:.2f} to {high_accuracy:.2f})"
    ) in readme
    widest = "sinusoidal, d 512, position_of"
    most = [share.over_seeds(found, widest, level, "share").mean for level in (0.3, 0.5)]
    *rest, (best, least) = sorted(
        (rows[-1] for rows in found["arms"][widest]["along"].values()), key=lambda row: row[1], reverse=True
    )
    (low_accuracy, low), (high_accuracy, high) = np.min(rest, 0), np.max(rest, 0)
    assert len(rest) == 11
    assert best > high_accuracy
    assert (
        f"**At 512** again: {most[0]:.2f}, {most[1]:.2f}, and {low:.2f} to {high:.2f} in eleven seeds (accuracy "
        f"{low_accuracy:.2f} to {high_accuracy:.2f}); in the twelfth {least:.2f}, which alone came to {best:.2f}."
    ) in readme
    assert f"{at[1]:.2f}, {more[1]:.2f} and {most[1]:.2f} at 128, 256, 512 and accuracy 0.5, still rising" in readme
    lift = share.over_seeds(found, wider, 0.5, "lift").mean
    own = [share.own_lift(found["arms"][name]["arm"]) for name in (wider, arm)]
    assert f"{lift:.1f} % at 256 (the kernel itself has larger side lobes there than at 128" in readme
    assert "{:.2f} % against {:.2f} %".format(*own) in readme
    lift, own = share.over_seeds(found, widest, 0.5, "lift").mean, share.own_lift(found["arms"][widest]["arm"])
    assert f"{lift:.1f} % at 512 ({own:.2f} %)" in readme
    for name, kept in found["arms"].items():
        if name.endswith("position_of") and not name.startswith("learned"):
            first = share_figures.FROM.get(kept["arm"]["name"], 0.05)
            shown = [value for rows in kept["along"].values() for accuracy, value in rows if accuracy > first]
            assert (
                share_figures.SHOWN[0]
                <= min(shown)
                <= max(shown)
                <= share_figures.HIGHEST.get(kept["arm"]["name"], share_figures.SHOWN[1])
            )


def test_how_many_seeds_stand_behind_a_number():
    found = json.loads(share.FILE.read_text())
    counts = [share.over_seeds(found, name, 0.5, "lift").n for name in found["arms"]]
    reached = sorted({count for count in counts if count})
    for page in share.pages():
        text = flat(page)
        assert f"{reached[0]} to {reached[-1]}" in text
        assert "12 fresh seeds" not in text
        assert "12 seeds at accuracy 0.5" not in text
    for table in (share.answer(found), share.by_head(found)):
        assert "| seeds |" in table.splitlines()[0]
    assert "| low side lobes, d 64 | 7 |" in share.answer(found)
    assert "| rope | 16 | 1 | 11 |" in share.by_head(found)


def test_a_lift_along_training_is_of_the_same_seeds():
    found, readme = json.loads(share.FILE.read_text()), flat(share.READING)
    for arm, words in (("rope, head 8", "in the {} seeds that reach all four"), ("rope, 8 heads of 8", "in {}")):
        name = f"{arm}, token_back"
        seeds = share.through(found, name, along.LEVELS)
        means = [share.over_seeds(found, name, level, "lift", seeds=seeds).mean for level in along.LEVELS]
        assert f"{', '.join(f'{mean:.1f}' for mean in means)} % {words.format(len(seeds))}" in readme


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


def test_the_small_reading_leaves_the_longest_arms_out(tmp_path, monkeypatch):
    ran = []
    row = {"accuracy": 0.5}
    monkeypatch.setattr(along, "prepare_jax", lambda: None)
    monkeypatch.setattr(
        along, "measured", lambda arm, seeds: ran.append(arm.name) or {"seconds": 0, "seeds": {"0": [row]}}
    )
    assert along.main(["--small", "--directory", str(tmp_path)]) == 0
    assert ran == list(along.SMALL)
    found = json.loads(share.FILE.read_text())
    seconds = {kept["arm"]["name"]: kept["processor_seconds"] for kept in found["arms"].values()}
    left = sum(own for name, own in seconds.items() if name in along.SMALL)
    of_all = sum(kept["processor_seconds"] for kept in found["arms"].values())
    assert f"--small: {left / 60 / 2:.0f} minutes" in flat(share.HERE / "README.md")
    assert round(4 * of_all / 3600 / 2) == 9  # quarters of an hour
    assert "two and a quarter hours on 2 cores" in flat(share.HERE / "README.md")
    assert max(seconds.values()) < of_all / 3
    kept = {name: one for name, one in found["arms"].items() if one["arm"]["name"] in along.SMALL}
    assert "d 128" not in share.answer({**found, "arms": kept})


def test_the_verdict_stands_at_the_top():
    from posenc_jax.analysis.kernels import kernel
    from posenc_jax.analysis.views import frequencies
    from posenc_jax.encodings import parse

    found = json.loads(share.FILE.read_text())
    lines = (share.HERE / "README.md").read_text().splitlines()[:10]
    verdict = " ".join(line for line in lines if line).partition("**In short.**")[2]
    arms = (f"sinusoidal, d {width}, position_of" for width in (8, 16, 32))
    excess = [share.over_seeds(found, arm, 0.5, "alias_excess") for arm in arms]
    assert f"{excess[0].mean:.2f} points of probability more" in verdict
    assert "{:.2f} at d_model 16, {:.2f} at 32".format(*(one.mean for one in excess[1:])) in verdict
    assert all(one.low > 0 for one in excess)
    for width, lobe in ((8, True), (16, True), (32, True), (64, False), (128, False), (256, False), (512, False)):
        run = along.Arm("x", "position_of", "sinusoidal", width, 1, 4, 2, 1e-2).run((0,))
        before, at, after = kernel(frequencies(parse("sinusoidal"), run.dims), np.arange(128))[62:65]
        assert (at > before and at > after) == lobe, width
    waves = ("rope", "p-RoPE", "xPos", "transformer_xl", "sinusoidal")
    others = ("learned", "shaw", "deberta", "t5", "fire")
    lifts = {
        head: [share.over_seeds(found, f"{name}, head {head}, token_back", 0.5, "lift").mean for name in waves]
        for head in (8, 16, 32, 64)
    }
    said = {head: (min(own), max(own)) for head, own in lifts.items()}
    assert "{:.0f} to {:.0f} % of the right answer's logit with a head of 8".format(*said[8]) in verdict
    assert "{:.1f} to {:.1f} % with 16, ".format(*said[16]) in verdict
    assert "{:.1f} to {:.1f} % with 32 and 0.05 % and less with 64".format(*said[32]) in verdict
    assert said[64][1] < 0.055
    for head, bound in ((16, 0.5), (32, 0.2), (64, 0.025)):
        for name in others:
            one = share.over_seeds(found, f"{name}, head {head}, token_back", 0.5, "lift")
            assert -bound < one.low <= one.high < bound, (name, head)
    assert "less than 0.5 % with a head of 16, 0.2 % with 32 and 0.025 % with 64" in verdict


def test_the_wider_heads_and_the_names_are_told_as_they_were_tested():
    """Every test of directions 8 to 11 is there, the README has their means, and says which are told from 0."""
    found = json.loads(share.FILE.read_text())
    wide = claims.wide_claims(found)
    assert len(wide) == 37
    assert "Holm over these 37" in (share.HERE / "directions.md").read_text()
    told = {claim for claim, p in holm({claim: p_value(one) for claim, one in wide.items()}).items() if p <= 0.05}
    waves = ("sinusoidal", "p-RoPE", "xPos", "transformer_xl")
    eight = {(name, h): f"8. {name}, head {h}: lift, expected above 0" for name in waves for h in (16, 32, 64)}
    missed = {("p-RoPE", 16), ("xPos", 16), ("transformer_xl", 16), ("transformer_xl", 64)}
    assert {key for key, claim in eight.items() if claim not in told} == missed
    means = {key: wide[claim].mean for key, claim in eight.items()}
    assert min(means.values()) > 0
    readme = flat(share.READING)
    for name in waves:
        values = [means[name, h] for h in (16, 32, 64)]
        assert values == sorted(values, reverse=True)
        assert ", ".join(f"{value:.2f}" for value in values) in readme, name
    ten = [wide[f"10. rope, resonance, head {h}: lift minus plain RoPE's, expected below 0"] for h in (16, 32, 64)]
    assert f"below plain RoPE at 32 and 64 (by {-ten[1].mean:.2f} and {-ten[2].mean:.2f}), not told at 16" in readme
    assert {claim[:2] for claim in told} == {"8.", "10"}
    t5 = wide["9. t5, head 16: lift, expected 0"]
    assert f"{t5.mean:.2f} % [{t5.low:.2f}, {t5.high:.2f}]" in readme
    for d in (8, 16, 64):
        one = wide[f"11. token_at, sinusoidal, d {d}: lift, expected above 0"]
        assert f"{one.mean:.2f} % [{one.low:.2f}, {one.high:.2f}] at {'d_model 8' if d == 8 else d}" in readme
    for d, digits in ((8, 1), (16, 2)):
        early = share.over_seeds(found, f"sinusoidal by name, d {d}, token_at", 0.3, "lift")
        assert f"{early.mean:.{digits}f} % [{early.low:.{digits}f}, {early.high:.{digits}f}]" in readme


@pytest.mark.slow
def test_the_price_of_the_full_grid_is_that_of_the_plan(printed):
    total = printed("plan", str(share.HERE / "full.py"), "--target", "h100").partition("\nall\n")[2]
    readme = flat(share.READING)
    fields = dict(line.strip().split(": ", 1) for line in total.splitlines() if ": " in line)
    for shown in (f"{fields['replicas']} replicas", fields["total"], fields["memory"], fields["time"]):
        assert shown in readme
