"""Replicas that a cell lacks, and the groups that it is trained in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from posenc_jax.config import Run
from posenc_jax.runs.claims import claim, plan
from posenc_jax.runs.damage import put_result_aside, refuse_damaged_metrics
from posenc_jax.runs.directory import Group, Replica, replicas_of, results, results_by_group
from posenc_jax.training.layout import Devices, layout_of


def missing_replicas(
    config: Run, directory: Path, *, accept_changed_code: bool = False, note: Callable[[str], None]
) -> list[Replica]:
    """Claims a cell's directory, which the caller holds, and tells which replicas have no result there.

    A damaged result is put aside, so that its group is measured again, and ``note`` hears of it.

    Raises:
      RefusedError: the directory holds another config, or results of other code of the user's. DamagedFileError: it
        holds what cannot be mended.
    """
    claim(directory, config, accept_changed_code=accept_changed_code)
    on_damage = functools.partial(put_result_aside, note=note)
    done = {replica for result in results(directory, on_damage=on_damage) for replica in replicas_of(result)}
    for group, result in results_by_group(directory):
        refuse_damaged_metrics(group, result)
    return [replica for replica in config.replicas if replica not in done]


def groups_of_missing(config: Run, directory: Path, missing: int, devices: Devices) -> list[Group]:
    """The groups without a result: those that are there, and new ones, laid out for these devices."""
    groups = plan(directory, config, layout_of(config, missing, devices).size)
    return [group for group in groups if not (group.directory / "result.json").exists()]
