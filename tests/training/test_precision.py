"""Precision as a setting: of products, parameters and the optimizer; and what is computed once more for a gradient."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax.extend.core import jaxprs_in_params

from posenc_jax.config import Evaluation, Optimizer, Run, Training
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import parse
from posenc_jax.models import Streams
from posenc_jax.models.attention import linear
from posenc_jax.models.config import Transformer
from posenc_jax.training.memory import memory_of
from posenc_jax.training.step import forward, init_params, init_state, train_call, train_step

BASE = Run(
    task=Copying(kind="mc", max_length=6, num_symbols=5),
    model=Transformer(d_model=16, num_layers=2, num_heads=2),
    posenc=parse("rope|t5"),
    training=Training(steps=4, steps_per_call=4, log_every=4, batch_size=8, microbatches=2),
    evaluation=Evaluation(lengths=(6,), num_examples=8),
)
BFLOAT16 = Transformer(d_model=16, num_layers=2, num_heads=2, dtype="bfloat16")


def of_model(run: Run = BASE, **fields) -> Run:
    return dataclasses.replace(run, model=dataclasses.replace(run.model, **fields))


def state_of(run: Run):
    return init_state(run, init_params(run, 0), 0, 1e-2)


def equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from equations(inner)


def products(run: Run) -> dict[str, set[str]]:
    """dtype of the factors -> the precisions of all products of a training step, gradients included."""
    found: dict[str, set[str]] = {}
    for equation in equations(jax.make_jaxpr(lambda s: train_step(run, None, s))(state_of(run)).jaxpr):
        if equation.primitive.name == "dot_general":
            precision = equation.params["precision"]
            dtypes = {str(x.aval.dtype) for x in equation.invars}
            found.setdefault("/".join(sorted(dtypes)), set()).add("None" if precision is None else precision[0].name)
    return found


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, {"float32": {"HIGHEST"}}),
        ({"matmul_precision": "high"}, {"float32": {"HIGH", "HIGHEST"}}),
        ({"matmul_precision": "default"}, {"float32": {"DEFAULT", "HIGHEST"}}),
    ],
)
@pytest.mark.parametrize("elsewhere", [None, "bfloat16"])
def test_every_product_of_a_float32_model_has_its_precision(fields, wanted, elsewhere):
    """Whatever JAX's own default is; "highest" is also there where an encoding asks for it (the bias of T5)."""
    with jax.default_matmul_precision(elsewhere):
        assert products(of_model(**fields)) == wanted


def test_products_of_a_bfloat16_model_are_left_to_the_device_but_for_those_of_positions():
    found = products(dataclasses.replace(BASE, model=BFLOAT16))
    assert found["bfloat16"] == {"DEFAULT"}
    assert found["float32"] == {"HIGHEST"}, "the sum over the batch of the bias of T5"
    assert dataclasses.replace(BFLOAT16, matmul_precision="highest").product_precision == "highest"


def test_long_sums_of_bfloat16_are_added_up_in_float32():
    """A sum of 4,096 ones stops at 256 in bfloat16."""
    layer = linear(BFLOAT16, 4096, 8, use_bias=False, rngs=nnx.Rngs(0))
    layer.kernel[...] = jnp.ones((4096, 8))
    x = jnp.ones((1, 4096), jnp.bfloat16)
    assert np.asarray(layer(x), np.float32).tolist() == [[4096.0] * 8]
    graph, state = nnx.split(linear(BFLOAT16, 2, 8, use_bias=False, rngs=nnx.Rngs(0)))

    def total(state):
        return nnx.merge(graph, state)(jnp.ones((4096, 2))).astype(jnp.float32).sum()

    assert jax.tree.leaves(jax.grad(total)(state))[0].tolist() == [[4096.0] * 8] * 2


def test_parameters_in_bfloat16_are_those_of_float32_rounded_and_stay_so():
    """Only matrices: biases, norms and what encodings own are in float32. The optimizer sees float32."""
    run = dataclasses.replace(BASE, model=dataclasses.replace(BFLOAT16, param_dtype="bfloat16"))
    wide, narrow = init_params(dataclasses.replace(run, model=BFLOAT16), 0), init_params(run, 0)
    small = {"float32": 0, "bfloat16": 0}
    for (path, a), (_, b) in zip(*map(jax.tree_util.tree_leaves_with_path, (wide, narrow)), strict=True):
        own = path[0].key == "posenc"
        assert str(b.dtype) == ("float32" if own or b.ndim < 2 else "bfloat16"), path
        np.testing.assert_array_equal(np.asarray(a.astype(b.dtype)), np.asarray(b))
        small[str(b.dtype)] += 1
    assert min(small.values()) > 3

    state = state_of(run)
    after, metrics = jax.jit(lambda s: train_call(run, None, s))(state)
    assert jax.tree.map(lambda x: x.dtype, after) == jax.tree.map(lambda x: jnp.asarray(x).dtype, state)
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(after["opt"]) if leaf.ndim} == {"float32"}
    assert float(metrics["diverged_at"]) == -1
    moved = [not np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (state["params"], after["params"])))]
    assert np.mean(moved) > 0.9


def test_the_first_moment_can_be_in_bfloat16():
    run = dataclasses.replace(BASE, optimizer=Optimizer(mu_dtype="bfloat16"))
    (adam,) = (part for part in state_of(run)["opt"] if hasattr(part, "mu"))
    assert (str(adam.mu.dtype), str(adam.nu.dtype)) == ("bfloat16", "float32")
    step = jax.jit(lambda s: train_call(run, None, s))
    after, _ = step(state_of(run))
    plain, _ = jax.jit(lambda s: train_call(BASE, None, s))(state_of(BASE))
    for narrow, wide in zip(*map(jax.tree.leaves, (after["params"], plain["params"])), strict=True):
        np.testing.assert_allclose(np.asarray(narrow), np.asarray(wide), atol=2e-3)  # 4 steps at 1e-2, 8 bits
    assert memory_of(run, 1, 1).optimizer == memory_of(BASE, 1, 1).optimizer * 3 // 4


def loss_of(run: Run):
    """The sum of the logits of a batch, a function of the parameters."""
    streams = Streams(dropout=jax.random.key(1), positions=jax.random.key(2))

    def loss(params):
        example = run.task.train_batch(None, None, jax.random.key(0), run.training.batch_size)
        ids = jnp.arange(run.training.batch_size)
        return forward(run, params, example, streams=streams, example_ids=ids, train=True).sum()

    return loss


def test_remat_changes_rounding_only():
    """With all that may go wrong in it: draws, dropout, hooks on logits, a bias."""
    run = of_model(dataclasses.replace(BASE, posenc=parse("randomized|cope|t5"), label=""), dropout=0.1, num_layers=1)
    params = init_params(run, 0)
    wanted, *others = (
        jax.tree.leaves(jax.jit(jax.grad(loss_of(of_model(run, remat=remat))))(params))
        for remat in ("none", "dots", "layers")
    )
    for found in others:
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-4)


DEEP = Run(
    task=Copying(kind="mc", max_length=31, num_symbols=5),
    model=Transformer(d_model=32, num_layers=6, num_heads=4),
    posenc=parse("rope"),
    training=Training(steps=1, steps_per_call=1, log_every=1, batch_size=16),
)


def kept_for_the_gradient(run: Run) -> int:
    """Bytes, parameters apart, that JAX hands from the forward pass to the backward pass."""
    params = jax.eval_shape(lambda: init_params(run, 0))

    def sizes(tree):
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))

    return sizes(jax.eval_shape(lambda p: jax.vjp(loss_of(run), p)[1], params)) - sizes(params)


def test_remat_keeps_what_it_says():
    """Of "dots", beside the input of each layer: query, key, value, output, and the first product of the MLP."""
    kept = {remat: kept_for_the_gradient(of_model(DEEP, remat=remat)) for remat in ("none", "dots", "layers")}
    tokens = 16 * DEEP.task.width(31)
    assert kept["layers"] < 0.25 * kept["none"]
    assert kept["dots"] - kept["layers"] == 6 * 4 * tokens * (4 * 32 + 4 * 32)
