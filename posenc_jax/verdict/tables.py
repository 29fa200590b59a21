"""The tables that a verdict is made of: each a task of a published comparison in ``experiments/tables``, at a size that
two cores train.

Sizes were set so that plain encodings are neither at chance nor perfect within the training lengths, and looking at
baselines only (NoPE, learned, sinusoidal, RoPE, ALiBi), never at a method that is to win.
"""

from __future__ import annotations

import dataclasses
import functools
import runpy
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from posenc_jax.config import Evaluation, Execution, Optimizer, Run, Training
from posenc_jax.data.tasks import Task
from posenc_jax.data.tasks.floors import floors
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.files.shipped import shipped
from posenc_jax.models.config import Transformer
from posenc_jax.runs.errors import RefusedError
from posenc_jax.verdict.fields import fitted
from posenc_jax.verdict.question import KeptQuestion

SEEDS = tuple(range(8))
"""Of the runs that are compared, each at every learning rate of its table."""
RATES, FULL_RATES = (5e-4, 1e-3), (1e-4, 3e-4, 1e-3)
"""The learning rates that each seed chooses from at first, on two cores and at full size."""
MOST_RATES = 6
"""A grid grows at an end that half of the seeds of any arm prefer, for all arms, until it has so many."""
CHECKPOINTS = 4
"""At equal distances along training, the last one at its end."""
COMPARISONS = ("copying", "flip_flop", "randomized", "state", "counting", "arrow_grid", "indirect_indexing")
"""The folders of ``experiments/tables`` that have tables of verdicts, in the order of a card; they are in the wheel."""


@dataclasses.dataclass(frozen=True)
class Table:
    """One question.

    Attributes:
      question: what the scores answer.
      source: where the comparison was published.
      run: everything but the encoding, which is NoPE here; its ``learning_rates`` are the grid that each seed chooses
        from.
      full: the same at a size for an accelerator.
      quick: whether ``--quick`` asks it.
      published: whether it is of a published comparison, whose scores may be of the best checkpoint or temperature: it
        is scored by these ways too.
      not_a_test: where it cannot show what was published, such as "at this size"; "" where it can.
      widened: the arms whose feed-forward layers have another hidden width than those of ``run``, with that width.
      as_given: the arms whose fields are not `fitted`.
    """

    name: str
    question: str
    source: str
    run: Run
    full: Run
    quick: bool = False
    published: bool = True
    not_a_test: str = ""
    widened: tuple[tuple[str, int], ...] = ()
    as_given: tuple[str, ...] = ()

    @property
    def at_full_size(self) -> Table:
        """The table whose ``run`` is the full one."""
        return dataclasses.replace(self, run=self.full, not_a_test="")

    @property
    def at_twice_the_steps(self) -> Table:
        """The table with twice as many steps of training, whose scores are of the last one alone."""
        training = dataclasses.replace(self.run.training, steps=2 * self.run.training.steps)
        return dataclasses.replace(self, run=dataclasses.replace(self.run, training=training), published=False)

    @functools.cached_property
    def asked(self) -> KeptQuestion:
        """The question as a card keeps it."""
        asked = KeptQuestion.of_run(self.question, self.source, self.run)
        return dataclasses.replace(asked, not_a_test=self.not_a_test)

    @functools.cached_property
    def floored(self) -> KeptQuestion:
        """The question with the floors of its scores, which take seconds to measure."""
        return self.asked.with_floors(floors(self.run.task, self.run.evaluation.lengths))

    @property
    def steps_kept(self) -> tuple[int, ...]:
        """The steps of training whose checkpoints are measured, the last one at the end."""
        steps = self.run.training.steps
        return tuple(range(steps // CHECKPOINTS, steps + 1, steps // CHECKPOINTS))

    def cell(self, slot: Slot, label: str, seeds: tuple[int, ...]) -> Run:
        """The run of an encoding, its fields `fitted` to the training; of a published table with its `steps_kept`."""
        task = self.run.task
        if label not in self.as_given:
            slot = fitted(slot, task.width(task.train_lengths[-1]), task.model_kind)
        training, model = self.run.training, self.run.model
        if self.published:
            every = self.steps_kept[0]
            training = dataclasses.replace(training, checkpoint_every=every, keep_every=every)
        if (width := dict(self.widened).get(label)) is not None:
            model = dataclasses.replace(model, mlp_dim=width)
        return dataclasses.replace(self.run, posenc=slot, label=label, seeds=seeds, training=training, model=model)


def table(
    name: str, run: Run, full: Run, *, question: str, source: str, quick: bool = False, not_a_test: str = ""
) -> Table:
    """The table of a published comparison's ``run``: its encoding is left open, and it has the seeds and the learning
    rates of verdicts; ``full`` as of `full_size`.
    """
    run = dataclasses.replace(run, table=name, label="", posenc=(), seeds=SEEDS, learning_rates=RATES)
    full = dataclasses.replace(full, table=name)
    return Table(name, question, source, run, full, quick, not_a_test=not_a_test)


def full_size(
    task: Task,
    model: Transformer,
    steps: int,
    batch_size: int,
    lengths: tuple[int, ...],
    num_examples: int,
    draws: int = 1,
) -> Run:
    """A run for an accelerator, all of whose replicas are one program if they fit."""
    return Run(
        task=task,
        model=model,
        optimizer=Optimizer(schedule="cosine", warmup_steps=steps // 20),
        training=Training(steps=steps, batch_size=batch_size, steps_per_call=100, log_every=steps // 40),
        evaluation=Evaluation(lengths=lengths, num_examples=num_examples, draws=draws),
        execution=Execution(mode="vmap"),
        seeds=SEEDS,
        learning_rates=FULL_RATES,
    )


@functools.cache
def tables() -> Mapping[str, Table]:
    """All of them by name, in the order of a card: those in ``verdict`` of the comparisons' ``reduced.py``.

    Raises:
      RefusedError: the package came without these files.
    """
    found: dict[str, Table] = {}
    for folder in COMPARISONS:
        name = Path("experiments", "tables", folder, "reduced.py")
        file = shipped(name)
        if file is None:
            raise RefusedError(f"{name} is not beside posenc_jax: install the package, or run it in the repository")
        found |= {own.name: own for own in runpy.run_path(str(file))["verdict"]}
    return MappingProxyType(found)
