"""Own classes that fail, or return something else: one line after their own lines."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from posenc_jax import Evaluation, Run, tasks
from posenc_jax.analysis import views
from posenc_jax.cli import main
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.own_files import own_class
from posenc_jax.encodings import Dims, PositionalEncoding
from posenc_jax.encodings.interface.structure import Coordinates, StructureMask, seen_by_structure
from posenc_jax.runs.preflight import check_run

HEAD = """import abc
import dataclasses
import jax.numpy as jnp
from posenc_jax.data.metric import Metric
from posenc_jax.encodings import PositionalEncoding

@dataclasses.dataclass(frozen=True)
class Own({base}):
    name = "own"
"""


BUILT = "def __post_init__(self):\n    raise RuntimeError('one\\ntwo')"
SUMS = "def sums(self, logits, example):\n    return {'right': jnp.sum(logits)}\n"


def write(folder, body, base="PositionalEncoding"):
    """A file with one class."""
    (folder / "later.py").write_text(HEAD.format(base=base) + textwrap.indent(body, "    ") + "\n")


@pytest.mark.parametrize(
    ("command", "body", "where", "what"),
    [
        (
            "aliases",
            "def __post_init__(self):\n    raise RuntimeError('one\\ntwo')",
            "__post_init__",
            "RuntimeError: one",
        ),
        (
            "audit",
            "def __post_init__(self):\n    raise RuntimeError('one\\ntwo')",
            "__post_init__",
            "RuntimeError: one",
        ),
        ("aliases", "def bias(self, params, geometry):\n    return geometry.nosuch", "bias", "AttributeError: "),
    ],
)
def test_a_class_that_fails_later_shows_its_own_lines_then_one(mine, capsys, command, body, where, what):
    write(mine, body)
    assert main([command, "later.py:Own"]) == 1
    *trace, line = capsys.readouterr().err.splitlines()
    assert line.startswith(f"posenc: later.py, line 11, in {where} failed ({what}")
    assert line.endswith("): mend it, then run the same command again")
    assert trace[0] == "Traceback (most recent call last):"
    places = [place for place in trace if place.startswith("  File")]
    assert places == [f'  File "{mine}/later.py", line 11, in {where}']


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
    ("body", "message"),
    [
        ("@abc.abstractmethod\ndef slope(self): ...", "later.py:Own is abstract, it lacks slope: write that"),
        ("table: dict = dataclasses.field(default_factory=dict)", "Own.table is of type dict, and a field is a number"),
        ("of: object = abs", "Own.of is of type builtin_function_or_method, and a field is a number, bool,"),
        ("size: float = dataclasses.field(default=3.0, init=False)", "Own.size has init=False, and a stored value is"),
        ("size: float = dataclasses.field(default=3.0, compare=False)", "Own.size has compare=False, and values that"),
        ("def __eq__(self, other): return True", "Own has an __eq__ of its own, and values that are equal share one"),
        ("size: 'Nowhere' = 3", "the annotations of Own cannot be read (NameError: name 'Nowhere' is not defined)"),
        ("def biass(self, params, geometry): return None", "did you mean bias by biass?"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(mine, refusal, body, message):
    write(mine, body, "PositionalEncoding, abc.ABC" if "abstract" in body else "PositionalEncoding")
    assert message in refusal("audit", "later.py:Own", "--no-timing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("folder.py:Mine", "there is no file folder.py"),
        ("gone.py:Mine", "there is no file gone.py"),
        ("my folder/bad.py:Table", "write a path with blanks in quotes, as in 'my folder/mine.py':Mine"),
    ],
)
def test_what_is_no_file_is_said_in_one_line(mine, refusal, text, message):
    (mine / "folder.py").mkdir()
    (mine / "gone.py").symlink_to("nowhere.py")
    assert message in refusal("aliases", text)


@pytest.mark.parametrize(
    ("base", "body", "code", "message"),
    [
        (
            *("PositionalEncoding", "def bias(self, params, geometry): return jnp.zeros((1, 16, 16))", 2),
            "Own.bias returns an array of shape [1, 16, 16] where an array [batch, heads, queries, keys] is needed",
        ),
        ("PositionalEncoding", "def bias(self, params, geometry): return 3", 2, "Own.bias returns int where an array"),
        ("Metric", "", 1, "Own has no sums: write it"),
        ("Metric", "def sums(self, logits, example): return [1.0]", 2, "Own.sums returns list, and sums are a dict of"),
        (
            "Metric",
            "def sums(self, logits, example): raise ValueError('no')",
            1,
            "in sums failed (ValueError: no)",
        ),
        (
            "Metric",
            f"{SUMS}def score(self, sums): return sums['rigth']",
            1,
            "in score failed (KeyError: 'rigth')",
        ),
        (
            "Metric",
            f"{SUMS}def score(self, sums): return 'good'",
            2,
            "Own.score returns str, and a score is one",
        ),
    ],
)
def test_what_returns_something_else_is_said_in_one_line(mine, capsys, base, body, code, message):
    write(mine, body, base)
    own = own_class("later.py", "Own")()

    def asked():
        if isinstance(own, PositionalEncoding):
            views.bias((own,), Dims(d_model=8, num_heads=1, num_kv_heads=1, head_dim=8, num_layers=1, max_len=16), 16)
        else:
            check_run(Run(task=tasks.Copying(), evaluation=Evaluation(lengths=(8,), metrics=(own,))))
        return 0

    assert guarded(asked) == code
    *trace, line = capsys.readouterr().err.splitlines()
    assert message in line
    assert bool(trace) == ("failed" in message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def bias(self, params, geometry): return None", "Own.bias returns NoneType, not an array [B, H, Q, K]"),
        ("def init(self, key, dims): return {'a': jnp.arange(3)}", "Own.init's array ['a'] is int32, and parameters"),
    ],
)
@pytest.mark.parametrize("command", ["train", "ablate"])
def test_what_no_model_can_use_is_refused_before_anything_is_written(mine, refusal, command, body, message):
    write(mine, f"def embed(self, params, x, sequence): return x\n{body}")
    cell = "Run(task=tasks.EvenPairs(max_length=8), posenc=(Own(),))"
    whole = cell if command == "train" else f"Ablation(name='odd', runs=({cell},))"
    head = "from later import Own\nfrom posenc_jax import Ablation, Run, tasks\n"
    Path("config.py").write_text(f"{head}config = {whole}\n")
    assert message in refusal(command, "config.py", "--directory", "made")
    assert not Path("made").exists()
