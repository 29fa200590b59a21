"""``posenc export``: a run that began as a checkpoint of others, as transformers loads it."""

import argparse

from posenc_jax.cli.errors import Parser, as_path, guarded
from posenc_jax.cli.screen import show

DESCRIPTION = """Export an imported run, or a run that started from one, in the Hugging Face layout that transformers
loads: config.json, model.safetensors in float32, the tokenizer's files, and generation_config.json if there was
one."""


def main(arguments: list[str]) -> int:
    parser = Parser("posenc export", description=DESCRIPTION)
    parser.add_argument("run", metavar="RUN", type=as_path, help="directory of the run")
    parser.add_argument("--to", metavar="DIR", type=as_path, required=True, help="directory to create")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed to export (default: the first that did not diverge)"
    )
    return guarded(lambda: _export(parser.parse_args(arguments)))


def _export(options: argparse.Namespace) -> None:
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.exporting import export_checkpoint

    with TerminalReporter() as reporter:
        family = export_checkpoint(options.run, options.to, options.seed, reporter.note)
    show(f"written: {options.to} ({family.architecture})")
