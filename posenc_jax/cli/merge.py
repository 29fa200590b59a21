"""``posenc merge A B -o C``: ablations that were run apart, joined."""

import argparse

from posenc_jax.cli.errors import Parser, add_trust, as_path, guarded
from posenc_jax.cli.report import final_report
from posenc_jax.cli.screen import shell_words, show
from posenc_jax.cli.session import prepare_jax, trust

DESCRIPTION = """Join ablations that were run separately: collect their cells and seeds in a new directory, with
results.jsonl and report.html. Nothing is recomputed; what several ablations share must be identical."""


def main(arguments: list[str]) -> int:
    parser = Parser(prog="posenc merge", description=DESCRIPTION)
    parser.add_argument("sources", type=as_path, nargs="+", metavar="DIR", help="directories of the ablations")
    parser.add_argument("-o", "--output", type=as_path, required=True, metavar="NEW", help="directory to create")
    add_trust(parser)
    return guarded(lambda: _merge(parser.parse_args(arguments), arguments))


def _merge(options: argparse.Namespace, arguments: list[str]) -> int:
    prepare_jax()
    trust(options.trust)
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.results.timing import read_commands
    from posenc_jax.runs.merge import merge

    directory = options.output.absolute()
    earlier = (command for source in options.sources for command in read_commands(source)[0])
    with TerminalReporter() as reporter:
        merge(options.sources, directory, note=reporter.note)
    commands = [*earlier, shell_words(("posenc", "merge", *arguments))]
    if not final_report(directory, commands, "the results are complete"):
        return 1
    show(f"merged: {directory}")
    return 0
