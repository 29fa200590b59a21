"""``posenc translate RUN "A sentence."``: translations by a finished run."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.texts import (
    add_decoding_options,
    add_run_options,
    command,
    decoding_of,
    outputs,
    run_parser,
    show_outputs,
    text_of,
)

DESCRIPTION = """Translates sentences with a finished run of task "translation": those given after RUN, else the lines
of standard input. One line a sentence; an empty line of standard input stays empty."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    parser = run_parser("translate", DESCRIPTION)
    parser.add_argument("texts", nargs="*", action="extend", metavar="SENTENCE")
    add_run_options(
        parser,
        "translated without its end (truncate), or in pieces cut between sentences where possible, whose translations "
        "are joined by a space (window)",
    )
    add_decoding_options(parser)
    return command(parser, arguments, _translate)


def _translate(options: argparse.Namespace, reporter: Any) -> None:
    decoding, texts = decoding_of(options), options.texts or _lines()
    # Empty arguments are mistakes; empty lines part paragraphs.
    wanted = options.texts or [text for text in texts if text.strip()]
    found = iter(outputs("translate", wanted, decoding, options, reporter))
    from posenc_jax.runs.inference import Output

    each = (next(found) if options.texts or text.strip() else Output("", 0.0, True) for text in texts)
    show_outputs(list(each), options, reporter)


def _lines() -> list[str]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("translate: give sentences after RUN, or one a line on standard input")
    lines = text_of(sys.stdin.buffer.read(), "standard input").removesuffix("\n").split("\n")
    if not any(line.strip() for line in lines):
        raise UsageError("standard input is empty: give one sentence a line, or sentences after RUN")
    return lines
