"""``posenc weights``: checkpoints of others as runs, parameters of runs as files, and what such files hold."""

import math
import time
from pathlib import Path
from typing import Annotated

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.options import commands
from posenc_jax.cli.screen import show
from posenc_jax.config.stored import in_words
from posenc_jax.files.shapes import loads

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
    from posenc_jax.cli.session import prepare_jax
    from posenc_jax.cli.session import trust as bring_along
    from posenc_jax.runs.importing import export_checkpoint
    from posenc_jax.runs.weights import export_weights

    prepare_jax()
    with TerminalReporter() as reporter:
        bring_along(trust)
        if to.suffix == ".safetensors":
            metadata = export_weights(run, to, seed, torch=torch, note=reporter.note)
            about = f"seed {metadata['seed']}, learning rate {metadata['learning_rate']:g}"
        elif torch:
            raise UsageError(f"--torch names the parameters in a file: end {to} in .safetensors")
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
    show(table(shapes, entries))


def table(shapes: dict[str, tuple[list[int], str]], entries: dict[str, str]) -> str:
    """The lines that `posenc weights inspect` prints, for the result of `posenc_jax.runs.weights.read_shapes`."""
    rows = [(name, str(shapes[name][0]), shapes[name][1]) for name in sorted(shapes, key=_key)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = [f"{name:<{widths[0]}}  {shape:<{widths[1]}}  {dtype}" for name, shape, dtype in rows]
    count = sum(math.prod(shape) for shape, _ in shapes.values())
    size = sum(math.prod(shape) * _BITS.get(dtype, 16 if "16" in dtype else 8) for shape, dtype in shapes.values()) // 8
    lines += ["", f"{len(rows)} tensors, {count:,} values, {size:,} bytes"]
    for name, text in sorted(_described(entries).items()):
        lines.append(f"{name}: {text}")
    return "\n".join(line.replace("\n", " ") for line in lines)


def _key(name: str) -> list[tuple[bool, int, str]]:
    """Layer 2 before layer 10."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in name.split(".")]


def _described(entries: dict[str, str]) -> dict[str, str]:
    described = {name: text if len(text) < 100 else f"{text[:97]}..." for name, text in sorted(entries.items())}
    try:
        ours = loads(entries["posenc_jax"])
        described |= {
            name: value if isinstance(value, str) else in_words(value) for name, value in ours.items() if name != "run"
        }
        if "run" in ours:
            described["run"] = f"{ours['run']['table']} {ours['run']['label']}"
        del described["posenc_jax"]
    except (KeyError, TypeError, ValueError, AttributeError):  # of another program: shown as it is
        pass
    return described


_ABOUT = "Import checkpoints of others, export parameters for other frameworks, and inspect safetensors files."
main = commands("weights", _ABOUT, **{"import": _import, "export": _export, "inspect": _inspect})
