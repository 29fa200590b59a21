"""The two forms of the optimizer's state hold the same numbers."""

import jax
import numpy as np
import pytest

from posenc_jax.config import Optimizer, Run
from posenc_jax.data.tasks import TASKS
from posenc_jax.models.config import Transformer
from posenc_jax.training.moments import optimized, rearranged
from posenc_jax.training.optimizer import transformation
from posenc_jax.training.replicas import stack
from posenc_jax.training.step import init_params

RUN = Run(task=TASKS["copying"](), model=Transformer(d_model=8, num_layers=1, num_heads=2))


def after_a_step(optimizer: Optimizer, *, split: bool):
    """The states of two replicas, whose gradients are their parameters."""
    rule, found = transformation(optimizer), []
    for seed in (0, 1):
        gradients = optimized(init_params(RUN, seed), split=split)
        found.append(rule.update(gradients, rule.init(gradients))[1])
    return stack(found)


@pytest.mark.parametrize(
    "optimizer", [Optimizer(clip_norm=None), Optimizer(clip_norm=1e9), Optimizer(clip_norm=None, mu_dtype="bfloat16")]
)
def test_each_form_becomes_the_other_to_the_bit(optimizer):
    vector, tree = (after_a_step(optimizer, split=split) for split in (False, True))
    assert len(jax.tree.leaves(vector)) == 3 < 20 < len(jax.tree.leaves(tree))
    for found, wanted in (
        (rearranged(vector, tree, split=True), tree),
        (rearranged(tree, vector, split=False), vector),
    ):
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
