"""``posenc plan CONFIG``: what a run or an ablation will take, before anything is rented."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from posenc_jax.cli.errors import Parser, above_0, guarded
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import load_config, prepare_jax
from posenc_jax.cli.sized_to_corpus import split_first
from posenc_jax.config import Ablation, Run
from posenc_jax.drawing.quantities import count, duration
from posenc_jax.drawing.text_table import TextTable, text

if TYPE_CHECKING:
    from posenc_jax.runs.plan import Plan

DESCRIPTION = "Estimate replicas, operations, memory and hours of a run or an ablation. Nothing is trained or written."
USAGE = f"""usage: posenc plan CONFIG [--target T] [--utilisation U] [overrides]

{DESCRIPTION}
It takes seconds on any machine. The exit code is 1 if something does not fit.

  --target T       chip and number of devices: h100, h100:4, v5e:2x2 ... (default: the devices of this machine)
  --utilisation U  fraction of peak speed assumed for hours, above 0 and up to 1 (default: 0.3)

Overrides are those of `posenc train` and `posenc ablate`, such as --training.batch-size 8. With --on CORPUS in place of
CONFIG, plan the run that is sized to a text corpus and this machine."""


def main(arguments: list[str]) -> int:
    """Runs the command.

    Examples:
      posenc plan configs/demo.py
          plan for this machine
      posenc plan configs/accelerator.py --target h100:4
          plan for four H100
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        show(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _plan(*split_first(arguments)))


def _plan(config_file: str, words: list[str]) -> int:
    options, overrides = _options(words)
    prepare_jax()  # before the config: one that computes would fix the devices
    config = load_config(config_file, (Run, Ablation), "plan")
    if overrides:
        from posenc_jax.cli.ablate import overridden

        config = overridden(config, overrides, f"posenc plan {config_file}", DESCRIPTION)
    from posenc_jax.runs import targets
    from posenc_jax.runs.plan import UTILISATION, plan_of

    target = targets.target_here() if options.target is None else targets.target(options.target)
    runs = [config] if isinstance(config, Run) else list(config.runs)
    plans = [plan_of(run, target, options.utilisation or UTILISATION) for run in runs]
    width = shutil.get_terminal_size((100, 24)).columns
    tables = [_of_run(plans[0])] if isinstance(config, Run) else [_of_cells(plans)]
    show("\n".join(text(table, width) for table in tables))
    lacking = [plan.shortage for plan in plans if plan.shortage is not None]
    for line in lacking:
        show(f"does not fit: {line}")
    return 1 if lacking else 0


def _options(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(prog="posenc plan", add_help=False, allow_abbrev=False)
    parser.add_argument("--target")
    rule = "must be a part of the peak, above 0 and up to 1, such as 0.3"
    parser.add_argument("--utilisation", type=above_0(rule, most=1))
    return parser.parse_known_args(words)


def _of_run(plan: Plan) -> TextTable:
    layout, memory = plan.layout, plan.memory
    part, largest = memory.largest
    lines = [
        ("replicas", f"{layout.replicas}, {_groups(plan)}"),
        ("mode", layout.mode),
        ("parameters", f"{plan.parameters:,}"),
        ("a step of one replica", f"{_operations(plan.step.operations)}, {plan.step.tokens:,} tokens with padding"),
        ("attention", "; ".join(plan.attention)),
        ("memory", f"{_bytes(memory.peak)} of {_limit(plan)} (most: {part}, {_bytes(largest)})"),
        *((phase, duration(plan.seconds(phase))) for phase, work in plan.work.items() if work.operations),
        ("total", _hours(plan.hours)),
    ]
    title = f"{plan.run.table} {plan.run.label} on {_where(plan)}"
    return TextTable(title, ("", "plan"), "ll", tuple(lines), _notes(plan))


def _of_cells(plans: list[Plan]) -> TextTable:
    columns = ("cell", "replicas", "attention", "parameters", "a step", "memory", "time")
    lines = [
        (
            f"{plan.run.table} {plan.run.label}",
            f"{plan.layout.replicas} ({_short_groups(plan)})",
            ", ".join(dict.fromkeys(way.partition(":")[0] for way in plan.attention)),
            f"{plan.parameters:,}",
            _operations(plan.step.operations),
            _bytes(plan.memory.peak),
            _hours(plan.hours),
        )
        for plan in plans
    ]
    hours = [plan.hours for plan in plans]
    most = f"at most {_bytes(max(plan.memory.peak for plan in plans))}"
    total = _hours(None if None in hours else sum(h for h in hours if h is not None))
    lines.append(("all", str(sum(plan.layout.replicas for plan in plans)), "", "", "", most, total))
    return TextTable(f"{len(plans)} cells on {_where(plans[0])}", columns, "lrlrrrr", tuple(lines), _notes(plans[0]))


def _notes(plan: Plan) -> tuple[str, ...]:
    chip, dtype = plan.target.chip, plan.run.model.dtype
    notes = [
        "Operations: matrix products of the model, including padding and masked pairs, without the work of encodings.",
        "Memory: of one device (on CPU: of the machine), by the formula in training/memory.py, excluding corpora.",
    ]
    if plan.peak is None:
        notes.append(f"Time: unknown, because no peak of {chip.title} is recorded: see runs/targets.toml.")
    else:
        notes.append(
            f"Time: at {100 * plan.utilisation:g} % of {plan.peak / 1e12:.3g} TFLOP/s a device in {dtype}, excluding "
            "compilation. Small models reach less of it on accelerators."
        )
    if plan.target.hosts > 1:
        notes.append(
            f"{plan.target.name} is {plan.target.hosts} machines: the numbers are for one run with a process on each "
            "(posenc train --distributed, or --coordinator outside SLURM)."
        )
    return tuple(notes)


def _where(plan: Plan) -> str:
    target = plan.target
    each = "" if target.devices.on_cpu else " each"
    return f"{target.name}: {target.count} x {target.chip.title}, {_limit(plan)}{each}"


def _limit(plan: Plan) -> str:
    memory = plan.target.chip.memory
    return "an unknown memory" if memory is None else _bytes(memory)


def _groups(plan: Plan) -> str:
    layout = plan.layout
    spares = f", {layout.spares} of them spare" if layout.spares else ""
    one = layout.groups == 1
    return (
        f"{layout.groups} group{'' if one else 's one after the other'} of {layout.size} on {plan.used} of "
        f"{plan.target.count} devices{spares}"
    )


def _short_groups(plan: Plan) -> str:
    layout = plan.layout
    return f"{layout.groups} x {layout.size}{f', {layout.spares} spare' if layout.spares else ''}"


def _operations(operations: int) -> str:
    return count(operations, "FLOP")


def _bytes(size: int) -> str:
    return count(size, "B")


def _hours(hours: float | None) -> str:
    return duration(None if hours is None else 3600 * hours)
