"""ALiBi: attention with linear biases (Press, Smith and Lewis 2021)."""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.distances import relative_on_device


def nape_slopes(num_heads: int) -> np.ndarray:
    """``[H]`` float64: ``1/h`` for h = 1 .. H div 2, and 0 for the other heads, which see no positions."""
    half = num_heads // 2
    return np.concatenate([1.0 / np.arange(1, half + 1), np.zeros(num_heads - half)])


def alibi_slopes(num_heads: int, largest_exponent: float = 8.0) -> np.ndarray:
    """``[H]`` float64, one slope per head: ``2**(-8h/H)``, h = 1 .. H, where H is a power of two; 8 is
    ``largest_exponent``.

    For other H, as in the authors' code: the slopes of the power of two below H, then every second slope of twice that
    power, so that the sequence is not monotone.

    Raises:
      ValueError: for fewer than one head.
    """
    if num_heads < 1:
        raise ValueError(f"num_heads = {num_heads} must be at least 1: a slope belongs to a head")
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = 2.0 ** (-largest_exponent / power * np.arange(1, power + 1))
    between = 2.0 ** (-largest_exponent / 2 / power * np.arange(1, 2 * power + 1, 2))
    return np.concatenate([slopes, between[: num_heads - power]])


def alibi_bias(relative: Array, slopes: Array, past_offset: float = 0.0) -> Array:
    """``[#B, H, Q, K]`` biases ``-slope_h * (|relative| - past_offset * [relative < 0])``.

    ``relative`` ``[#B, Q, K]`` is key minus query, ``slopes`` ``[H]``. In at least float32; in float64 where 64-bit
    types are enabled and the slopes are float64.
    """
    slopes = jnp.asarray(slopes)
    dtype = at_least_float32(slopes)
    # The distance is taken before the cast: differences of integers stay exact at every position.
    distance = jnp.abs(relative).astype(dtype)
    if past_offset:
        distance = distance - past_offset * (relative < 0)
    return -slopes.astype(dtype)[None, :, None, None] * distance[:, None]


@dataclasses.dataclass(frozen=True)
class ALiBi(PositionalEncoding):
    """A penalty that grows linearly with distance, with one slope per head::

        logits_ij += -slope_h |j - i|

    (Press et al. 2021, section 3; slopes for head counts that are no power of two: the authors' code, `alibi_slopes`).
    Added after the 1/sqrt(D) scaling and not scaled itself; fractional positions are fine. The authors'
    code adds a row that depends on the key alone, which a softmax over the past cannot tell from this; here the bias is
    a function of both positions and so also holds unmasked, packed and padded.

    Under a causal mask this is the paper's bias. Without one it is symmetric, and alone cannot tell left from right.

    Attributes:
      past_offset: by how much nearer every key before the query counts, from 0, the paper's bias, to 1. 0.5 breaks the
        symmetry as Ruoss et al. (2023, arXiv:2305.16843) do in their code.
      learned: the slopes are trained, starting from the values above; one set per stack. Their logarithms are the
        parameters, so that they stay positive. This is the learned ALiBi in the code of Kazemnejad et al. (2023,
        arXiv:2305.19466).
      largest_exponent: b in ``slope_h = 2**(-b h/H)``, 8 in the paper; MPT's ``alibi_bias_max``.
      slopes: "alibi" has the paper's. "nape" has ``1/h`` in the first half of the heads and 0 in the others, which so
        see no positions (Vasylenko et al. 2025, NAPE, whose code also has powers of two there, and scales the logits of
        the other heads by length, which is not done).

    Parameters, if learned: ``log_slopes [H]``.

    >>> ALiBi().bias({}, Geometry.of_length(3, num_heads=2))[0, 0].tolist()
    [[-0.0, -0.0625, -0.125], [-0.0625, -0.0, -0.0625], [-0.125, -0.0625, -0.0]]
    """

    past_offset: float = 0.0
    learned: bool = False
    largest_exponent: float = 8.0
    slopes: Literal["alibi", "nape"] = "alibi"

    name = "alibi"
    paper = "arXiv:2108.12409"
    citation = """@inproceedings{press2022train, author = {Press, O. and Smith, N. A. and Lewis, M.}, title = {{Train
        Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation}}, booktitle = {ICLR},
        year = {2022}, eprint = {2108.12409}}"""
    methods = (
        Method("additive", "ALiBi", "alibi", "Press et al. 2021", use="W"),
        Method(
            "additive",
            "ALiBi with learned slopes",
            "alibi(learned=True)",
            "Kazemnejad et al. 2023",
            "arXiv:2305.19466",
            use="s",
        ),
        Method(
            "additive",
            "ALiBi with another largest exponent",
            "alibi(largest_exponent=16)",
            "MosaicML 2023",
            "https://github.com/mosaicml/llm-foundry",
            use="W",
        ),
        Method(
            "additive",
            "NAPE: ALiBi in half of the heads",
            "alibi(slopes='nape')",
            "Vasylenko et al. 2025",
            "arXiv:2506.16640",
            "the other heads see no positions",
        ),
    )
    limits = limited(largest_exponent=above(0, ": the paper has 8.0"))
    shift_invariant = True
    head_axes = (("log_slopes", 0),)
    bias_of_distance = True

    @property
    def unsigned(self) -> bool:  # type: ignore[override]
        """Unless the past is nearer."""
        return self.past_offset == 0

    def check_fields(self) -> None:
        if not 0 <= self.past_offset <= 1:
            raise ValueError(
                f"ALiBi.past_offset = {self.past_offset} must lie in 0 .. 1, or the nearest past key would be closer "
                "than the token itself: use 0 for the paper's bias, 0.5 to break its symmetry"
            )
        if self.slopes == "nape" and (self.learned or self.largest_exponent != 8):
            raise ValueError(
                "ALiBi.slopes = 'nape' are 1/h and 0, which largest_exponent does not change, and of 0 there is no "
                "logarithm to learn: leave learned and largest_exponent out, or slopes"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        """``log_slopes [H]`` if they are learned."""
        slopes = alibi_slopes(dims.num_heads, self.largest_exponent)
        return {"log_slopes": jnp.asarray(np.log(slopes), jnp.float32)} if self.learned else {}

    def bias(self, params: Params, geometry: Geometry) -> Array:
        return alibi_bias(relative_on_device(geometry), self._slopes(params, geometry), self.past_offset)

    @property
    def num_factors(self) -> int:
        """1: of keys before the query ``-slope (i - j)`` is ``slope j`` but for a term of the query's own; not with an
        offset, of which the query's own token has no part.
        """
        return 0 if self.past_offset else 1

    @property
    def fixed_factors(self) -> bool:
        return not self.learned

    def factors(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> tuple[Array, Array]:
        """The slope, and the key's position."""
        slopes = jnp.asarray(self._slopes(params, geometry))
        positions = jnp.asarray(geometry.k_positions).astype(at_least_float32(slopes))
        of_queries = jnp.broadcast_to(slopes[None, :, None, None], (1, len(slopes), q.shape[2], 1))
        return of_queries.astype(positions.dtype), positions[:, None, :, None]

    def _slopes(self, params: Params, geometry: Geometry) -> Array:
        if self.learned:
            return jnp.exp(params["log_slopes"])
        heads = geometry.num_heads
        return geometry.own_heads(
            nape_slopes(heads) if self.slopes == "nape" else alibi_slopes(heads, self.largest_exponent)
        )
