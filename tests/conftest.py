"""Strictness for all tests: arrays of different ranks never mix unnoticed. And their memory, kept within bounds."""

import os

import jax
import pytest
import session

jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(autouse=True, scope="session")
def _shared_by_all_processes(tmp_path_factory):
    own = tmp_path_factory.getbasetemp()
    session.share(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_end_with_their_file():
    """A worker would hold those of all its files, gigabytes in the end."""
    yield
    jax.clear_caches()
