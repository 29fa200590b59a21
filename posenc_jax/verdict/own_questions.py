"""A user's own questions: a run, the tables of an ablation, or a task, with the encoding left open."""

import dataclasses

from posenc_jax.config import Ablation, Evaluation, Optimizer, Run, Training
from posenc_jax.config.guessing import chance_of
from posenc_jax.data.tasks import Task
from posenc_jax.models.config import Transformer
from posenc_jax.runs.errors import RefusedError
from posenc_jax.verdict.tables import SEEDS, Table

SHORT_LIST = ("nope", "sinusoidal", "learned", "rope", "alibi", "t5", "fire", "shaw")
"""The encodings that are compared where none is named."""
STEPS, BATCH = 2000, 32
"""Steps and batch size for a task alone."""


def own_tables(config: Run | Ablation, source: str) -> dict[str, Table]:
    """The questions of a config by name, its encodings left open.

    Raises:
      RefusedError: runs of one table of an ablation differ in more than the encoding, or a task does not say what
        guessing scores where that is needed.
    """
    if isinstance(config, Run):
        return {config.table: own_table(config.table, config, config.table, source)}
    found: dict[str, Table] = {}
    for run in config.runs:
        own = own_table(run.table, run, run.table, source)
        if found.setdefault(run.table, own) != own:
            raise RefusedError(
                f"{source}: cells of {run.table} differ in more than the encoding, so there are several questions: "
                "name a file whose `config` is one Run"
            )
    return found


def own_table(name: str, run: Run, question: str, source: str) -> Table:
    """The question of a run, with the seeds of verdicts. A single learning rate gets its half and its double as
    neighbours, so that the best of them may lie inside the grid.

    Raises:
      RefusedError: see `own_tables`.
    """
    task = run.task
    if chance_of(task) is None:
        raise RefusedError(
            f"{source}: nobody knows what guessing scores on task {task.name!r}, whose score is {task.metric}: write "
            "it in its class, as in `chance = 0.25` for one of four"
        )
    first, *others = run.learning_rates
    rates = run.learning_rates if others else (first / 2, first, 2 * first)
    run = dataclasses.replace(
        run, table=name, label="", note="", posenc=(), posenc_encoder=None, seeds=SEEDS, learning_rates=rates
    )
    return Table(name, question, source, run, run, published=False)


def run_of(task: Task) -> Run:
    """A run of a task alone, at a size that two cores train: two layers of 64 dimensions, `STEPS` steps, tested up to
    twice the longest training length.
    """
    longest = task.train_lengths[-1]
    wanted = (task.train_lengths[0], longest // 2, longest, longest * 5 // 4, longest * 3 // 2, 2 * longest)
    return Run(
        table=task.name,
        task=task,
        model=Transformer(d_model=64, num_layers=2, num_heads=4, pooling="mean" if task.one_answer else None),
        optimizer=Optimizer(schedule="linear", warmup_steps=50),
        training=Training(steps=STEPS, batch_size=BATCH, microbatches=2, log_every=200),
        evaluation=Evaluation(lengths=tuple(n for n in sorted(set(wanted)) if _has(task, n)), num_examples=128),
    )


def _has(task: Task, length: int) -> bool:
    try:
        task.check_length(length)
    except ValueError:
        return False
    return True
