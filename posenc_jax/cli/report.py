"""``posenc report DIR``: the report of an ablation, built anew; of several, of all that they have."""

import shlex
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from posenc_jax.cli.errors import UsageError, check_file, first_line, refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show, tell
from posenc_jax.drawing.plain import plain
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.user_paths import full, real


def _reported(
    directories: Annotated[tuple[Path, ...], "DIR"],
    *,
    output: Annotated[Path | None, "NEW"] = None,
    csv: Path | None = None,
    trust: Annotated[Path | None, "RUN"] = None,
) -> None:
    """Write report.html, figures and tables of the finished results in an ablation's directory, and print the
    table. With several directories, join their cells and seeds in a new one before; nothing is recomputed, and what
    they share must be identical.

    Args:
      directories: directory of the ablation
      output: directory to create, for several DIR
      csv: instead, write all results as one table with a line for each score (- for standard output)
      trust: run the Python files that RUN brought along, naming each with its digest (default: they are not run)

    Examples:
      posenc report runs/demo
          write report.html, figures and tables of the finished results
      posenc report runs/demo --csv demo.csv
          write one line per score, to read with pandas
      posenc report runs/here runs/there -o runs/both
          join cells or seeds that were run separately
    """
    directory = directories[0]
    if (output is not None) != (len(directories) > 1):
        raise UsageError("--output NEW is the directory that takes the results of several DIR: give both, or neither")
    if output is not None:
        from posenc_jax.cli.session import prepare_jax
        from posenc_jax.cli.session import trust as bring_along
        from posenc_jax.results.timing import read_commands
        from posenc_jax.runs.joining import join

        prepare_jax()
        bring_along(trust)
        directory = output.absolute()
        join(directories, directory, tell)
        earlier = (line for source in directories for line in read_commands(source)[0])
        remember(directory, [*earlier, shlex.join(("posenc", "report", *map(str, directories), "-o", str(output)))])
    if csv is None:
        _report(directory)
    else:
        _as_csv(directory, csv)


def _as_csv(directory: Path, file: Path) -> None:
    from posenc_jax.results import read_record
    from posenc_jax.results.ablation_result import long_table

    printed = str(file) == "-"
    check_file("--csv", None if printed else file)
    if file.suffix != ".csv" and full(file).exists() and real(full(directory)) in real(full(file)).parents:
        raise UsageError(f"--csv {file} is a file of the ablation, and would be replaced: name another")
    with refusing():
        record = read_record(directory)
        text = plain(long_table(record))
    for line in record.skipped:
        tell(f"not used: {' '.join(line.split())}")
    if printed:
        show(text, end="")
        return
    write_atomically(file, text)
    show(f"wrote {file}: {text.count(chr(10)) - 1} scores")


def _report(directory: Path) -> None:
    from posenc_jax.results import report

    with refusing():
        paths = report.build(directory)
    show(report.text_report(directory))
    show(f"wrote in {directory}: {', '.join(str(path.relative_to(directory)) for path in paths)}")


def final_report(directory: Path, commands: Iterable[str]) -> bool:
    """Writes and prints the report of an ablation that a command has just made, unless there is nothing to report, or
    the one that is there is of these very results; True if nothing went wrong with it. What does must not hide what
    became of the cells, so it is only told.

    Args:
      commands: the command lines behind the results, as the report tells them.
    """
    if not (directory / "results.jsonl").read_bytes():
        return True
    try:
        _write(directory, commands)
    except BrokenPipeError:
        raise
    except Exception as error:
        tell(
            f"posenc: the report could not be written ({first_line(error)}); the results are in "
            f"{directory / 'results.jsonl'}: write it again with `posenc report {directory}`"
        )
        return False
    return True


def _write(directory: Path, commands: Iterable[str]) -> None:
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.results import report

    remember(directory, commands)
    with TerminalReporter() as reporter:
        reporter.phase("write the report")
        written = ", ".join(str(path.relative_to(directory)) for path in report.build(directory))
        reporter.note(f"wrote in {directory}: {written}")
    show(report.text_report(directory))


def remember(directory: Path, commands: Iterable[str]) -> None:
    """Writes down which command lines computed the results in a directory, each once, for its report."""
    from posenc_jax.results.timing import read_commands
    from posenc_jax.runs.files import append_rows

    known, _ = read_commands(directory)  # the report says what is wrong with them
    if rows := [{"command": command, "time": time.time()} for command in commands if command not in known]:
        append_rows(directory / "timing.jsonl", rows)


main = command(_reported)
