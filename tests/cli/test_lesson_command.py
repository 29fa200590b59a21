"""``posenc lesson`` and the vectors of ``posenc show``: what they print and write, and what they refuse."""

import importlib.util
import re
from collections import Counter

import numpy as np
import pytest
from counts import counts

from posenc_jax.cli import lesson as command
from posenc_jax.cli import main
from posenc_jax.extras import install_command
from posenc_jax.show.lessons import LESSONS, numbered
from posenc_jax.show.lessons.lesson import Verdict
from posenc_jax.show.vector_tables import of_words


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # a narrow screen folds rows


def vectors(encoding, *more):
    return ("show", encoding, "--view", "vectors", *(() if "--d-model" in more else ("--d-model", "8")), *more)


def test_the_list_has_every_step_with_its_claim(printed):
    out = printed("lesson")
    assert max(map(len, out.splitlines())) <= 100
    found = re.findall(rf"^ ?(\d+)  (\w+) .*({'|'.join(Verdict.__args__)}) +(\d+) s$", out, re.MULTILINE)
    rows = [
        (str(n), own.name, one.verdict, str(own.seconds)) for n, own in enumerate(LESSONS, 1) for one in own.findings
    ]
    assert found == rows
    of_texts = Counter(verdict for *_, verdict, _ in found if verdict != "several claims")
    assert f"Claims of these texts: {of_texts.total()} (confirmed {of_texts['confirmed']}, " in out
    assert (of_texts.total(), of_texts["refuted"]) == (counts()["claims"], counts()["refuted"])
    assert all(f'("{source}")' in out for source in ("the chapter", "Herath's article", "the course"))


def test_a_step_by_number_and_by_name(printed):
    by_number = printed("lesson", str(numbered("formula")[0]))
    assert printed("lesson", "formula") == by_number
    assert by_number.startswith(f"{numbered('formula')[0]}. The formula, and its table at d_model 4\n")
    assert "2         0.9093  -0.4161" in by_number
    assert "Claim. PE(pos, 2i) = sin(pos / 10000^(2i/d_model))" in by_number
    assert "0.1411, -0.9900, 0.0300, 0.9996" not in by_number
    assert "0.1411, -0.9900, 0.0300, 0.9996" in printed("lesson", "formula", "--answer")


def test_code_can_be_copied_from_a_narrow_screen(printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    code = re.search(r"^```{code-cell} python\n(.*?)\n```$", numbered("vectors")[1].body, re.MULTILINE | re.DOTALL)[1]
    assert max(map(len, code.splitlines())) > 40
    assert code in printed("lesson", "vectors")


def test_parameters_of_an_encoding_are_said_to_be_drawn(printed):
    said = "The parameters of the encoding are as initialised"
    assert said in printed(*vectors("learned"))
    assert said not in printed(*vectors("sinusoidal"))


def test_without_the_extra_a_lesson_is_told_and_its_picture_is_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else found(name, *rest)
    )
    assert main(["lesson", "heatmap"]) == 0
    out, err = capsys.readouterr()
    assert "How to read the heat map" in out
    assert err == f"posenc: no picture without matplotlib: {install_command('report')}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_drawn_where_it_is_asked_for(capsys, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.chdir(tmp_path)

    def draw(arguments):
        drawn.append(arguments)
        return 0

    monkeypatch.setattr("posenc_jax.cli.show.main", draw)
    assert main(["lesson", "heatmap"]) == 0
    assert main(["lesson", "heatmap", "--output", "own"]) == 0
    names = ("heatmap-50x128", "lines-50x128")
    folders = ("lessons/heatmap", "own")
    assert drawn == [["--preset", n, "--output", f"{folder}/{n}.png"] for folder in folders for n in names]
    assert f"wrote lessons/heatmap/{names[0]}.png\nwrote lessons/heatmap/{names[1]}.png\n" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", [own.name for own in LESSONS if own.pictures])
def test_pictures_are_drawn(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", name]) == 0
    (folder,) = (tmp_path / "lessons").iterdir()
    _, lesson = numbered(name)
    assert {path.name for path in folder.iterdir()} == {f"{preset}.png" for preset in lesson.pictures}


def test_tables_fit_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    told = command._rendered(
        "# 1. A title\n\n`<pad>` and a table:\n\n| a | b |\n| --- | --- |\n| 1 | " + "long " * 30 + "|\n"
    )
    assert told.startswith("1. A title\n")
    assert "<pad>" in told
    assert max(map(len, told.splitlines())) <= 60


def test_vectors_of_positions_and_their_cosines(printed):
    out = printed(*vectors("sinusoidal", "--positions", "5", "6", "68"))
    rows = [line.split() for line in out.splitlines()]
    assert ["5", "-0.9589", "0.2837", "0.4794", "0.8776", "0.0500", "0.9988", "0.0050", "1.0000"] in rows
    assert ["5", "1.0000", "0.8838", "0.9479"] in rows
    assert "sinusoidal: d_model 8\n" in out


def test_vectors_of_two_words_before_and_after(capsys):
    text = "Eagles soar above the clouds during migration ."
    assert main([*vectors("sinusoidal", "--d-model", "512", "--text", text, "--words", "soar", "migration")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "of the positions 0.7406, of the sums" in out
    assert ": it rises, towards that of the positions." in out
    assert "8 of 512 dimensions: --dimensions names others." in out
    assert main([*vectors("sinusoidal", "--text", "the cat sat on the mat", "--words", "the", "the")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "the at 0, embedding" in out
    assert "the at 4, sum" in out
    assert "Cosine of the embeddings 1.0000" in out
    assert ": it falls" in out


def test_a_cosine_that_goes_away_from_that_of_the_positions_is_not_said_to_go_towards_it():
    drawn, added = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[-1.0, -0.5], [-1.0, -0.5]])
    (note, *_) = of_words(("a", "b"), (0, 1), drawn, added).notes
    assert note == "Cosine of the embeddings 0.6000, of the positions 1.0000, of the sums -0.6000: it falls."
