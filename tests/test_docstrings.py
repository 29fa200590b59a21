"""The examples in docstrings of the whole package are true."""

import ast
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


def without_a_noun(source: str) -> list[str]:
    """Docstrings of a module that begin with a relative word or a bare genitive, where a noun or a verb says more."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    return [text for text in found if text and re.match(r"(What|Of|Whether|Which|Whose)\b(?![^.]*\?)", text)]


def test_docstrings_begin_with_a_noun_or_a_verb():
    assert {str(path): found for path in FOLDER.rglob("*.py") if (found := without_a_noun(path.read_text()))} == {}
    assert without_a_noun('def f():\n    "Of the last layer."') == ["Of the last layer."]
    assert without_a_noun('"Which of two words comes first? Asked of rows."') == []
