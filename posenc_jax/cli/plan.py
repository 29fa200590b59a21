"""``posenc plan CONFIG``: what a run or an ablation will take, before anything is rented."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.options import Overrides, command
from posenc_jax.cli.screen import columns, show
from posenc_jax.cli.session import asked_config
from posenc_jax.cli.sized_to_corpus import OnCorpus
from posenc_jax.config import Ablation, Run
from posenc_jax.drawing.quantities import count, duration
from posenc_jax.drawing.text_table import TextTable, text

if TYPE_CHECKING:
    from posenc_jax.runs.plan import Plan

OF_CELLS = ("replicas", "attention", "parameters", "a step of one replica", "memory", "total")
"""The facts that a table of cells has."""


def _plan(
    config: str = "",
    *,
    overrides: Overrides,
    on: OnCorpus = None,
    target: Annotated[str | None, "T"] = None,
    utilisation: Annotated[float, "U"] = 0.3,
) -> int:
    """Estimate replicas, operations, memory and hours of the run or the ablation in CONFIG. With --on CORPUS in place
    of CONFIG, plan the run that is sized to a text corpus and this machine. Nothing is trained or written. It takes
    seconds on any machine. The exit code is 1 if something does not fit.

    Overrides are those of `posenc train` and `posenc ablate`, such as --training.batch-size 8.

    Args:
      config: the config file
      on: the corpus
      target: chip and number of devices: h100, h100:4, v5e:2x2 ... (default: the devices of this machine)
      utilisation: fraction of peak speed assumed for hours, above 0 and up to 1 (default: 0.3)

    Examples:
      posenc plan configs/demo.py
          plan for this machine
      posenc plan configs/accelerator.py --target h100:4
          plan for four H100
    """
    if not 0 < utilisation <= 1:
        raise UsageError(f"--utilisation {utilisation} must be a part of the peak, above 0 and up to 1, such as 0.3")
    from posenc_jax.cli.overrides import override_all, override_run
    from posenc_jax.runs import targets
    from posenc_jax.runs.plan import plan_of

    asked = asked_config("plan", config, on, overrides.left, (Run, Ablation))
    change = override_run if isinstance(asked, Run) else override_all
    asked = change(asked, overrides.left, "plan", config)
    machine = targets.target_here() if target is None else targets.target(target)
    plans = [plan_of(run, machine, utilisation) for run in ([asked] if isinstance(asked, Run) else asked.runs)]
    show(text(_table(plans, cells=isinstance(asked, Ablation)), columns()))
    lacking = [plan.shortage for plan in plans if plan.shortage is not None]
    for line in lacking:
        show(f"does not fit: {line}")
    return 1 if lacking else 0


def _table(plans: list[Plan], *, cells: bool) -> TextTable:
    target, first = plans[0].target, plans[0]
    named = "" if target.chip.name == "here" else f"{target.name}: "
    where = f"{named}{target.count} x {target.chip.title}, {_limit(first)}{'' if target.devices.on_cpu else ' each'}"
    names = [f"{plan.run.table} {plan.run.label}" for plan in plans]
    if not cells:
        return TextTable(f"{names[0]} on {where}", ("", "plan"), "ll", tuple(_facts(first).items()), _notes(first))
    facts = map(_facts, plans)
    lines = [(name, *(re.split(": |, | of ", own[fact])[0] for fact in OF_CELLS)) for name, own in zip(names, facts)]
    hours = [plan.hours for plan in plans]
    whole = None if None in hours else 3600 * sum(h for h in hours if h is not None)
    most = f"at most {count(max(plan.memory.peak for plan in plans), 'B')}"
    lines.append(("all", str(sum(plan.layout.replicas for plan in plans)), "", "", "", most, duration(whole)))
    return TextTable(f"{len(plans)} cells on {where}", ("cell", *OF_CELLS), "lllrrrr", tuple(lines), _notes(first))


def _facts(plan: Plan) -> dict[str, str]:
    layout, (part, largest) = plan.layout, plan.memory.largest
    spares = f", {layout.spares} of them spare" if layout.spares else ""
    groups = f"in {layout.groups} group{'s' * (layout.groups != 1)} of {layout.size}{spares}"
    return {
        "replicas": f"{layout.replicas}, {groups}, on {plan.used} of {plan.target.count} devices (mode {layout.mode})",
        "parameters": f"{plan.parameters:,}",
        "a step of one replica": f"{count(plan.step.operations, 'FLOP')}, {plan.step.tokens:,} tokens with padding",
        "attention": "; ".join(plan.attention),
        "memory": f"{count(plan.memory.peak, 'B')} of {_limit(plan)} (most: {part}, {count(largest, 'B')})",
        **{phase: duration(plan.seconds(phase)) for phase, work in plan.work.items() if work.operations},
        "total": duration(None if plan.hours is None else 3600 * plan.hours),
    }


def _limit(plan: Plan) -> str:
    memory = plan.target.chip.memory
    return "an unknown memory" if memory is None else count(memory, "B")


def _notes(plan: Plan) -> tuple[str, ...]:
    target = plan.target
    speed = f"unknown, because no peak of {target.chip.title} is recorded: see runs/targets.toml."
    if plan.peak is not None:
        speed = (
            f"at {100 * plan.utilisation:g} % of {plan.peak / 1e12:.3g} TFLOP/s a device in {plan.run.model.dtype}, "
            "excluding compilation. Small models reach less of it on accelerators."
        )
    hosts = (
        f"{target.name} is {target.hosts} machines: the numbers are for one run with a process on each "
        "(posenc train --distributed, or --coordinator outside SLURM)."
    )
    return (
        "A replica is the model of one seed and learning rate; groups of them train one after the other.",
        "Operations: matrix products of the model, including padding and masked pairs, without the work of encodings.",
        "Memory: of one device (on CPU: of the machine), by the formula in training/memory.py, excluding corpora.",
        f"Time: {speed}",
        *[hosts] * (target.hosts > 1),
    )


main = command(_plan, computes=True)
