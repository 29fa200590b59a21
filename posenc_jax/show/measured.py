"""An encoding as measured: plain arrays, None for what it does not have, and what follows from them alone."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from posenc_jax.drawing.style import Style


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredAttention:
    """Attention weights ``[L, H, Q, K]`` of one input, and the names of queries and keys (or empty)."""

    name: str
    weights: np.ndarray
    queries: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    about: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class ReadPositions:
    """Positions ``[E, S]`` of an example's ``tokens`` as the elements of a slot (``readers``) read them; ``about``: of
    which example.
    """

    tokens: tuple[str, ...]
    readers: tuple[str, ...]
    values: np.ndarray
    about: str


@dataclasses.dataclass(frozen=True, eq=False)
class PairsOfExample:
    """``[H, S, S]`` numbers of pairs of an example's ``tokens``, ``what`` they are; ``about``: of which example."""

    tokens: tuple[str, ...]
    values: np.ndarray
    what: str
    about: str


@dataclasses.dataclass(frozen=True, eq=False)
class Sections:
    """Attention from parts of a document to others: ``[G, G]`` for each layer, and of pooling ``[P, G]`` (or none), by
    the names of the G parts and of the P that are pooled; relative to equal weights, NaN where nothing is seen.
    """

    parts: tuple[str, ...]
    layers: tuple[np.ndarray, ...]
    pooled: tuple[str, ...] = ()
    pooling: np.ndarray | None = None
    about: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Flow:
    """Words as a model without training reads them: their embeddings ``[S, M]``, scaled, and these with positions."""

    words: tuple[str, ...]
    embeddings: np.ndarray
    sums: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredEncoding:
    """One encoding, measured: None for what it does not have.

    Attributes:
      label: its spec.
      about: what it does, in words.
      vectors: ``[P, M]`` float64, of positions ``0 .. P-1``, or what ``unit`` calls them.
      products: ``[H, Q, K]``, of queries and keys of equal contents, over D.
      bias: ``[H, Q, K]``.
      frequencies: ``[F]``, radians per position.
      shifts: residuals of the linear map to the position k later, by k.
      causal: whether keys are never after their queries.
      attention, pooling: weights.
      sections: of a document.
      flow: of some words.
      contents: weights of one content everywhere, ``positions`` and ``pairs``: of an example, where contents, tokens or
        attributes decide.
      note: what should be known of all this.
    """

    label: str
    vectors: np.ndarray | None = None
    products: np.ndarray | None = None
    bias: np.ndarray | None = None
    frequencies: np.ndarray | None = None
    shifts: dict[int, float] | None = None
    attention: MeasuredAttention | None = None
    pooling: MeasuredAttention | None = None
    causal: bool = False
    sections: Sections | None = None
    flow: Flow | None = None
    contents: MeasuredAttention | None = None
    positions: ReadPositions | None = None
    pairs: PairsOfExample | None = None
    unit: str = "position"
    about: str = ""
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Positions whose vectors are drawn as lines, and dimensions that are drawn along positions (empty: some)."""

    positions: tuple[int, ...] = ()
    dimensions: tuple[int, ...] = ()


Encodings = Sequence[MeasuredEncoding]
Styles = dict[str, Style]  # by label


def sines_and_cosines(one: MeasuredEncoding) -> tuple[np.ndarray, np.ndarray] | None:
    """The dimensions that are sines, and those that are cosines, of position times frequency, both in the order of the
    frequencies; None where the vectors are others.
    """
    vectors, w = one.vectors, one.frequencies
    if vectors is None or w is None or vectors.shape[1] != 2 * len(w):
        return None
    angles, every = np.outer(np.arange(len(vectors)), w), np.arange(vectors.shape[1])
    for sines, cosines in ((every[0::2], every[1::2]), (every[: len(w)], every[len(w) :])):
        pairs = ((sines, np.sin(angles)), (cosines, np.cos(angles)))
        if all(np.allclose(vectors[:, columns], values, atol=1e-6) for columns, values in pairs):
            return sines, cosines
    return None


def distances(vectors: np.ndarray) -> np.ndarray:
    """``[P, P]`` Euclidean distances of ``vectors [P, M]``, without the cancellation of an expanded square."""
    return np.stack([np.linalg.norm(vectors - row[None], axis=1) for row in vectors.astype(np.float64)])


def by_offset(matrices: np.ndarray, offsets: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, 5 % and 95 % quantile of the entries of ``[N, Q, K]`` at each ``key - query = offset``; each
    ``[len(offsets)]``.
    """
    entries = [np.diagonal(matrices, offset, axis1=1, axis2=2) for offset in offsets]
    low, high = (np.array([np.quantile(e, q) for e in entries]) for q in (0.05, 0.95))
    return np.array([np.mean(e) for e in entries]), low, high


def by_parts(weights: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> np.ndarray:
    """``[parts of queries, parts of keys]`` of ``weights [H, Q, K]``, whose queries and keys belong to these parts: how
    much of its attention a query gives to a key of a part, over what it gives to a key on the average, in the mean over
    heads and queries. NaN where a query sees nothing of a part.
    """
    mean, seen = weights.mean(axis=0), (weights != 0).max(axis=0)
    rows, columns = (list(dict.fromkeys(names)) for names in (queries, keys))
    found = np.full((len(rows), len(columns)), np.nan)
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            of_b = np.array(keys) == b
            reading = (np.array(queries) == a) & seen[:, of_b].any(axis=1)
            if reading.any():
                share, equal = (own[reading][:, of_b].sum(axis=1) / own[reading].sum(axis=1) for own in (mean, seen))
                found[i, j] = np.mean(share / equal)
    return found
