"""The examples in docstrings of the whole package are true."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import posenc_jax

FOLDER = Path(posenc_jax.__file__).parent
WITH_EXAMPLES = [
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(FOLDER.rglob("*.py"))
    if re.search(r"^ *>>> (?!.*doctest: \+SKIP)", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_are_true(name):
    failed, attempted = doctest.testmod(importlib.import_module(name), verbose=False)
    assert attempted
    assert not failed
