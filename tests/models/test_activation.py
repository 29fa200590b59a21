"""GELU and its gradient against the normal distribution function in float64."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.models import activation
from posenc_jax.models.activation import gelu

X = np.linspace(-12, 12, 2401)


def normal(x):
    """Phi and phi."""
    return 0.5 * np.array([math.erfc(-v / math.sqrt(2)) for v in x]), np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(("dtype", "error"), [(jnp.float32, 3e-7), (jnp.float64, 1e-14)])
def test_value_and_gradient(dtype, error):
    """Errors relative to 1 and to |x|: half of a float32's last digit is 6e-8."""
    with jax.enable_x64(True):
        x = jnp.asarray(X, dtype)
        share, density = normal(np.asarray(x, np.float64))
        assert gelu(x).dtype == dtype
        assert (np.abs(gelu(x) - X * share) <= error * (1 + np.abs(X))).all()
        assert (np.abs(jax.vmap(jax.grad(gelu))(x) - (share + X * density)) <= error * (1 + np.abs(X))).all()
        second = jax.vmap(jax.grad(jax.grad(gelu)))(x)
        assert (np.abs(second - density * (2 - X * X)) <= error * (1 + X * X)).all()


def test_bfloat16_is_rounded_once():
    x = jnp.asarray(X, jnp.bfloat16)
    share, _ = normal(np.asarray(x, np.float64))
    expected = np.asarray(x, np.float64) * share
    assert gelu(x).dtype == jnp.bfloat16
    assert (np.abs(np.asarray(gelu(x), np.float64) - expected) <= 2**-8 * np.abs(expected) + 1e-6).all()
    assert jax.vmap(jax.grad(gelu))(x).dtype == jnp.bfloat16


def test_other_devices_keep_the_gelu_of_jax(monkeypatch):
    monkeypatch.setattr(activation, "backend", lambda: "tpu")
    x = jnp.asarray(X, jnp.float32)
    own = jax.jit(lambda x: gelu(x)).lower(x).as_text()
    assert own == jax.jit(lambda x: jax.nn.gelu(x, approximate=False)).lower(x).as_text()
