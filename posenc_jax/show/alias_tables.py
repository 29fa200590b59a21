"""Tables of positions that look alike."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from posenc_jax.analysis import views
from posenc_jax.analysis.aliases import first_alias
from posenc_jax.analysis.kernels import ROUNDING, kernel
from posenc_jax.analysis.similarities import Similarity, similarities
from posenc_jax.drawing.plain import number
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.encodings import Dims, Slot, for_layer, spec

STRONGEST = 10  # side lobes in the table
FAR = 10**9  # how far ever closer returns are looked for
LEVELS = (0.9, 0.95, 0.99, 0.999, 0.9999)
FEW = 16  # frequencies that are shown one by one

_WHAT = {
    "vectors": "the cosine of their vectors",
    "content_logits": "the logit of equal contents, relative to offset 0",
}


class AliasQuestion(NamedTuple):
    """A question about an encoding: how alike are its positions ``0 .. length-1``, and a pair of them."""

    slot: Slot
    dims: Dims
    length: int
    pair: tuple[int, int]

    @property
    def apart(self) -> int:
        """The offset of the pair."""
        return abs(self.pair[1] - self.pair[0])


def tables(asked: AliasQuestion) -> Iterator[TextTable]:
    """The answer: similarities by offset with the nearest alias, and, in closed form, the part of each frequency and
    ever closer aliases far away; or biases by offset.

    Raises:
      ValueError: as `posenc_jax.analysis.similarities.similarities`.
    """
    kinds = similarities(asked.slot, asked.dims, asked.length)
    for similarity in kinds:
        if similarity.kind != "bias":
            yield _alike(asked, similarity)
            if similarity.frequencies is not None:
                if len(similarity.frequencies) <= FEW:
                    yield _why(asked, similarity.frequencies)
                yield _far(similarity.frequencies)
    if biases := [similarity for similarity in kinds if similarity.kind == "bias"]:
        yield _biases(asked, biases)


def _alike(asked: AliasQuestion, similarity: Similarity) -> TextTable:
    found, (here, there), row = similarity.lobes, asked.pair, similarity.to(asked.pair[0])
    strongest = sorted(found.maxima, key=lambda k: -similarity.most[k])[:STRONGEST]
    same = float(np.abs(similarity.most - similarity.values).max()) <= similarity.rounding
    entries = []
    for k in sorted({1, asked.apart, *strongest}):
        to = here + k if here + k < asked.length else here - k
        own = () if same else (_number(similarity.values[k]), _number(row[to]) if to >= 0 else "")
        marks = [f"{here} and {there}"] * (k == asked.apart) + ["peak side lobe"] * (k == found.offset)
        marks += ["neighbours"] * (k == 1)
        looks = str(to) if to >= 0 else ""
        entries.append((str(k), _number(similarity.most[k]), *own, looks, _bar(similarity.most[k]), ", ".join(marks)))
    names = ("similarity",) if same else ("largest", "mean", f"of {here}")
    heads = f", {asked.dims.num_heads} heads of {asked.dims.head_dim}" if asked.dims.num_heads > 1 else ""
    more = len(found.maxima) - len(strongest)
    return TextTable(
        title=f"{spec(asked.slot)}: d_model {asked.dims.d_model}{heads}, positions 0 to {asked.length - 1}",
        columns=("offset", *names, f"{here} looks like", "", ""),
        align="r" * (2 + len(names)) + "ll",
        entries=tuple(entries),
        notes=(
            *([f"{more} weaker side lobe{'s' * (more > 1)} not listed."] if more else []),
            "The similarity never rises again: there is a main lobe and no side lobe."
            if found.offset is None
            else f"Main lobe: up to offset {found.main_lobe}, where the similarity rises again. Peak side lobe: "
            f"{_number(similarity.most[found.offset])} at {found.offset}.",
            *_nearest(asked, similarity, row),
        ),
        lead=f"How alike two positions are, by their offset: {_WHAT[similarity.kind]}. {_how(asked, similarity)}",
    )


def _how(asked: AliasQuestion, similarity: Similarity) -> str:
    if similarity.frequencies is not None:
        return f"In closed form: K(offset) = mean over {len(similarity.frequencies)} frequencies w of cos(offset w)."
    if any(e.random for e in for_layer(asked.slot, 0)):
        return "Measured, with one draw of the random positions."
    drawn = jax.tree.leaves(jax.eval_shape(lambda: views.initial(asked.slot, asked.dims)))
    return "Measured, with parameters as initialised." if drawn else "Measured."


def _nearest(asked: AliasQuestion, similarity: Similarity, row: Any) -> Iterator[str]:
    here, there = asked.pair
    nearest, most = similarity.nearest(here)
    sides = [p for p in (here - 1, here + 1) if 0 <= p < asked.length]
    closest = max(row[p] for p in sides)
    beside = " or ".join(str(p) for p in sides if abs(row[p] - closest) <= ROUNDING)
    if nearest in sides:
        yield f"The nearest neighbour of position {here} is {beside} ({_number(most)})."
    else:
        yield (
            f"The nearest neighbour of position {here} is position {nearest} ({_number(most)}), not {beside} beside it "
            f"({_number(closest)})."
        )
    if nearest != there:
        yield f"Positions {here} and {there}, {asked.apart} apart: {_number(row[there])}."


def _why(asked: AliasQuestion, frequencies: Any) -> TextTable:
    entries = []
    for w in frequencies.tolist():
        cosine = float(kernel(np.array([w]), np.array(asked.apart)))
        wavelength = f"{math.tau / abs(w):.6g}" if w else "none"
        turns = f"{asked.apart * w / math.tau:.4f}"
        entries.append((f"{w:.6g}", wavelength, turns, _number(cosine), _bar(cosine)))
    mean = _number(float(kernel(frequencies, np.array(asked.apart))))
    return TextTable(
        title=f"Why: {asked.apart} positions, in turns of each frequency",
        columns=("frequency", "wavelength", "turns", f"cos({asked.apart} w)", ""),
        align="rrrrl",
        entries=(*entries, ("mean", "", "", mean, "")),
        notes=("After whole turns the cosine is 1.",),
    )


def _far(frequencies: Any) -> TextTable:
    """The first side lobe of ever higher similarity, however far."""
    entries, end = [], f"None of a higher level up to {FAR:,}."
    for level in LEVELS:
        try:
            alias = first_alias(frequencies, FAR, level)
        except ValueError:  # a search as long as a scan
            end = "The search for higher levels is too long."
            break
        if alias is None:
            break
        entries.append((f"{level:g}", f"{alias.offset:,}", f"{alias.similarity:.9f}"))
    notes = (end,) if len(entries) < len(LEVELS) else ()
    title = "The first side lobe of at least this similarity, however far"
    return TextTable(title, ("level", "offset", "similarity"), "rrr", tuple(entries), notes)


def _biases(asked: AliasQuestion, biases: list[Similarity]) -> TextTable:
    entries = []
    for b in biases:
        found = b.lobes
        side = ("none", "") if found.offset is None else (str(found.offset), _number(found.level))
        at = (_number(b.values[k]) for k in (0, 1, asked.apart))
        entries.append((str(b.head), *at, str(found.main_lobe or "never"), *side))
    spread = max(float(np.abs(b.most - b.values).max()) for b in biases)
    differ = "At equal offsets, biases differ by position: means are shown; the side lobe is that of the largest."
    at_pair = f"at {asked.apart} ({asked.pair[0]}, {asked.pair[1]})"
    return TextTable(
        title=f"{spec(asked.slot)}: biases by offset of a query from an earlier key, added to the logits",
        columns=("head", "at 0", "at 1", at_pair, "rises again at", "side lobe", "bias there"),
        align="r" * 7,
        entries=tuple(entries),
        notes=(
            "A side lobe is a distance that a head attends to more than to a shorter one: no confusion of positions.",
            *([differ] if spread > 1e-5 else []),
        ),
    )


def _number(value: float | None) -> str:
    return "" if value is None else number(value, 6)


def _bar(value: float) -> str:
    """Up to 20 blocks for 0 to 1; nothing below."""
    return "█" * round(20 * min(max(float(value), 0.0), 1.0))
