"""A finished ablation is judged without training, or refused in one line."""

import json
from pathlib import Path

import pytest
import sealed_files
from synthetic_ablation import CELLS, INFO, complete, rewrite, write_ablation, write_text_ablation

from posenc_jax.cli import main
from posenc_jax.runs.directory import FORMAT
from posenc_jax.verdict.card import record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.finished import judge_ablation

ON_EVEN = ("--tables", "even_pairs")
ARMS = ("nope", "t5", "alibi", "rope", "sinusoidal", "randomized")
ON_RSC = ("nope", "--tables", "rsc")


@pytest.fixture
def ablation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_ablation(tmp_path / "abl")


def change(directory, **info):
    sealed_files.write(directory / "ablation.json", complete(INFO | info))


def without_runs(directory):
    """The ablation with seeds and cells that are not finished left out."""
    cells = [cell for cell in CELLS if cell["label"] not in ("rope", "alibi")]
    change(directory, cells=cells)


def test_one_arm_beside_the_baseline(ablation, capsys):
    assert main(["verdict", "--on", "abl", *ON_EVEN, "--json"]) == 3, "four seeds are a hint"
    printed = capsys.readouterr()
    assert "posenc: 4 seeds are too few for a claim: run the ablation with --seeds 0 1 2 3 4 5 6 7\n" in printed.err
    card = json.loads(printed.out)
    assert (card["label"], card["labels"], card["baselines"]) == ("randomized", ["randomized"], ["sinusoidal"])
    assert card["verdict"] == ["randomized against sinusoidal, 1 table: better on even_pairs (4 seeds: a hint)."]
    (asked,) = card["tables"].values()
    assert (asked["chance"], asked["trained_lengths"], asked["score_lengths"]) == (0.5, [5, 10], [12, 15, 20, 30, 40])
    assert (asked["source"], asked["finished"]) == ("ablation copy_and_pairs", True)
    ways = {own["way"] for own in card["otherwise"]}
    assert ways == {"other tied rate"}, "checkpoints and temperatures are not there"


def test_json_is_what_the_file_holds_and_is_checked_like_it(ablation, capsys):
    assert main(["verdict", "--on", "abl", *ON_EVEN, "--json"]) == 3
    printed = capsys.readouterr()
    (line,) = (line for line in printed.err.splitlines() if line.startswith("card: "))
    assert Path(line.removeprefix("card: ")).read_text() == printed.out
    Path("saved.json").write_text(printed.out)
    assert main(["verdict", "--check", "saved.json", "--json"]) == 3
    assert capsys.readouterr().out == printed.out


def test_a_card_elsewhere_knows_those_of_the_default_directory(ablation):
    without_runs(ablation)
    asked = ["verdict", "--on", "abl", "--tables", "rsc"]
    assert [main(asked), main([*asked, "--directory", "elsewhere"])] == [3, 3]
    (card,) = Path("elsewhere").glob("cards/*/card.json")
    assert [own["label"] for own in json.loads(card.read_text())["earlier"]] == ["nope", "t5"]


def test_several_arms_are_one_family(ablation, capsys):
    without_runs(ablation)
    assert main(["verdict", "--on", "abl", "--tables", "rsc"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(
        "2 rows (p corrected for 2 rows): better: nope (p 0.002), t5 (p 0.002). Smallest p: 0.002, for nope: +0.9"
    )
    assert "corrected for 2 rows" in said
    together = judge_ablation(ablation, tables=["rsc"])
    alone = judge_ablation(ablation, ["T5"], tables=["rsc"])
    assert [own.label for own in together.findings] == ["nope", "t5"]
    p = next(own.p for own in together.findings if own.label == "t5")
    assert p == pytest.approx(max(2 * min(own.comparison.p for own in together.findings), alone.findings[0].p))


def test_outputs_that_are_text_and_windows_have_their_own_scores(tmp_path):
    folder = write_text_ablation(tmp_path / "text", {"en-de": (16, (8, 16, 32)), "lm": (64, (32, 64, 128))})
    card = judge_ablation(folder)
    assert {name: asked.metric for name, asked in card.tables.items()} == {"en-de": "chrf", "lm": "perplexity"}
    assert card.tables["en-de"].length_name(32) == "17-32"
    assert {own.label for own in card.findings} == {"rope", "alibi"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["rope", *ON_RSC],
            "abl: rope on rsc is not finished (seeds 0, 1, 2, 3): run the ablation again",
        ),
        (["fire"], "abl has no arm 'fire': choose among 'nope', 't5', 'alibi', 'rope', 'sinusoidal', 'randomized'"),
        (["nope", "--tables", "rcs"], "abl has no table 'rcs': did you mean 'rsc'?"),
        (["nope", "--against", "NoPE", "--tables", "rsc"], "abl: nope is compared with itself: name other arms"),
        (["--seeds", "4"], "--on abl trains nothing, and --seeds is about training: leave it out"),
        (["--check", "card.json"], "--check judges the scores in a card again: leave --on out"),
    ],
)
def test_refused_in_one_line(ablation, refusal, arguments, message):
    assert message in refusal("verdict", "--on", "abl", *arguments)
    assert not Path("runs").exists()


def test_arms_that_differ_in_more_than_the_encoding_are_named(ablation, capsys):
    for cell in CELLS:
        steps = {"nope": 10, "t5": 20}.get(cell["label"], 10)
        path = ablation / cell["directory"] / "config.json"
        path.parent.mkdir(exist_ok=True)
        config = {"type": "run", "posenc": [cell["label"]], "training": {"type": "training", "steps": steps}}
        sealed_files.write(path, {"format": FORMAT, "code": {}, "config": config})
    main(["verdict", "t5", "--on", "abl", "--tables", "rsc", "--against", "nope"])
    assert (
        "posenc: t5 differs from nope on rsc in more than the encoding, so a difference may be due to that: "
        "training.steps: 10 -> 20\n"
    ) in capsys.readouterr().err
    card = judge_ablation(ablation, ["t5"], ["nope"], ["rsc"])
    assert "t5 differs from nope on rsc in more than the encoding" in markdown_card(card)
    assert card_of(json.loads(json.dumps(record(card)))).unequal == card.unequal
    for cell in CELLS:
        path = ablation / cell["directory"] / "config.json"
        sealed_files.write(path, {"format": FORMAT, "code": {}, "config": {"type": "run", "posenc": [cell["label"]]}})
    main(["verdict", "t5", "--on", "abl", "--tables", "rsc", "--against", "nope"])
    assert "differs from" not in capsys.readouterr().err


def with_seeds(cell, seeds):
    return cell | {"seeds": seeds} if cell["label"] == "randomized" else cell


def with_code(cell):
    commit = "1" * 40 if cell["label"] == "randomized" else "2" * 40
    return cell | {"code": [{"version": "0.1.0", "commit": commit, "dirty": False, "seeds": [0, 1, 2, 3]}]}


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (
            {"cells": [with_seeds(cell, [0, 1, 2]) for cell in CELLS]},
            "randomized on even_pairs has seeds 0, 1, 2 and sinusoidal 0, 1, 2, 3, so they are no pairs: run the",
        ),
        ({"seeds": [0]}, "even_pairs has one seed, and a verdict compares two at least: run the ablation with more"),
        (
            {"chance": {"rsc": None, "even_pairs": None}},
            "nobody knows what guessing scores on even_pairs, whose score is accuracy: run the ablation",
        ),
        (
            {"cells": [with_code(cell) for cell in CELLS]},
            "its results are of several codes (posenc_jax 0.1.0, commit 222222222222; posenc_jax 0.1.0, commit 11",
        ),
    ],
)
def test_what_is_no_fair_comparison_is_refused(ablation, refusal, info, message):
    change(ablation, **info)
    assert message in refusal("verdict", "--on", "abl", *ON_EVEN)


def test_other_random_numbers_are_no_pairs(ablation, refusal):
    change(ablation, environments={name: {"began": {"prng": name}} for name in ("rbg", "threefry2x32")})
    rewrite(ablation, lambda row: row | {"environment": "rbg" if row["label"] == "randomized" else "threefry2x32"})
    assert "randomized on even_pairs drew other random numbers than sinusoidal with the same seeds" in refusal(
        "verdict", "--on", "abl", *ON_EVEN
    )
