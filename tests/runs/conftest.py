"""A finished tiny run, of which each test changes a copy of its own."""

import pytest
from trained_runs import copy_of_the_run


@pytest.fixture
def finished(tmp_path):
    return copy_of_the_run(tmp_path / "run")


@pytest.fixture
def source(tmp_path):
    return copy_of_the_run(tmp_path / "source")
