"""Overrides: what they change, what follows from them, and how they are documented."""

import dataclasses
import re
from pathlib import Path

import pytest

from posenc_jax import Ablation, Evaluation, Run, Training, parse, tasks, text
from posenc_jax.cli import main
from posenc_jax.cli.ablate import override_all
from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.overrides import field_help, named_anew, override_run
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
    chosen = override_run(run, list(arguments), "posenc train x.py", "")
    return chosen.run, chosen.directory


def test_without_overrides_nothing_changes():
    assert train(COPY) == (COPY, None)


def test_data_has_a_short_name():
    run = Run(task=text.Translation(), evaluation=Evaluation(lengths=(8,), decoded_examples=4, decoding=Beam(size=2)))
    changed, _ = train(
        run,
        *["--data.name", "own/help-en-fr", "--task.target", "fr", "--data.vocab-size=1000", "--data.no-in-memory"],
        *["--evaluation.decoding.size", "3"],
    )
    expected = text.Data(name="own/help-en-fr", vocab_size=1000, in_memory=False)
    assert changed.task == dataclasses.replace(run.task, data=expected, target="fr")
    assert changed.evaluation == dataclasses.replace(run.evaluation, decoding=Beam(size=3))


def test_typed_overrides():
    run, directory = train(
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
        *["--evaluation.lengths", "3", "5", "--learning-rates", "1e-3", "2e-3", "--directory", "some/where"],
    )
    assert directory == Path("some/where")
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
    run, _ = train(COPY, "--posenc", "alibi", "--task.kind", "mc")
    assert (run.table, run.label) == ("mc", "alibi")
    run, _ = train(COPY, "--posenc", "alibi", "--label", "mine")
    assert (run.table, run.label) == ("rsc", "mine")
    named = dataclasses.replace(COPY, label="mine", table="ours")
    run, _ = train(named, "--posenc", "alibi", "--task.kind", "mc")
    assert (run.table, run.label) == ("ours", "mine")


def test_an_override_applies_to_every_cell():
    """Also to those whose value the first cell has already."""
    longer = dataclasses.replace(COPY, posenc=parse("alibi"), label="", training=Training(steps=900, steps_per_call=50))
    ablation = Ablation(name="a", runs=(COPY, longer))
    changed, *_ = override_all(ablation, ["--training.steps", "100", "--task.kind", "mc"], "posenc ablate x.py")
    assert [run.training.steps for run in changed.runs] == [100, 100]
    assert [(run.table, run.label) for run in changed.runs] == [("mc", "rope"), ("mc", "alibi")]
    changed, *_ = override_all(ablation, ["--seeds", "5"], "posenc ablate x.py")
    assert [run.training.steps for run in changed.runs] == [100, 900]


def test_an_override_that_makes_two_cells_one_is_refused():
    deeper = dataclasses.replace(COPY, model=Transformer(num_layers=4), label="4 layers")
    shallow = dataclasses.replace(COPY, model=Transformer(num_layers=1), label="1 layer")
    ablation = Ablation(name="a", runs=(shallow, deeper))
    with pytest.raises(UsageError, match="rsc 1 layer and rsc 4 layers are one run under two names"):
        override_all(ablation, ["--model.num-layers", "2"], "posenc ablate x.py")
    changed, *_ = override_all(ablation, ["--training.steps", "50"], "posenc ablate x.py")
    assert [run.model.num_layers for run in changed.runs] == [1, 4]
    twins = Ablation(name="a", runs=(shallow, dataclasses.replace(shallow, label="again")))
    assert len(override_all(twins, ["--model.num-layers", "2"], "posenc ablate x.py")[0].runs) == 2


def test_a_label_of_other_encodings_does_not_stay():
    named = dataclasses.replace(COPY, label="RoPE")
    overrides = ["--posenc", "alibi"]
    assert named_anew(named, train(named, *overrides)[0], overrides).label == "alibi"
    overrides += ["--label=RoPE"]
    assert named_anew(named, train(named, *overrides)[0], overrides).label == "RoPE"
    overrides = ["--training.steps", "50"]
    assert named_anew(named, train(named, *overrides)[0], overrides).label == "RoPE"


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
    assert named_anew(named, train(named, *overrides)[0], overrides).table == table
    changed, _ = override_all(Ablation(name="a", runs=(named,)), overrides, "posenc ablate x.py")
    assert [one.table for one in changed.runs] == [table]
    two = Ablation(name="a", runs=(named, dataclasses.replace(named, table="with less", learning_rates=(1e-4,))))
    if "--table" not in overrides:  # the tables differ in what the config file says
        changed, _ = override_all(two, overrides, "posenc ablate x.py")
        assert [one.table for one in changed.runs] == ["ours", "with less"]


def test_an_option_that_is_given_twice_is_refused():
    with pytest.raises(UsageError, match="--seeds is given twice"):
        train(COPY, "--seeds", "0", "1", "--seeds", "5")
    with pytest.raises(UsageError, match=r"--training\.log-every is given twice"):
        train(COPY, "--training.log_every=5", "--training.log-every", "5")
    with pytest.raises(UsageError, match=r"--model\.tie-output is given twice"):
        train(COPY, "--model.tie-output", "--model.no-tie-output")


@pytest.mark.parametrize(
    "line",
    [
        "verdict rope --against alibi --against nope",
        "verdict rope --seed 3 --seeds=4",
        "aliases rope --pair 1 2 --pair 3 4",
        "data add x --text a --text b",
        "report a b -o c --output d",
        "plan configs/demo.py --target h100 --training.steps 4 --target=h200",
        "ablate configs/demo.py --executor local --executor slurm",
        "train configs/copy_rope.py --process 0 --process 1",
        "evaluate x --steps 3 --steps 4",
    ],
)
def test_no_command_takes_the_last_of_two_in_silence(capsys, monkeypatch, tmp_path, line):
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    assert re.search(r"--[a-z]+ is given twice, and only one of the two would count", capsys.readouterr().err)


def test_an_override_that_a_cell_cannot_take():
    ablation = Ablation(name="a", runs=(COPY, Run(task=tasks.EvenPairs())))
    with pytest.raises(UsageError, match=r"to every cell, and even_pairs nope cannot take it: it has no --task\.kind;"):
        override_all(ablation, ["--task.kind", "mc"], "posenc ablate x.py")


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
