"""Similarity of positions under any encoding: in closed form if there is one, else measured."""

import dataclasses

import numpy as np

from posenc_jax.analysis import views
from posenc_jax.analysis.kernels import ROUNDING, Lobes, by_offset, cosines, kernel, lobes
from posenc_jax.encodings import Dims, Slot, check_slot, for_layer

MEASURED = 2048  # positions of which all pairs are kept
_COMPARED = 64  # positions at which a closed form is compared with the encoding
_EQUAL = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Similarity:
    """One way in which positions of an encoding are alike.

    Attributes:
      kind: "vectors" (cosines of the vectors added to embeddings), "content_logits" (products of equal contents as
        query and key, the mean over heads, over that at offset 0) or "bias" (of one head).
      head: of a bias, else None.
      values: ``[L]`` by offset, a position against an earlier one; the mean over positions.
      most: ``[L]`` the largest over positions.
      pairs: ``[L, L]`` of query and key, None in closed form.
      frequencies: ``[F]`` of the closed form `kernel`, None for what was measured.
      rounding: what differs by less is equal.
    """

    kind: str
    head: int | None
    values: np.ndarray
    most: np.ndarray
    pairs: np.ndarray | None
    frequencies: np.ndarray | None
    rounding: float

    @property
    def lobes(self) -> Lobes:
        """The lobes of ``most``."""
        return lobes(self.most, self.rounding)

    def to(self, position: int) -> np.ndarray:
        """``[L]``: how alike each position is to ``position``."""
        if self.pairs is None:
            return self.values[np.abs(np.arange(len(self.values)) - position)]
        later = np.arange(len(self.values)) > position
        return np.where(later, self.pairs[:, position], self.pairs[position])  # the later one is the query

    def nearest(self, position: int) -> tuple[int, float]:
        """The position most alike to ``position``, and how alike; the first, of several."""
        row = np.array(self.to(position))
        row[position] = -np.inf
        return int(row.argmax()), float(row.max())


def similarities(slot: Slot, dims: Dims, length: int, dtype: str = "float64") -> tuple[Similarity, ...]:
    """All kinds that an encoding has, over positions ``0 .. length-1``; parameters are as initialised from key 0.

    In float64 the closed form, if the encoding itself agrees with it to 1e-9 at the first positions. ``dtype``: of the
    embedding, the queries and keys; parameters are float32 in any case.

    Raises:
      ValueError: the slot cannot serve the model or has nothing that is alike by position; a ``length`` below 2, or
        above `MEASURED` for what has no closed form.
    """
    if length < 2:
        raise ValueError(f"length = {length} must be at least 2: one position is like no other")
    kinds = [kind for kind in views.available(slot, dims) if kind != "frequencies"]
    if not kinds:
        raise ValueError(f"no two positions can be compared: {views.what_it_has(slot, dims)}")
    formula = closed_form(slot, dims, length) if dtype == "float64" else None
    if formula is not None and _agrees(formula, slot, dims, length):
        return (formula,)
    if length > MEASURED:
        raise ValueError(
            f"length = {length} must be at most {MEASURED} for an encoding without a closed form, of which all pairs "
            "are measured"
        )
    rounding = {"float64": 1e-6, "float32": 1e-6, "bfloat16": 1e-5}[dtype]
    found: list[Similarity] = []

    def add(kind: str, head: int | None, pairs: np.ndarray) -> None:
        found.append(Similarity(kind, head, by_offset(pairs), by_offset(pairs, "max"), pairs, None, rounding))

    if "vectors" in kinds:
        add("vectors", None, cosines(views.position_vectors(slot, dims, np.arange(length), dtype=dtype, length=length)))
    if "content_logits" in kinds:
        products = views.content_logits(slot, dims, length, dtype=dtype).mean(axis=0)
        at_zero = float(np.mean(np.diagonal(products)))
        add("content_logits", None, np.asarray(products / at_zero if at_zero > 0 else products))
    if "bias" in kinds:
        for head, pairs in enumerate(views.bias(slot, dims, length, dtype=dtype)):
            add("bias", head, pairs)
    return tuple(found)


def closed_form(slot: Slot, dims: Dims, length: int) -> Similarity | None:
    """The similarity of a lone encoding as the `kernel` of its frequencies, if it has them and acts on the embeddings
    only, by one for each pair of dimensions, or on queries and keys only; None for others. Planes that do not turn have
    frequency 0.

    It holds where vectors are sines and cosines of one size and where planes are turned and nothing else, as by
    `Sinusoidal` and by `RoPE` without a magnitude: what `similarities` gives it has compared with the encoding; this is
    the formula alone. ValueError where the slot cannot serve the model.
    """
    check_slot(slot, dims)
    encodings = for_layer(slot, 0)
    frequencies = encodings[0].frequencies_for(dims, length) if len(encodings) == 1 else None
    if frequencies is None:
        return None
    acts_on = encodings[0].acts_on
    if acts_on == {"embed"} and 2 * len(frequencies) == dims.d_model:
        return of_frequencies("vectors", frequencies, length)
    still = dims.head_dim // 2 - len(frequencies)
    if acts_on == {"encode_queries", "encode_keys"} and dims.head_dim % 2 == 0 and still >= 0:
        return of_frequencies("content_logits", np.append(frequencies, np.zeros(still)), length)
    return None


def of_frequencies(kind: str, frequencies: np.ndarray, length: int) -> Similarity:
    """The closed form of ``frequencies [F]`` over offsets ``0 .. length-1``."""
    values = kernel(frequencies, np.arange(length))
    return Similarity(kind, None, values, values, None, frequencies, ROUNDING)


def _agrees(formula: Similarity, slot: Slot, dims: Dims, length: int) -> bool:
    """True if the encoding itself, in float64, agrees with the formula at the first positions."""
    compared = min(length, _COMPARED)
    if formula.kind == "vectors":
        vectors = views.position_vectors(slot, dims, np.arange(compared), dtype="float64", length=length)
        measured = cosines(vectors)
    else:
        shorter = closed_form(slot, dims, compared)
        if shorter is None or not np.array_equal(shorter.values, formula.values[:compared]):
            return False  # frequencies depend on the length
        measured = views.content_logits(slot, dims, compared, dtype="float64")[0]
    offsets = np.abs(np.subtract.outer(np.arange(compared), np.arange(compared)))
    return bool(np.abs(measured - formula.values[offsets]).max() < _EQUAL)
