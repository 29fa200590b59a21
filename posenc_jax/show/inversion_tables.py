"""How often encodings and released models confuse near with far, by length, as a table."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from posenc_jax.analysis.near_and_far import CONFUSED, ERROR, DrawnShare, inversion, inversion_of
from posenc_jax.analysis.similarities import similarities
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.encodings import Dims, Slot, for_layer, is_pattern, spec
from posenc_jax.encodings.interface.base import PositionalEncoding
from posenc_jax.huggingface.declared import Declared, Layer
from posenc_jax.show.rope_tables import groups

HEADS = 4
FIRST = 2**9
_COMPARED = 64


class InversionRow(NamedTuple):
    """Layers of one kind.

    Attributes:
      name: what they are.
      at: their inversion at a length, up to a standard error.
      turning: the frequencies at a length, none where more than rotation decides, and how far a layer sees there.
    """

    name: str
    at: Callable[[int, float], DrawnShare]
    turning: Callable[[int], tuple[np.ndarray, int]]


def of_model(name: str, declared: Declared) -> list[InversionRow]:
    """A row for each kind of layer of a released model that weighs keys. Below and above a switch a length has its own
    frequencies; a layer with a window sees no farther.
    """
    rows, found = [], {layer: own for layer, own in groups(declared).items() if layer.kind != "linear_attention"}
    for layer, numbers in found.items():

        def turning(length: int, layer: Layer = layer) -> tuple[np.ndarray, int]:
            frequencies = layer.inverse_frequencies(length)
            return frequencies if len(frequencies) else np.zeros(1), min(length, layer.window or length)

        def at(length: int, error: float, turning: Callable[[int], tuple[np.ndarray, int]] = turning) -> DrawnShare:
            return inversion(*turning(length), error=error)

        window = f", window {layer.window:,}" if layer.window else ""
        own = f", {len(numbers)} of {len(declared.layers)} layers" if len(groups(declared)) > 1 else ""
        rows.append(InversionRow(name + own + window, at, turning))
    return rows


def of_encoding(slot: Slot, dims: Dims) -> list[InversionRow]:
    """A row for each layer of a pattern that differs from those before it, or one."""
    numbers = range(len(slot)) if is_pattern(slot) else range(1)
    layers = {for_layer(slot, i): i for i in reversed(numbers)}

    def at(length: int, error: float, layer: int) -> DrawnShare:
        return inversion_of(slot, dataclasses.replace(dims, max_len=length), length, layer=layer, error=error)

    @functools.cache
    def turns(encodings: tuple[PositionalEncoding, ...]) -> bool:
        if len(encodings) != 1 or encodings[0].acts_on != {"encode_queries", "encode_keys"}:
            return False
        few = dataclasses.replace(dims, max_len=_COMPARED)
        return similarities(encodings, few, _COMPARED)[0].frequencies is not None

    def turning(length: int, encodings: tuple[PositionalEncoding, ...]) -> tuple[np.ndarray, int]:
        found = encodings[0].frequencies_for(dims, length) if turns(encodings) else None
        return np.zeros(0) if found is None else found, length

    return [
        InversionRow(spec(own), functools.partial(at, layer=layer), functools.partial(turning, encodings=own))
        for own, layer in sorted(layers.items(), key=lambda own: own[1])
    ]


def lengths_to(length: int, times: int = 4) -> list[int]:
    """Every power of ``times`` times 512 up to a length, and the length itself."""
    found = [min(FIRST, length)]
    while found[-1] < length:
        found.append(min(found[-1] * times, length))
    return found


def confused_from(lengths: Sequence[int], shares: Iterable[float]) -> int | None:
    """The first length whose inversion is above `CONFUSED`; None for none."""
    return next((length for length, share in zip(lengths, shares, strict=True) if share > CONFUSED), None)


def table(rows: Iterable[InversionRow], length: int) -> TextTable:
    """The inversion of each row by length, and from which on it confuses near with far."""
    lengths, entries = lengths_to(length), []
    for row in rows:
        shares = [row.at(own, ERROR).value for own in lengths]
        start = confused_from(lengths, shares)
        entries.append((row.name, *(f"{share:.3f}" for share in shares), _short(start) if start else "-"))
    return TextTable(
        title="How often the farther of two equal keys has the higher logit, by length",
        columns=("", *map(_short, lengths), f"above {CONFUSED:g}"),
        align="l" + "r" * (len(lengths) + 1),
        entries=tuple(entries),
        notes=(
            f"Distances are drawn uniformly below the length, contents from a normal; standard error {ERROR:g} at most."
            " At 0.5 near and far cannot be told apart; ties count one half.",
            f"K is 1,024, M its square. The last column has the first length at which the value is above {CONFUSED:g}.",
        ),
    )


def _short(length: int) -> str:
    sizes = (f"{length // size}{unit}" for unit, size in (("M", 2**20), ("K", 2**10)) if length % size == 0)
    return next(sizes, f"{length:,}")
