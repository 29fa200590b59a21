"""``posenc tables``: published tables, ours beside theirs."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from posenc_jax.cli.errors import UsageError, as_path, refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.report import remember
from posenc_jax.cli.screen import shell_words, show
from posenc_jax.cli.session import load_config, prepare_jax, stoppable
from posenc_jax.config import Ablation
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import TextTable, text

if TYPE_CHECKING:
    from posenc_jax.verdict.published import Folder

ROOT = Path("experiments") / "tables"


def _tables(name: str | None = None, *, directory: Annotated[str | None, "DIR"] = None) -> None:
    """Without NAME, list the published tables in experiments/tables, how far each has been run, and how many of the
    predicted directions of differences, written down before the runs, held. With NAME, run the reduced version of that
    table (reduced.py) and write our results beside the published ones into its folder. Run the same command again to
    resume.

    The paper's own setting is full.py: `posenc plan experiments/tables/NAME/full.py --target h100` estimates its cost,
    and `posenc ablate` runs it.

    Args:
      name: table to run
      directory: where its runs are kept (default: runs/tables/NAME)

    Examples:
      posenc tables
          list the tables, and how far each has been run
      posenc tables copying
          run the reduced version of one table, in a checkout of the repository
    """
    from posenc_jax.verdict.published import folders

    names = folders(ROOT)
    if not names:
        raise UsageError(f"there are no tables in {ROOT}: run this command in the folder of the repository")
    if name is None:
        if directory is not None:
            raise UsageError("--directory is where the runs of one table are kept: name the table too")
        show(text(_list(names), shutil.get_terminal_size((100, 24)).columns))
        return
    place = Path("runs") / "tables" / name if directory is None else as_path(directory)
    _run(name, place.absolute(), () if directory is None else ("--directory", directory))


def _run(name: str, directory: Path, elsewhere: tuple[str, ...]) -> None:
    folder = _folder(name)
    config = _config(folder)
    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.verdict.published import README
    from posenc_jax.verdict.published_results import check, run_table, text_tables

    with refusing():
        check(folder, config)
    with TerminalReporter() as reporter, stoppable() as stop:
        results = run_table(folder, config, directory, reporter=reporter, stop=stop)
    remember(directory, [shell_words(("posenc", "tables", name, *elsewhere))])
    width = shutil.get_terminal_size((100, 24)).columns
    show("\n".join(text(table, width) for table in text_tables(folder, results)))
    show(f"complete: {directory}; written: {folder.path / README}")


def _list(names: list[str]) -> TextTable:
    from posenc_jax.verdict.cells import read_results, state
    from posenc_jax.verdict.judging import check_directions, held
    from posenc_jax.verdict.published import RESULTS

    entries, seconds = [], 0.0
    for name in names:
        folder = _folder(name)
        with refusing():
            results = read_results(folder.path / RESULTS)
        told, directions, hours = "no results", NONE, NONE
        if results is not None:
            told, directions = state(results, _config(folder)), held(check_directions(folder, results))
            hours = f"{results.seconds / 3600:.2f}" + "+" * bool(results.untimed)
            seconds += results.seconds
        entries.append((name, folder.title, told, directions + folder.tested, hours))
    return TextTable(
        title=f"Published tables in {ROOT}",
        columns=("table", "what it is about", "state", "directions held", "hours"),
        align="lllrr",
        entries=tuple(entries),
        notes=(
            "hours: of the runs behind the results, excluding compilation, on the machine that made them; "
            f"{seconds / 3600:.2f} in all.",
            *(["+: plus runs whose time is unknown."] if any(own[-1].endswith("+") for own in entries) else []),
        ),
    )


def _folder(name: str) -> Folder:
    from posenc_jax.verdict.published import read_folder

    with refusing():
        return read_folder(ROOT, name)


def _config(folder: Folder) -> Ablation:
    from posenc_jax.verdict.published import REDUCED

    config: Ablation = load_config(str(folder.path / REDUCED), Ablation, "tables")
    return dataclasses.replace(config, title=config.title or folder.title)


main = command(_tables)
