"""Tables of positions that look alike, as lines of text."""

import math
import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from posenc_jax.analysis import views
from posenc_jax.analysis.alias_changes import AliasQuestion, Case, changes
from posenc_jax.analysis.aliases import first_alias
from posenc_jax.analysis.heads import bands, random_heads, subset_range
from posenc_jax.analysis.kernels import ROUNDING, Lobes, distances, kernel
from posenc_jax.analysis.similarities import Similarity
from posenc_jax.encodings import for_layer, spec

STRONGEST, LISTED = 10, 40  # side lobes in the table by default, and with a level
FAR = 10**9  # how far ever closer returns are looked for
LEVELS = (0.9, 0.95, 0.99, 0.999, 0.9999)
HEADS = 1000  # drawn at random
FEW = 16  # frequencies that are shown one by one
WIDTH = 100

_WHAT = {
    "vectors": "the cosine of their vectors",
    "content_logits": "the logit of equal contents, relative to offset 0",
}


def lines(asked: AliasQuestion, kinds: tuple[Similarity, ...]) -> Iterator[str]:
    """All that can be told about what was ``asked``."""
    dims = asked.dims
    heads = f", {dims.num_heads} heads of {dims.head_dim}" if dims.num_heads > 1 else ""
    title = f"{spec(asked.slot)}: d_model {dims.d_model}{heads}, positions 0 to {asked.length - 1}"
    yield from _wrapped(title)
    yield "=" * min(len(title), WIDTH)
    for similarity in kinds:
        if similarity.kind != "bias":
            yield from _lobes(asked, similarity)
            if similarity.frequencies is not None:
                yield from _why(asked, similarity.frequencies)
                yield from _far(similarity.frequencies)
    biases = [similarity for similarity in kinds if similarity.kind == "bias"]
    if biases:
        yield from _biases(asked, biases)
    if kinds[0].kind != "bias":
        yield from _changes(asked, kinds[0])
        yield from _heads(asked, kinds[0])


def _lobes(asked: AliasQuestion, similarity: Similarity) -> Iterator[str]:
    found, (here, there), closed = similarity.lobes, asked.pair, similarity.frequencies is not None
    yield from ("", f"How alike two positions are, by their offset: {_WHAT[similarity.kind]}.")
    if closed:
        count = len(similarity.frequencies)  # type: ignore[arg-type]
        yield f"In closed form: K(offset) = mean over {count} frequencies w of cos(offset w)."
    elif any(e.random for e in for_layer(asked.slot, 0)):
        yield "Measured, with one draw of the random positions."
    else:
        yield "Measured, with parameters as initialised." if _has_parameters(asked) else "Measured."
    level = asked.level
    tops = [k for k in found.maxima if level is None or similarity.most[k] >= level - ROUNDING]
    strongest = sorted(tops, key=lambda k: -similarity.most[k])[: STRONGEST if level is None else LISTED]
    row, rows = similarity.to(here), []
    alike = closed or float(np.abs(similarity.most - similarity.values).max()) <= similarity.rounding
    for k in sorted({1, asked.apart, *strongest}):
        to = here + k if here + k < asked.length else here - k
        marks = [f"{here} and {there}"] * (k == asked.apart) + ["peak side lobe"] * (k == found.offset)
        marks += ["neighbours"] * (k == 1)
        entries = [str(k), _number(similarity.most[k])]
        if similarity.frequencies is not None and similarity.kind == "vectors":
            entries += [f"{distances(similarity.frequencies, np.array(k)):.6f}"]
        if not alike:
            entries += [_number(similarity.values[k]), _number(row[to]) if to >= 0 else ""]
        rows.append([*entries, str(to) if to >= 0 else "", _bar(similarity.most[k]), ", ".join(marks)])
    names = ["similarity"] + ["distance"] * (closed and similarity.kind == "vectors")
    names = names if alike else ["largest", "mean", f"of {here}"]
    yield ""
    yield from _table(["offset", *names, f"{here} looks like", "", ""], rows, left=2)
    if len(tops) > len(strongest):
        more = len(tops) - len(strongest)
        hint = "a level of 0.5 lists those of at least 0.5" if level is None else f"{LISTED} are listed"
        yield f"  and {more} weaker side lobe{'s' * (more > 1)}; {hint}."
    yield ""
    if found.main_lobe is None:
        yield "The similarity never rises again: there is a main lobe and no side lobe."
    else:
        assert found.offset is not None
        yield from _wrapped(
            f"Main lobe: up to offset {found.main_lobe}, where the similarity rises again. Peak side lobe: "
            f"{_number(similarity.most[found.offset])} at {found.offset}."
        )
    yield from _nearest(asked, similarity, row)


def _nearest(asked: AliasQuestion, similarity: Similarity, row: Any) -> Iterator[str]:
    here, there = asked.pair
    nearest, most = similarity.nearest(here)
    beside = _beside(asked)
    closest = max(beside, key=lambda p: row[p])
    if abs(nearest - here) == 1:
        yield f"The nearest neighbour of position {here} is {' or '.join(_equal(row, beside, most))} ({_number(most)})."
    else:
        yield from _wrapped(
            f"The nearest neighbour of position {here} is position {nearest} ({_number(most)}), not "
            f"{' or '.join(_equal(row, beside, float(row[closest])))} beside it ({_number(row[closest])})."
        )
    if nearest != there:
        yield f"Positions {here} and {there}, {asked.apart} apart: {_number(row[there])}."


def _beside(asked: AliasQuestion) -> list[int]:
    here = asked.pair[0]
    return [p for p in (here - 1, here + 1) if 0 <= p < asked.length]


def _lobe_entries(lobes: Lobes) -> list[str]:
    return ["never ends" if lobes.main_lobe is None else str(lobes.main_lobe), *_side_lobe(lobes)]


def _side_lobe(lobes: Lobes) -> list[str]:
    return ["none", ""] if lobes.offset is None else [str(lobes.offset), _number(lobes.level)]


def _equal(row: Any, positions: list[int], value: float) -> list[str]:
    return [str(p) for p in positions if abs(row[p] - value) <= ROUNDING]


def _why(asked: AliasQuestion, frequencies: Any) -> Iterator[str]:
    apart = asked.apart
    if len(frequencies) > FEW:
        return
    yield from ("", f"Why: {apart} positions, in turns of each frequency. After whole turns the cosine is 1.", "")
    rows = []
    for w in frequencies.tolist():
        cosine = float(kernel(np.array([w]), np.array(apart)))
        wavelength = f"{math.tau / abs(w):.6g}" if w else "none"
        turns = apart * w / math.tau
        rows.append([f"{w:.6g}", wavelength, f"{turns:.4f}", _number(cosine), _bar(cosine)])
    rows.append(["mean", "", "", _number(float(kernel(frequencies, np.array(apart)))), ""])
    yield from _table(["frequency", "wavelength", "turns", f"cos({apart} w)", ""], rows, left=1)


def _far(frequencies: Any) -> Iterator[str]:
    """The first side lobe of ever higher similarity, however far."""
    rows = []
    for level in LEVELS:
        try:
            alias = first_alias(frequencies, FAR, level)
        except ValueError:  # a search as long as a scan
            rows.append([f"{level:g}", "", "", "search too long"])
            break
        if alias is None:
            rows.append([f"{level:g}", "", "", f"none up to {FAR:,}"])
            break
        rows.append([f"{level:g}", f"{alias.offset:,}", f"{alias.similarity:.9f}", ""])
    yield from ("", "Beyond the table: the first side lobe of at least this similarity:", "")
    yield from _table(["level", "offset", "similarity", ""], rows, left=1)


def _biases(asked: AliasQuestion, biases: list[Similarity]) -> Iterator[str]:
    here, there = asked.pair
    yield from ("", "Biases by offset of a query from an earlier key, added to the logits: a side lobe is a distance")
    yield "that a head attends to more than to a shorter one, not a confusion of positions."
    yield ""
    rows = []
    for b in biases:
        curve = [_number(b.values[k]) for k in (0, 1, asked.apart)]
        rows.append([str(b.head), *curve, str(b.lobes.main_lobe or "never"), *_side_lobe(b.lobes)])
    offsets = ["at 0", "at 1", f"at {asked.apart} ({here}, {there})"]
    yield from _table(["head", *offsets, "rises again at", "side lobe", "bias there"], rows)
    spread = max(float(np.abs(b.most - b.values).max()) for b in biases)
    if spread > 1e-5:
        yield "  At equal offsets, biases differ by position: means are shown; the side lobe is that of the largest."


def _changes(asked: AliasQuestion, similarity: Similarity) -> Iterator[str]:
    groups = changes(asked, similarity)
    if not groups:
        return
    here, apart = asked.pair[0], asked.apart
    yield from ("", "What changes it, one at a time (* as above):", "")
    heading = ["", "1 apart", f"{apart} apart", "main lobe to", "side lobe", "level", f"nearest to {here}", "level"]
    table = []
    for name, cases in groups.items():
        table += [[name, *[""] * 7], *(_entries(case, asked) for case in cases)]
    yield from _table(heading, table, first_left=True)


def _entries(case: Case, asked: AliasQuestion) -> list[str]:
    similarity = case.similarity
    here, there = asked.pair
    row, sides = similarity.to(here), _beside(asked)
    nearest, most = similarity.nearest(here)
    names = _equal(row, sides, most) if nearest in sides else [str(nearest)]
    return [
        f"  {case.name}{' *' * case.own}",
        _number(row[sides[-1]]),
        _number(row[there]),
        *_lobe_entries(similarity.lobes),
        ", ".join(names),
        _number(most),
    ]


def _heads(asked: AliasQuestion, similarity: Similarity) -> Iterator[str]:
    dims, (here, there), beside = asked.dims, asked.pair, _beside(asked)[-1]
    if similarity.kind == "vectors":
        widths = _head_dims(dims)
        if not widths:
            return
        vectors = views.position_vectors(
            asked.slot, dims, np.array([here, beside, there]), dtype="float64", length=asked.length
        )
        rows = []
        for width in widths:
            found = random_heads(vectors, 0, width, heads=HEADS)
            entries = [f"{found.mean[i]:.3f} ± {found.spread[i]:.3f}" for i in (1, 2)]
            nearer = f"{100 * found.nearest[2]:.0f} %" if there != beside else ""
            rows.append([str(width), str(dims.d_model // width), *entries, nearer])
        yield from ("", "What one attention head sees at initialisation: the similarity after a random projection.")
        yield from (f"Mean and standard deviation over {HEADS} random projections to D dimensions:", "")
        heading = ["D", "heads", f"{here} and {beside}", f"{here} and {there}", f"{there} is nearer than {beside}"]
        yield from _table(heading, rows)
    if similarity.frequencies is None:
        return
    frequencies = similarity.frequencies
    count = _band_size(asked, len(frequencies))
    if count == len(frequencies):
        return
    plural = f"{count} neighbouring frequencies" if count > 1 else "one frequency"
    yield from ("", f"What a head sees if it keeps {plural} of {len(frequencies)} ({2 * count} dimensions):", "")
    rows = []
    for band in bands(frequencies, count, asked.length):
        kept = frequencies[band.first : band.last + 1]
        waves = [f"{math.tau / w:.4g}" if w else "none" for w in (abs(kept[0]), abs(kept[-1]))]
        near = [_number(band.values[1]), _number(band.values[asked.apart])]
        rows.append([" to ".join(dict.fromkeys(waves)), *near, *_lobe_entries(band.lobes)])
    yield from _table(["wavelengths", "1 apart", f"{asked.apart} apart", "main lobe to", "side lobe", "level"], rows)
    least, greatest = subset_range(frequencies, count, np.array(asked.apart))
    yield (
        f"  Whichever {count} it keeps, the similarity of {here} and {there} is at least {_number(float(least))} and "
        f"at most {_number(float(greatest))}."
    )


def _head_dims(dims: Any) -> list[int]:
    """Half the width, a quarter and so on, down to 2; four of them."""
    halves = [dims.d_model >> n for n in range(1, 20) if dims.d_model % (1 << n) == 0 and dims.d_model >> n >= 2]
    return sorted({*halves[:4], *([dims.head_dim] if dims.num_heads > 1 else [])}, reverse=True)


def _band_size(asked: AliasQuestion, count: int) -> int:
    """Frequencies of a head: as many as its dimensions hold, or half of them, at most 32."""
    if asked.dims.num_heads > 1 and asked.dims.head_dim // 2 < count:
        return max(asked.dims.head_dim // 2, 1)
    return max(min(count // 2, 32), 1)


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, break_on_hyphens=False)


def _has_parameters(asked: AliasQuestion) -> bool:
    shapes = jax.eval_shape(lambda: views.initial(asked.slot, asked.dims))
    return bool(jax.tree.leaves(shapes))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _bar(value: float) -> str:
    """Up to 20 blocks for 0 to 1; nothing below."""
    eighths = round(min(max(float(value), 0.0), 1.0) * 160)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


def _table(heading: list[str], rows: list[list[str]], *, left: int = 0, first_left: bool = False) -> Iterator[str]:
    """Columns as wide as their entries; the ``left`` last ones, and perhaps the first, are aligned to the left."""
    widths = [max(len(row[i]) for row in (heading, *rows)) for i in range(len(heading))]
    for row in (heading, *rows):
        entries = [
            entry.ljust(width) if i >= len(row) - left or (first_left and i == 0) else entry.rjust(width)
            for i, (entry, width) in enumerate(zip(row, widths))
        ]
        yield ("  " + "  ".join(entries)).rstrip()
