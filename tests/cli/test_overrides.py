"""Overrides: what they change, what follows from them, and how they are documented."""

import dataclasses

import pytest

from posenc_jax import Ablation, Evaluation, Run, Training, parse, tasks, text
from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.overrides import field_help, override_all, override_run
from posenc_jax.config import Execution, Optimizer
from posenc_jax.models.config import Transformer
from posenc_jax.models.decoding_config import Beam

COPY = Run(
    task=tasks.Copying(kind="rsc", min_length=2, max_length=8),
    posenc=parse("rope"),
    training=Training(steps=100, steps_per_call=50),
    evaluation=Evaluation(lengths=(4, 16)),
)


def train(run, *arguments):
    return override_run(run, list(arguments), "train", "x.py")


def ablate(ablation, *arguments):
    return override_all(ablation, list(arguments), "ablate", "x.py")


def test_without_overrides_nothing_changes():
    assert train(COPY) == COPY


def test_data_has_a_short_name():
    run = Run(task=text.Translation(), evaluation=Evaluation(lengths=(8,), decoded_examples=4, decoding=Beam(size=2)))
    changed = train(
        run,
        *["--data.name", "own/help-en-fr", "--task.target", "fr", "--data.vocab-size=1000", "--data.no-in-memory"],
        *["--evaluation.decoding.size", "3"],
    )
    expected = text.Data(name="own/help-en-fr", vocab_size=1000, in_memory=False)
    assert changed.task == dataclasses.replace(run.task, data=expected, target="fr")
    assert changed.evaluation == dataclasses.replace(run.evaluation, decoding=Beam(size=3))


def test_typed_overrides():
    run = train(
        *[
            COPY,
            "--posenc",
            "randomized(max_position=64)|rope(base=5e5)",
            "--posenc-encoder",
            "None",
            "--seeds",
            "3",
            "1",
        ],
        *["--training.steps", "200", "--model.d-model", "32", "--model.tie-output", "--optimizer.clip-norm", "None"],
        *["--evaluation.lengths", "3", "5", "--learning-rates", "1e-3", "2e-3"],
    )
    assert run == dataclasses.replace(
        COPY,
        posenc=parse("randomized(max_position=64)|rope(base=5e5)"),
        seeds=(3, 1),
        training=dataclasses.replace(COPY.training, steps=200),
        model=Transformer(d_model=32, tie_output=True),
        optimizer=Optimizer(clip_norm=None),
        evaluation=Evaluation(lengths=(3, 5)),
        learning_rates=(1e-3, 2e-3),
        label="randomized(max_position=64)|rope(base=500000.0)",
    )


def test_names_follow_settings_unless_given():
    run = train(COPY, "--posenc", "alibi", "--task.kind", "mc")
    assert (run.table, run.label) == ("mc", "alibi")
    run = train(COPY, "--posenc", "alibi", "--label", "mine")
    assert (run.table, run.label) == ("rsc", "mine")
    named = dataclasses.replace(COPY, label="mine", table="ours")
    run = train(named, "--posenc", "alibi", "--task.kind", "mc")
    assert (run.table, run.label) == ("mc", "alibi")  # those of the file are of what was before
    assert train(named, "--training.steps", "50").label == "mine"


def test_an_override_applies_to_every_cell():
    """Also to those whose value the first cell has already."""
    longer = dataclasses.replace(COPY, posenc=parse("alibi"), label="", training=Training(steps=900, steps_per_call=50))
    ablation = Ablation(name="a", runs=(COPY, longer))
    changed = ablate(ablation, "--training.steps", "100", "--task.kind", "mc")
    assert [run.training.steps for run in changed.runs] == [100, 100]
    assert [(run.table, run.label) for run in changed.runs] == [("mc", "rope"), ("mc", "alibi")]
    changed = ablate(ablation, "--seeds", "5")
    assert [run.training.steps for run in changed.runs] == [100, 900]


def test_an_override_that_makes_two_cells_one_is_refused():
    deeper = dataclasses.replace(COPY, model=Transformer(num_layers=4), label="4 layers")
    shallow = dataclasses.replace(COPY, model=Transformer(num_layers=1), label="1 layer")
    ablation = Ablation(name="a", runs=(shallow, deeper))
    with pytest.raises(UsageError, match="two cells of this ablation are one run"):
        ablate(ablation, "--model.num-layers", "2")
    changed = ablate(ablation, "--training.steps", "50")
    assert [run.model.num_layers for run in changed.runs] == [1, 4]
    twins = Ablation(name="a", runs=(shallow, dataclasses.replace(shallow, label="again")))
    assert len(ablate(twins, "--model.num-layers", "2").runs) == 2


@pytest.mark.parametrize(
    ("run", "overrides", "table"),
    [
        (COPY, ["--task", "even_pairs"], "even_pairs"),
        (COPY, ["--task.kind", "mc"], "mc"),
        (COPY, ["--task.kind", "mc", "--table", "pairs"], "pairs"),
        (COPY, ["--training.steps", "50"], "ours"),
        (Run(task=text.Translation()), ["--data.name", "own/notes"], "translation"),
        (Run(task=text.Translation()), ["--task.target", "fr"], "ours"),
    ],
)
def test_a_table_of_another_task_or_corpus_does_not_stay(run, overrides, table):
    named = dataclasses.replace(run, table="ours")
    assert train(named, *overrides).table == table
    changed = ablate(Ablation(name="a", runs=(named,)), *overrides)
    assert [one.table for one in changed.runs] == [table]
    two = Ablation(name="a", runs=(named, dataclasses.replace(named, table="with less", learning_rates=(1e-4,))))
    if "--table" not in overrides:  # the tables differ in what the config file says
        changed = ablate(two, *overrides)
        assert [one.table for one in changed.runs] == ["ours", "with less"]


def test_an_override_that_a_cell_cannot_take():
    ablation = Ablation(name="a", runs=(COPY, Run(task=tasks.EvenPairs())))
    with pytest.raises(UsageError, match="to every cell, and even_pairs nope has no kind: change the config"):
        ablate(ablation, "--task.kind", "mc")


@pytest.mark.parametrize("cls", [Run, Training, Optimizer, Evaluation, Execution, Transformer, *tasks.TASKS.values()])
def test_every_field_is_documented(cls):
    texts = field_help(cls)
    assert [field.name for field in dataclasses.fields(cls) if not texts.get(field.name)] == []


def test_help_shows_values_and_texts(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as done:
        train(COPY, "--help")
    assert done.value.code == 0
    text = capsys.readouterr().out
    assert "--posenc ENCODINGS" in text
    assert "(default: rope)" in text
    assert "--training.steps-per-call INT" in text
    assert field_help(Training)["steps_per_call"] in " ".join(text.replace("│", " ").split())
    assert "Copy or reverse a string" in text
    assert "====" not in text  # tables of docstrings would be torn
