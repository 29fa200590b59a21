"""The names of the user's own classes are words that mean nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from posenc_jax import Ablation, Evaluation, Run, tasks
from posenc_jax.config.own_names import check_names, wrong_word
from posenc_jax.data.metric import Metric
from posenc_jax.encodings import PositionalEncoding, RoPE, RoPEScaling
from posenc_jax.encodings.interface.structure import StructureMask
from posenc_jax.models.config import Transformer

KINDS = {"encoding": PositionalEncoding, "task": tasks.EvenPairs, "metric": Metric, "mask": StructureMask}
IS_NO_NAME = "and a name is an identifier of Python in lower case, of at most 80 characters: write one, as my_window"
TAKEN = "and results would not tell the two apart: choose another, as my_"


def own(kind, name, cls="Mine"):
    facts = {"name": name, "__module__": __name__, "bias": lambda self, params, geometry: None}
    return dataclasses.dataclass(frozen=True)(type(cls, (KINDS[kind],), facts))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        *("", "a|b", "a-b", "1a", "a\n", "\x1b[31m", "Mine", "lambda", "ﬁ", "\ud800", "a" * 81),
        *(5, None, np.zeros((40, 2))),
    ],
)
def test_what_is_no_word_is_no_name(kind, name):
    said = wrong_word(name, kind)
    assert said.endswith(IS_NO_NAME)
    assert said.isprintable()
    assert len(said) < 200


@pytest.mark.parametrize("name", ["mine", "my_window", "größe", "window_2", "_mine", "a" * 80])
def test_words_are_names(name):
    assert [wrong_word(name, kind) for kind in KINDS] == [""] * len(KINDS)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("encoding", name) for name in ("rope", "RoPE", "NOPE", "t5bias", "yarn", "ｒｏｐｅ")),
        *(("task", name) for name in ("copying", "Copying", "CopyING", "translation")),
        *(("mask", name) for name in ("own_section", "OwnSection")),
    ],
)
def test_a_name_of_ours_is_taken_in_any_case(kind, name):
    assert f"{name!r}, which is a" in wrong_word(name, kind)
    assert TAKEN in wrong_word(name, kind)


@pytest.mark.parametrize("name", ["RoPE", 5])
def test_a_run_made_in_python_is_refused_too(name):
    task = tasks.EvenPairs(max_length=8)
    makers = {
        "encoding": lambda value: Run(task=task, posenc=(value,)),
        "task": lambda value: Run(task=value),
        "metric": lambda value: Evaluation(metrics=(value,)),
        "mask": lambda value: Run(task=task, model=Transformer(mask=value)),
    }
    for kind, made in makers.items():
        with pytest.raises(ValueError, match=r"^test_own_names.py:Mine has name = ") as refused:
            made(own(kind, name)())
        assert "\n" not in str(refused.value)


def test_a_value_inside_an_encoding_has_a_name_too():
    scaling = dataclasses.dataclass(frozen=True)(type("Stretch", (RoPEScaling,), {"name": "YaRN"}))
    with pytest.raises(ValueError, match="Stretch has name = 'YaRN', which is an encoding of posenc_jax"):
        Run(task=tasks.EvenPairs(), posenc=(RoPE(scaling=scaling()),))


def test_a_class_without_a_name_is_called_like_itself():
    @dataclasses.dataclass(frozen=True)
    class Alibi(PositionalEncoding):
        pass

    with pytest.raises(ValueError, match="Alibi has name = 'alibi', which is an encoding of posenc_jax"):
        check_names((Alibi(),))


def test_two_own_classes_have_two_names():
    first, second = own("encoding", "mine", "First")(), own("encoding", "mine", "Second")()
    cells = [Run(task=tasks.EvenPairs(), posenc=(one,), label=f"cell {i}") for i, one in enumerate((first, second))]
    both = "test_own_names.py:First and test_own_names.py:Second both have name = 'mine', and results would not tell"
    with pytest.raises(ValueError, match=both):
        Ablation(name="both", runs=tuple(cells))
    with pytest.raises(ValueError, match=both):
        Run(task=tasks.EvenPairs(), posenc=(first, second))
    Run(task=own("task", "mine")(), posenc=(first,))  # an encoding is no task


SOURCE = """
import dataclasses
from posenc_jax.encodings import PositionalEncoding

@dataclasses.dataclass(frozen=True)
class {}(PositionalEncoding):
    step: float = {}
    name = "mine"

    def bias(self, params, geometry):
        return self.step * (geometry.relative * 1.0)[:, None]
"""


@pytest.mark.parametrize("command", ["audit", "show", "verdict"])
def test_commands_that_compare_own_classes_refuse_two_of_one_name(tmp_path, monkeypatch, refusal, command):
    monkeypatch.chdir(tmp_path)
    for number, cls in enumerate(("First", "Second")):
        Path(f"names_{command}_{number}.py").write_text(SOURCE.format(cls, number + 1.0))
    asked = [f"names_{command}_{n}.py:{c}(2)" for n, c in enumerate(("First", "Second"))]
    more = ["--against"] if command == "verdict" else []
    line = refusal(command, asked[0], *more, *asked[1:])
    assert f"names_{command}_0.py:First and names_{command}_1.py:Second both have name = 'mine'" in line
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".py" and path.name != "__pycache__"]


def test_a_value_that_is_another_when_it_is_read_again_is_refused():
    facts = {"__module__": __name__, "__annotations__": {"size": float}, "size": 1.0}
    facts["__post_init__"] = lambda self: object.__setattr__(self, "size", 2 * self.size)
    doubles = dataclasses.dataclass(frozen=True)(type("Doubles", (own("encoding", "doubles"),), facts))
    refused = r"Doubles changes its fields when it is made: Doubles\(size=2.0\) becomes Doubles\(size=4.0\) when it is"
    with pytest.raises(ValueError, match=refused):
        Run(task=tasks.EvenPairs(max_length=4), posenc=(doubles(),))
