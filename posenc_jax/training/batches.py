"""Sizes of the batches that are computed together, in rows and tokens, from a run's config and the platform."""

import dataclasses

from posenc_jax.config import Run
from posenc_jax.data.text.base import TextTask
from posenc_jax.models.building import costs
from posenc_jax.models.costs import ModelCosts

CACHED_MB = 16
"""The most that the activations of a chunk take on a CPU: larger ones leave its caches, and their memory is mapped anew
in every chunk.
"""


@dataclasses.dataclass(frozen=True)
class Batch:
    """Rows that are computed together: ``width`` tokens each, and ``decoder_width`` for an encoder-decoder (else 0);
    ``pooled`` have one target each.
    """

    rows: int
    width: int
    decoder_width: int
    pooled: bool

    @property
    def tokens(self) -> int:
        """Tokens, padding included."""
        return self.rows * (self.width + self.decoder_width)

    @property
    def targets(self) -> int:
        """Tokens that the output layer is computed for."""
        return self.rows * (1 if self.pooled else self.decoder_width or self.width)

    def sides(self, stack: str) -> tuple[int, int, int]:
        """Queries of a stack, its keys, and pairs of them."""
        decoder = self.decoder_width or self.width
        queries = 1 if stack == "pooling" else self.width if stack == "encoder" else decoder
        keys = decoder if stack == "decoder" else self.width
        return self.rows * queries, self.rows * keys, self.rows * queries * keys


def training_batch(run: Run, rows: int) -> Batch:
    """``rows`` of a training batch, as wide as its widest."""
    task, pooled = run.task, run.model.pooling is not None
    if isinstance(task, TextTask):
        return Batch(rows, task.row, task.row if task.model_kind == "encoder_decoder" else 0, pooled)
    return batch_of_length(run, rows, task.train_lengths[-1])


def training_batches(run: Run) -> tuple[Batch, ...]:
    """The whole batch of a step, a part for each of its ``length_strata``."""
    rows, strata = run.training.batch_size, run.training.length_strata
    if strata == 1:
        return (training_batch(run, rows),)
    return tuple(batch_of_length(run, rows // strata, longest) for longest in run.task.strata(strata))


def batch_of_length(run: Run, rows: int, length: int) -> Batch:
    """``rows`` examples that are padded to a length in the task's own measure."""
    return Batch(rows, run.task.width(length), run.task.decoder_width(length), run.model.pooling is not None)


def costs_of(run: Run) -> ModelCosts:
    """The costs of the layers of a run's model."""
    task = run.task
    return costs(task.model_kind, run.model, vocab_size=task.vocab_size, num_classes=task.num_classes)


@dataclasses.dataclass(frozen=True)
class Bucket:
    """Evaluated lengths that share one program: padded to ``max_length``, ``chunk`` examples at a time.

    Attributes:
      share: examples of one draw of random positions; examples_per_draw: the same, rounded up to whole chunks.
    """

    lengths: tuple[int, ...]
    max_length: int
    chunk: int
    draws: int
    share: int

    @property
    def examples_per_draw(self) -> int:
        """``share`` rounded up to a multiple of ``chunk``."""
        return -(-self.share // self.chunk) * self.chunk

    @property
    def chunks(self) -> int:
        """Number of chunks of all draws."""
        return self.draws * self.examples_per_draw // self.chunk


def buckets(run: Run, lengths: tuple[int, ...], replicas_at_once: int = 1, backend: str = "cpu") -> tuple[Bucket, ...]:
    """Evaluated lengths by their `Task.padded_length`, so that programs grow with the logarithm.

    The padded length of a length, and the number of its examples computed together, do not depend on other lengths.

    Args:
      backend: "cpu", "gpu" or "tpu"; a CPU computes at most `CACHED_MB` of activations together.
    """
    groups: dict[int, list[int]] = {}
    for length in lengths:
        groups.setdefault(run.task.padded_length(length), []).append(length)
    share = -(-run.evaluation.num_examples // run.evaluation.draws)
    budget = run.evaluation.memory_budget_mb
    budget = min(budget, CACHED_MB) if backend == "cpu" else budget
    return tuple(
        Bucket(
            tuple(members),
            padded,
            min(examples_within(run, padded, budget / replicas_at_once), share),
            run.evaluation.draws,
            share,
        )
        for padded, members in groups.items()
    )


def of_few_lengths(run: Run) -> Run:
    """The run with the longest of the lengths of each bucket alone, which takes the memory of all of them."""
    longest = {run.task.padded_length(length): length for length in run.evaluation.lengths}
    if len(longest) == len(run.evaluation.lengths):
        return run
    return dataclasses.replace(run, evaluation=dataclasses.replace(run.evaluation, lengths=tuple(longest.values())))


def examples_within(run: Run, max_length: int, megabytes: float) -> int:
    """The number of examples, a power of two and 1 at least, whose activations fit so many MiB."""
    found, one = costs_of(run), batch_of_length(run, 1, max_length)
    kept = one.targets * found.output.kept
    kept += sum(layer.kept(*one.sides(name)) for name, stack in found.stacks.items() for layer in stack.layers)
    return 1 << (max(int(megabytes * 2**20) // (4 * kept), 1).bit_length() - 1)
