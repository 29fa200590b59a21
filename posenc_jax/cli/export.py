"""``posenc export``: a run that began as a checkpoint of others, as transformers loads it."""

from pathlib import Path
from typing import Annotated

from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show


def _export(run: Path, *, to: Annotated[Path, "DIR"], seed: int | None = None) -> None:
    """Export an imported run, or a run that started from one, in the Hugging Face layout that transformers
    loads: config.json, model.safetensors in float32, the tokenizer's files, and generation_config.json if
    there was one.

    Args:
      run: directory of the run
      to: directory to create
      seed: seed to export (default: the first that did not diverge)

    Examples:
      posenc export RUN --to smollm2-again
          write config.json, model.safetensors and tokenizer.json
    """
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.importing import export_checkpoint

    with TerminalReporter() as reporter:
        family = export_checkpoint(run, to, seed, reporter.note)
    show(f"written: {to} ({family.architecture})")


main = command(_export)
