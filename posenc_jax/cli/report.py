"""``posenc report DIR``: the report of an ablation, built anew."""

from __future__ import annotations

from pathlib import Path

from posenc_jax.cli.errors import UsageError, guarded, place
from posenc_jax.drawing.plain import short

USAGE = """usage: posenc report DIR

Writes report.html, figures and tables of the finished results in an ablation's directory, and prints the table."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    return guarded(lambda: _report(place(arguments[0])))


def _report(directory: Path) -> int:
    from posenc_jax import report

    try:
        paths = report.build(directory)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        name = short(str(error.filename or directory))
        raise UsageError(
            f"cannot write {name} ({error.strerror}): the report needs room and permission; the results are as they "
            "were"
        ) from None
    print(report.text_report(directory))
    print(f"wrote in {directory}: {', '.join(str(path.relative_to(directory)) for path in paths)}")
    return 0
