"""Published tables, ours beside theirs: how far each has been run, or the reduced version of one run and written down.

    python -m experiments.tables
    python -m experiments.tables copying

The results and the section of the README are written into the table's folder; the runs are in runs/tables/NAME, and the
same command resumes them.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

from experiments.tables.folders import README, REDUCED, RESULTS, Folder, folders, read_folder
from experiments.tables.folders import ROOT as TABLES
from experiments.tables.judging import check_directions, held
from experiments.tables.page import check, run_table, text_tables
from experiments.tables.results import read_results, state
from posenc_jax.cli.errors import guarded, refusing
from posenc_jax.cli.progress import TerminalReporter
from posenc_jax.cli.report import remember
from posenc_jax.cli.session import load_config, prepare_jax, stoppable
from posenc_jax.config import Ablation
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import TextTable, text

WIDTH = 120  # of what is printed


def main(arguments: list[str] | None = None, root: Path = TABLES) -> int:
    """Runs the command, and returns its exit code; ``root``: the folder of all tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tables", description=__doc__)
    names = folders(root)
    parser.add_argument("name", nargs="?", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    name = parser.parse_args(arguments).name
    return guarded(lambda: _list(root) if name is None else _run(read_folder(root / name)))


def _run(folder: Folder) -> None:
    directory = Path("runs", "tables", folder.name).absolute()
    config = config_of(folder)
    prepare_jax()
    with refusing():
        check(folder, config)
    with TerminalReporter() as reporter, stoppable() as stop:
        results = run_table(folder, config, directory, reporter=reporter, stop=stop)
    remember(directory, [f"python -m experiments.tables {folder.name}"])
    print("\n".join(text(table, WIDTH) for table in text_tables(folder, results)))
    print(f"complete: {directory}; written: {folder.path / README}")


def _list(root: Path) -> None:
    entries, seconds = [], 0.0
    for name in folders(root):
        folder = read_folder(root / name)
        results = read_results(folder.path / RESULTS)
        told, directions, hours = "no results", NONE, NONE
        if results is not None:
            told, directions = state(results, config_of(folder)), held(check_directions(folder, results))
            hours = f"{results.seconds / 3600:.2f}" + "+" * bool(results.untimed)
            seconds += results.seconds
        entries.append((name, folder.title, told, directions + folder.tested, hours))
    listed = TextTable(
        title="Published tables",
        columns=("table", "what it is about", "state", "directions held", "hours"),
        align="lllrr",
        entries=tuple(entries),
        notes=(
            "hours: of the runs behind the results, excluding compilation, on the machine that made them; "
            f"{seconds / 3600:.2f} in all. +: plus runs whose time is unknown.",
        ),
    )
    print(text(listed, WIDTH))


def config_of(folder: Folder) -> Ablation:
    """The ablation of a table's reduced version."""
    config: Ablation = load_config(str(folder.path / REDUCED), Ablation, "ablate")
    return dataclasses.replace(config, title=config.title or folder.title)


if __name__ == "__main__":
    sys.exit(main())
