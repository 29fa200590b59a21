"""Strictness for all tests: arrays of different ranks never mix unnoticed. And their memory, kept within bounds."""

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_end_with_their_file():
    """A worker would hold those of all its files, gigabytes in the end."""
    yield
    jax.clear_caches()
