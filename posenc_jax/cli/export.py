"""``posenc export``: a run that began as a checkpoint of others, as transformers loads it."""

import argparse

from posenc_jax.cli.errors import Parser, as_path, guarded
from posenc_jax.cli.screen import show

DESCRIPTION = """Writes a run that was imported, or trained on from an imported one, in Hugging Face's layout
(config.json, model.safetensors in float32, the files of its tokenizer, and generation_config.json where there was
one), which transformers loads."""


def main(arguments: list[str]) -> int:
    parser = Parser("posenc export", description=DESCRIPTION)
    parser.add_argument("run", metavar="RUN", type=as_path, help="directory of the run")
    parser.add_argument("--to", metavar="DIR", type=as_path, required=True, help="a new directory")
    parser.add_argument("--seed", type=int, metavar="N", help="default: the first of the run")
    return guarded(lambda: _export(parser.parse_args(arguments)))


def _export(options: argparse.Namespace) -> None:
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.exporting import export_checkpoint

    with TerminalReporter() as reporter:
        family = export_checkpoint(options.run, options.to, options.seed, reporter.note)
    show(f"written: {options.to} ({family.architecture})")
