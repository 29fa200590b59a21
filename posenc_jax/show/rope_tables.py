"""Positions as the config of a published model declares them: tables and one figure."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.drawing.plots import Axis, Lines, PlotLine
from posenc_jax.drawing.style import styles
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.encodings import spec
from posenc_jax.encodings.rotary.mla_rope import MLARoPE
from posenc_jax.huggingface.declared import Declared, Layer

Groups = dict[Layer, list[int]]


def groups(declared: Declared) -> Groups:
    """The numbers of equal layers, by what they are."""
    found: Groups = {}
    for i, layer in enumerate(declared.layers):
        found.setdefault(layer, []).append(i)
    return found


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in words.

    >>> ranges([0, 1, 2, 4, 6, 7])
    '0-2, 4, 6-7'
    """
    runs: list[list[int]] = []
    for i in numbers:
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def of_layers(declared: Declared, found: Groups) -> TextTable:
    """A line for each group of layers."""
    entries = tuple(
        (
            ranges(numbers),
            layer.kind.removesuffix("_attention"),
            "all" if layer.window is None else f"{layer.window:,}",
            str(layer.head_dim or ""),
            number(layer.attention_factor, 6),
            _changes(layer),
        )
        for layer, numbers in found.items()
    )
    columns = ("layers", "attention", "sees", "head", "factor", "frequencies change")
    end = f", max_position_embeddings {declared.max_length:,}" if declared.max_length else ""
    return TextTable(f"{declared.model_type}: {len(declared.layers)} layers{end}", columns, "llrrrl", entries)


def _changes(layer: Layer) -> str:
    return "at no length" if layer.switches_above is None else f"above length {layer.switches_above:,}"


def specs(found: Groups) -> Iterator[str]:
    """The encodings, as strings, with the layers that have them."""
    by_spec: dict[str, list[int]] = {}
    for layer, numbers in found.items():
        factor = math.prod(own.logit_factor for own in layer.encodings if isinstance(own, MLARoPE))
        scaled = f"\n  and logits are multiplied by {number(factor, 6)}" * (factor != 1)
        by_spec.setdefault(spec(layer.encodings) + scaled, []).extend(numbers)
    for text, numbers in by_spec.items():
        yield f"layers {ranges(sorted(numbers))}: {text}"


def curves(found: Groups) -> dict[str, np.ndarray]:
    """The inverse frequencies, short and long where they switch, by the layers that have them; equal ones once."""
    by_curve: dict[tuple[float, ...], dict[str, list[int]]] = {}
    for layer, numbers in found.items():
        switch = layer.switches_above
        points = [("", None)] if switch is None else [(f" to {switch:,}", switch), (f" at {2 * switch:,}", 2 * switch)]
        for words, length in points:
            frequencies = tuple(layer.inverse_frequencies(length).tolist())
            if frequencies:
                by_curve.setdefault(frequencies, {}).setdefault(words, []).extend(numbers)
    names = {
        " and ".join(f"layers {ranges(sorted(numbers))}{words}" for words, numbers in of.items()): frequencies
        for frequencies, of in by_curve.items()
    }
    return {name: np.array(frequencies) for name, frequencies in names.items()}


def of_frequencies(found: Groups) -> Iterator[TextTable]:
    """Inverse frequency and wavelength of every plane."""
    for name, frequencies in curves(found).items():
        entries = tuple(
            (str(k), f"{f:.10g}", f"{math.tau / f:,.1f}" if f else "no turn") for k, f in enumerate(frequencies)
        )
        columns = ("plane", "inverse frequency", "wavelength")
        yield TextTable(f"Inverse frequencies, {name}", columns, "rrr", entries)


def plot(declared: Declared, found: Groups) -> Lines:
    """Inverse frequencies by plane."""
    drawn = curves(found)
    own = styles(tuple(drawn))
    lines = tuple(PlotLine(name=name, x=np.flatnonzero(f), y=f[f > 0], style=own[name]) for name, f in drawn.items())
    return Lines(
        slug="rope",
        title=f"Inverse frequencies declared by {declared.model_type}",
        caption="Radians per position, for each plane that turns.",
        x=Axis("plane"),
        y=Axis("inverse frequency", logarithmic=True),
        lines=lines,
    )
