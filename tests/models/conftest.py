import jax
import pytest


@pytest.fixture
def float64():
    """Everything in the test is computed in float64."""
    with jax.enable_x64(True):
        yield
