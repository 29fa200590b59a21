"""``posenc rope``: what the config of a published model declares of positions, layer by layer."""

from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.errors import UsageError, as_path, refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import columns, show
from posenc_jax.drawing.plain import short

ASSUMED = 3


def _rope(
    config: Annotated[str, "FILE|FOLDER|NAME"],
    *,
    as_: Annotated[str | None, "TYPE"] = None,
    output: Annotated[Path | None, "FILE|FOLDER"] = None,
) -> int:
    """Read the config.json of a model in the Hugging Face layout and print what it declares about positions:
    the encoding of each layer as a spec, windows, attention factor, inverse frequencies, what changes at
    which length, and oddities (settings that are ignored, missing, or read differently than they look).

    A type that is not known is refused. With --as, the output begins with the assumption, and the exit code is 3.

    Args:
      config: a config.json, its folder, or the name of a released model
      as_: read the config as one of this type, such as llama
      output: draw the frequencies: .html, .png, .pdf, or a folder

    Examples:
      posenc rope Gemma-3-1b
          show a released model by name: two bases and windows
      posenc rope Phi-3.5-mini --output phi.html
          draw factors that switch at a length
    """
    read = _config(config)

    from posenc_jax.drawing.text_table import text
    from posenc_jax.huggingface import from_hf
    from posenc_jax.show import rope_tables
    from posenc_jax.show.files import FILES, check_output, check_packages, make, write

    declared = from_hf(read, assume=as_)
    if declared.assumed:
        show(f"Assumption: {declared.odd[0]}\n")
    found = rope_tables.groups(declared)
    if output is not None:
        if not rope_tables.curves(found):
            raise UsageError("--output: no layer rotates, so there are no frequencies to draw: leave it out")
        with refusing("--output "):
            check_output(output)
        check_packages(output, [], figures=output.suffix not in FILES)
    width = columns()
    layers = rope_tables.of_layers(declared, found)
    show(text(layers, width))
    show("\n".join(rope_tables.specs(found)) + "\n")
    if declared.odd:
        show("Oddities:\n" + "\n".join(f"- {line}" for line in declared.odd) + "\n")
    frequencies = list(rope_tables.of_frequencies(found))
    for table in frequencies:
        show(text(table, width))
    if output is not None:
        plots = [rope_tables.plot(declared, found)]
        with refusing("--output "):
            files = dict(make(output, plots[0].title, plots[0].caption, plots, [layers, *frequencies]))
            write(files)
        show(f"wrote {', '.join(map(str, files))}")
    return ASSUMED if declared.assumed else 0


def released(named: str) -> dict[str, Any] | None:
    """Name, source and config of the released model of this name; None where there is none, or a path of this name."""
    from posenc_jax.golden.rope.check import models

    known = {model["name"].casefold(): model for model in models()}
    return None if Path(named).exists() else known.get(named.casefold())


def _config(named: str) -> dict[str, Any]:
    from posenc_jax.golden.rope.check import models
    from posenc_jax.huggingface import read_config
    from posenc_jax.refusals import did_you_mean

    if model := released(named):
        show(f"{model['name']}, as in {model['source']}\n")
        return model["config"]
    if not Path(named).exists() and "/" not in named and not named.endswith(".json"):
        names = [model["name"] for model in models()]
        hint = did_you_mean(named, names, f"known are {', '.join(names)}")
        raise UsageError(f"{short(named)!r} is no file, no folder and no released model that is known: {hint}")
    return read_config(as_path(named))


main = command(_rope, computes=True)
