"""``posenc import``: a checkpoint of others as a finished run."""

import argparse
import time

from posenc_jax.cli.errors import Parser, as_path, guarded
from posenc_jax.cli.screen import show

DESCRIPTION = """Import a checkpoint as a finished run: a directory in the Hugging Face layout (config.json,
safetensors, tokenizer.json, or Marian's source.spm, target.spm and vocab.json), or a GGUF file of the llama
architecture. No code in it is run, and no pickle is opened. Then `posenc evaluate RUN --data NAME` evaluates it on a
corpus, `posenc show --run RUN` draws it, `posenc translate RUN TEXT` prints the output of an encoder-decoder, and
another run can start from it (init_from, with data.tokenizer = checkpoint). An encoder becomes a run with a
masked-language-model head."""


def main(arguments: list[str]) -> int:
    from posenc_jax.huggingface.families import titles

    parser = Parser("posenc import", description=f"{DESCRIPTION} Supported models: {titles()}.")
    parser.add_argument("source", metavar="DIR|FILE", type=as_path, help="the checkpoint")
    parser.add_argument(
        "-o", "--output", metavar="RUN", type=as_path, required=True, help="run to create: a new directory"
    )
    return guarded(lambda: _import(parser.parse_args(arguments)))


def _import(options: argparse.Namespace) -> int:
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.encodings import spec
    from posenc_jax.runs.importing import import_checkpoint

    begin = time.perf_counter()
    with TerminalReporter() as reporter:
        config = import_checkpoint(options.source, options.output, reporter.note)
    model = config.model
    show(f"{config.note}: {model.num_layers} layers of {model.d_model}, {model.num_heads} heads, {spec(config.posenc)}")
    show(f"written: {options.output} ({time.perf_counter() - begin:.1f} s)")
    return 0
