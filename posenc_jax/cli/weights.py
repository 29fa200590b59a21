"""``posenc weights``: checkpoints of others as runs, parameters of runs as files, and what such files hold."""

import math
import time
from pathlib import Path
from typing import Annotated

from posenc_jax.cli.options import commands
from posenc_jax.cli.screen import columns, show
from posenc_jax.drawing.plain import short
from posenc_jax.drawing.text_table import TextTable, text

_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "BOOL": 8}


def _import(source: Annotated[Path, "DIR|FILE"], *, output: Annotated[Path, "RUN"]) -> None:
    """Import a checkpoint as a finished run: a directory in the Hugging Face layout (config.json, safetensors,
    tokenizer.json, or Marian's source.spm, target.spm and vocab.json), or a GGUF file of the llama architecture. No
    code in it is run, and no pickle is opened. Then `posenc evaluate RUN --data NAME` evaluates it on a corpus, `posenc
    show --run RUN` draws it, `posenc translate RUN TEXT` prints the output of an encoder-decoder, and another run can
    start from it (init_from, with data.tokenizer = checkpoint). An encoder becomes a run with a masked-language-model
    head.

    Args:
      source: the checkpoint
      output: run to create: a new directory

    Examples:
      posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
          import a GGUF file
      posenc weights import opus-mt-en-de -o runs/opus
          import a translator, for `posenc translate`
    """
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.encodings import spec
    from posenc_jax.runs.importing import import_checkpoint

    begin = time.perf_counter()
    with TerminalReporter() as reporter:
        config = import_checkpoint(source, output, reporter.note)
    model = config.model
    show(f"{config.note}: {model.num_layers} layers of {model.d_model}, {model.num_heads} heads, {spec(config.posenc)}")
    show(f"written: {output} ({time.perf_counter() - begin:.1f} s)")


def _export(
    run: Path,
    to: Annotated[Path, "FILE|DIR"],
    *,
    seed: int | None = None,
    trust: Annotated[Path | None, "RUN"] = None,
    torch: bool = False,
) -> None:
    """Write the final parameters of one seed of a finished run to a new file, *.safetensors. Or, of an imported run or
    one that started from it, write a folder in the Hugging Face layout that transformers loads: config.json,
    model.safetensors in float32, the tokenizer's files, and generation_config.json if there was one.

    Args:
      run: directory of a run, of a cell of an ablation, or of one group
      to: file to create, *.safetensors, or directory to create
      seed: seed to export (default: the first of the run; for transformers the first that did not diverge)
      trust: run the Python files that RUN brought along, naming each with its digest (default: they are not run)
      torch: in a file, use the names and shapes of torch.nn.Transformer

    Examples:
      posenc weights export RUN model.safetensors
          export the parameters of its first seed
      posenc weights export RUN smollm2-again
          write config.json, model.safetensors and tokenizer.json
    """
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.session import trust as bring_along
    from posenc_jax.runs.importing import export_checkpoint
    from posenc_jax.runs.weights import export_weights

    with TerminalReporter() as reporter:
        bring_along(trust)
        if to.suffix == ".safetensors":
            metadata = export_weights(run, to, seed, torch=torch, note=reporter.note)
            about = f"seed {metadata['seed']}, learning rate {metadata['learning_rate']:g}"
        else:
            about = export_checkpoint(run, to, seed, reporter.note).architecture
    show(f"{about}\nwritten: {to}")


def _inspect(file: Path) -> None:
    """Show names, shapes, dtypes and metadata of a safetensors file.

    Args:
      file: a safetensors file

    Examples:
      posenc weights inspect model.safetensors
          show what the file holds
    """
    from posenc_jax.runs.weights import read_shapes, refuse_damaged

    refuse_damaged(file)
    shapes, entries = read_shapes(file)
    show(text(_table(shapes, entries), columns()))


def _table(shapes: dict[str, tuple[list[int], str]], entries: dict[str, str]) -> TextTable:
    bits = {dtype: _BITS.get(dtype, 16 if "16" in dtype else 8) for _, dtype in shapes.values()}
    size = sum(math.prod(shape) * bits[dtype] for shape, dtype in shapes.values()) // 8
    rows = tuple((name, str(shape), dtype) for name, (shape, dtype) in sorted(shapes.items()))
    count = sum(math.prod(shape) for shape, _ in shapes.values())
    title = f"{len(rows)} tensors, {count:,} values, {size:,} bytes"
    notes = tuple(f"{name}: {short(text)}" for name, text in sorted(entries.items()))
    return TextTable(title, ("tensor", "shape", "dtype"), "lll", rows, notes)


_ABOUT = "Import checkpoints of others, export parameters for other frameworks, and inspect safetensors files."
main = commands("weights", _ABOUT, {"import": _import, "export": _export, "inspect": _inspect}, computes=True)
