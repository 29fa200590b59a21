"""What is computed together, in numbers of rows and places, told from a run's config alone."""

from __future__ import annotations

import dataclasses

from posenc_jax.config import Run
from posenc_jax.data.text.base import TextTask


@dataclasses.dataclass(frozen=True)
class Batch:
    """Rows that are computed together: ``width`` places each, and ``decoder_width`` for an encoder-decoder (else 0);
    ``pooled`` have one target each.
    """

    rows: int
    width: int
    decoder_width: int
    pooled: bool

    @property
    def tokens(self) -> int:
        """Places, those of padding included."""
        return self.rows * (self.width + self.decoder_width)

    @property
    def targets(self) -> int:
        """Places that the output layer is computed at."""
        return self.rows * (1 if self.pooled else self.decoder_width or self.width)

    @property
    def attended(self) -> dict[str, int]:
        """Pairs of places of each kind of attention."""
        if not self.decoder_width:
            return {"encoder": self.rows * self.width**2, "decoder": self.rows * self.width**2}
        return {
            "encoder": self.rows * self.width**2,
            "decoder": self.rows * self.decoder_width**2,
            "cross": self.rows * self.width * self.decoder_width,
        }


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
    return Batch(rows, run.task.width(length), decoder_width(run, length), run.model.pooling is not None)


def decoder_width(run: Run, length: int) -> int:
    """Places of the decoder of an encoder-decoder at a length; 0 of other models."""
    return run.task.decoder_width(length) if run.task.model_kind == "encoder_decoder" else 0
