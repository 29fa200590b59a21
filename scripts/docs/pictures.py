"""The page of pictures: `python -m scripts.docs.pictures` draws what `posenc show --preset NAME` draws, and says so.

Pictures are drawn anew, in fewer colours and dots than the command writes, and the page with their captions.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np

from posenc_jax.analysis.views import frequencies, position_vectors
from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.printed import render
from posenc_jax.encodings import Dims, parse
from posenc_jax.show.measure import with_flow
from posenc_jax.show.measured import Chosen, MeasuredEncoding
from posenc_jax.show.presets import ENCODING, PRESETS, WORDS, Preset
from posenc_jax.show.views import plots_of

FOLDER = Path(__file__).with_name("pictures")
PAGE = Path(__file__).with_name("start") / "pictures.md"
WIDTH, COLORS = 1100, 128  # dots, and colours of the palette


def main() -> None:
    """Writes the page and the pictures."""
    plots = {name: drawn(preset) for name, preset in PRESETS.items()}
    FOLDER.mkdir(exist_ok=True)
    for name, plot in plots.items():
        (FOLDER / f"{name}.png").write_bytes(smaller(render(plot, ("png",))["png"]))
    PAGE.write_text(page(plots))
    print(f"{len(plots)} pictures and {PAGE.name}: written")


def drawn(preset: Preset) -> Plot:
    """The plot of a preset, as the command has it."""
    slot, heads = parse(ENCODING), preset.num_heads or 1
    dims = Dims(preset.d_model, heads, heads, preset.d_model // heads, 1, preset.length, 1024)
    vectors = position_vectors(slot, dims, np.arange(preset.length), dtype="float64")
    one = MeasuredEncoding(ENCODING, vectors=vectors, frequencies=frequencies(slot, dims))
    one = with_flow(one, slot, dims, tuple(WORDS.split())) if preset.view == "flow" else one
    (plot,) = plots_of([one], preset.view, Chosen(preset.positions or ()))
    return preset.read(plot)


def smaller(png: bytes) -> bytes:
    """A PNG for a page: `WIDTH` dots wide, of `COLORS` colours."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        image = opened.convert("RGB")
    height = round(image.height * WIDTH / image.width)
    buffer = io.BytesIO()
    image.resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(COLORS).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def page(plots: dict[str, Plot]) -> str:
    """The page, in Markdown."""
    parts = [
        """# Pictures of positions

Texts that teach the sinusoidal encoding draw it in a few ways. Here are those pictures at the settings of the texts,
each with the command that draws it and how to read it. `posenc show sinusoidal` draws every view at once, as an
interactive page; any encoding can take the place of `sinusoidal`."""
    ]
    for name, plot in plots.items():
        about = PRESETS[name].about
        parts.append(
            f"## {about if about.startswith('t-') else about[0].upper() + about[1:]}\n\n"
            f"`posenc show --preset {name}`\n\n"
            f"![{plot.title}](../pictures/{name}.png)\n\n"
            f"{plot.caption}"
        )
    return "\n\n".join(parts) + "\n"


def counts(caption: str) -> dict[int, int]:
    """How many neighbours a caption says to be so many positions away."""
    return {int(offset): int(count) for count, offset in re.findall(r"(\d+) are (\d+) positions away", caption)}


if __name__ == "__main__":
    main()
