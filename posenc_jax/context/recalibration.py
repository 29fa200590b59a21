"""Further training under a change of positions, in runs that start from the given one, before texts are read."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from posenc_jax.config import Run
from posenc_jax.context.changes import FACTORS, named
from posenc_jax.context.study import StudyCell, trained_length
from posenc_jax.data.text import LanguageModel
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.runs.cell import run
from posenc_jax.runs.evaluation import changed_config
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.runs.reporter import Reporter


def recalibrated(
    loaded: Loaded, word: str, slot: Slot, length: int, steps: int, learning_rate: float | None = None
) -> Run:
    """The run that trains the one in ``loaded`` on for ``steps``, with the slot of the change ``word`` for ``length``.

    Changes with a factor s train on texts of s L tokens (Peng et al. 2023), L being the length that the run was made
    for; the others train on texts of L tokens, as DroPE does (Gelberg et al. 2025). Corpus, batches and optimizer are
    those of the run. The new schedule warms up in at most a tenth of the steps to ``learning_rate``, or to that of the
    run.

    Raises:
      ValueError: settings that do not fit together.
    """
    task, found, longest = loaded.config.task, named(word), trained_length(loaded)
    assert isinstance(task, LanguageModel)
    if found is not None and found[0] in FACTORS:
        longest = max(longest, length if found[1] is None else round(found[1] * longest))
    config = changed_config(loaded.config, (longest,), slot)
    return dataclasses.replace(
        config,
        task=dataclasses.replace(task, max_length=longest, row=longest),
        optimizer=dataclasses.replace(config.optimizer, warmup_steps=min(config.optimizer.warmup_steps, steps // 10)),
        training=dataclasses.replace(config.training, steps=steps),
        seeds=(loaded.seed,),
        learning_rates=(loaded.learning_rate if learning_rate is None else learning_rate,),
        init_from=str(loaded.directory),
        label=f"{config.label}, {steps} steps",
        note="",
    )


def in_words(runs: Sequence[Run]) -> str:
    """A sentence on the trainings to come: their number, steps, texts and learning rate."""
    lengths = ", ".join(f"{length:,}" for length in sorted({run.task.train_lengths[-1] for run in runs}))
    (training,), ((rate,),) = {run.training for run in runs}, {run.learning_rates for run in runs}
    return (
        f"{len(runs)} x {training.steps:,} steps are trained first, of {training.batch_size} texts of {lengths} "
        f"tokens, at a learning rate of {rate:g}"
    )


def by_run(
    loaded: Loaded,
    asked: Sequence[StudyCell],
    runs: dict[tuple[str, int], Run],
    folder: Path,
    reporter: Reporter,
    stop: Callable[[], int | None],
) -> list[tuple[Loaded, list[StudyCell]]]:
    """The cells of a study by the parameters that answer them, after training the missing runs in ``folder``.

    ``runs``: by (change, length). Cells without one, such as "far", are answered by the run as it was trained.
    """
    groups: dict[Run | None, list[StudyCell]] = {}
    for cell in asked:
        groups.setdefault(runs.get((cell.change, cell.length)), []).append(cell)
    found = []
    for config, cells in groups.items():
        if config is None:
            found.append((loaded, cells))
            continue
        directory = folder / config.directory_name
        run(config, directory, reporter=reporter, stop=stop)
        found.append((load_run(directory), cells))
    return found
