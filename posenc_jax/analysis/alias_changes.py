"""Positions that look alike to an encoding, and the effect of its base, width, precision and frequencies."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from posenc_jax.analysis.kernels import checked
from posenc_jax.analysis.similarities import MEASURED, Similarity, closed_form, of_frequencies, similarities
from posenc_jax.encodings import (
    Dims,
    Resonance,
    Slot,
    for_layer,
    tensor2tensor_frequencies,
    vaswani_frequencies,
)
from posenc_jax.encodings.frequency_designs import CosineDensity, LowSideLobes

BASES = (1e2, 1e3, 1e4, 1e5, 1e6)
WIDTHS = (8, 16, 32, 64, 128, 256, 512)


@dataclasses.dataclass(frozen=True)
class AliasQuestion:
    """A question about an encoding: its positions ``0 .. length-1``, a pair of them, and a level of similarity."""

    slot: Slot
    dims: Dims
    length: int
    pair: tuple[int, int]
    level: float | None = None

    @property
    def apart(self) -> int:
        """The offset of the pair."""
        return abs(self.pair[1] - self.pair[0])


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """One change: its name, whether it is what was asked about, and how alike positions are with it."""

    name: str
    own: bool
    similarity: Similarity


def changes(asked: AliasQuestion, similarity: Similarity) -> dict[str, list[Case]]:
    """Cases by the one setting that is changed: "base", "d_model" or "head_dim", "precision" and "frequencies", as far
    as a single encoding has them; ``similarity`` is that of the encoding itself.
    """
    encodings = for_layer(asked.slot, 0)
    element: Any = encodings[0] if len(encodings) == 1 else None
    closed = similarity.frequencies is not None
    if element is None or not (closed or similarity.kind == "vectors"):
        return {}
    of_head = similarity.kind == "content_logits"
    width = asked.dims.head_dim if of_head else asked.dims.d_model
    groups: dict[str, list[Case]] = {}
    if closed and hasattr(element, "base"):
        bases = [(b, {"base": b}, asked.dims) for b in _with(BASES, element.base)]
        groups["base"] = list(_cases(asked, element, bases, element.base))
    widths: list[Any] = [(w, {}, _dims(asked.dims, w, of_head)) for w in _with(WIDTHS, width)]
    groups["head_dim" if of_head else "d_model"] = list(_cases(asked, element, widths, width))
    groups["precision"] = list(_precisions(asked, similarity, width))
    if closed and hasattr(element, "base"):
        groups["frequencies"] = list(_choices(asked, similarity, element.base))
    return groups


def _with(usual: Sequence[float], own: float) -> list[Any]:
    return sorted({*usual, own})


def _dims(dims: Dims, width: int, of_head: bool) -> Dims:
    if of_head:
        return dataclasses.replace(dims, d_model=width * dims.num_heads, head_dim=width)
    return dataclasses.replace(dims, d_model=width, num_heads=1, num_kv_heads=1, head_dim=width)


def _cases(
    asked: AliasQuestion, element: Any, cases: Iterable[tuple[float, dict[str, Any], Any]], own: float
) -> Iterator[Case]:
    for number, fields, dims in cases:
        try:
            element = dataclasses.replace(element, **fields)
            found = closed_form((element,), dims, asked.length) or similarities((element,), dims, asked.length)[0]
        except ValueError:  # a base or a width that the encoding cannot have, as a base beside given frequencies
            continue
        yield Case(f"{number:g}", number == own, found)


def _precisions(asked: AliasQuestion, similarity: Similarity, width: int) -> Iterator[Case]:
    """Vectors rounded to a dtype, or queries and keys that come in it."""
    yield Case("float64", True, similarity)
    if asked.length <= MEASURED and asked.length * asked.length * width <= 2**28:
        for dtype in ("float32", "bfloat16"):
            yield Case(dtype, False, similarities(asked.slot, asked.dims, asked.length, dtype)[0])


def _choices(asked: AliasQuestion, similarity: Similarity, base: float) -> Iterator[Case]:
    own = similarity.frequencies
    assert own is not None
    dim, shown = 2 * len(own), False
    choices: dict[str, Callable[[], Any]] = {
        "vaswani": lambda: vaswani_frequencies(dim, base),
        "tensor2tensor": lambda: tensor2tensor_frequencies(dim, 1.0, base),
        "resonance": lambda: Resonance().frequencies(base, dim),
        "low_side_lobes": lambda: LowSideLobes().frequencies(base, dim),
        "cosine_density": lambda: CosineDensity().frequencies(base, dim),
        "as given": lambda: own,
    }
    for name, choice in choices.items():
        try:
            with np.errstate(all="ignore"):
                frequencies = checked(choice())
        except ValueError:  # a base or a number of dimensions that a design does not have
            continue
        same = np.array_equal(frequencies, own)
        if name != "as given" or not shown:
            found = of_frequencies(similarity.kind, frequencies, asked.length)
            yield Case(name, same, found)
        shown = shown or same
