"""Devices of a target that a plan leaves without work, and the fields that would give them some."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from posenc_jax.runs.plan import Plan, plan_of


@dataclasses.dataclass(frozen=True)
class Idle:
    """Accelerators that have nothing to do in some cells.

    Attributes:
      devices: how many of the target's.
      cells: how many.
      replicas: of a cell.
      fields: settings that keep them so, and better: others that give them work; both empty where none does.
      hours, then: of these cells as they are and with those settings; None where nobody knows.
    """

    devices: int
    cells: int
    replicas: int
    fields: dict[str, Any]
    better: dict[str, Any]
    hours: float | None
    then: float | None


def idle_devices(plans: Iterable[Plan]) -> list[Idle]:
    """Those of plans for one target, cells of one cause together; none of CPUs, whose cores serve every program."""
    found: dict[str, list[tuple[Plan, Plan]]] = {}
    kept: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for plan in plans:
        if plan.target.devices.on_cpu or plan.used == plan.target.count:
            continue
        better, then = _better(plan)
        fields = {name: getattr(plan.run.execution, name) for name in better}
        cause = f"{plan.target.count - plan.used} {plan.layout.replicas} {fields} {better}"
        kept[cause] = fields, better
        found.setdefault(cause, []).append((plan, then))
    return [_of_cells(pairs, *kept[cause]) for cause, pairs in found.items()]


def _of_cells(pairs: list[tuple[Plan, Plan]], fields: dict[str, Any], better: dict[str, Any]) -> Idle:
    first, _ = pairs[0]
    hours, then = ([plan.hours for plan in side] for side in zip(*pairs, strict=True))
    sums = (None if None in part else sum(h for h in part if h is not None) for part in (hours, then))
    return Idle(first.target.count - first.used, len(pairs), first.layout.replicas, fields, better, *sums)


def _better(plan: Plan) -> tuple[dict[str, Any], Plan]:
    """The settings, of those that fit, that put the most devices to work, and the plan with them; else ``{}`` and
    the plan itself. Batches are split only where the placement of whole replicas gains nothing.
    """
    execution = plan.run.execution
    best: tuple[dict[str, Any], Plan] = {}, plan
    whole: list[dict[str, Any]] = [{"group_size": None}, {"mode": "auto"}, {"mode": "auto", "group_size": None}]
    split: list[dict[str, Any]] = [{"data": data} for data in range(2, plan.target.count + 1)]
    for choices in (whole, split):
        for changes in choices:
            if any(getattr(execution, name) == value for name, value in changes.items()):
                continue
            try:
                run = dataclasses.replace(plan.run, execution=dataclasses.replace(execution, **changes))
                other = plan_of(run, plan.target, plan.utilisation)
            except ValueError:  # as for rows that do not divide the batch
                continue
            if other.used > best[1].used and other.shortage is None:
                best = changes, other
        if best[0]:
            break
    return best
