"""Checks that a config alone does not allow: this machine, these directories and the corpus.

Asked before anything is written and before the training program is compiled.
"""

from pathlib import Path

from posenc_jax.config import Run
from posenc_jax.data.checks import check_scores, check_task
from posenc_jax.encodings.interface.structure import check_mask
from posenc_jax.refusals import own_frames
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.identity import start_of
from posenc_jax.runs.supply import start_tokenizer
from posenc_jax.runs.targets import bytes_in_words, devices_with_memory, host_memory
from posenc_jax.runs.transplant import check_start
from posenc_jax.training.batches import of_few_lengths
from posenc_jax.training.layout import Devices, check_mesh, layout_of, memory_in_group
from posenc_jax.training.memory import own_sums
from posenc_jax.training.processes import count
from posenc_jax.training.replicas import devices_here


def refuse_several_processes(what: str) -> None:
    """RefusedError where this process computes together with others (`jax.distributed`): a single run can, ``what``
    cannot.
    """
    if count() > 1:
        raise RefusedError(
            f"{count()} processes share their devices (jax.distributed), and {what} is of one process: "
            "start each process alone, with a directory of its own, or train one run together"
        )


def check_run(config: Run, on: Devices | None = None, directory: Path | None = None) -> None:
    """Refuses a run that asks for absent devices, for more memory than there is or for untrained parameters, whose
    task leaves its vocabulary or has no such headline score, whose model does not pool where it must, or whose mask is
    none (`MaskError`).

    Args:
      on: the devices that it will run on, where these are not the ones of this process, and their memory if it is
        known.
      directory: its own; None before its turn in an ablation, when a cell that it starts from may not have run.
    """
    if config.task.one_answer and config.model.pooling is None:
        raise RefusedError(
            f"model.pooling = None answers for every token, and task {config.task.name!r} asks for one answer: set "
            "it to 'mean', 'first' or 'attention'"
        )
    if config.model.mask is not None:
        check_mask(config.model.mask, types=config.task.has_token_types, outline=config.task.has_outline)
    if (source := start_of(config, directory)) is not None:
        if not source.exists():
            raise RefusedError(
                f"init_from = {config.init_from!r}: there is no {source}: name the directory of a finished run or a "
                "file of `posenc weights export`, or run the ablation that has both cells"
            )
        if directory is None or not any(directory.glob("group-*/checkpoints/*")):  # what goes on needs it no more
            start_tokenizer(config, source)
            check_start(config, source)
    try:
        check_mesh(config.execution, on or devices_here())
        check_memory(config, on)
        check_task(config.task)
        check_scores(config.task, config.evaluation.metrics, own_sums(config, 1, config.task.train_lengths[-1]))
    except ValueError as error:
        if own_frames(error):  # whose traceback its author wants
            raise
        raise RefusedError(str(error)) from None


def check_memory(config: Run, on: Devices | None = None, *, trained: bool = False) -> None:
    """Refuses a run that, by `memory_of`, takes more memory than this machine or its accelerator has, or the devices
    ``on`` which it will run; of one that is ``trained`` to measure it.
    """
    found = shortage(config, on or devices_with_memory(), None if on else host_memory(), trained=trained)
    if found is not None:
        raise RefusedError(found)


def shortage(config: Run, devices: Devices, host: int | None = None, *, trained: bool = False) -> str | None:
    """The memory that a run lacks on these devices and what to lower, in a line; None if all fits.

    Args:
      host: bytes of the machine's memory beside that of accelerators; None where nobody tells.
      trained: whether the run is only measured.
    """
    config = of_few_lengths(config)
    memory = memory_in_group(config, layout_of(config, len(config.replicas), devices).size, devices)
    computing = memory.state + memory.measuring if trained else memory.peak
    needs = [(memory.checkpoint, host, "this machine"), (computing, devices.memory, "its accelerator")]
    if devices.on_cpu:
        needs = [(memory.checkpoint + computing, devices.memory, "this machine")]
    for needed, limit, what in needs:
        if limit is not None and needed > limit:
            part, size = memory.largest
            takes = f"takes about {bytes_in_words(needed)} of memory ({part}: {bytes_in_words(size)})"
            has, lower = f"{what} has {bytes_in_words(limit)}", _GROWS_WITH.get(part, _SIZES)
            return f"{config.table} {config.label} {takes}, and {has}: lower {lower}"
    return None


_SIZES = "the sizes of the model and its encodings, or execution.group_size"
_GROWS_WITH = {
    **dict.fromkeys(("batch", "activations", "attention", "logits"), "training.batch_size or the lengths of the task"),
    **dict.fromkeys(("evaluation", "decoding"), "evaluation.lengths or evaluation.memory_budget_mb"),
}
