"""A card is checked by its stored scores."""

import json
from pathlib import Path

import pytest

from posenc_jax.cli import main
from posenc_jax.files.checksums import seal

ROOT = Path(__file__).parent.parent.parent
CARDS = [
    *sorted(path for path in (ROOT / "experiments" / "verdicts").rglob("*.json") if path.parent.name != "repeats"),
    ROOT / "experiments" / "own_encoding" / "verdict.json",
]
FIRE = ROOT / "experiments" / "verdicts" / "fire-against-rope.json"


@pytest.fixture
def check(tmp_path, capsys):
    """Changes a card, checks it, and gives the exit code, the lines of the complaint and what was printed."""

    def of(change=lambda card: None, *options, sealed=True):
        card = json.loads(FIRE.read_text())
        change(card)
        card = seal({name: value for name, value in card.items() if name != "checksum"}) if sealed else card
        (tmp_path / "card.json").write_text(json.dumps(card))
        code = main(["verdict", "--check", str(tmp_path / "card.json"), *options])
        printed = capsys.readouterr()
        return code, printed.err.replace(f"posenc: {tmp_path / 'card.json'}: ", "").splitlines(), printed.out

    return of


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_every_committed_card_follows_from_its_scores(path, capsys):
    assert main(["verdict", "--check", str(path)]) == 0
    printed = capsys.readouterr()
    assert "and every number behind them follow from its scores" in printed.err
    assert json.loads(path.read_text())["label"] in printed.out


def test_one_altered_score_is_found(check):
    def alter(card):
        card["measured"]["FIRE"]["copy"]["by_length"]["16"]["3"] = 0.9

    code, lines, _ = check(alter)
    assert code == 1
    assert "measured: FIRE: copy: scores: 3: the scores give 0.925, the card says 0.8875" in lines
    first = "findings FIRE on copy against RoPE, final: comparison: difference: the scores give"
    assert any(line.startswith(first) for line in lines)
    assert not any("even_pairs" in line for line in lines if "comparison" in line)


def test_one_altered_word_is_found(check):
    def alter(card):
        card["findings"][2]["word"] = "better"

    code, lines, _ = check(alter)
    place = "findings FIRE on bucket_sort against RoPE, final: word"
    assert (code, lines) == (1, [f"{place}: the scores give no difference seen, the card says better"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda card: card.update(needs_more_seeds=True),
            "needs_more_seeds: the scores give False, the card says True",
        ),
        (lambda card: card["seeds"].__setitem__(0, 77), "seeds 0: the scores give 0, the card says 77"),
        (
            lambda card: card["measured"]["FIRE"]["copy"]["learning_rates"].update({"3": 0.5}),
            "measured: FIRE: copy: learning_rates: 3: the scores give 0.0005, the card says 0.5",
        ),
        (
            lambda card: card["measured"]["FIRE"]["copy"].update(tried={}),
            "FIRE on copy: there are no validation scores that its learning rates follow from",
        ),
    ],
)
def test_other_altered_members_are_found(check, change, said):
    code, lines, _ = check(change)
    assert code == 1
    assert any(said in line for line in lines), lines


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda card: card.pop("baselines"), "it lacks 'baselines'"),
        (lambda card: card.update(seeds=3), "its members do not fit together"),
        (
            lambda card: card["tables"]["copy"].update(length_names={"abc": "x"}),
            "its members do not fit together: invalid literal for int() with base 10: 'abc'",
        ),
    ],
)
def test_a_damaged_card_is_refused_with_the_member(check, change, why):
    code, lines, out = check(change)
    assert (code, len(lines), out) == (2, 1, "")
    assert f"card.json is not a whole card ({why}" in lines[0]
    assert lines[0].endswith("): restore it, or run `posenc verdict` again")


def test_members_of_later_versions_are_passed_over(check):
    def add(card):
        card["newer"] = card["tables"]["copy"]["newer"] = card["measured"]["FIRE"]["copy"]["newer"] = 1

    code, lines, _ = check(add)
    assert (code, len(lines)) == (0, 1), lines


def test_a_changed_file_says_so_by_its_checksum_too(check):
    code, lines, _ = check(lambda card: card.update(newer=1.0), sealed=False)
    assert (code, lines) == (1, ["checksum: its checksum is not that of its content"])


def test_json_is_the_card(check):
    code, _, out = check(lambda card: None, "--json")
    found, kept = json.loads(out), json.loads(FIRE.read_text())
    assert code == 0
    of_content = found.pop("checksum"), kept.pop("checksum")
    assert found == {"unequal": [], **kept}, "members that are newer than the card are empty"
    assert of_content == tuple(seal(own)["checksum"] for own in (found, kept))


def test_few_seeds_have_an_exit_code_of_their_own(check, tmp_path, capsys):
    def few(card):
        card["seeds"] = [0, 1, 2]
        for by_table in card["measured"].values():
            for cell in by_table.values():
                for of_seeds in (cell["scores"], cell["in_range"], *cell["by_length"].values()):
                    for seed in range(3, 8):
                        of_seeds.pop(str(seed), None)

    code, _, out = check(few, "--json")
    assert code == 1, "the numbers of eight seeds are still there"
    (tmp_path / "few.json").write_text(out)
    assert main(["verdict", "--check", str(tmp_path / "few.json"), "--json"]) == 3
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == (out, 2)
    assert printed.err.endswith("posenc: 3 seeds are too few for a claim: run the verdict with --seeds 8\n")
    assert json.loads(out)["needs_more_seeds"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON ("),
        ("[]", "holds no card: name a card.json of `posenc verdict`"),
        (
            '{"schema": 99, "measured": 0, "findings": 0, "tables": 0, "seeds": 0}',
            "has schema 99, and this version reads 4: check it with its own",
        ),
        ('{"schema": 4, "measured": {}, "findings": [], "tables": {"x": {}}, "seeds": []}', "is not a whole card ("),
    ],
)
def test_what_is_no_card_is_refused(refusal, tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    assert message in refusal("verdict", "--check", str(tmp_path / "x.json"))


def test_a_card_that_is_not_there_is_refused(refusal, tmp_path):
    path = tmp_path / "card.json"
    said = refusal("verdict", "--check", str(path))
    assert said == f"posenc: there is no file {path}: name a card.json of `posenc verdict`\n"


def test_a_directory_is_refused_by_its_name(refusal, tmp_path):
    said = refusal("verdict", "--check", str(tmp_path))
    assert said == f"posenc: {tmp_path} is a directory: name a card.json in it\n"


def test_what_is_asked_is_one_thing(refusal):
    assert "name an ENCODING to judge, your own question with --on, or a card with" in refusal("verdict")
    assert "--check judges the scores in a card again: leave rope out" in refusal("verdict", "rope", "--check", "x")
