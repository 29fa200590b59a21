"""Classes of the user's own files on command lines: ``mine.py:Mine(width=2)``."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from posenc_jax import Evaluation, Run, Training, tasks
from posenc_jax.analysis import views
from posenc_jax.cli import main
from posenc_jax.cli.errors import UsageError, guarded
from posenc_jax.cli.overrides import override_run
from posenc_jax.cli.own_files import own_class, read_metrics, read_slot, read_task
from posenc_jax.cli.scores import score_table
from posenc_jax.data.metric import Metric, with_metrics
from posenc_jax.encodings import Dims, PositionalEncoding, Randomized, RoPE, parse, spec
from posenc_jax.encodings.structure import Coordinates, StructureMask, seen_by_structure
from posenc_jax.encodings.value import WrongReturnError
from posenc_jax.models.config import Transformer
from posenc_jax.runs.preflight import check_run

ROOT = Path(__file__).parents[2]
SOURCE = """
import dataclasses

import jax.numpy as jnp

from posenc_jax.data.metric import Metric
from posenc_jax.data.tasks import EvenPairs
from posenc_jax.encodings import PositionalEncoding, RoPEScaling


@dataclasses.dataclass(frozen=True)
class Mine(PositionalEncoding):
    base: float = 2.0
    inner: PositionalEncoding | None = None
    label: str = ""
    name = "mine"
    paper = citation = ""

    def bias(self, params, geometry):
        return -jnp.abs(jnp.asarray(geometry.relative, jnp.float32))[:, None] / self.base


@dataclasses.dataclass(frozen=True)
class Stretch(RoPEScaling):
    name = "stretch"
    factor: float = 1.0


class Thawed(PositionalEncoding):
    pass


@dataclasses.dataclass(frozen=True)
class Pairs(EvenPairs):
    extra: int = 0
    name = "pairs"


@dataclasses.dataclass(frozen=True)
class Right(Metric):
    k: int = 1
    name = "right"

    def sums(self, logits, example):
        right = (logits.argmax(axis=-1) == example.targets) * example.weights
        return {"right": self.k * jnp.sum(right), "all": jnp.sum(example.weights)}

    def score(self, sums):
        return sums["right"] / sums["all"]


@dataclasses.dataclass(frozen=True)
class Loss(Right):
    name = "loss"
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder of the user's, whose modules no other test sees."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_own.py").write_text(SOURCE)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


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
        ("none.py:Mine", r"none.py:Mine: there is no file none.py"),
        ("my_owm.py:Mine", r"there is no file my_owm.py; did you mean my_own.py\?"),
        ("my_own.py:Mind", r"my_own.py has no class Mind: did you mean my_own.py:Mine\?"),
        ("my_own.py:jnp", r"my_own.py has no class jnp: it has Mine, Stretch, Thawed, Pairs, Right, Loss"),
        ("my_own.py:Thawed", r"my_own.py:Thawed is no frozen dataclass: write @dataclasses.dataclass\(frozen=True\)"),
        ("my_own.py:Pairs", r"my_own.py:Pairs is no encoding: it takes a frozen dataclass with the base class Posit"),
        ("rope(scaling=my_own.py:Mine)", r"no value of RoPE.scaling: .* with the base class RoPEScaling"),
        ("rope(base=my_own.py:Mine)", r"my_own.py:Mine is no value of RoPE.base: it takes no calls"),
        ("my_own.py:Mine(bas=2)", r"Mine has no field 'bas': did you mean 'base'\?"),
        ("my_own.py", r"the class of the encoding is missing: name it, as in my_own.py:Mine or my_own.py:Thawed$"),
        ("rope|./my_own.py(base=3)", r"^./my_own.py\(base=3\) names a file, and .* as in ./my_own.py:Mine or"),
        ("my_owm.py", r"'my_owm.py' is not an encoding: name its class, as in mine.py:Mine"),
        ("plain.py:B", r"plain.py has no class B: its A is no PositionalEncoding, Task or Metric: give it the base"),
        ("plain.py", r"is missing: it has no encoding: its A is no PositionalEncoding, Task or Metric"),
        ("my_own.py:", r"^my_own.py: names a file, and the class of the encoding is missing: name it, as in my_own"),
        ("my_owm.py:", r"cannot read the encoding 'my_owm.py:' .*: write calls joined by"),
        ("my-own.py:Mine", r"my-own.py is no name of a module: rename it, as in my_own.py"),
        ("numpy.py:Mine", r"numpy.py is called like an installed module"),
        ("rope|my_own.py:Mine(2", r"cannot read the encoding .*never closed at character 20"),
    ],
)
def test_what_is_no_encoding(mine, text, message):
    for name in ("my-own.py", "numpy.py"):
        (mine / name).write_text(SOURCE)
    (mine / "plain.py").write_text("class A:\n    pass\n")
    with pytest.raises((UsageError, ValueError), match=message):
        read_slot(text)


@pytest.mark.parametrize(
    ("source", "shown", "message"),
    [
        ("import nothing_there\n", ["line 1, in <module>", "import nothing_there"], "ModuleNotFoundError: No module"),
        ("def f(:\n", ["line 1", "SyntaxError"], "SyntaxError"),
        ("x = 1\n\nraise SystemExit(3)\n", ["line 3, in <module>"], "SystemExit: 3"),
        ("raise RuntimeError('one\\ntwo')\n", ["line 1, in <module>"], "(RuntimeError: one)"),
        ("x = 1\0", ["null bytes"], "null bytes"),
        (b"x = '\xff'", ["can't decode byte 0xff"], "can't decode byte 0xff"),
    ],
)
def test_a_file_that_fails_shows_its_traceback_then_one_line(mine, capsys, source, shown, message):
    (mine / "broken.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    assert main(["aliases", "broken.py:Mine"]) == 2
    *trace, line = capsys.readouterr().err.splitlines()
    assert line.startswith("posenc: broken.py cannot be imported (")
    assert message in line
    assert line.endswith("): mend it, or install what it needs")
    assert [word for word in shown if word not in "\n".join(trace)] == []
    assert "posenc_jax/cli" not in "\n".join(trace)
    assert "broken" not in sys.modules


FAILS_LATER = """
import dataclasses
from posenc_jax.encodings import PositionalEncoding

@dataclasses.dataclass(frozen=True)
class Built(PositionalEncoding):
    name = "built"
    paper = citation = ""

    def __post_init__(self):
        raise RuntimeError("no such thing\\nand more of it")

@dataclasses.dataclass(frozen=True)
class Hook(PositionalEncoding):
    name = "hook"
    paper = citation = ""

    def bias(self, params, geometry):
        return geometry.relative.nosuch
"""


@pytest.mark.parametrize(
    ("arguments", "where", "what"),
    [
        (["aliases", "later.py:Built"], "line 11, in __post_init__", "RuntimeError: no such thing"),
        (["audit", "later.py:Built"], "line 11, in __post_init__", "RuntimeError: no such thing"),
        (["aliases", "later.py:Hook"], "line 19, in bias", "AttributeError: 'numpy.ndarray' object has no attribute"),
    ],
)
def test_a_class_that_fails_later_shows_its_own_lines_then_one(mine, capsys, arguments, where, what):
    (mine / "later.py").write_text(FAILS_LATER)
    assert main(arguments) == 1
    *trace, line = capsys.readouterr().err.splitlines()
    assert line.startswith(f"posenc: later.py, {where} failed ({what}")
    assert line.endswith("): mend it, then run the same command again")
    assert trace[0] == "Traceback (most recent call last):"
    assert [place for place in trace if place.startswith("  File")] == [f'  File "{mine}/later.py", {where}']


def test_a_mask_of_numbers_is_refused_in_one_line(capsys):
    class Floaty(StructureMask):
        name = "floaty"

        def sees(self, query, key):
            return (query.types == key.types) * 1.0

    types = np.array([[1, 2, 3]])
    place = Coordinates(types, None)
    assert guarded(lambda: seen_by_structure(Floaty(), place, place)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "posenc: Floaty.sees returns float32, and a mask is True or False: compare, as with =="


UNUSABLE = """
import abc
import dataclasses

from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class Abstract(PositionalEncoding, abc.ABC):
    name = "abstract"

    @abc.abstractmethod
    def slope(self): ...


@dataclasses.dataclass(frozen=True)
class Table(PositionalEncoding):
    table: dict = dataclasses.field(default_factory=dict)
    name = "table"


@dataclasses.dataclass(frozen=True)
class Hint(PositionalEncoding):
    size: "Nowhere" = 3
    name = "hint"


@dataclasses.dataclass(frozen=True)
class Function(PositionalEncoding):
    of_distance: object = abs
    name = "function"


@dataclasses.dataclass(frozen=True)
class Apart(PositionalEncoding):
    size: float = dataclasses.field(default=3.0, compare=False)
    name = "apart"


@dataclasses.dataclass(frozen=True)
class Fixed(PositionalEncoding):
    size: float = dataclasses.field(default=3.0, init=False)
    name = "fixed"


@dataclasses.dataclass(frozen=True)
class Alike(PositionalEncoding):
    size: float = 3.0
    name = "alike"

    def __eq__(self, other):
        return True

    __hash__ = PositionalEncoding.__hash__


@dataclasses.dataclass(frozen=True, eq=False)
class Shorter(Function):
    of_distance: int = 3
    size: float = 3.0
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad.py:Abstract", "bad.py:Abstract is abstract, it lacks slope: write that"),
        ("bad.py:Table", "Table.table is of type dict, and a field is a number, bool, string, None, tuple of"),
        (
            "bad.py:Function",
            "Function.of_distance is of type builtin_function_or_method, and a field is a number, bool,",
        ),
        ("bad.py:Fixed", "Fixed.size has init=False, and a stored value is made of its fields: leave that out"),
        ("bad.py:Apart", "Apart.size has compare=False, and values that are equal share one program: let"),
        ("bad.py:Alike", "Alike has an __eq__ of its own, and values that are equal share one program: let"),
        ("bad.py:Shorter", "Shorter has an __eq__ of its own, and values that are equal share one program: let"),
        ("bad.py:Hint", "the annotations of Hint cannot be read (NameError: name 'Nowhere' is not defined): import"),
        ("bad.py:Hint(size=3)", "the annotations of Hint cannot be read (NameError: name 'Nowhere' is not defined)"),
        ("folder.py:Mine", "folder.py is a directory: name a Python file in it, as in folder.py/mine.py:Mine"),
        ("gone.py:Mine", "gone.py is a link that leads to no file: name the file itself"),
        (" ", "' ' names no encoding: write nope for none"),
        ("my folder/bad.py:Table", "write a path with blanks in quotes, as in 'my folder/mine.py':Mine"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(mine, refusal, text, message):
    (mine / "bad.py").write_text(UNUSABLE)
    (mine / "folder.py").mkdir()
    (mine / "gone.py").symlink_to("nowhere.py")
    assert message in refusal("aliases", text)


RETURNS = """
import dataclasses

import jax.numpy as jnp

from posenc_jax.data.metric import Metric
from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class Flat(PositionalEncoding):
    name = "flat"
    shift_invariant = True

    def bias(self, params, geometry):
        return -jnp.abs(jnp.asarray(geometry.relative, jnp.float32))


@dataclasses.dataclass(frozen=True)
class Number(Flat):
    name = "number"

    def bias(self, params, geometry):
        return 3


@dataclasses.dataclass(frozen=True)
class Nothing(Metric):
    name = "nothing"


@dataclasses.dataclass(frozen=True)
class Listed(Metric):
    name = "listed"

    def sums(self, logits, example):
        return [1.0]


@dataclasses.dataclass(frozen=True)
class Raises(Metric):
    name = "raises"

    def sums(self, logits, example):
        raise ValueError("no such sums")


@dataclasses.dataclass(frozen=True)
class Late(Metric):
    name = "late"

    def sums(self, logits, example):
        return {"right": jnp.sum(logits)}

    def score(self, sums):
        return sums["rigth"] / 2


@dataclasses.dataclass(frozen=True)
class Text(Late):
    name = "text"

    def score(self, sums):
        return "good"


@dataclasses.dataclass(frozen=True)
class Short(Late):
    name = "short"

    def sums(self, logits):
        return {"right": jnp.sum(logits)}


@dataclasses.dataclass(frozen=True)
class Bare(Flat):
    name = "bare"

    def bias(self, geometry):
        return geometry
"""


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("Flat", 2, "Flat.bias returns an array of shape [1, 16, 16] where an array [batch, heads, queries, keys] is"),
        ("Number", 2, "Number.bias returns int where an array [batch, heads, queries, keys] is needed"),
        ("Nothing", 1, "wrong.py:Nothing has no sums of its own, which is asked for: write it in the class"),
        ("Listed", 2, "Listed.sums returns list, and sums are a dict of arrays by name"),
        ("Raises", 1, "in sums failed (ValueError: no such sums): mend it"),
        ("Late", 1, "in score failed (KeyError: 'rigth'): mend it"),
        ("Text", 2, "Text.score returns str, and a score is one number"),
        ("Short", 1, "Short.sums() takes 2 positional arguments but 3 were given (it is called with other arguments)"),
        ("Bare", 1, "Bare.bias() takes 2 positional arguments but 3 were given (it is called with other arguments)"),
    ],
)
def test_what_returns_something_else_is_said_in_one_line(mine, capsys, kind, code, message):
    (mine / "wrong.py").write_text(RETURNS)
    own = own_class("wrong.py", kind)()

    def asked():
        if isinstance(own, PositionalEncoding):
            views.bias((own,), Dims(d_model=8, num_heads=1, num_kv_heads=1, head_dim=8, num_layers=1, max_len=16), 16)
        else:
            check_run(Run(task=tasks.Copying(), evaluation=Evaluation(lengths=(8,), metrics=(own,))))
        return 0

    assert guarded(asked) == code
    *trace, line = capsys.readouterr().err.splitlines()
    assert message in line
    assert bool(trace) == (kind in ("Raises", "Late"))


def test_a_score_is_one_number():
    @dataclasses.dataclass(frozen=True)
    class Two(Metric):
        name = "two"

        def score(self, sums):
            return np.ones(2)

    with pytest.raises(WrongReturnError, match=r"Two.score returns ndarray of shape \[2\], and a score is one number"):
        with_metrics((Two(),), {})


def test_an_error_of_our_own_keeps_its_traceback():
    def broken():
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        guarded(broken)


def test_an_audit_refuses_parameters_that_are_no_arrays(mine, capsys):
    init = "    def init(self, key, dims):\n        return {'s': 0.5}\n\n"
    (mine / "number.py").write_text(SOURCE.replace("    def bias", init + "    def bias", 1))
    assert main(["audit", "number.py:Mine", "--no-timing"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == "posenc: Mine.init's ['s'] is 0.5, of type float, not an array"


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
    return override_run(RUN, list(arguments), "posenc train x.py", "").run


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
        (["--task"], "--task needs a task, as in"),
        (["--task", "copying", "--task", "scan"], "--task is given twice"),
        (["--task", "copying|scan"], "a run has one task, and here are 2"),
        (["--task", "copyin"], r"--task: unknown task 'copyin': did you mean 'copying'\?"),
        (["--task", "my_own.py:Mine"], "--task: my_own.py:Mine is no task: .* base class Task"),
        (["--task", "my_own.py:Pairs(max_length=0)"], "--task: Pairs.max_length = 0"),
        (["--task", "./my_own.py"], "the class of the task is missing: name it, as in ./my_own.py:Pairs$"),
        (
            ["--metrics", "my_own.py"],
            "class of the metric is missing: name it, as in my_own.py:Right or my_own.py:Loss",
        ),
        (["--metrics", "unusable.py"], "it has no metric: write one, as `posenc new` does$"),
        (["--metrics", "accuracy"], r"--metrics: unknown metric 'accuracy' \(name a class of a file, as in mine.py"),
        (["--metrics", "my_own.py:Right|my_own.py:Right"], "metrics: right is given twice: name each once"),
        (["--metrics", "my_own.py:Loss"], "metrics: 'loss' is a column that results have already"),
        (["--metrics", "my_own.py:Right/my_own.py:Loss"], "/ stands between layers of encodings only"),
        (["--posenc", "my_own.py:Mine(base='x')"], "--posenc: Mine.base = 'x' must be of type float"),
    ],
)
def test_what_is_no_task_or_metric(mine, arguments, message):
    (mine / "unusable.py").write_text(UNUSABLE)
    with pytest.raises(UsageError, match=message):
        changed(*arguments)


def test_a_task_alone_is_read_too(mine):
    assert read_task("even_pairs(max_length=3)") == tasks.EvenPairs(max_length=3)


CONFIG = """
from posenc_jax import Evaluation, Run, Training, tasks
from posenc_jax.models.config import Transformer

config = Run(
    task=tasks.EvenPairs(max_length=6),
    model=Transformer(d_model=16, num_layers=1, num_heads=2),
    training=Training(steps=2, batch_size=4, steps_per_call=2, log_every=2),
    evaluation=Evaluation(lengths=(4,), num_examples=8),
    seeds=(0,),
)
"""


@pytest.mark.slow  # in small: tests/cli/test_new_command.py and test_own_code.py
def test_a_run_trains_with_them_and_finds_them_again_in_its_copy(mine, tmp_path_factory):
    (mine / "config_here.py").write_text(CONFIG)
    named = [
        "--posenc",
        "randomized(max_position=64)|my_own.py:Mine(base=5)",
        "--task",
        "my_own.py:Pairs(max_length=6)",
    ]
    done = posenc("train", "config_here.py", *named, "--metrics", "my_own.py:Right", "--directory", "run", cwd=mine)
    assert done.returncode == 0, done.stderr
    (result,) = (mine / "run").rglob("result.json")
    (row,) = json.loads(result.read_text())["replicas"][0]["evaluation"]
    assert row["right"] == pytest.approx(row["accuracy"])
    stored = json.loads((mine / "run" / "config.json").read_text())
    assert set(stored["code"]) == {"my_own.py:Mine", "my_own.py:Pairs", "my_own.py:Right"}
    again = posenc("train", "config_here.py", *named, "--metrics", "my_own.py:Right", "--directory", "run", cwd=mine)
    assert "already complete" in again.stderr
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    asked = ["evaluate", str(mine / "run"), "--lengths", "5"]
    refused = posenc(*asked, cwd=elsewhere)
    assert (refused.returncode, "no file of a run is run unasked" in refused.stderr) == (2, True)
    found = posenc(*asked, "--trust", str(mine / "run"), cwd=elsewhere)
    assert found.returncode == 0, found.stderr
    (mine / "my_own.py").write_text(SOURCE.replace("-jnp.abs", "jnp.abs"))
    other = posenc("train", "config_here.py", *named, "--metrics", "my_own.py:Right", "--directory", "run", cwd=mine)
    assert other.returncode == 2
    assert "my_own.py:Mine has changed" in other.stderr


def posenc(*arguments, cwd):
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "NPROC": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "posenc_jax", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_an_audit_reads_the_file_in_each_of_its_processes(mine, capsys):
    from posenc_jax.cli.audit import row_of

    row = row_of("my_own.py:Mine(base=3)")
    assert (row.name, row.spec) == ("mine(base=3.0)", "my_own.py:Mine(base=3)")
    assert dataclasses.astuple(row_of("rope"))[2] == "rope"
    assert main(["show", "my_own.py:Thawed"]) == 2
    assert "my_own.py:Thawed is no frozen dataclass" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def bias(self, params, geometry): return None", "Odd.bias returns NoneType, not an array [B, H, Q, K]"),
        ("def bias(self, params, geometry): return jnp.zeros((3, 2))", "Odd.bias returns float32[3, 2], not an array"),
        ("def init(self, key, dims): return {'a': jnp.arange(3)}", "Odd.init's array ['a'] is int32, and parameters"),
        ("def init(self, key, dims): return {'a': 3}", "Odd.init's ['a'] is 3, of type int, not an array"),
    ],
)
@pytest.mark.parametrize("command", ["train", "ablate"])
def test_what_no_model_can_use_is_refused_before_anything_is_written(
    tmp_path, monkeypatch, capsys, command, body, message
):
    monkeypatch.chdir(tmp_path)
    cell = "Run(task=tasks.EvenPairs(max_length=8), posenc=(Odd(),))"
    whole = cell if command == "train" else f"Ablation(name='odd', runs=({cell},))"
    Path("config.py").write_text(
        "import dataclasses\nimport jax.numpy as jnp\nfrom posenc_jax import Ablation, Run, tasks\n"
        "from posenc_jax.encodings import PositionalEncoding\n@dataclasses.dataclass(frozen=True)\n"
        "class Odd(PositionalEncoding):\n    name = 'odd'\n    def embed(self, params, x, sequence): return x\n"
        f"    {body}\nconfig = {whole}\n"
    )
    assert main([command, "config.py", "--directory", "made"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("made").exists()


def test_an_encoding_called_like_one_of_ours_is_refused(mine, capsys):
    (mine / "alike.py").write_text(SOURCE.replace('name = "mine"', 'name = "rope"'))
    assert main(["audit", "alike.py:Mine"]) == 2
    assert "has name = 'rope', which is an encoding of posenc_jax, and results would not tell the two apart" in (
        capsys.readouterr().err
    )


def test_an_encoding_without_a_hook_is_refused(mine, capsys):
    (mine / "typo.py").write_text(
        "import dataclasses\nfrom posenc_jax.encodings import PositionalEncoding\n"
        "@dataclasses.dataclass(frozen=True)\nclass Typo(PositionalEncoding):\n    name = 'typo'\n"
        "    def biass(self, params, geometry): return None\n"
    )
    assert main(["audit", "typo.py:Typo"]) == 2
    assert "did you mean bias by biass?" in capsys.readouterr().err
