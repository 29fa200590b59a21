"""Own classes that fail, or return something else: one line after their own lines."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from own_source import SOURCE, UNUSABLE

from posenc_jax import Evaluation, Run, tasks
from posenc_jax.analysis import views
from posenc_jax.cli import main
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.own_files import own_class
from posenc_jax.data.metric import Metric, with_metrics
from posenc_jax.encodings import Dims, PositionalEncoding
from posenc_jax.encodings.structure import Coordinates, StructureMask, seen_by_structure
from posenc_jax.encodings.value import WrongReturnError
from posenc_jax.runs.preflight import check_run

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
        ("folder.py:Mine", "there is no file folder.py"),
        ("gone.py:Mine", "there is no file gone.py"),
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
        ("Nothing", 1, "Nothing has no sums, which is asked for: write it"),
        ("Listed", 2, "Listed.sums returns list, and sums are a dict of arrays by name"),
        ("Raises", 1, "in sums failed (ValueError: no such sums): mend it"),
        ("Late", 1, "in score failed (KeyError: 'rigth'): mend it"),
        ("Text", 2, "Text.score returns str, and a score is one number"),
        ("Short", 1, "Short.sums() takes 2 positional arguments but 3 were given: write it as its base class has it"),
        ("Bare", 1, "Bare.bias() takes 2 positional arguments but 3 were given: write it as its base class has it"),
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
    tmp_path, monkeypatch, refusal, command, body, message
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
    assert message in refusal(command, "config.py", "--directory", "made")
    assert not Path("made").exists()
