"""The examples in docstrings of the whole package are true."""

import doctest
import importlib
import re
from pathlib import Path

import jax
import pytest

import posenc_jax
from posenc_jax.data.tasks import TASKS

FOLDER = Path(posenc_jax.__file__).parent
WITH_EXAMPLES = [
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(FOLDER.rglob("*.py"))
    if re.search(r"^ *>>> (?!.*doctest: \+SKIP)", path.read_text(), re.MULTILINE)
]


@pytest.fixture
def compiled_examples(monkeypatch):
    """Examples of tasks as one program each: an operation at a time they take several times as long."""
    for task in TASKS.values():
        monkeypatch.setattr(task, "example", jax.jit(task.example, static_argnums=(0, 3)))


@pytest.mark.parametrize("name", WITH_EXAMPLES)
@pytest.mark.usefixtures("compiled_examples")
def test_examples_are_true(name):
    failed, attempted = doctest.testmod(importlib.import_module(name), verbose=False)
    assert attempted
    assert not failed
