"""What a run or an ablation will take, as a table."""

import re

from posenc_jax.drawing.quantities import count, duration
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.runs.plan import Plan

OF_CELLS = ("replicas", "attention", "parameters", "a step of one replica", "memory", "total")
"""The facts that a table of cells has."""


def table(plans: list[Plan], *, cells: bool) -> TextTable:
    """All facts of the plan of a run, or with ``cells`` a line for each cell of an ablation."""
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
