"""``posenc import``: a checkpoint of others as a finished run."""

import time
from pathlib import Path
from typing import Annotated

from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show


def _import(source: Annotated[Path, "DIR|FILE"], *, output: Annotated[Path, "RUN"]) -> None:
    """Import a checkpoint as a finished run: a directory in the Hugging Face layout (config.json,
    safetensors, tokenizer.json, or Marian's source.spm, target.spm and vocab.json), or a GGUF file of the llama
    architecture. No code in it is run, and no pickle is opened. Then `posenc evaluate RUN --data NAME` evaluates it on
    a corpus, `posenc show --run RUN` draws it, `posenc translate RUN TEXT` prints the output of an encoder-decoder, and
    another run can start from it (init_from, with data.tokenizer = checkpoint). An encoder becomes a run with a
    masked-language-model head.

    Args:
      source: the checkpoint
      output: run to create: a new directory

    Examples:
      posenc import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
          import a GGUF file
      posenc import opus-mt-en-de -o runs/opus
          import a translator, for `posenc translate`
    """
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.encodings import spec
    from posenc_jax.runs.importing import import_checkpoint

    begin = time.perf_counter()
    with TerminalReporter() as reporter:
        config = import_checkpoint(source, output, reporter.note)
    model = config.model
    show(f"{config.note}: {model.num_layers} layers of {model.d_model}, {model.num_heads} heads, {spec(config.posenc)}")
    show(f"written: {output} ({time.perf_counter() - begin:.1f} s)")


def _supported() -> str:
    from posenc_jax.huggingface.families import titles

    return f"Supported models: {titles()}."


main = command(_import, _supported)
