"""The table by encoding: how often an error is one of the position, at equal accuracy.

    python -m experiments.position_or_token.errors runs/position_or_token    # writes errors.json, then as below
    python -m experiments.position_or_token.errors                           # the page's tables and figure alone

Reads what `posenc evaluate CELL --steps ...` wrote for each cell of small.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from experiments.position_or_token.small import FEW, MANY, config
from experiments.records import NAMED
from posenc_jax.config import Run, config_hash
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.encodings import spec
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.checksums import unseal
from posenc_jax.runs.directory import group_directories
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import Interval, holm, mean_interval, p_value

HERE = Path(__file__).parent
FILE, PAGE, FIGURE = HERE / "errors.json", HERE / "README.md", HERE / "errors.png"
BEGIN, END = "<!-- errors: written by errors.py -->", "<!-- end of errors -->"
NEAR, LOWEST, HIGHEST, MOSTLY = 0.5, 0.2, 0.8, 0.8
"""The accuracy that is looked for, between which it counts, and the part of the position that was expected."""
NOTHING = "No encoding was read in all its seeds, so nothing was tested."
Json = dict[str, Any]
Rows = list[list[float]]
"""Of one seed, for each checkpoint: step, accuracy, position_error, token_error."""


def collected(ablation: Path) -> Json:
    """Scores of all checkpoints of every cell and seed; RefusedError if some are missing."""
    cells: Json = {}
    for run in config.runs:
        directory = ablation / run.directory_name
        began = unseal((group_directories(directory)[0] / "environment.json").read_bytes())["began"]
        cells.setdefault(run.table, {})[run.label] = {
            "config": config_hash(run),
            "environment": {name: began[name] for name in NAMED if began.get(name) is not None},
            "seeds": _scores(directory, run),
        }
    return cells


def _scores(directory: Path, run: Run) -> dict[str, Rows]:
    every = list(range(run.training.keep_every, run.training.steps + 1, run.training.keep_every))
    found: dict[str, Rows] = {}
    for path in sorted(directory.glob("evaluations/*.json")):
        measured = unseal(path.read_bytes())
        asked = (measured.get("steps"), measured["lengths"], measured["posenc"])
        if asked == (every, list(run.evaluation.lengths), spec(run.posenc)):
            for row in measured["rows"]:
                own = [
                    row["step"],
                    *(float(f"{row[name]:.5g}") for name in ("accuracy", "position_error", "token_error")),
                ]
                found.setdefault(str(row["seed"]), []).append(own)
    if any(len(found.get(str(seed), ())) != len(every) for seed in run.seeds):
        steps = " ".join(map(str, every))
        raise RefusedError(f"{directory} lacks scores of its checkpoints: posenc evaluate {directory} --steps {steps}")
    return {seed: sorted(rows) for seed, rows in found.items()}


def part(row: list[float]) -> float:
    """The part of the probability of wrong answers on symbols that stand elsewhere in the sequence."""
    _, _, position, token = row
    return position / (position + token)


def read_at(rows: Rows) -> list[float] | None:
    """The checkpoint whose accuracy is nearest to `NEAR`, if it lies between `LOWEST` and `HIGHEST`."""
    there = [row for row in rows if LOWEST <= row[1] <= HIGHEST]
    return min(there, key=lambda row: abs(row[1] - NEAR)) if there else None


def first_step(rows: Rows) -> float | None:
    """The first checkpoint with an accuracy of `NEAR` or more."""
    return next((row[0] for row in rows if row[1] >= NEAR), None)


def parts(cells: Json, table: str, label: str) -> dict[str, float]:
    """Parts by seed, of those that are read."""
    read = {seed: read_at(rows) for seed, rows in cells[table][label]["seeds"].items()}
    return {seed: part(row) for seed, row in read.items() if row is not None}


def tests(cells: Json) -> dict[str, Interval]:
    """Directions 1 and 2: means that are to be other than 0, of the encodings that are read in all seeds."""
    few, many = (f"{count} symbols" for count in (FEW, MANY))
    found = {}
    for label, cell in cells[few].items():
        own, other = parts(cells, few, label), parts(cells, many, label)
        if len(own) == len(cell["seeds"]):
            found[f"1. {label}: part with {FEW} symbols, minus {MOSTLY}"] = mean_interval(
                value - MOSTLY for value in own.values()
            )
            if own.keys() == other.keys():
                found[f"2. {label}: part with {MANY} symbols, minus that with {FEW}"] = mean_interval(
                    other[seed] - own[seed] for seed in own
                )
    return found


def by_encoding(cells: Json, table: str) -> str:
    """A row for each encoding."""
    rows = []
    for label, cell in cells[table].items():
        seeds = cell["seeds"].values()
        own = mean_interval(parts(cells, table, label).values(), lower=0.0, upper=1.0)
        read = [row[1] for row in map(read_at, seeds) if row is not None]
        last = [rows[-1] for rows in seeds]
        began = sorted(step if (step := first_step(rows)) is not None else float("inf") for rows in seeds)
        rows.append(
            (
                label,
                f"{len(read)} of {len(last)}",
                f"{min(read):.2f} to {max(read):.2f}" if read else "",
                shown(own),
                _steps(began),
                shown(mean_interval([row[1] for row in last], lower=0.0, upper=1.0)),
                shown(mean_interval(map(part, last), lower=0.0, upper=1.0)),
            )
        )
    head = (
        "encoding",
        "seeds read",
        "at accuracy",
        "part of the position [95 %]",
        f"steps to accuracy {NEAR}, by seed",
        "accuracy in the end",
        "part in the end",
    )
    return grid(head, "llrrrrr", rows)


def _steps(began: list[float]) -> str:
    """``150 to 225``, and how many never do."""
    there = [step for step in began if step < float("inf")]
    if not there:
        return "never"
    around = f"{there[0]:.0f}" if there[0] == there[-1] else f"{there[0]:.0f} to {there[-1]:.0f}"
    return around if len(there) == len(began) else f"{around} ({len(began) - len(there)} never)"


def shown(one: Interval, digits: int = 3) -> str:
    """``0.912 [0.880, 0.944]``."""
    if one.mean is None:
        return ""
    mean, *ends = (None if x is None else f"{x:.{digits}f}" for x in (one.mean, one.low, one.high))
    return f"{mean}" if None in ends else f"{mean} [{ends[0]}, {ends[1]}]"


def tests_table(tested: dict[str, Interval]) -> str:
    """Means, intervals, and p after Holm over all."""
    adjusted = holm({name: p for name, one in tested.items() if (p := p_value(one)) is not None})
    rows = [(name, shown(one), f"{adjusted[name]:.2g}" if name in adjusted else "") for name, one in tested.items()]
    return grid(("test", "mean [95 %]", "p, Holm"), "lrr", rows)


def section(cells: Json) -> str:
    """The text between the two lines of the page."""
    lines = []
    for table in cells:
        lines += [f"With {table}:", "", by_encoding(cells, table), ""]
    tested = tests(cells)
    said = ["What was tested:", "", tests_table(tested)] if tested else [NOTHING]
    return "\n".join([*lines, *said])


def figure(cells: Json, path: Path) -> None:
    """The part of the position over accuracy along training: a panel for each encoding, a line for each seed."""
    import matplotlib
    from matplotlib.figure import Figure

    from posenc_jax.drawing.paper import SETTINGS, written
    from posenc_jax.drawing.style import COLORS, INK, MUTED

    with matplotlib.rc_context(SETTINGS):
        labels = list(next(iter(cells.values())))
        drawn = Figure(figsize=(6.8, 1.7 * -(-len(labels) // 4) + 0.5), layout="constrained")
        panels = drawn.subplots(-(-len(labels) // 4), 4, sharex=True, sharey=True, squeeze=False)
        for axes, label in zip(panels.flat, labels):
            for color, table in zip(COLORS, cells):
                for rows in cells[table][label]["seeds"].values():
                    accuracies, own = [row[1] for row in rows], [part(row) for row in rows]
                    axes.plot(accuracies, own, color=color, alpha=0.45, linewidth=0.7, marker=".", markersize=2)
                axes.plot([], [], color=color, linewidth=1.2, label=table)
            for edge in (LOWEST, HIGHEST):
                axes.axvline(edge, color=MUTED, linewidth=0.6, linestyle=":")
            axes.set_title(label, fontsize=8, loc="left", color=INK)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1.02)
        drawn.supxlabel("accuracy at a checkpoint", fontsize=8)
        drawn.supylabel("part of the position", fontsize=8)
        panels[0, 0].legend(frameon=False, fontsize=6, loc="lower left")
        path.write_bytes(written(drawn, ("png",))["png"])


def main(arguments: list[str] | None = None) -> int:
    """Writes the file where a directory is given, then the page's tables and the figure."""
    parser = argparse.ArgumentParser(prog="python -m experiments.position_or_token.errors", description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", help="of the finished ablation, its checkpoints evaluated")
    given = parser.parse_args(arguments)
    if given.directory is not None:
        try:
            found = collected(given.directory)
        except (RefusedError, OSError) as error:
            print(f"errors: {error}", file=sys.stderr)
            return 2
        tables = []
        for table, cells in found.items():
            lines = ",\n".join(f"  {json.dumps(label)}: {json.dumps(cell)}" for label, cell in cells.items())
            tables.append(f" {json.dumps(table)}: {{\n{lines}\n }}")
        write_atomically(FILE, "{\n" + ",\n".join(tables) + "\n}\n")
    cells = json.loads(FILE.read_text())
    PAGE.write_text(refilled(PAGE.read_text(), BEGIN, section(cells), END))
    figure(cells, FIGURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
