"""A folder with a file of own classes for tests of the command line."""

from __future__ import annotations

import pytest
from own_source import SOURCE, own_modules


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder of the user's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_own.py").write_text(SOURCE)
    with own_modules(tmp_path):
        yield tmp_path
