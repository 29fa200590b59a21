"""Vectors of positions and their cosines as tables; and those of two words, before and after positions are added."""

from collections.abc import Iterator, Sequence

import numpy as np

from posenc_jax.analysis.kernels import cosines
from posenc_jax.drawing.plain import number
from posenc_jax.drawing.text_table import TextTable


def of_positions(
    label: str, positions: Sequence[int], vectors: np.ndarray, shown: int, *, drawn: bool = False
) -> Iterator[TextTable]:
    """The first ``shown`` dimensions of ``vectors [P, M]``, and the cosine of each two; ``drawn``: of parameters."""
    names = [str(p) for p in positions]
    notes = ("The parameters of the encoding are as initialised: there is no trained model here.",) if drawn else ()
    yield _vectors(f"{label}: d_model {vectors.shape[1]}", "position", names, vectors, shown, notes)
    if len(names) > 1:
        found = cosines(vectors)
        rows = tuple((name, *map(number, line)) for name, line in zip(names, found))
        yield TextTable("Cosines", ("position", *names), "r" * (1 + len(names)), rows)


def embeddings(tokens: Sequence[str], d_model: int, seed: int) -> np.ndarray:
    """``[T, M]``: an embedding for each token, equal for equal ones, drawn from a normal distribution of variance 1."""
    different = list(dict.fromkeys(tokens))
    drawn = np.random.default_rng(seed).normal(size=(len(different), d_model))
    return drawn[[different.index(token) for token in tokens]]


def of_words(words: Sequence[str], at: Sequence[int], drawn: np.ndarray, vectors: np.ndarray, shown: int) -> TextTable:
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
    return _vectors("Two words, before and after positions are added", "", names, rows, shown, notes)


def _vectors(
    title: str, first: str, names: Sequence[str], rows: np.ndarray, shown: int, notes: tuple[str, ...] = ()
) -> TextTable:
    width = rows.shape[1]
    more = (f"The first {shown} of {width} dimensions; --dimensions shows more.",) if shown < width else ()
    entries = tuple((name, *map(number, row[:shown])) for name, row in zip(names, rows))
    columns = (first, *map(str, range(min(shown, width))))
    return TextTable(title, columns, "l" + "r" * (len(columns) - 1), entries, (*notes, *more))
