"""The memory that a run takes, estimated from its config alone: nothing is made, compiled or loaded.

A step of one replica keeps, of each layer, what its gradient needs. For N tokens of a microbatch, with M the width of
the model, F that of the feed-forward layer, C classes, P parameters and H heads that attend from Q to K tokens, in
numbers of four bytes (activations of a bfloat16 model of two, but on a CPU)::

    held          3 P of each replica: parameters, and both moments of the optimizer (of bfloat16 two bytes each); one P
                  more with an average
    gradients     4 P: gradients, their vector, the direction and the new parameters
    activations   what each layer says that it keeps (`posenc_jax.models.costs`): without options 2 N M, and in each
                  layer 11 N M + 4 N F
    attention     3 H Q K in each layer, one more for each hook of an encoding that needs such an array; in blocks 2 of
                  the largest block instead, of one layer; nothing where attention is computed without such arrays
    remat         of what activations and attention take, one layer only, and of each other layer N M ("layers") or
                  its products ("dots"); on a CPU, where XLA takes the recomputation back before jax 0.11, nothing is
                  saved with such a one
    logits        4 N C
    positions     6 L where a draw chooses among L: before the layers, so the larger of the two counts
    evaluation    what the largest layer says that it holds, without options 2 N M + 2.5 N F or 4 N M + H Q K (and one
                  more for each such hook; in blocks 3 of a block), or 4 N C for the logits
    decoding      keys and values of all layers, for every output that is followed, and 3 C

Against what XLA:CPU plans (`compiled.memory_analysis`) for models of width 16 to 256 of every kind and with every
option, in which now one part is the largest and now another, the estimate is 0.7 to 1.4 times as much, and more for an
evaluation whose logits XLA:CPU never holds at once, or from jax 0.11 on for a step that recomputes; it is less, down to
half, for an evaluation whose feed-forward layers hold arrays of tens of megabytes. Of the training programs that were
compiled for an H100 (scripts/compiling/README.md) it is 0.9 to 1.7 times. What is not in a config is left out: the
corpus of a task on text, XLA's programs, the interpreter.
"""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.attention import Call, Choice, choose
from posenc_jax.attention.blockwise import PARTS, block_size, keys_at_once, keys_of_block
from posenc_jax.attention.devices import part_of
from posenc_jax.config import Run
from posenc_jax.data.example import Example
from posenc_jax.data.metric import metric_sums
from posenc_jax.data.text.base import is_packed
from posenc_jax.encodings.interface.attention import FUSABLE
from posenc_jax.encodings.interface.base import Dims, PositionalEncoding
from posenc_jax.encodings.interface.slots import dims_seen, elements, for_layer
from posenc_jax.models.config import STACKS, stack_dims
from posenc_jax.models.costs import ModelCosts, count
from posenc_jax.models.layer_encodings import options_of
from posenc_jax.training.batches import (
    Batch,
    batch_of_length,
    buckets,
    costs_of,
    training_batch,
)
from posenc_jax.training.generation import CHUNK, new_tokens
from posenc_jax.training.optimizer import averages

_BYTES = 4
_RECOMPUTED_ON_CPU = jax.__version_info__ >= (0, 11)
_SEEN = {"dense": 1.0, "causal": (PARTS + 1) / (2 * PARTS)}
"""The part of the logits that is held as arrays, by the way to compute attention."""
_DRAW = 6
"""Arrays as long as there are positions that a draw chooses among."""


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Bytes that a run takes, by what takes them.

    Attributes:
      parameters, optimizer: of all replicas that are held, all the time.
      gradients, batch, activations, attention, logits, positions: of a training step.
      evaluation: of a chunk.
      scores: the sums of all chunks of a length.
      decoding: of a batch of outputs.
      snapshot: the copy of the state on an accelerator from which a checkpoint is fetched while training goes on.
      checkpoint: the copy of the state that is being saved, always in the host's memory.
    """

    parameters: int
    optimizer: int
    gradients: int
    batch: int
    activations: int
    attention: int
    logits: int
    positions: int
    evaluation: int
    scores: int
    decoding: int
    snapshot: int
    checkpoint: int

    @property
    def state(self) -> int:
        """Bytes that are held all the time."""
        return self.parameters + self.optimizer

    @property
    def step(self) -> int:
        """Bytes that a training step takes besides the state."""
        forward = self.activations + self.attention + self.logits
        return self.gradients + self.batch + max(forward, self.positions)

    @property
    def measuring(self) -> int:
        """Bytes that evaluation takes besides the state."""
        return max(self.evaluation + self.scores, self.decoding)

    @property
    def peak(self) -> int:
        """The most that is taken at one time where the run is computed."""
        return self.state + self.snapshot + max(self.step, self.measuring)

    @property
    def largest(self) -> tuple[str, int]:
        """The part that takes most."""
        return max(dataclasses.asdict(self).items(), key=lambda part: part[1])


def memory_of(run: Run, held: int, at_once: int, *, data: int = 1, model: int = 1, backend: str = "cpu") -> MemoryUse:
    """The estimated use of one memory by a run.

    Args:
      held: replicas of a group in it.
      at_once: those of them that are computed at the same time.
      data, model: devices with a memory of their own that share a batch, and a layer's matrices.
      backend: "cpu", "gpu" or "tpu", by which it is chosen how attention is computed.
    """
    parameters, training = parameters_of(run), run.training
    kept = 1 + averages(training)
    rows = -(-training.batch_size // (training.microbatches * data))
    batch = training_batch(run, rows)
    tokens = training.batch_size * (batch.tokens // rows)
    own, of_parameter = parameters // model, size_of(run.model.param_dtype)
    of_state = state_size(run) // parameters
    held_parameters = of_parameter * kept * held * own
    moments = (of_state - of_parameter * kept) * held * own // data
    remat = "none" if backend == "cpu" and not _RECOMPUTED_ON_CPU else run.model.remat
    of_activation = _BYTES if backend == "cpu" else size_of(run.model.dtype)
    return MemoryUse(
        parameters=held_parameters,
        optimizer=moments,
        gradients=_BYTES * at_once * 4 * own,
        batch=_BYTES * at_once * 4 * tokens,
        activations=of_activation * at_once * _activations(run, batch, remat),
        attention=_BYTES * at_once * _attention(run, batch, backend, remat),
        logits=_BYTES * at_once * batch.targets * costs_of(run).output.kept,
        positions=_BYTES * at_once * _drawn(run, rows),
        evaluation=_BYTES * at_once * _evaluation(run, at_once, backend),
        scores=_BYTES * at_once * _scores(run, at_once, backend),
        decoding=_BYTES * at_once * _decoding(run),
        snapshot=0 if backend == "cpu" else held_parameters + moments,
        checkpoint=of_state * held * own,
    )


def state_size(run: Run) -> int:
    """Bytes of the state of one replica: parameters, their average if the run has one, and both moments."""
    of_parameters = (1 + averages(run.training)) * size_of(run.model.param_dtype)
    return (of_parameters + size_of(run.optimizer.mu_dtype) + _BYTES) * parameters_of(run)


def size_of(dtype: str) -> int:
    """Bytes of a number."""
    return 2 if dtype == "bfloat16" else _BYTES


def parameters_of(run: Run) -> int:
    """Parameters of one replica."""
    return costs_of(run).parameters + encoding_parameters_of(run)


def encoding_parameters_of(run: Run) -> int:
    """The number of parameters of the encodings."""
    total = 0
    for stack in STACKS[run.task.model_kind]:
        dims = stack_dims(run.model, run.dims, stack)
        for element, seen in dims_seen(getattr(run.slots, stack), dims).items():
            total += _own_parameters(element, seen) * (dims.num_layers if element.per_layer else 1)
    return total


@functools.lru_cache(maxsize=256)
def _own_parameters(element: PositionalEncoding, dims: Dims) -> int:
    shapes = jax.eval_shape(lambda: element.init(jax.random.key(0), dims))
    return count(shapes)


def _activations(run: Run, batch: Batch, remat: str) -> int:
    """Numbers kept for the gradient of all tokens: those that each block keeps, and one block's recomputed ones."""
    found = costs_of(run)
    total, again = batch.tokens * found.embedding.kept, dict.fromkeys(("encoder", "decoder", "pooling"), 0)
    for name, stack in found.stacks.items():
        queries, keys, _ = batch.sides(name)
        kept = whole = sum(layer.kept(queries, keys) for layer in stack.layers)
        if remat == "none":
            total -= queries * stack.unkept
        if remat == "dots" and name != "pooling":
            kept = sum(queries * layer.queries.outputs + keys * layer.keys.outputs for layer in stack.layers)
        elif remat == "layers" and name != "pooling":
            kept = 0 if name == "cross" else queries * run.model.d_model  # the input of the block
        total += stack.depth * kept
        again["decoder" if name == "cross" else name] += whole - kept
    return total + max(again.values())


def _attention(run: Run, batch: Batch, backend: str, remat: str) -> int:
    total = 0
    for stack, found in choices(run, batch, backend).items():
        attention, more = costs_of(run).stacks[stack].layers[0], _more_arrays(run, stack)
        seen = [_SEEN.get(choice.path, 0.0) for choice in found]
        dense = [(attention.arrays + own) * part for own, part in zip(more, seen, strict=True)]
        arrays = sum(dense) if remat == "none" else max(dense)
        blocks = _pairs_of_blocks(run, batch, stack, found, keys_of_block(backend))
        of_block = max((2 + own) * pairs for own, pairs in zip(more, blocks, strict=True))
        total += attention.logits * (round(arrays * batch.sides(stack)[2]) + of_block)
    return total


def _pairs_of_blocks(run: Run, batch: Batch, stack: str, found: tuple[Choice, ...], of_keys: int) -> list[int]:
    """Pairs whose logits each layer holds at once where it computes attention in blocks, else 0."""
    slot, (queries, keys, _) = getattr(run.slots, stack), batch.sides(stack)
    pairs = []
    for layer, choice in enumerate(found):
        at_once = keys_at_once(for_layer(slot, layer), keys // batch.rows, of_keys)
        pairs.append(batch.rows * block_size(queries // batch.rows, at_once) * at_once * (choice.path == "blockwise"))
    return pairs


def _more_arrays(run: Run, stack: str) -> list[int]:
    """The number of arrays of the size of the logits that the encodings of each layer need."""
    slot, heads = getattr(run.slots, stack), run.model.num_heads
    layers = (for_layer(slot, layer) for layer in range(run.model.depth(stack)))
    return [sum(len(e.acts_on - {*FUSABLE, "bias"}) + e.more_logit_arrays(heads) for e in layer) for layer in layers]


def _drawn(run: Run, rows: int) -> int:
    drawing = {e for stack in STACKS[run.task.model_kind] for e in elements(getattr(run.slots, stack))}
    return sum(_DRAW * e.num_candidates(rows) for e in drawing)


def _evaluation(run: Run, at_once: int, backend: str) -> int:
    found, most = costs_of(run), 0
    for bucket in buckets(run, run.evaluation.lengths, at_once, backend):
        batch = batch_of_length(run, bucket.chunk, bucket.max_length)
        most = max(most, batch.targets * found.output.held, _drawn(run, bucket.chunk))
        for name, chosen in choices(run, batch, backend).items():
            stack, (queries, keys, pairs) = found.stacks[name], batch.sides(name)
            more, beside = max(_more_arrays(run, name)), _beside(found, batch, name)
            if min(blocks := _pairs_of_blocks(run, batch, name, chosen, keys_of_block(backend))):
                pairs, more = max(blocks), more + 2
            most = max(most, *(beside + layer.held(queries, keys, pairs, more=more) for layer in stack.layers))
    return most


def _beside(found: ModelCosts, batch: Batch, name: str) -> int:
    """Numbers that the other side of an encoder-decoder holds meanwhile: the first attention of the decoder, which XLA
    computes beside the encoder; the keys and values of all cross-attention layers.
    """
    if name == "encoder" and "decoder" in found.stacks:
        return found.stacks["decoder"].layers[0].held(*batch.sides("decoder"))
    if name == "decoder" and "cross" in found.stacks:
        return found.stacks["cross"].depth * found.stacks["cross"].layers[0].held(0, batch.sides("cross")[1])
    return 0


def _scores(run: Run, at_once: int, backend: str) -> int:
    """Numbers that are summed over each chunk, besides the scores of every task, and kept until the last chunk."""
    most = 0
    for bucket in buckets(run, run.evaluation.lengths, at_once, backend):
        chunks = bucket.draws * (bucket.examples_per_draw // bucket.chunk)
        sums = own_sums(run, bucket.chunk, bucket.max_length)
        most = max(most, chunks * sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(sums)))
    return most


def own_sums(run: Run, rows: int, length: int) -> dict[str, Any]:
    """Shapes of the sums that the task and the run's metrics add to those of every task, of a batch of one length."""
    width = run.task.width(length)
    targets = 1 if run.model.pooling is not None else run.task.decoder_width(length) or width
    sums: dict[str, Any] = jax.eval_shape(
        lambda logits, example: (
            run.task.extra_sums(logits, example) | metric_sums(run.evaluation.metrics, logits, example)
        ),
        jax.ShapeDtypeStruct((rows, targets, run.task.num_classes), "float32"),
        _example(rows, width, targets),
    )
    return sums


def _example(rows: int, width: int, targets: int) -> Any:
    return Example(
        inputs=jax.ShapeDtypeStruct((rows, width), "int32"),  # type: ignore[arg-type]
        targets=jax.ShapeDtypeStruct((rows, targets), "int32"),  # type: ignore[arg-type]
        weights=jax.ShapeDtypeStruct((rows, targets), "float32"),  # type: ignore[arg-type]
        length=jax.ShapeDtypeStruct((rows,), "int32"),  # type: ignore[arg-type]
        segment_ids=jax.ShapeDtypeStruct((rows, width), "int32"),  # type: ignore[arg-type]
        group=jax.ShapeDtypeStruct((rows,), "int32"),  # type: ignore[arg-type]
    )


def _decoding(run: Run) -> int:
    if not run.evaluation.decoded_examples:
        return 0
    found, longest = costs_of(run), max(run.evaluation.lengths, default=1)
    cached = found.stacks["decoder"].depth * found.stacks["decoder"].layers[0].keys.outputs
    followed = CHUNK * run.evaluation.decoding.num_outputs
    capacity = run.task.width(longest) + new_tokens(run, longest)
    return followed * (cached * capacity + 3 * run.task.num_classes)


def choices(run: Run, batch: Batch, backend: str) -> dict[str, tuple[Choice, ...]]:
    """Stack -> what `posenc_jax.attention.choose` finds for every layer of it, on "cpu", "gpu" or "tpu"."""
    return {stack: _of_stack(run, batch, backend, stack) for stack in STACKS[run.task.model_kind]}


def _of_stack(run: Run, batch: Batch, backend: str, stack: str) -> tuple[Choice, ...]:
    model, kind = run.model, run.task.model_kind
    packed = is_packed(run.task)
    decoder = batch.decoder_width or batch.width
    call = Call(
        batch=batch.rows,
        num_heads=part_of(model.num_heads, run.execution.model),
        num_kv_heads=part_of(model.kv_heads, run.execution.model),
        queries=batch.width if stack == "encoder" else decoder,
        keys=decoder if stack == "decoder" else batch.width,
        head_dim=model.width_of_head,
        dtype=jnp.dtype(model.dtype),
        backend=backend,
        causal=stack == "decoder",
        segments=kind != "decoder_only" or packed,
        right_padded=not packed,
        contiguous=not packed,
        packed=packed and stack != "cross",
        options=options_of(model),
    )
    slot = getattr(run.slots, stack)
    calls = (dataclasses.replace(call, window=model.window(layer)) for layer in range(model.depth(stack)))
    return tuple(choose(for_layer(slot, layer), call, model.attention) for layer, call in enumerate(calls))
