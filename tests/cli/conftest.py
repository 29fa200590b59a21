"""A folder with a file of own classes for tests of the command line."""

from __future__ import annotations

import sys

import pytest
from own_source import SOURCE


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
