"""``posenc translate RUN "A sentence."``: translations by a finished run."""

import argparse
import sys
from typing import Any

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.texts import (
    add_decoding_options,
    add_run_options,
    bounded,
    command,
    decoding_of,
    outputs,
    run_parser,
    show_outputs,
    text_of,
)

DESCRIPTION = """Translate sentences with a finished run of task "translation", or with an imported T5 or Marian: the
sentences given after RUN, or else the lines of standard input. Each translation is one line; an empty input line stays
empty. All sentences are read before any is translated: if some cannot be translated, they are listed with their numbers
and nothing is translated. Words and pairs of words that did not occur in training are noted."""


def main(arguments: list[str]) -> int:
    parser = run_parser("translate", DESCRIPTION)
    parser.add_argument(
        "texts", nargs="*", action="extend", metavar="SENTENCE", help="sentences (default: the lines of standard input)"
    )
    add_run_options(
        parser,
        "translate it without its end (truncate), or in pieces, cut between sentences where possible and joined by a "
        "space (window)",
    )
    add_decoding_options(parser)
    return command(parser, arguments, _translate)


def _translate(options: argparse.Namespace, reporter: Any) -> None:
    decoding = decoding_of(options)
    if options.texts:  # of which an empty one is a mistake
        show_outputs(outputs("translate", options.texts, decoding, options, reporter), options, reporter)
        return
    lines = _lines()
    wanted = {f"line {number}": line for number, line in enumerate(lines, 1) if line.strip()}
    names = list(wanted)
    found = iter(outputs("translate", list(wanted.values()), decoding, options, reporter, names=names))
    from posenc_jax.runs.inference import TextOutput

    show_outputs([next(found) if line.strip() else TextOutput("", 0.0, True) for line in lines], options, reporter)


def _lines() -> list[str]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("translate: give sentences after RUN, or one a line on standard input")
    lines = text_of(bounded(sys.stdin.buffer, "standard input"), "standard input").removesuffix("\n").split("\n")
    if not any(line.strip() for line in lines):
        raise UsageError("standard input is empty: give one sentence a line, or sentences after RUN")
    return lines
