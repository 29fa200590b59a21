"""Names of leaves: the same in a state of NNX and in the tree of its arrays, and the same as on disk."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from posenc_jax.training.leaf_names import names


def of(tree):
    return [".".join(names(path)) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


def test_a_projection_called_value_keeps_its_name():
    """Attention has one; only the attribute that holds a variable's array is no part of a name."""
    state = nnx.State(
        {"attention": {"value": {"kernel": nnx.Param(jnp.zeros(2))}, "key": {"bias": nnx.Param(jnp.ones(1))}}}
    )
    assert of(state) == ["attention.key.bias", "attention.value.kernel"]
    assert of(nnx.to_pure_dict(state)) == of(state)


def test_moments_and_counts_of_the_optimizer_have_names():
    state = {"opt": optax.scale_by_adam().init(np.zeros(2, np.float32)), "params": {"blocks": {0: np.zeros(1)}}}
    assert of(state) == ["opt.count", "opt.mu", "opt.nu", "params.blocks.0"]
