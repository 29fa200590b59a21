"""Kills, damages and starves small ablations, gives commands what they must not take, and counts what is noticed;
`scripts/faults` runs it.

A trial's outcome is *silent* (another result without a word), a *traceback*, *refused* (one line that says what is
wrong), or *identical* (the same results to the bit, in the end). The first two are faults of this project.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from fault_battery import hostile, trials, values  # noqa: E402
from fault_battery.scene import OUTCOMES, SILENT, TRACEBACK, Scene  # noqa: E402

TRIALS = trials.TRIALS | hostile.TRIALS | values.TRIALS
RESULTS = ROOT / "scripts" / "docs" / "faults.json"
PAGE = ROOT / "scripts" / "docs" / "reliability.md"
BLOCK = re.compile(r"(<!-- written by scripts/faults --page -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Row = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Prints a line for each kind of trial; 1 if anything was silent or ended in a traceback."""
    parser = argparse.ArgumentParser(prog="scripts/faults", description=__doc__.partition("\n\n")[0])
    parser.add_argument("trials", nargs="*", choices=[*TRIALS, []], metavar="TRIAL", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of trials (default 1)")
    parser.add_argument("--json", type=Path, help="a file that keeps the table, and rows that it has of other trials")
    parser.add_argument("--page", action="store_true", help="write the table into the page on reliability, and end")
    given = parser.parse_args(arguments)
    if given.page:
        PAGE.write_text(filled(PAGE.read_text(), json.loads(RESULTS.read_text())))
        return 0
    os.environ |= {"NPROC": "2", "JAX_PLATFORMS": "cpu"}  # bits repeat with the same threads; before jax is imported
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder))
        for name in given.trials or TRIALS:
            trial, count, words = TRIALS[name]
            begun = time.monotonic()
            try:
                counts = trial(scene, max(1, round(count * given.scale)))
            except PermissionError as error:
                print(f"{words}: not tried ({error})", flush=True)
                continue
            rows.append({"trial": name, "what": words, "trials": sum(counts.values())} | counts)
            print(f"{line(rows[-1])} {time.monotonic() - begun:.0f} s", flush=True)
            if given.json:
                keep(given.json, rows)
    return int(any(row[SILENT] or row[TRACEBACK] for row in rows))


def keep(file: Path, rows: list[Row]) -> None:
    """Writes these rows, and those that the file has of other trials, so that a run can be made in pieces."""
    before = json.loads(file.read_text()) if file.exists() else []
    known = {row["trial"]: row for row in [*before, *rows]}
    file.write_text(json.dumps([known[name] for name in TRIALS if name in known], indent=1) + "\n")


def line(row: Row) -> str:
    """A row of the table."""
    return f"| {row['what']} | {row['trials']} | {' | '.join(str(row[name]) for name in OUTCOMES)} |"


def table(rows: list[Row]) -> str:
    """The whole of it in Markdown."""
    head = f"| what is done | trials | {' | '.join(OUTCOMES)} |\n|---|---:|{'---:|' * len(OUTCOMES)}\n"
    return head + "".join(f"{line(row)}\n" for row in rows)


def filled(page: str, rows: list[Row]) -> str:
    """The page with the table of these rows."""
    return BLOCK.sub(lambda match: f"{match[1]}{table(rows)}{match[3]}", page)


if __name__ == "__main__":
    sys.exit(main())
