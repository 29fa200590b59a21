"""A verdict on a question of the user's own: a task, a config, a corpus."""

import dataclasses
import json
from pathlib import Path

import pytest

from posenc_jax import Ablation, Evaluation, Run, Training, Transformer
from posenc_jax.cli import main
from posenc_jax.cli import verdict as questions
from posenc_jax.cli.verdict import asked_on
from posenc_jax.config import source_of
from posenc_jax.data.tasks import Copying, EvenPairs
from posenc_jax.encodings import ALiBi, RoPE
from posenc_jax.verdict import deciding, own_questions
from posenc_jax.verdict.own_questions import SHORT_LIST, own_table, run_of

SMALL = Run(
    task=Copying(min_length=2, max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=1),
    training=Training(steps=4, batch_size=2, steps_per_call=2, log_every=2),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
    seeds=(0,),
    learning_rates=(1e-3,),
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a config, small.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.py").write_text(source_of(SMALL, "A small run."))
    return tmp_path


def test_a_task_alone_is_tested_up_to_twice_its_training_lengths():
    run = run_of(Copying(min_length=2, max_length=8))
    assert run.evaluation.lengths == (2, 4, 8, 10, 12, 16)
    assert run.model.pooling is None
    table = own_table("mine", run, "copies", "mine.py:Copies")
    assert (table.asked.trained_lengths, table.asked.score_lengths) == ((2, 4, 8), (10, 12, 16))


def test_a_single_learning_rate_has_its_half_and_its_double_beside_it():
    assert own_table("mine", SMALL, "", "").run.learning_rates == (5e-4, 1e-3, 2e-3)
    two = dataclasses.replace(SMALL, learning_rates=(1e-4, 1e-3))
    assert own_table("mine", two, "", "").run.learning_rates == (1e-4, 1e-3)


def test_the_encoding_is_left_open_and_nothing_else_is_changed():
    mine = dataclasses.replace(SMALL, posenc=(RoPE(),), label="mine", note="a note")
    run = own_table("copies", mine, "", "").run
    assert (run.posenc, run.label, run.note, run.table, len(run.seeds)) == ((), "nope", "", "copies", 8)
    assert (run.task, run.model, run.training) == (SMALL.task, SMALL.model, SMALL.training)
    cell = own_table("copies", mine, "", "").cell((ALiBi(),), "ALiBi", (0, 1))
    assert cell.training == SMALL.training, "without the checkpoints that published scores are of"


def test_every_table_of_an_ablation_is_a_question():
    other = dataclasses.replace(SMALL, table="pairs", task=EvenPairs(max_length=4))
    runs = (SMALL, dataclasses.replace(SMALL, label="alibi", posenc=(ALiBi(),)), other)
    assert list(own_questions.own_tables(Ablation("two", runs), "two.py")) == ["rsc", "pairs"]


def test_forms_of_the_question(home, monkeypatch):
    assert main(["new", "task", "inner"]) == 0
    monkeypatch.setattr(questions, "on_corpus", lambda name: dataclasses.replace(SMALL, table=name))
    (task,) = asked_on("inner.py:Inner(max_length=8)").values()
    assert (task.name, task.asked.chance, task.source) == ("inner", 0.125, "inner.py:Inner(max_length=8)")
    assert list(asked_on("copying(kind='rsc')")) == ["copying"]
    (config,) = asked_on("small.py").values()
    assert (config.run.model, config.source, config.asked.steps) == (SMALL.model, "small.py", 4)
    assert list(asked_on("longer")) == ["rsc", "even_pairs"], "a shipped config"
    (corpus,) = asked_on("own/notes").values()
    assert (corpus.name, corpus.question, corpus.source) == ("own/notes", "own/notes", "a corpus")


NO_CHANCE = """
import dataclasses
from posenc_jax.data.tasks import EvenPairs
from posenc_jax.data.tasks.base import Task

@dataclasses.dataclass(frozen=True)
class Guess(EvenPairs):
    name = "guess"
    chance = Task.chance
"""
TWO = """
import dataclasses
from posenc_jax import Ablation, Transformer
from small import config as run

other = dataclasses.replace(run, label="wide", model=Transformer(d_model=16, num_layers=1, num_heads=1))
config = Ablation("two", (run, other))
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alibi", "--full"], "--full is a size of published tables: leave it out, or name a config of that size"),
        (["axial_rope"], "axial_rope cannot be measured on rsc (axial_rope reads positions of 2 axes, and those of"),
        (["rope(scaling=yarn(factor=2, original_length=4))", "axial_rope"], "task 'copying' have 1): choose other"),
    ],
)
def test_refused_in_one_line(home, refusal, arguments, message):
    assert message in refusal("verdict", *arguments, "--on", "small.py")
    assert sorted(path.name for path in home.iterdir()) == ["small.py"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("guess.py:Guess(max_length=4)", "guess.py:Guess(max_length=4): nobody knows what guessing scores on task"),
        ("two.py", "two.py: cells of rsc differ in more than the encoding, so there are several questions: name a"),
        ("done/plaetau", "--on done/plaetau: there is no directory of that name in done, and no such corpus"),
        ("demos", "there is no config file configs/demos.py"),
        ("copying(kid='rsc')", "--on: Copying has no field 'kid': did you mean 'kind'?"),
        ("copying()|copying", "--on copying()|copying: a run has one task, and here are 2"),
        ("gone.py", "there is no config file gone.py; did you mean 'guess.py'?"),
        ("own/gone", "own/gone is not prepared in "),
    ],
)
def test_what_is_no_question_is_refused(home, refusal, asked, message):
    (home / "guess.py").write_text(NO_CHANCE)
    (home / "two.py").write_text(TWO)
    (home / "done").mkdir()
    (home / "done" / "config.json").write_text("{}")
    assert message in refusal("verdict", "alibi", "--on", asked)
    assert not (home / "runs").exists()


@pytest.mark.usefixtures("home")
def test_without_encodings_the_short_list_is_asked(monkeypatch, capsys):
    asked = {}

    def decide(ours, baselines, tables, directory, **more):
        asked.update(ours=list(ours), baselines=list(baselines), tables=list(tables))
        raise KeyboardInterrupt

    monkeypatch.setattr("posenc_jax.verdict.deciding.decide", decide)
    monkeypatch.setattr("posenc_jax.cli.verdict._check", lambda *encoding: None)  # the contract, which takes seconds
    for against in ([], ["--against", "nope"]):
        main(["verdict", "--on", "small.py", *against])
        assert len(asked["ours"]) == len(SHORT_LIST) - 1
        assert "192 trainings of 8 encodings on 1 table: about " in capsys.readouterr().err
        assert not set(asked["ours"]) & set(asked["baselines"])
    main(["verdict", "fire", "--on", "small.py", "--tables", "copy"])
    assert (asked["ours"], asked["tables"]) == (["FIRE"], ["rsc", "copy"]), "beside a table of ours"


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["small.py", "copying(max_length=4)"])
def test_a_small_card(home, capsys, monkeypatch, asked):
    """Trained, in each of the forms; that of a finished ablation is tested apart."""
    monkeypatch.setattr(own_questions, "STEPS", 20)
    monkeypatch.setattr(own_questions, "BATCH", 4)
    monkeypatch.setattr(deciding, "MOST_RATES", 2)
    capsys.readouterr()
    assert main(["verdict", "nope", "alibi", "--on", asked, "--seeds", "2", "--json"]) == 3
    printed = capsys.readouterr()
    (line,) = (line for line in printed.err.splitlines() if line.startswith("card: "))
    assert Path(line.removeprefix("card: ")).read_text() == printed.out
    card = json.loads(printed.out)
    assert card["labels"] == ["NoPE", "ALiBi"]
    assert [len(own["tried"]) >= 2 for own in card["measured"]["NoPE"].values()] == [True]
    assert card["otherwise"] == []
    assert [own["label"] for own in card["findings"]] == ["NoPE", "ALiBi"]
    (asked,) = card["tables"].values()
    assert asked["source"] in ("small.py", "copying(max_length=4)", "a corpus")


def test_of_rows_with_one_meaning_the_one_that_was_typed_is_named():
    from posenc_jax.cli.verdict import _named

    named = {"fox": "Forgetting Transformer (FoX)", "CABLE": "CABLE", "nope": "NoPE", "DroPE": "DroPE"}
    assert {text: _named(text)[0] for text in named} == named
