"""How often an attention head confuses a near key with a far one, by the length of the text.

Two shares, both of logits alone. *Inversion*: of two keys of equal content, at two distances drawn uniformly below a
length, the farther one has the higher logit; a tie counts one half (Du et al. 2026, arXiv:2605.15514, who call it
position inversion). *Alias*: the key of a query's own content, at a distance drawn likewise, is not the best of a
window whose other keys are strangers. Contents are standard normal, unless a head's own are given.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import jax
import numpy as np

from posenc_jax.analysis import views
from posenc_jax.analysis.kernels import checked
from posenc_jax.encodings import Dims, Sequence, Slot, attend, embed, for_layer, geometries, layer_params, spec
from posenc_jax.encodings.interface.base import Array, PositionalEncoding
from posenc_jax.encodings.shared.phase import sincos

ERROR = 0.005
CONFUSED = 0.4
_AT_ONCE = 2**22  # cosines in memory
_FEW = 24  # places at which two keys are compared with all


class DrawnShare(NamedTuple):
    """A share of draws, and its standard error."""

    value: float
    error: float


@dataclasses.dataclass(frozen=True, eq=False)
class HeadContents:
    """Queries and keys of a head as planes, before any rotation.

    Attributes:
      queries: ``[N, P]`` complex, keys: ``[M, P]`` complex; the imaginary part is the second dimension of a plane.
      own: ``[N]``, the index of the key that each query is for.
    """

    queries: np.ndarray
    keys: np.ndarray
    own: np.ndarray


def draws_for(error: float) -> int:
    """The number of draws of which no share has a larger standard error: ``1 / (4 error^2)``."""
    return math.ceil(0.25 / error**2)


def two_distances(
    generator: np.random.Generator, length: int, count: int, ratio: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """``[N], [N]``: near and far, two different whole distances drawn uniformly from ``0 .. length-1``, of which the
    pairs with ``far >= ratio * near`` are kept. ValueError for a length below 2.
    """
    if length < 2:
        raise ValueError(f"length = {length} must be at least 2: two keys are at two distances")
    found = np.zeros((2, 0), np.int64)
    while found.shape[1] < count:
        first = generator.integers(length, size=count)
        second = (first + generator.integers(1, length, size=count)) % length
        pairs = np.sort([first, second], axis=0)
        found = np.concatenate([found, pairs[:, pairs[1] >= ratio * pairs[0]]], axis=1)
    return found[0, :count], found[1, :count]


def scores(products: np.ndarray, frequencies: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """``[N]`` logits, unscaled, in float64: ``sum_j Re(z_j exp(1j d w_j))`` of ``products`` z ``[N, P]``, queries times
    conjugate keys, at ``distances`` d ``[N]``. Phases are exact, see `sincos`.
    """
    found = []
    for part in np.array_split(np.arange(len(distances)), products.size // _AT_ONCE + 1):
        sin, cos = sincos(distances[part], frequencies, np.float64)
        z = products[part]
        found.append((z.real * cos).sum(-1) - (z.imag * sin).sum(-1) if np.iscomplexobj(z) else (z * cos).sum(-1))
    return np.concatenate(found)


def inversion(
    frequencies: Array,
    length: int,
    contents: str | HeadContents = "equal",
    *,
    ratio: float = 1.0,
    error: float = ERROR,
    seed: int = 0,
) -> DrawnShare:
    """The inversion of rotated planes; planes that do not turn add as much to both keys, and change nothing.

    Args:
      frequencies: ``[F]`` radians per position.
      contents: "equal", a key is the query; "independent" of it, where the share is a half by symmetry; or a head's
        own, of which queries are drawn, each with its key.
      ratio: far is at least so many times near.
      error: the standard error, which decides the number of draws.

    >>> inversion(np.array([1e-6]), 1000)  # one plane that has hardly turned: the nearer key always wins
    DrawnShare(value=0.0, error=0.0)
    """
    frequencies, generator, count = checked(frequencies), np.random.default_rng(seed), draws_for(error)
    near, far = two_distances(generator, length, count, ratio)
    if isinstance(contents, HeadContents):
        drawn = generator.integers(len(contents.queries), size=count)
        products = contents.queries[drawn] * contents.keys[contents.own[drawn]].conj()
    elif contents == "equal":
        products = generator.chisquare(2, (count, len(frequencies)))
    else:
        q, k = generator.normal(size=(2, count, len(frequencies), 2)).view(complex)[..., 0]
        products = q * k.conj()
    return _share(scores(products, frequencies, far), scores(products, frequencies, near))


def alias(
    frequencies: Array,
    length: int,
    head: HeadContents | None = None,
    *,
    still: int = 0,
    window: int | None = None,
    error: float = ERROR,
    seed: int = 0,
) -> DrawnShare:
    """The alias of rotated planes, in a window of ``window`` keys (default: ``length``).

    A stranger's logit, of independent normal content, is normal with variance ``|q|^2`` at every distance, so the share
    is the mean of ``1 - Phi(s / |q|)^(window - 1)`` over scores s of the own key, without drawing the strangers. Of a
    head the strangers are its other keys, ``window - 1`` of them drawn, each at a distance of its own.

    Args:
      still: the number of planes that do not turn, beside ``frequencies``; of a head they are in its planes.
    """
    from scipy.special import log_ndtr

    frequencies, generator, count = checked(frequencies), np.random.default_rng(seed), draws_for(error)
    frequencies = np.append(frequencies, np.zeros(still))
    strangers, at = (window or length) - 1, generator.integers(length, size=count)
    if head is None:
        products = generator.chisquare(2, (count, len(frequencies)))
        best = log_ndtr(scores(products, frequencies, at) / np.sqrt(products.sum(-1)))
        shares = -np.expm1(strangers * best)
        return DrawnShare(float(shares.mean()), float(shares.std() / math.sqrt(count)))
    drawn = generator.integers(len(head.queries), size=count)
    queries, own = head.queries[drawn], head.own[drawn]
    mine, others = scores(queries * head.keys[own].conj(), frequencies, at), np.full(count, -np.inf)
    for _ in range(strangers):
        other = (own + generator.integers(1, len(head.keys), size=count)) % len(head.keys)
        at = generator.integers(length, size=count)
        others = np.maximum(others, scores(queries * head.keys[other].conj(), frequencies, at))
    return _share(others, mine)


def predicted(frequencies: Array, length: int, *, pairs: int = 2**14) -> DrawnShare:
    """The inversion that follows from the frequencies alone, of equal contents, and how far it may be off.

    At distances n and f the logits differ by ``sum_j z_j c_j`` with ``c_j = cos(f w_j) - cos(n w_j)`` and contents z_j
    of mean 2 and variance 4 (chi-square with 2 degrees of freedom). With ``x = sum_j c_j / sqrt(sum_j c_j^2)``, its
    mean over its standard deviation, and the third cumulant ``k = 2 sum_j c_j^3 / sqrt(sum_j c_j^2)^3``, the far key
    wins with (Edgeworth's series, two terms)::

        Phi(x) + k (x^2 - 1) phi(x) / 6

    The value is the mean over the pairs of a lattice of distances; the error is the mean size of the second term.
    """
    from scipy.special import ndtr

    frequencies, k = checked(frequencies), np.arange(pairs)
    both = np.sort([k * length // pairs, k * 0.6180339887498949 % 1 * length // 1], axis=0).astype(np.int64)
    near, far = both[:, both[0] < both[1]]
    c = sincos(far, frequencies, np.float64)[1] - sincos(near, frequencies, np.float64)[1]
    size = np.maximum(np.sqrt((c**2).sum(-1)), np.finfo(np.float64).tiny)
    x, third = c.sum(-1) / size, 2 * ((c / size[:, None]) ** 3).sum(-1)
    term = third * (x**2 - 1) * np.exp(-(x**2) / 2) / (6 * math.sqrt(math.tau))
    return DrawnShare(float((ndtr(x) + term).mean()), float(np.abs(term).mean()))


def inversion_of(
    slot: Slot, dims: Dims, length: int, *, layer: int = 0, error: float = ERROR, seed: int = 0
) -> DrawnShare:
    """The inversion under any encoding of one axis, measured at its hooks in float64, the mean over heads.

    The query is the last token of ``length``; queries and keys are the embedding itself, with what is added to it, cut
    into heads. Parameters are as initialised from key 0.

    Raises:
      ValueError: as `check_slot`, or the encoding reads more than the positions of the two keys and the query.
    """
    encodings, params = for_layer(slot, layer), layer_params(slot, views.initial(slot, dims), layer)
    more = (e.needs_attributes or e.needs_pairs or "token_terms" in e.acts_on for e in encodings)
    if any(more) or any(e.position_axes not in (None, 1, "any") for e in encodings):
        raise ValueError(f"{spec(encodings)} reads more of a token than its place, so keys have no distance alone")
    read = _Reader(encodings, params, dims, layer)
    generator, count = np.random.default_rng(seed), draws_for(error)  # heads share distances
    few, at = min(_FEW, length), np.array([2, 7, 1, 4, 0])
    x = generator.normal(size=(len(at), dims.d_model))
    whole = read(x, few, np.tile(np.arange(few), (len(at), 1)))
    two = np.minimum(np.stack([at, at + 5], axis=1), few - 1)
    ratio = np.diff(np.take_along_axis(whole, two[:, None], axis=2))
    if not np.allclose(ratio, np.diff(read(x, few, two)), atol=1e-6):
        raise ValueError(f"{spec(encodings)} weighs two keys by the tokens around them, not by two distances")
    near, far = two_distances(generator, length, count)
    x = generator.normal(size=(count, dims.d_model))
    logits = read(x, length, length - 1 - np.stack([near, far], axis=1))
    if np.isnan(logits).any():
        raise ValueError(f"{spec(encodings)} has logits that are no numbers at length {length}")
    return _share(logits[..., 1], logits[..., 0])


class _Reader(NamedTuple):
    """Logarithms of weights of a layer, up to a constant."""

    encodings: tuple[PositionalEncoding, ...]
    params: Any
    dims: Dims
    layer: int

    def __call__(self, x: np.ndarray, length: int, places: np.ndarray) -> np.ndarray:
        """``[B, H, K]`` for contents ``x [B, M]``, at the last of ``length`` places and at ``places [B, K]``."""
        count, heads = len(x), self.dims.num_heads
        sides = [
            Sequence(at, np.full(1, length, np.int32), places=at)
            for at in (np.full((count, 1), length - 1, np.int32), places.astype(np.int32))
        ]
        call: dict[str, Any] = {"num_heads": heads, "causal": True, "key": jax.random.key(0), "layer": self.layer}
        with jax.enable_x64(True):
            q, k = (self._projected(x, side) for side in sides)
            seen = geometries(self.encodings, *sides, **call)
            weights = attend(q, k, k, self.encodings, self.params, seen, return_weights=True)[1]
            with np.errstate(divide="ignore"):
                return np.maximum(np.log(np.asarray(weights)[:, :, 0]), -1e6)

    def _projected(self, x: np.ndarray, side: Sequence) -> Array:
        contents = np.repeat(x[:, None], side.positions.shape[1], axis=1)
        found = embed(self.encodings, self.params, contents, side, key=jax.random.key(0))
        return found.reshape(*found.shape[:2], self.dims.num_heads, self.dims.head_dim).swapaxes(1, 2)


def _share(far: np.ndarray, near: np.ndarray) -> DrawnShare:
    wins = ((far > near) + 0.5 * (far == near)).reshape(len(far), -1).mean(1)
    return DrawnShare(float(wins.mean()), float(wins.std() / math.sqrt(len(wins))))
