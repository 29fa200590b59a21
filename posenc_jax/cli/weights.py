"""``posenc weights``: parameters of finished runs as safetensors files, and what such files hold."""

import math
from pathlib import Path
from typing import Annotated

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.options import commands
from posenc_jax.cli.screen import show
from posenc_jax.config.stored import in_words
from posenc_jax.files.shapes import loads

_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "BOOL": 8}


def _export(
    run: str, file: Path, *, seed: int | None = None, trust: Annotated[Path | None, "RUN"] = None, torch: bool = False
) -> None:
    """Write the final parameters of one seed of a finished run to a new file.

    Args:
      run: directory of a run, of a cell of an ablation, or of one group
      file: file to create: *.safetensors
      seed: seed to export (default: the first of the run)
      trust: run the Python files that RUN brought along, naming each with its digest (default: they are not run)
      torch: use the names and shapes of torch.nn.Transformer

    Examples:
      posenc weights export RUN model.safetensors
          export the parameters of its first seed
    """
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.session import trust as bring_along
    from posenc_jax.runs.weights import export_weights

    if file.suffix != ".safetensors":
        raise UsageError(
            f"weights export: {file} would be a safetensors file under another name: end it in .safetensors"
        )
    with TerminalReporter() as reporter:
        bring_along(trust)
        metadata = export_weights(run, file, seed, torch=torch, note=reporter.note)
    show(f"seed {metadata['seed']}, learning rate {metadata['learning_rate']:g}")
    show(f"written: {file}")


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


main = commands(
    "weights",
    "Export and inspect parameters as safetensors files, which other frameworks can read.",
    export=_export,
    inspect=_inspect,
)
