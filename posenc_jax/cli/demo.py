"""``posenc demo``: the comparison of configs/demo.py, in any folder."""

import json
from pathlib import Path
from typing import Annotated

from posenc_jax.cli import ablate
from posenc_jax.cli.options import Overrides, command
from posenc_jax.cli.screen import columns, show, tell
from posenc_jax.files.shipped import shipped

CONFIG, DIRECTORY = "configs/demo.py", Path("runs/demo")
COMMITTED = Path("experiments/length_generalisation/results.json")


def _demo(*, overrides: Overrides, directory: Annotated[Path, "DIR"] = DIRECTORY) -> int:
    """Compare four encodings with 4 seeds each, in about two minutes on 2 CPU cores. This runs
    `posenc ablate configs/demo.py` with results in runs/demo, using configs/demo.py of this folder or, if there is
    none, the one shipped with the package. Stop it whenever you like: the same command resumes it, or shows the
    finished tables.

    All overrides are those of `posenc ablate`, such as --seeds 0 1; finished seeds are not run again.

    Args:
      directory: where results are kept (default: runs/demo)

    Examples:
      posenc demo
          compare four encodings, with results in runs/demo
      posenc demo --seeds 0 1 2 3 4 5
          add two seeds; only these are run
    """
    if overrides.help:
        return 0
    if not overrides.left:
        tell("Task rsc: to copy one token as often as it is repeated, trained on 2 to 8 times. nope: no positions.")
    code = ablate.main([CONFIG, "--directory", str(directory), *overrides.left])
    if code == 0 and not overrides.left:
        show(_beside_the_committed(directory))
    if code == 0 and (report := directory / "report.html").is_file():
        tell(f"Next: open {report} in a browser, or run `posenc` to see what else it does.")
    return code


def _beside_the_committed(directory: Path) -> str:
    """The scores at unseen lengths here, and those of the committed run, which the README has."""
    from posenc_jax.drawing.text_table import TextTable, text
    from posenc_jax.results import read_record, summarise
    from posenc_jax.results.averages import interval_of
    from posenc_jax.results.report.entries import interval_text
    from posenc_jax.runs.environment import environment

    file = shipped(COMMITTED)
    if file is None:
        return ""
    task = summarise(read_record(directory)).tasks[0]
    committed = json.loads(file.read_text(encoding="utf-8"))
    seeds = committed["tables"].get(task.task_label, {}).get("seeds", {})
    entries = tuple(
        (cell.label, *(interval_text(own, task.kind) for own in (cell.score, interval_of(there.values(), task.kind))))
        for cell in task.cells
        if (there := seeds.get(cell.label))  # a configs/demo.py of this folder may have others
    )
    notes = (
        f"Here: {environment()['cpu']}. Committed, as in the README: {committed['environment']['cpu']}.",
        "The same machine and versions give the same bits; on another, even of one name, a seed has moved by 0.16.",
    )
    return text(TextTable("Unseen lengths", ("encoding", "here", "committed"), "lll", entries, notes), columns())


main = command(_demo)
