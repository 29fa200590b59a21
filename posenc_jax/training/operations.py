"""How many floating-point operations a run takes, told from its config alone.

Counted are the matrix products of the model, two operations for a product and its sum. For N places (padding
included), targets T, pairs of places A that attend, matrices of W weights in a layer, heads of width H D in all, model
width M and C classes::

    forward    2 N W + 4 H D A in each layer, and 2 T M C for the output
    training   3 times that: the gradients of a product are two products of its size
    decoding   a forward pass of what is given; then, for each new token of each output that is followed, its own
               products and the pairs with every place of the cache

All pairs count, those of a causal mask that are thrown away too, since the reference path computes them. Not counted
are norms, activations, softmax, the optimizer, what `jax.checkpoint` computes again, and what encodings do themselves;
so this is what model FLOP/s utilisation is told by (Chowdhery et al. 2022, PaLM, appendix B).
"""

from __future__ import annotations

import dataclasses

from posenc_jax.config import Run
from posenc_jax.models.config import STACKS
from posenc_jax.models.sizes import hidden_width, key_width
from posenc_jax.training.batches import Batch, batch_of_length, training_batch, training_batches
from posenc_jax.training.generation import CHUNK, new_tokens
from posenc_jax.training.step import buckets


@dataclasses.dataclass(frozen=True)
class Work:
    """Operations, and the places (tokens with their padding) at which a model is computed."""

    operations: int = 0
    places: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.operations + other.operations, self.places + other.places)

    def __mul__(self, count: int) -> Work:
        return Work(self.operations * count, self.places * count)


def of_step(run: Run) -> Work:
    """A training step of one replica."""
    batches = training_batches(run)
    return Work(sum(3 * forward(run, batch) for batch in batches), sum(batch.tokens for batch in batches))


def of_validation(run: Run) -> Work:
    """One validation of one replica."""
    batch = training_batch(run, run.training.batch_size)
    return Work(forward(run, batch), batch.tokens) * run.training.validation_batches


def of_length(run: Run, length: int, at_once: int) -> Work:
    """The evaluation of one replica at one length, when ``at_once`` are computed at the same time."""
    (bucket,) = buckets(run, (length,), at_once)
    batch = batch_of_length(run, bucket.draws * bucket.examples_per_draw, bucket.max_length)
    return Work(forward(run, batch), batch.tokens)


def of_decoding(run: Run, length: int) -> Work:
    """Writing the outputs of one replica at one length (`Evaluation.decoded_examples`)."""
    return of_chunk(run, length) * -(-run.evaluation.decoded_examples // CHUNK)


def of_chunk(run: Run, length: int) -> Work:
    """Writing the outputs of `CHUNK` examples, each as long as it may get."""
    task, model = run.task, run.model
    if not run.evaluation.decoded_examples:
        return Work()
    new, crossed = new_tokens(run, length), task.model_kind == "encoder_decoder"
    given = Batch(CHUNK, task.width(length), 0, pooled=True)
    followed = CHUNK * new * run.evaluation.decoding.num_outputs
    weights = _queries(run) * (2 if crossed else 1) + _keys(run) + _mlp(run)
    of_token = 2 * weights + 4 * _width(run) * (new + given.width)
    written = followed * (model.depth("decoder") * of_token + 2 * model.d_model * task.num_classes)
    read = _stack(run, given, "encoder" if crossed else "decoder")
    return Work(read + written, given.tokens + followed)


def forward(run: Run, batch: Batch) -> int:
    """Operations of one forward pass."""
    output = 2 * batch.targets * run.model.d_model * run.task.num_classes
    pooled = _pooling(run, batch) if run.model.pooling == "attention" else 0
    return output + pooled + sum(_stack(run, batch, stack) for stack in STACKS[run.task.model_kind])


def _pooling(run: Run, batch: Batch) -> int:
    """`AttentionPooling`: a query for each section attends to all places."""
    sections, wide = max(run.model.token_types - 1, 1), _width(run)
    read = batch.tokens * (2 * _keys(run) + 4 * sections * wide)
    return read + 2 * batch.rows * sections * wide * run.model.d_model


def _stack(run: Run, batch: Batch, stack: str) -> int:
    """All layers of a stack; "cross" has queries of the decoder, keys and values of the encoder."""
    encoder, decoder = batch.rows * batch.width, batch.rows * (batch.decoder_width or batch.width)
    if stack == "cross":
        products = decoder * _queries(run) + encoder * _keys(run)
    else:
        places = encoder if stack == "encoder" else decoder
        products = places * (_queries(run) + _keys(run) + _mlp(run))
    return run.model.depth(stack) * (2 * products + 4 * _width(run) * batch.attended[stack])


def _width(run: Run) -> int:
    return run.model.num_heads * run.model.width_of_head


def _queries(run: Run) -> int:
    """Weights of the projections of queries and output."""
    return 2 * run.model.d_model * _width(run)


def _keys(run: Run) -> int:
    """Weights of the projections of keys and values."""
    return 2 * run.model.d_model * key_width(run.model)


def _mlp(run: Run) -> int:
    return 2 * run.model.d_model * hidden_width(run.model)
