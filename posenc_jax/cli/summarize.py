"""``posenc summarize RUN FILE``: the summary of a document by a finished run."""

import argparse
from typing import Any

from posenc_jax.cli.errors import as_path
from posenc_jax.cli.texts import (
    add_decoding_options,
    add_run_options,
    command,
    decoding_of,
    outputs,
    read_file,
    run_parser,
    show_outputs,
)

DESCRIPTION = """Summarises a text file (UTF-8) with a finished run of task "summarization", in one line."""


def main(arguments: list[str]) -> int:
    parser = run_parser("summarize", DESCRIPTION)
    parser.add_argument("file", type=as_path, metavar="FILE")
    add_run_options(parser, "summarised without its end (truncate), as in training", ways=("truncate",))
    add_decoding_options(parser)
    return command(parser, arguments, _summarize)


def _summarize(options: argparse.Namespace, reporter: Any) -> None:
    decoding, document = decoding_of(options), read_file(options.file).strip()
    show_outputs(outputs("summarize", [document], decoding, options, reporter), options, reporter)
