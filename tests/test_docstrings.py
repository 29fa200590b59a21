"""The examples in docstrings of the whole package are true."""

import ast
import doctest
import importlib
import re
import textwrap
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


SECTIONS = re.compile(r"^(Args|Attributes|Raises):\n((?: .*\n|\n)*)", re.MULTILINE)
ENTRY = r"\*{0,2}\w+(?:, \*{0,2}\w+)*: "


def not_a_line_each(source: str) -> list[str]:
    """Fields, arguments and errors that a docstring describes elsewhere than in the sections of Google's style, where
    each has a line that begins with its name.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        arguments = [inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)]
        own = [ast.unparse(inner.target) for inner in node.body if isinstance(inner, ast.AnnAssign)]
        names = "|".join(map(re.escape, {*arguments, *own, "ValueError"}))
        text = (ast.get_docstring(node) or "") + "\n"
        for section in SECTIONS.finditer(text):
            entries = re.split(r"\n+(?=\S)", textwrap.dedent(section[2]).strip())
            found += [entry for entry in entries if not re.match(ENTRY, entry)]
            found += [entry for entry in entries if re.search(rf"\.\s+(?:{names})(?:, (?:{names}))*: ", entry)]
        rest = SECTIONS.sub("", text).split("\n\n")
        found += [paragraph for paragraph in rest if re.match(rf"(?:{names})(?:, (?:{names}))*: ", paragraph)]
        found += [paragraph for paragraph in rest if re.search(r"\bFields?(?::| ``)", paragraph)]
    return found


def test_every_field_argument_and_error_has_a_line():
    assert {str(path): found for path in FOLDER.rglob("*.py") if (found := not_a_line_each(path.read_text()))} == {}
    documented = 'def f(a, b):\n    """Adds.\n\n    {}\n    """'
    assert not_a_line_each(documented.format("Args:\n      a: one.\n      b: two,\n        or three.")) == []
    assert len(not_a_line_each(documented.format("Args:\n      a: one. b: two."))) == 1
    assert len(not_a_line_each(documented.format("a: one. b: two."))) == 1
    assert len(not_a_line_each(documented.format("ValueError: never."))) == 1
    assert len(not_a_line_each(documented.format("Adds them. Fields: ``a`` the first."))) == 1
