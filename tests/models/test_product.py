"""The product of a linear layer is a matrix product, and so are its gradients, in every transformation of JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.models import product as module
from posenc_jax.models.product import product

SHAPES = [(8, 24), (24, 8), (8, 8)]


def operands(inputs, outputs):
    rng = np.random.default_rng(inputs + 2 * outputs)
    return rng.normal(size=(2, 5, inputs)), rng.normal(size=(inputs, outputs)), rng.normal(size=(2, 5, outputs))


def scalar(multiply, g):
    return lambda x, kernel: jnp.sum(jnp.tanh(multiply(x, kernel)) * g)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_the_sums_over_rows(shape):
    x, kernel, g = operands(*shape)
    y, pull = jax.vjp(product, jnp.asarray(x), jnp.asarray(kernel))
    of_x, of_kernel = pull(jnp.asarray(g))
    np.testing.assert_allclose(y, x @ kernel, atol=1e-12)
    np.testing.assert_allclose(of_x, g @ kernel.T, atol=1e-12)
    np.testing.assert_allclose(of_kernel, np.einsum("bsm,bsn->mn", x, g), atol=1e-12)


def derivatives(multiply, x, kernel, g):
    f = scalar(multiply, g)
    both = jax.jvp(f, (x, kernel), (kernel.sum() * x, x.sum() * kernel))
    twice = jax.jvp(jax.grad(f, 1), (x, kernel), (x, kernel))
    reverse = jax.grad(lambda kernel: jnp.sum(jnp.sin(jax.grad(f, 1)(x, kernel))))(kernel)
    kernels = jnp.stack([kernel, 2 * kernel])
    rows = jax.vmap(jax.grad(lambda x, kernel, g: scalar(multiply, g)(x, kernel), 1), in_axes=(0, None, 0))
    over_kernels = jax.vmap(jax.grad(f, (0, 1)), in_axes=(None, 0))(x, kernels)
    kept = jax.checkpoint(f, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    return both, twice, reverse, rows(x, kernel, g), over_kernels, jax.grad(kept, (0, 1))(x, kernel)


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_derivatives_of_every_kind_are_those_of_a_plain_product(shape):
    arrays = [jnp.asarray(a) for a in operands(*shape)]
    found = jax.jit(functools.partial(derivatives, product))(*arrays)
    expected = jax.jit(functools.partial(derivatives, jnp.matmul))(*arrays)
    jax.tree.map(functools.partial(np.testing.assert_allclose, atol=1e-10), found, expected)


def of_kernel(x, kernel, g):
    return jax.vjp(product, x, kernel)[1](g)[1]


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_on_a_cpu_the_smaller_side_is_copied(shape):
    """The gradient of the kernel multiplies a transposed copy: no product reads its left side across its rows."""
    x, kernel, g = (jnp.asarray(a, jnp.float32) for a in operands(*shape))
    text = jax.jit(of_kernel).lower(x, kernel, g).as_text()
    rows = x.shape[0] * x.shape[1]
    assert "optimization_barrier" in text
    assert f"tensor<{min(shape)}x{rows}xf32>" in text


def test_other_devices_keep_the_gradient_of_jax(monkeypatch):
    monkeypatch.setattr(module, "backend", lambda: "gpu")
    x, kernel, g = (jnp.asarray(a) for a in operands(8, 24))
    text = jax.jit(of_kernel).lower(x, kernel, g).as_text()
    assert "optimization_barrier" not in text
    np.testing.assert_allclose(of_kernel(x, kernel, g), np.einsum("bsm,bsn->mn", x, g), atol=1e-12)
