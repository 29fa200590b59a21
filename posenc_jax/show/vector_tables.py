"""Vectors of positions and their cosines as tables; and those of two words, before and after positions are added."""

from collections.abc import Iterator, Sequence

import jax
import numpy as np

from posenc_jax.analysis.kernels import cosines
from posenc_jax.analysis.views import initial, position_vectors
from posenc_jax.drawing.plain import number
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.encodings import Dims, Slot, spec

_SHOWN = 8  # dimensions


def of_slot(
    slot: Slot, d_model: int, positions: Sequence[int], dimensions: Sequence[int] = ()
) -> tuple[np.ndarray, Iterator[TextTable]]:
    """The vectors ``[P, M]`` of some positions, and the tables of their values and of the cosine of each two.

    Args:
      dimensions: those that are shown; without any the first few.

    Raises:
      ValueError: the slot adds no vectors, or none of this width.
    """
    dims = Dims(d_model, 1, 1, d_model, 1, max(*positions, 1) + 1)
    vectors = position_vectors(slot, dims, positions, dtype="float64", length=dims.max_len)
    drawn = bool(jax.tree.leaves(jax.eval_shape(lambda: initial(slot, dims))))
    notes = ("The parameters of the encoding are as initialised: there is no trained model here.",) if drawn else ()
    return vectors, _tables(f"{spec(slot)}: d_model {d_model}", list(map(str, positions)), vectors, dimensions, notes)


def _tables(
    title: str, names: list[str], vectors: np.ndarray, dimensions: Sequence[int], notes: tuple[str, ...]
) -> Iterator[TextTable]:
    yield _values(title, "position", names, vectors, dimensions, notes)
    if len(names) > 1:
        rows = tuple((name, *map(number, line)) for name, line in zip(names, cosines(vectors)))
        yield TextTable("Cosines", ("position", *names), "r" * (1 + len(names)), rows)


def embeddings(tokens: Sequence[str], d_model: int, seed: int = 1) -> np.ndarray:
    """``[T, M]``: an embedding for each token, equal for equal ones, drawn from a normal distribution of variance 1."""
    different = list(dict.fromkeys(tokens))
    drawn = np.random.default_rng(seed).normal(size=(len(different), d_model))
    return drawn[[different.index(token) for token in tokens]]


def of_words(
    words: Sequence[str], at: Sequence[int], drawn: np.ndarray, vectors: np.ndarray, dimensions: Sequence[int] = ()
) -> TextTable:
    """Embedding, position and sum of two words, ``drawn`` and ``vectors`` ``[2, M]``, with their cosines."""
    parts = (("embedding", drawn), ("position", vectors), ("sum", drawn + vectors))
    names = [f"{word} at {p}, {part}" for (word, p) in zip(words, at) for part, _ in parts]
    rows = np.stack([of[i] for i in range(2) for _, of in parts])
    before, positions, after = (float(cosines(of)[0, 1]) for _, of in parts)
    way = "rises" if after > before else "falls"
    towards = ", towards that of the positions" if (after > before) == (positions > before) else ""
    notes = (
        f"Cosine of the embeddings {number(before)}, of the positions {number(positions)}, of the sums "
        f"{number(after)}: it {way}{towards}.",
        "Embeddings are random, of variance 1 and equal for equal words: there is no trained model here.",
    )
    return _values("Two words, before and after positions are added", "", names, rows, dimensions, notes)


def _values(
    title: str, first: str, names: Sequence[str], rows: np.ndarray, dimensions: Sequence[int], notes: tuple[str, ...]
) -> TextTable:
    width = rows.shape[1]
    shown = list(dimensions) or list(range(min(_SHOWN, width)))
    more = (f"{len(shown)} of {width} dimensions: --dimensions names others.",) if len(shown) < width else ()
    entries = tuple((name, *map(number, row[shown])) for name, row in zip(names, rows))
    return TextTable(title, (first, *map(str, shown)), "l" + "r" * len(shown), entries, (*notes, *more))
