"""``posenc summarize RUN FILE``: the summary of a document by a finished run."""

import argparse
from typing import Any

from posenc_jax.cli import texts
from posenc_jax.cli.errors import as_path

DESCRIPTION = """Summarises a text file (UTF-8) with a finished run of task "summarization", in one line."""


def main(arguments: list[str]) -> int:
    parser = texts.run_parser("summarize", DESCRIPTION)
    parser.add_argument("file", type=as_path, metavar="FILE")
    texts.add_run_options(parser, "summarised without its end (truncate), as in training", ways=("truncate",))
    texts.add_decoding_options(parser)
    return texts.command(parser, arguments, _summarize)


def _summarize(options: argparse.Namespace, reporter: Any) -> None:
    decoding, document = texts.decoding_of(options), texts.read_file(options.file).strip()
    texts.show_outputs(texts.outputs("summarize", [document], decoding, options, reporter), options, reporter)
