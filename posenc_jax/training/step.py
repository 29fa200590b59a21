"""One replica: what it starts from, one training step, validation and evaluation. Pure functions; `replicas` lays
them over devices.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax.config import Run
from posenc_jax.data.example import Example
from posenc_jax.data.metric import metric_sums
from posenc_jax.data.scoring import means, scores, smoothed_loss
from posenc_jax.data.text.base import is_packed
from posenc_jax.encodings.interface.base import Array, Params
from posenc_jax.encodings.interface.slots import position_axes
from posenc_jax.model_kind import ModelKind
from posenc_jax.models import Slots, Streams, Transformer, build, init_posenc, model_dims
from posenc_jax.training.batches import Bucket
from posenc_jax.training.leaf_names import filled, flat
from posenc_jax.training.optimizer import (
    as_tree,
    averaged,
    averages,
    optimized,
    schedule,
    trainable,
    transformation,
    updated,
)
from posenc_jax.training.precision import at_precision, in_float32
from posenc_jax.training.streams import at_step, stream

State = dict[str, Any]
"""params, opt (optimizer state), step, seed, learning_rate, diverged_at (-1 while alive); average, where the run has
one (`averaging`).
"""


@functools.partial(jax.jit, static_argnames=("kind", "model", "vocab_size", "num_classes"))
def init_model(seed: Array, *, kind: ModelKind, model: Transformer, vocab_size: int, num_classes: int | None) -> Params:
    """All parameters but the encodings': they depend on the seed only, so all cells of an ablation share the values,
    and the program.
    """
    key = stream(seed, "model")
    built = build(
        kind, model, Slots(), vocab_size=vocab_size, num_classes=num_classes, max_len=1, key=key, posenc_key=key
    )
    params = nnx.to_pure_dict(nnx.state(built))
    params.pop("posenc", None)
    return params


@functools.partial(jax.jit, static_argnames=("kind", "model", "slots", "vocab_size", "max_len"))
def init_encodings(
    seed: Array, *, kind: ModelKind, model: Transformer, slots: Slots, vocab_size: int, max_len: int
) -> Params:
    """The encodings' parameters, from a stream of their own."""
    dims = model_dims(model, vocab_size=vocab_size, max_len=max_len)
    return init_posenc(stream(seed, "posenc"), model, slots, dims, kind)


def shapes_of(
    kind: ModelKind, model: Transformer, slots: Slots, *, vocab_size: int, num_classes: int | None, max_len: int
) -> Params:
    """Shapes of the parameters of a model, in the tree that runs have; arguments as of `posenc_jax.models.build`."""
    common: dict[str, Any] = {"kind": kind, "model": model, "vocab_size": vocab_size}
    found: Params = jax.eval_shape(
        lambda: {
            **init_model(np.int32(0), num_classes=num_classes, **common),
            "posenc": init_encodings(np.int32(0), slots=slots, max_len=max_len, **common),
        }
    )
    return found


def init_params(run: Run, seed: int) -> Params:
    """The parameters of one replica at step 0, ``{..., "posenc": {stack: ...}}``."""
    task = run.task
    sizes = dict(vocab_size=task.vocab_size, num_classes=task.num_classes)
    params = init_model(np.int32(seed), kind=task.model_kind, model=run.model, **sizes)
    return {**params, "posenc": init_encodings_of(run, seed)}


def init_encodings_of(run: Run, seed: int) -> Params:
    """`init_encodings` of a run."""
    sizes = dict(vocab_size=run.task.vocab_size, max_len=run.max_len)
    found: Params = init_encodings(np.int32(seed), kind=run.task.model_kind, model=run.model, slots=run.slots, **sizes)
    return found


def init_state(run: Run, params: Params, seed: int, learning_rate: float) -> State:
    """The state of one replica before its first step."""
    average = {"average": jax.tree.map(jnp.zeros_like, params)} if averages(run.training) else {}
    return {
        "params": params,
        **average,
        "opt": transformation(run.optimizer).init(optimized(params, split=run.execution.split)),
        "step": np.int32(0),
        "seed": np.int32(seed),
        "learning_rate": np.float32(learning_rate),
        "diverged_at": np.int32(-1),
    }


def model_of(run: Run, params: Params) -> Any:
    """The run's model with these parameters."""
    task = run.task
    sizes = dict(vocab_size=task.vocab_size, num_classes=task.num_classes, max_len=run.max_len)
    return model_with(params, task.model_kind, run.model, run.slots, **sizes)


def model_with(params: Params, kind: ModelKind, model: Transformer, slots: Slots, **sizes: Any) -> Any:
    """A model of `posenc_jax.models.build` with these parameters."""
    graph, state = _structure(kind, model, slots, **sizes)
    return nnx.merge(graph, filled(state, flat(params)))


@functools.lru_cache(maxsize=256)
def _structure(kind: ModelKind, model: Transformer, slots: Slots, **sizes: Any) -> tuple[Any, Any]:
    """The graph of a model and the shapes of its state, built once: a run traces a dozen programs of one model."""
    key = jax.random.key(0)
    return nnx.split(nnx.eval_shape(lambda: build(kind, model, slots, key=key, posenc_key=key, **sizes)))


@at_precision
def forward(run: Run, params: Params, example: Example, *, streams: Streams, example_ids: Array, train: bool) -> Array:
    """Float32 logits of a batch of examples."""
    task, model = run.task, model_of(run, params)
    packed = example.positions is not None
    in_order = packed and is_packed(task)  # a task of the user's may have other positions
    common = dict(streams=streams, train=train, example_ids=example_ids, length=example.length)
    common |= dict(positions=example.positions) if packed else {}
    if example.grid_positions is not None and position_axes(run.posenc) is not None:
        common |= dict(positions=example.grid_positions)
    logits: Array
    if task.model_kind == "encoder_decoder":
        logits = model(
            example.inputs,
            example.decoder_inputs,
            segment_ids=example.segment_ids,
            decoder_length=example.decoder_length,
            decoder_segment_ids=example.decoder_segment_ids,
            decoder_positions=example.decoder_positions,
            right_padded=not packed,
            packed=in_order,
            **common,
        )
        return logits
    if example.token_types is not None:
        common |= dict(token_types=example.token_types)
    if task.has_outline:
        common |= dict(outline=example.grid_positions)
    if task.model_kind == "encoder_only":
        common |= dict(segment_ids=example.segment_ids, right_padded=not packed)
    elif packed:  # else causal: padding on the right needs no mask
        common |= dict(segment_ids=example.segment_ids, packed=in_order)
    logits = model(example.inputs, **common)
    return logits if run.model.pooling is None else logits[:, None]


@at_precision
def train_step(
    run: Run, mesh: Mesh | None, state: State, fed: Any = None, data: Any = None
) -> tuple[State, dict[str, Array]]:
    """One optimizer step of one replica, and its metrics.

    Tasks with data make the batch from their arrays ``data`` and from ``fed``, what the host decided for this step.

    A replica whose loss, gradient or new parameters are not finite stays at its last good state for ever, with
    ``diverged_at`` the step that failed.
    """
    params, seed, step = state["params"], state["seed"], state["step"]
    training = run.training
    batches = _training_batches(run, data, fed, at_step(seed, "data", step), step)
    streams = Streams(dropout=at_step(seed, "dropout", step), positions=at_step(seed, "positions", step))

    def loss(params: Params, example: Example, ids: Array) -> tuple[Array, dict[str, Array]]:
        logits = forward(run, params, example, streams=streams, example_ids=ids, train=True)
        sums = scores(logits, example)
        if not training.label_smoothing:
            return sums["loss_sum"], sums
        return smoothed_loss(logits, example, training.label_smoothing), sums

    def gradients_of(example: Example, ids: Array) -> tuple[Params, dict[str, Array]]:
        (_, sums), gradients = jax.value_and_grad(loss, has_aux=True)(params, example, ids)
        return in_float32(gradients), sums

    def add_part(total: tuple[Any, ...], part: tuple[Any, ...]) -> tuple[tuple[Any, ...], None]:
        return jax.tree.map(jnp.add, total, gradients_of(*part)), None

    def summed(batch: Example, first: int) -> tuple[Params, dict[str, Array]]:
        """Gradients and scores, added over the equal parts of a batch whose examples are numbered from ``first``."""
        count = training.microbatches // training.length_strata
        ids = first + jnp.arange(batch.inputs.shape[0], dtype=jnp.int32)
        parts = jax.tree.map(lambda x: x.reshape(count, -1, *x.shape[1:]), (batch, ids))
        if mesh is not None:
            parts = jax.lax.with_sharding_constraint(parts, NamedSharding(mesh, P(None, "data")))
        if count == 1:
            return gradients_of(*jax.tree.map(lambda x: x[0], parts))
        logits = jax.ShapeDtypeStruct((*parts[0].targets.shape[1:], run.task.num_classes), jnp.float32)
        sums = jax.eval_shape(scores, logits, jax.tree.map(lambda x: x[0], parts[0]))
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (in_float32(params), sums))
        total: tuple[Params, dict[str, Array]] = jax.lax.scan(add_part, zeros, parts)[0]
        return total

    totals = [summed(batch, index * batch.inputs.shape[0]) for index, batch in enumerate(batches)]
    sums: dict[str, Array] = _added([sums for _, sums in totals])
    gradients = _mean_gradient(totals, apart=run.task.length_per == "step")
    gradients = jax.tree.map(
        lambda g, trained: g if trained else jnp.zeros_like(g), gradients, trainable(params, run.slots)
    )
    split = run.execution.split
    gradients = optimized(gradients, split=split)
    direction, opt = transformation(run.optimizer).update(gradients, state["opt"])
    rate = state["learning_rate"] * schedule(run.optimizer, training.steps)(step)
    new_params = updated(run.optimizer, params, as_tree(params, direction, split=split), rate)

    norm = optax.tree.norm(gradients)
    finite = jnp.isfinite(sums["loss_sum"]) & jnp.isfinite(norm)
    for leaf in jax.tree.leaves(optimized(new_params, split=split)):
        finite &= jnp.all(jnp.isfinite(leaf))
    alive = state["diverged_at"] < 0
    # `where`, not `cond`: a branch changes how XLA fuses, and so the bits.
    keep = functools.partial(jnp.where, finite & alive)
    new_state = {
        **state,
        "params": jax.tree.map(keep, new_params, params),
        "opt": jax.tree.map(keep, opt, state["opt"]),
        "step": step + 1,
        "diverged_at": jnp.where(alive & ~finite, step, state["diverged_at"]),
    }
    if averages(training):
        new_state["average"] = averaged(training, state["average"], new_state["params"], step + 1)
    own_table = not run.model.tie_embeddings  # whose rows are the classes
    read = [batch.decoder_inputs for batch in batches if batch.decoder_inputs is not None]
    tokens = [batch.inputs for batch in batches] + (read if not own_table else [])
    targets = [batch.targets for batch in batches] + (read if own_table else [])
    metrics = {
        "sums": sums,
        "gradient_norm": norm,
        "largest_token": functools.reduce(jnp.maximum, map(jnp.max, tokens)),
        "largest_target": functools.reduce(jnp.maximum, map(jnp.max, targets)),
    }
    return new_state, metrics


def _mean_gradient(totals: list[tuple[Params, dict[str, Array]]], *, apart: bool) -> Params:
    """The gradient of a step from sums over each stratum: over all targets alike, or where a step has one length
    (``apart``) the mean over strata of each one's own, so that a length weighs the same however long it is.
    """
    shares = totals if apart else [(_added([g for g, _ in totals]), _added([sums for _, sums in totals]))]

    def mean(gradients: Params, sums: dict[str, Array]) -> Params:
        weight = jnp.maximum(sums["weight_sum"], 1.0) * len(shares)
        found: Params = jax.tree.map(lambda g: g / weight, gradients)
        return found

    found: Params = _added([mean(*share) for share in shares])
    return found


def _added(trees: list[Any]) -> Any:
    return functools.reduce(functools.partial(jax.tree.map, jnp.add), trees)


def _training_batches(run: Run, data: Any, fed: Any, key: Array, step: Array) -> tuple[Example, ...]:
    """The batch of a step, a part for each of ``length_strata``."""
    size, strata, every = run.training.batch_size, run.training.length_strata, run.training.curriculum_every
    if every:
        return (run.task.growing_batch(key, size, 1 + step // every),)
    if strata == 1:
        return (run.task.train_batch(data, fed, key, size),)
    return run.task.stratified_batch(key, size, strata)


def train_call(
    run: Run, mesh: Mesh | None, state: State, fed: Any = None, data: Any = None
) -> tuple[State, dict[str, Array]]:
    """``steps_at_once`` steps under one `lax.scan`, with the means over those steps; ``fed`` has a leading step
    axis.
    """
    state, metrics = jax.lax.scan(
        lambda s, f: train_step(run, mesh, s, f, data), state, fed, length=run.training.steps_at_once
    )
    return state, {
        **means(jax.tree.map(lambda x: jnp.sum(x, axis=0), metrics["sums"])),
        "gradient_norm": metrics["gradient_norm"][-1],
        "largest_token": jnp.max(metrics["largest_token"]),
        "largest_target": jnp.max(metrics["largest_target"]),
        "diverged_at": state["diverged_at"],
    }


def all_sums(run: Run, logits: Array, example: Example) -> dict[str, Array]:
    """The sums of a batch that an evaluation adds up: those of every task, of this one, and of the run's metrics."""
    own = run.task.extra_sums(logits, example) | metric_sums(run.evaluation.metrics, logits, example)
    return scores(logits, example) | own


def spread(batch: Example, mesh: Mesh | None) -> Example:
    """A batch over the ``data`` axis of a mesh, where its examples divide; else each device computes all of it."""
    if mesh is None or batch.inputs.shape[0] % mesh.shape["data"]:
        return batch
    split: Example = jax.lax.with_sharding_constraint(batch, NamedSharding(mesh, P("data")))
    return split


def validate(run: Run, params: Params, seed: Array, data: Any = None, mesh: Mesh | None = None) -> dict[str, Array]:
    """Scores on fresh batches drawn like training batches: what learning rates are chosen by."""
    size = run.training.batch_size

    def batch_scores(index: Array) -> dict[str, Array]:
        key = at_step(seed, "validation", index)
        batch_key, position_key = jax.random.split(key)
        batch = spread(run.task.validation_batch(data, batch_key, index, size), mesh)
        ids = jnp.arange(batch.inputs.shape[0])
        logits = forward(run, params, batch, streams=Streams(positions=position_key), example_ids=ids, train=False)
        return all_sums(run, logits, batch)

    sums = jax.lax.map(batch_scores, jnp.arange(run.training.validation_batches))
    return means(jax.tree.map(lambda x: jnp.sum(x, axis=0), sums))


def evaluate_length(
    run: Run,
    bucket: Bucket,
    params: Params,
    seed: Array,
    length: Array,
    data: Any = None,
    mesh: Mesh | None = None,
) -> dict[str, Array]:
    """Scores on the test examples of one length, chunk by chunk; all chunks of a draw share their random positions."""
    return total(sums_of_chunks(run, bucket, params, seed, length, jnp.arange(bucket.chunks), data, mesh))


def total(sums: dict[str, Array]) -> dict[str, Array]:
    """The `means` of what has a leading axis of chunks."""
    return means(jax.tree.map(lambda x: jnp.sum(x, axis=0), sums))


def sums_of_chunks(
    run: Run,
    bucket: Bucket,
    params: Params,
    seed: Array,
    length: Array,
    chunks: Array,
    data: Any = None,
    mesh: Mesh | None = None,
) -> dict[str, Array]:
    """Sums of `evaluate_length` over the chunks of these numbers, along a leading axis."""
    chunks_per_draw = bucket.examples_per_draw // bucket.chunk
    key = jax.random.fold_in(stream(seed, "evaluation"), length)
    position_key = jax.random.fold_in(stream(seed, "evaluation_positions"), length)

    def chunk_scores(chunk: Array) -> dict[str, Array]:
        draw = chunk // chunks_per_draw
        within = (chunk % chunks_per_draw) * bucket.chunk + jnp.arange(bucket.chunk)
        # Numbers beyond a draw's share (the last chunk may be cut) get no weight.
        numbers = draw * bucket.share + within
        example = run.task.test_batch(data, key, length, numbers, bucket.max_length)
        counts = (within < bucket.share).astype(example.weights.dtype)
        example = dataclasses.replace(example, weights=example.weights * counts[:, None])
        example = spread(example, mesh)
        streams = Streams(positions=jax.random.fold_in(position_key, draw))
        logits = forward(run, params, example, streams=streams, example_ids=numbers, train=False)
        return all_sums(run, logits, example)

    found: dict[str, Array] = jax.lax.map(chunk_scores, chunks)
    return found
