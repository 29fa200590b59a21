"""``posenc summarize RUN FILE``: the summary of a document by a finished run."""

import argparse
from typing import Any

from posenc_jax.cli import texts
from posenc_jax.cli.errors import as_path

DESCRIPTION = """Summarise a UTF-8 text file in one line with a finished run of task "summarization"."""


def main(arguments: list[str]) -> int:
    parser = texts.run_parser("summarize", DESCRIPTION)
    parser.add_argument("file", type=as_path, metavar="FILE", help="the text")
    texts.add_run_options(parser, "summarise it without its end, as in training (truncate)", ways=("truncate",))
    texts.add_decoding_options(parser)
    return texts.command(parser, arguments, _summarize)


def _summarize(options: argparse.Namespace, reporter: Any) -> None:
    decoding, document = texts.decoding_of(options), texts.read_file(options.file)
    found = texts.outputs("summarize", [document], decoding, options, reporter, names=[str(options.file)])
    texts.show_outputs(found, options, reporter)
