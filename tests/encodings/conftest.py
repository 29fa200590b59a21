"""What tests of encodings share."""

import numpy as np
import pytest


@pytest.fixture
def random():
    """A generator of its own for every test, so that no test's numbers depend on others."""
    return np.random.default_rng(0)
