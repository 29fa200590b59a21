"""Handling of damage in the directory of a group that is to be finished."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from posenc_jax.runs.checkpoint import Checkpoints
from posenc_jax.runs.directory import Group, checkpoint_steps
from posenc_jax.runs.errors import DamagedFileError
from posenc_jax.runs.files import Log, put_aside
from posenc_jax.shapes import Json


def put_result_aside(error: DamagedFileError, note: Callable[[str], None]) -> None:
    """Renames a damaged ``result.json``, so that its group is measured again from its last checkpoint; without one the
    error is raised, since that would be to train it anew unasked.
    """
    group = error.path.parent
    steps = checkpoint_steps(group)
    if not steps:
        raise error
    kept = put_aside(error.path)
    note(
        f"{error.path} is damaged ({error.reason}); kept as {kept.name}, and {group.name} is measured again from its "
        f"checkpoint of step {steps[-1]}"
    )


def refuse_damaged_metrics(group: Path, result: Json) -> None:
    """DamagedFileError when the metrics of a finished group are not those that there were when it was finished."""
    log = Log(group / "metrics.jsonl")
    if not log.path.exists() or log.digest_of_all() == result["metrics_sha256"]:
        return
    way_out = (
        f"restore it, or move it away, and only the course of training is lost, or move {group} away to train it again"
    )
    raise DamagedFileError(log.path, log.problem(), way_out)


def refuse_lost_rows(group: Group, log: Log, checkpoints: Checkpoints, step: int) -> None:
    """DamagedFileError when the metrics up to a checkpoint are not those that were there when it was saved."""
    if checkpoints.rows_at(step) in (None, log.digest_up_to(step)):
        return
    whole = [s for s in checkpoints.steps() if s < step and checkpoints.rows_at(s) == log.digest_up_to(s)]
    way_out = f"move {group.directory} away to train it again"
    if whole:
        way_out = f"move {checkpoints.at(step)} away and run the same command again, to go on from step {whole[-1]}"
    raise DamagedFileError(log.path, log.problem(), f"restore it, or {way_out}")
