"""Classes of the user's own files on command lines: ``mine.py:Mine(width=2)``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from own_source import SOURCE

from posenc_jax import Evaluation, Run, Training, tasks
from posenc_jax.cli import main
from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.overrides import override_run
from posenc_jax.cli.own_files import own_class, read_metrics, read_slot, read_task
from posenc_jax.cli.scores import score_table
from posenc_jax.encodings import Randomized, RoPE, parse, spec
from posenc_jax.models.config import Transformer

ROOT = Path(__file__).parents[2]


def test_a_class_of_a_file_stands_wherever_a_word_does(mine):
    (slot,) = read_slot("my_own.py:Mine(base=5e4)")
    cls = type(slot)
    assert slot == cls(base=5e4)
    assert slot.base == 5e4
    assert cls.__module__ == "my_own"
    assert read_slot("randomized(max_position=2048)|./my_own.py:Mine(5)") == (Randomized(2048), cls(5.0))
    assert read_slot("my_own.py:Mine(inner=rope(base=5e5), label='x.py:Y|/')") == (
        cls(inner=RoPE(base=5e5), label="x.py:Y|/"),
    )
    assert read_slot("my_own.py:Mine(inner=my_own.py:Mine(3))") == (cls(inner=cls(3.0)),)
    ((scaled,),) = (read_slot("rope(scaling=my_own.py:Stretch(2))"),)
    assert type(scaled.scaling).__name__ == "Stretch"
    assert not list(mine.rglob("__pycache__"))
    assert spec(slot) == "mine(base=50000.0)"


def test_a_path_goes_on_over_slashes_and_may_stand_in_quotes(mine):
    (mine / "deep down").mkdir()
    (mine / "deep down" / "other.py").write_text(SOURCE)
    (slot,) = read_slot("'deep down/other.py':Mine(4)")
    assert type(slot).__module__ == "deep down.other"
    pattern = read_slot("rope / my_own.py:Mine/nope")
    assert pattern == ((RoPE(),), (own_class("my_own.py", "Mine")(),), ())
    assert read_slot("my_own.py:Mine/my_own.py:Mine") == (pattern[1], pattern[1])
    assert read_slot(f"{mine}/my_own.py:Mine") == read_slot("my_own.py:Mine")
    with pytest.raises(UsageError, match=r"there is no file rope/my_own.py; between layers write / with blanks"):
        read_slot("rope/my_own.py:Mine")


def test_without_a_reader_no_file_is_named(mine):
    with pytest.raises(ValueError, match=r"my_own.py:Mine names a class in a file, and only commands read files"):
        parse("my_own.py:Mine")
    assert "my_own" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my_owm.py:Mine", r"there is no file my_owm.py; did you mean 'my_own.py'\?"),
        ("my_own.py:Mind", r"my_own.py has no class Mind: did you mean 'Mine'\?"),
        (
            "my_own.py:jnp",
            r"my_own.py has no class jnp: it has Mine, Stretch, Thawed, Pairs, Right, Loss",
        ),
        ("my_own.py:Thawed", r"my_own.py:Thawed is no frozen dataclass: write @dataclasses.dataclass\(frozen=True\)"),
        ("my_own.py:Pairs", r"my_own.py:Pairs is no encoding: it takes a frozen dataclass with the base class Posit"),
        ("rope(scaling=my_own.py:Mine)", r"no value of RoPE.scaling: .* with the base class RoPEScaling"),
        ("rope(base=my_own.py:Mine)", r"my_own.py:Mine is no value of RoPE.base: it takes no calls"),
        ("my_own.py:Mine(bas=2)", r"Mine has no field 'bas': did you mean 'base'\?"),
        ("my_owm.py", r"'my_owm.py' is not an encoding: name its class, as in mine.py:Mine"),
        ("my-own.py:Mine", r"my-own.py is no name of a module: rename it, as in my_own.py"),
        ("numpy.py:Mine", r"numpy.py is called like an installed module"),
        ("rope|my_own.py:Mine(2", r"cannot read the encoding .*never closed at character 20"),
    ],
)
def test_what_is_no_encoding(mine, text, message):
    for name in ("my-own.py", "numpy.py"):
        (mine / name).write_text(SOURCE)
    with pytest.raises((UsageError, ValueError), match=message):
        read_slot(text)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nothing_there\n", "broken.py, line 1: ModuleNotFoundError: No module named 'nothing_there'"),
        ("x = 1\n\nraise SystemExit(3)\n", "broken.py, line 3: SystemExit: 3"),
        ("raise RuntimeError('one\\ntwo')\n", "broken.py, line 1: RuntimeError: one"),
        ("x = 1\0", "broken.py"),
        (b"x = '\xff'", "can't decode byte 0xff"),
    ],
)
def test_a_file_that_fails_is_one_line(mine, refusal, source, message):
    (mine / "broken.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    assert message in refusal("aliases", "broken.py:Mine")
    assert "broken" not in sys.modules


def test_two_files_of_one_name_are_not_mixed(mine, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "my_own.py").write_text(SOURCE)
    assert read_slot(f"{other}/my_own.py:Mine") == read_slot(f"{other}/my_own.py:Mine")
    assert read_slot("my_own.py:Mine") == read_slot(f"{other}/my_own.py:Mine"), "the same source is the same code"
    (mine / "my_own.py").write_text(SOURCE + "\n")
    with pytest.raises(UsageError, match=rf"this process has another module my_own, from {other}/my_own.py: rename"):
        read_slot("my_own.py:Mine")


def test_a_file_elsewhere_finds_the_files_beside_it(mine, tmp_path_factory):
    other = tmp_path_factory.mktemp("beside")
    (other / "beside_me.py").write_text("BASE = 7.0\n")
    (other / "with_help.py").write_text(SOURCE.replace("2.0", "BASE").replace("import dataclasses", HELP, 1))
    (slot,) = read_slot(f"{other}/with_help.py:Mine")
    assert slot.base == 7.0
    del sys.modules["with_help"], sys.modules["beside_me"]


HELP = "import dataclasses\nfrom beside_me import BASE"
RUN = Run(
    task=tasks.EvenPairs(max_length=6),
    model=Transformer(d_model=16, num_layers=1, num_heads=2),
    training=Training(steps=2, batch_size=4, steps_per_call=2, log_every=2),
    evaluation=Evaluation(lengths=(4,), num_examples=8),
    seeds=(0,),
)


def changed(*arguments):
    return override_run(RUN, list(arguments), "train", "x.py")


def test_a_task_of_a_file_and_its_options(mine):
    run = changed("--task", "my_own.py:Pairs(max_length=8)", "--task.extra", "3")
    assert type(run.task).__name__ == "Pairs"
    assert (run.task.max_length, run.task.extra) == (8, 3)
    assert changed("--task=copying(kind='rsc')", "--task.max-length", "9").task == tasks.Copying("rsc", max_length=9)
    assert changed("--task", "copying").table == tasks.Copying().kind
    # The lengths of the config need not fit the task that is given with them.
    assert changed("--task", "scan", "--evaluation.lengths", "24").evaluation.lengths == (24,)


def test_metrics_of_a_file(mine):
    run = changed("--metrics", "my_own.py:Right|my_own.py:Right(k=2)")
    assert [spec(metric) for metric in run.evaluation.metrics] == ["right", "right(k=2)"]
    assert changed("--evaluation.metrics=my_own.py:Right").evaluation.metrics == run.evaluation.metrics[:1]
    assert read_metrics("") == ()


def test_own_metrics_have_a_table_in_the_terminal(mine):
    config = changed("--metrics", "my_own.py:Right|my_own.py:Right(k=2)")
    scores = {"accuracy": 0.5, "right": 0.25, "right(k=2)": 0.75}
    replica = {"seed": 0, "learning_rate": 0.1, "validation": scores, "evaluation": [{"length": 4, **scores}]}
    lines = score_table(config, [replica]).splitlines()
    assert [line.rpartition(": ")[2] for line in lines[::3]] == [
        "accuracy by length",
        "right by length",
        "right(k=2) by length",
    ]
    assert [line.split()[2:] for line in lines[2::3]] == [["0.500"] * 2, ["0.250"] * 2, ["0.750"] * 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "copying", "--task", "scan"], "--task is given twice"),
        (["--task", "copying|scan"], "a run has one task, and here are 2"),
        (["--task", "copyin"], r"--task: unknown task 'copyin': did you mean 'copying'\?"),
        (["--task", "my_own.py:Mine"], "--task: my_own.py:Mine is no task: .* base class Task"),
        (["--task", "my_own.py:Pairs(max_length=0)"], "--task: Pairs.max_length = 0"),
        (["--metrics", "accuracy"], r"--metrics: unknown metric 'accuracy' \(name a class of a file, as in mine.py"),
        (["--metrics", "my_own.py:Right|my_own.py:Right"], "metrics: right is given twice: name each once"),
        (["--metrics", "my_own.py:Loss"], "metrics: 'loss' is a column that results have already"),
        (["--metrics", "my_own.py:Right/my_own.py:Loss"], "/ stands between layers of encodings only"),
        (["--posenc", "my_own.py:Mine(base='x')"], "Mine.base = 'x' must be of type float"),
    ],
)
def test_what_is_no_task_or_metric(mine, arguments, message):
    with pytest.raises(UsageError, match=message):
        changed(*arguments)


def test_a_task_alone_is_read_too(mine):
    assert read_task("even_pairs(max_length=3)") == tasks.EvenPairs(max_length=3)


def test_an_audit_reads_the_file_in_each_of_its_processes(mine, refusal):
    from posenc_jax.cli.audit import row_of

    row = row_of("my_own.py:Mine(base=3)")
    assert (row["name"], row["spec"]) == ("mine(base=3.0)", "my_own.py:Mine(base=3)")
    assert row_of("rope")["spec"] == "rope"
    assert "my_own.py:Thawed is no frozen dataclass" in refusal("show", "my_own.py:Thawed")


def test_an_encoding_called_like_one_of_ours_is_refused(mine, capsys):
    (mine / "alike.py").write_text(SOURCE.replace('name = "mine"', 'name = "rope"'))
    assert main(["audit", "alike.py:Mine"]) == 2
    assert "has name = 'rope', which is an encoding of posenc_jax, and results would not tell the two apart" in (
        capsys.readouterr().err
    )
