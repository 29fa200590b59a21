"""The number of floating-point operations of a run, from its config alone.

The matrix products of the model are counted, two operations for a product and its sum. For N tokens (padding
included), targets T, pairs of tokens A that attend, matrices of W weights in a layer, heads of width H D in all, model
width M and C classes::

    forward    2 N W + 4 H D A in each layer, and 2 T M C for the output
    training   3 times that: the gradients of a product are two products of its size
    decoding   a forward pass of what is given; then, for each new token of each output that is followed, its own
               products and the pairs with every entry of the cache

All pairs count, those of a causal mask too, which the reference computes and throws away, and of which blocks of keys
leave most out. Not counted are norms, activations, softmax, the optimizer, what `jax.checkpoint` computes again, and
what encodings do themselves; so this is what model FLOP/s utilisation is told by (Chowdhery et al. 2022, PaLM, appendix
B).
"""

from __future__ import annotations

import dataclasses

from posenc_jax.config import Run
from posenc_jax.training.batches import (
    Batch,
    Bucket,
    batch_of_length,
    buckets,
    costs_of,
    training_batch,
    training_batches,
)
from posenc_jax.training.generation import CHUNK, new_tokens

_OF_A_CALL = 2**38
"""The operations of a call of an evaluation on a CPU, if a chunk takes no more; on accelerators 1,024 times as many."""


@dataclasses.dataclass(frozen=True)
class Work:
    """Operations, and the tokens, padding included, that a model is computed for."""

    operations: int = 0
    tokens: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.operations + other.operations, self.tokens + other.tokens)

    def __mul__(self, count: int) -> Work:
        return Work(self.operations * count, self.tokens * count)


def of_step(run: Run) -> Work:
    """A training step of one replica."""
    batches = training_batches(run)
    return Work(sum(3 * forward(run, batch) for batch in batches), sum(batch.tokens for batch in batches))


def of_validation(run: Run) -> Work:
    """One validation of one replica."""
    batch = training_batch(run, run.training.batch_size)
    return Work(forward(run, batch), batch.tokens) * run.training.validation_batches


def of_length(run: Run, length: int, at_once: int, backend: str = "cpu") -> Work:
    """The evaluation of one replica at one length, when ``at_once`` are computed at the same time on a backend."""
    (bucket,) = buckets(run, (length,), at_once, backend)
    batch = batch_of_length(run, bucket.draws * bucket.examples_per_draw, bucket.max_length)
    return Work(forward(run, batch), batch.tokens)


def chunks_at_once(run: Run, bucket: Bucket, backend: str) -> int:
    """Chunks of one call of an evaluation: so many that it returns within some ten seconds, and one at least."""
    whole = forward(run, batch_of_length(run, bucket.chunks * bucket.chunk, bucket.max_length))
    calls = min(-(-whole // (_OF_A_CALL if backend == "cpu" else 1024 * _OF_A_CALL)), bucket.chunks)
    return -(-bucket.chunks // calls)


def of_decoding(run: Run, length: int) -> Work:
    """Writing the outputs of one replica at one length (`Evaluation.decoded_examples`)."""
    return of_chunk(run, length) * -(-run.evaluation.decoded_examples // CHUNK)


def of_chunk(run: Run, length: int) -> Work:
    """Writing the outputs of `CHUNK` examples, each as long as it may get."""
    task = run.task
    if not run.evaluation.decoded_examples:
        return Work()
    new, crossed = new_tokens(run, length), task.model_kind == "encoder_decoder"
    given = Batch(CHUNK, task.width(length), 0, pooled=True)
    followed = CHUNK * new * run.evaluation.decoding.num_outputs
    found = costs_of(run)
    decoder, cross = found.stacks["decoder"], found.stacks["cross"].layers if crossed else ()
    of_token = sum(layer.work(1, 1, new if crossed else new + given.width) for layer in decoder.layers)
    of_token += sum(layer.work(1, 0, given.width) for layer in cross)
    written = followed * (decoder.depth * of_token + 2 * found.output.weights)
    read = _stack(run, given, "encoder" if crossed else "decoder")
    return Work(read + written, given.tokens + followed)


def forward(run: Run, batch: Batch) -> int:
    """Operations of one forward pass."""
    return 2 * batch.targets * costs_of(run).output.weights + sum(_stack(run, batch, s) for s in costs_of(run).stacks)


def _stack(run: Run, batch: Batch, name: str) -> int:
    stack, (queries, keys, pairs) = costs_of(run).stacks[name], batch.sides(name)
    return stack.depth * sum(layer.work(queries, keys, pairs) for layer in stack.layers)
