"""Other frequencies for RoPE, by which a model reads longer texts than it was trained on.

Each is a value for `RoPE.scaling`. It gives the frequencies of the planes that RoPE turns, and a magnitude m by which
both cosine and sine are multiplied, so that products of queries and keys grow by m^2.
"""

import dataclasses
import math
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, at_least_float32, by_token
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import Limit, Value, above, at_least, limited
from posenc_jax.encodings.shared.phase import Turns, turns, vaswani_frequencies


class RoPEScaling(Value):
    """Base class; a subclass is a frozen dataclass that overrides `frequencies`.

    Class facts: ``name`` is the word used in strings; ``paper`` and ``citation`` say where it comes from; ``methods``
    are its rows of the catalogue.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    citation: ClassVar[str]
    methods: ClassVar[tuple[Method, ...]] = ()

    @property
    def magnitude(self) -> float:
        """m, by which cosine and sine are multiplied."""
        return 1.0

    @property
    def switches_above(self) -> int | None:
        """The length above which other frequencies apply; None if they are the same for all lengths."""
        return None

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        """``[dim/2]`` radians per position of each plane, float64, of RoPE with ``base`` over ``dim`` dimensions.

        ``length``: the real length of the sequence, for those that depend on it (None: a short one).

        Raises:
          ValueError: for dimensions that this scaling cannot serve.
        """
        raise NotImplementedError

    def turns(self, base: float, dim: int, length: Array, dtype: Any) -> Turns:
        """`frequencies` as phase per position, ``[F]``, or ``[#B, 1, F]`` where they depend on ``length [#B]``, which
        may be traced and may differ between rows; ``[#B, S, F]`` for ``length [#B, S]``, one for each token of packed
        rows. What must be traced is computed in ``dtype``, at least float32.
        """
        if self.switches_above is None:
            return turns(self.frequencies(base, dim))
        short, long = (turns(self.frequencies(base, dim, self.switches_above + step)) for step in (0, 1))
        is_long = (by_token(jnp.asarray(length)) > self.switches_above)[..., None]
        # Integers, so that both choices stay exact.
        return Turns(*(jnp.where(is_long, a[None, None], b[None, None]) for a, b in zip(long, short)))


# Limits of fields that several scalings have.
FACTOR = at_least(1, ": how many times longer than in training the sequences may be, as in factor=8")
ORIGINAL_LENGTH = Limit(
    2,
    "be given, and at least 2: the length that the model was first trained on (not the extended one), as in "
    "original_length=4096",
)
ATTENTION_FACTOR = above(0, ": it multiplies cosine and sine; None for the paper's")


def check_four_dimensions(scaling: Any, dim: int) -> None:
    """Refuses the one plane that has no base to change."""
    if dim < 4:
        raise ValueError(
            f"{type(scaling).__name__} multiplies the base by a power d / (d - 2), which does not exist for d = {dim} "
            "rotated dimensions: rotate at least 4, or use linear"
        )


@dataclasses.dataclass(frozen=True)
class PositionInterpolation(RoPEScaling):
    """Positions, that is all frequencies, divided by ``factor`` (Chen et al. 2023, section 3.2)::

        theta' = theta / s

    Attributes:
      factor: s, how many times longer than in training the sequences may be.

    >>> PositionInterpolation(2).frequencies(10000.0, 8).tolist()
    [0.5, 0.05, 0.005, 0.0005]
    """

    factor: float = 1.0

    name = "linear"
    paper = "arXiv:2306.15595"
    citation = """@misc{chen2023extending, author = {Chen, S. and Wong, S. and Chen, L. and Tian, Y.},
        title = {{Extending Context Window of Large Language Models via Positional Interpolation}}, year = {2023},
        eprint = {2306.15595}}"""
    methods = (
        Method("rotary", "Position Interpolation", "rope(scaling=linear(factor=8))", "Chen et al. 2023", use="W"),
    )
    limits = limited(factor=FACTOR)

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        return vaswani_frequencies(dim, base) / self.factor


@dataclasses.dataclass(frozen=True)
class NTK(RoPEScaling):
    """A larger base: the lowest frequency is divided by ``factor`` and the highest stays (bloc97 2023, no paper)::

        base' = base s^(d / (d-2)),   that is theta'_k = theta_k s^(-2k / (d-2))

    with d the rotated dimensions. As in the authors' code for YaRN, which calls s alpha.

    Attributes:
      factor: s, how many times longer than in training the sequences may be.

    Raises:
      ValueError: in `frequencies`, if d is 2.
    """

    factor: float = 1.0

    name = "ntk"
    paper = "https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5"
    citation = """@misc{bloc972023aware, author = {bloc97}, title = {{NTK-Aware Scaled RoPE allows LLaMA models to
        have extended (8k+) context size}}, howpublished = {Reddit}, year = {2023},
        url = {https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5}}"""
    methods = (Method("rotary", "NTK-aware scaling", "rope(scaling=ntk(factor=8))", "bloc97 2023", use="W"),)
    limits = limited(factor=FACTOR)

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        """``[dim/2]``.

        Raises:
          ValueError: if ``dim`` is 2.
        """
        check_four_dimensions(self, dim)
        return vaswani_frequencies(dim, base) * self.factor ** _ntk_exponents(dim)


def _ntk_exponents(dim: int) -> np.ndarray:
    """``-2k / (dim-2)``: what multiplying the base by x^(dim/(dim-2)) does to frequency k, as a power of x."""
    return -np.arange(0, dim, 2, dtype=np.float64) / (dim - 2)


@dataclasses.dataclass(frozen=True)
class DynamicNTK(RoPEScaling):
    """NTK with a base that grows with the real length, beyond the original length (emozilla 2023, no paper)::

        base' = base (s l' / L - (s - 1))^(d / (d-2)),   l' = max(l, L),   l the real length, L the original

    Up to L it is plain RoPE, to the bit. The formula of Hugging Face, whose module also remembers the longest length
    that it has seen and has one for a batch; here a sequence's own length decides. Frequencies of length > L are
    traced, in at least float32: right to about 5e-8 radians per position, with exact phases from there on.

    Attributes:
      factor: s; the larger it is, the faster the base grows.
      original_length: L, the length that the model was first trained on.

    Raises:
      ValueError: in `frequencies` and `turns`, if d is 2.
    """

    factor: float = 1.0
    original_length: int = 0

    name = "dynamic_ntk"
    paper = "https://www.reddit.com/r/LocalLLaMA/comments/14mrgpr"
    citation = """@misc{emozilla2023dynamically, author = {emozilla}, title = {{Dynamically Scaled RoPE further
        increases performance of long context LLaMA}}, howpublished = {Reddit}, year = {2023},
        url = {https://www.reddit.com/r/LocalLLaMA/comments/14mrgpr}}"""
    methods = (
        Method(
            "rotary",
            "Dynamic NTK scaling",
            "rope(scaling=dynamic_ntk(factor=2, original_length=4))",
            "emozilla 2023",
            note="original_length is the length in training; so in all rows below",
            use="W",
        ),
    )
    limits = limited(factor=FACTOR, original_length=ORIGINAL_LENGTH)

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        """``[dim/2]`` at ``length``.

        Raises:
          ValueError: if ``dim`` is 2.
        """
        check_four_dimensions(self, dim)
        beyond = max((length or 0) - self.original_length, 0)
        growth = 1 + self.factor / self.original_length * beyond  # s l' / L - (s - 1)
        return vaswani_frequencies(dim, base) * growth ** _ntk_exponents(dim)

    def turns(self, base: float, dim: int, length: Array, dtype: Any) -> Turns:
        check_four_dimensions(self, dim)
        frequencies, exponents = vaswani_frequencies(dim, base)[None, None], _ntk_exponents(dim)[None, None]
        beyond = jnp.maximum(by_token(jnp.asarray(length)) - self.original_length, 0)[..., None]
        growth = self.factor / self.original_length * beyond.astype(at_least_float32(dtype))
        # What is lost is rounded, not what is left: nothing of the highest frequency, nor of any up to L.
        lost = turns(-frequencies.astype(growth.dtype) * jnp.expm1(exponents.astype(growth.dtype) * jnp.log1p(growth)))
        plain = turns(frequencies)
        high, low = plain.high - lost.high - (plain.low < lost.low), plain.low - lost.low
        return Turns(high, low, plain.frequencies.astype(growth.dtype) - lost.frequencies)


@dataclasses.dataclass(frozen=True)
class LongRoPE(RoPEScaling):
    """A divisor of its own for every frequency, found by search, in two sets (Ding et al. 2024, section 3)::

        theta'_k = theta_k / lambda_k,   m = sqrt(1 + ln s / ln L),   lambda long where length > L, else short

    The magnitude m holds for short sequences too; 1 for s = 1. Which set applies is decided by the real length of each
    sequence, once for the whole of it, cached keys included.

    Attributes:
      short_factors, long_factors: lambda, one per plane, d/2 each.
      factor: s, the extended length over L.
      original_length: L.
      attention_factor: m, in place of the formula.
    """

    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()
    factor: float = 1.0
    original_length: int = 0
    attention_factor: float | None = None

    name = "longrope"
    paper = "arXiv:2402.13753"
    citation = """@misc{ding2024longrope, author = {Ding, Y. and Zhang, L. L. and Zhang, C. and Xu, Y. and Shang, N.
        and Xu, J. and Yang, F. and Yang, M.}, title = {{LongRoPE: Extending LLM Context Window Beyond 2 Million
        Tokens}}, year = {2024}, eprint = {2402.13753}}"""
    methods = (
        Method(
            "rotary",
            "LongRoPE",
            "rope(scaling=longrope((1, 1, 1, 1), (1, 1.2, 1.5, 2), factor=2, original_length=4))",
            "Ding et al. 2024",
            note="two factors per rotated plane, here for head_dim 8; those of the paper are found by search",
            use="W",
        ),
    )
    limits = limited(factor=FACTOR, original_length=ORIGINAL_LENGTH, attention_factor=ATTENTION_FACTOR)

    def check_fields(self) -> None:
        for field in ("short_factors", "long_factors"):
            factors = getattr(self, field)
            if not factors or not all(factor > 0 for factor in factors):
                raise ValueError(f"LongRoPE.{field} = {factors} must be positive numbers, one per rotated plane")

    @property
    def magnitude(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_length))

    @property
    def switches_above(self) -> int | None:
        """L, or None where the two sets are one."""
        return None if self.short_factors == self.long_factors else self.original_length

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        """``[dim/2]`` at ``length``.

        Raises:
          ValueError: for another number of factors than planes.
        """
        for field in ("short_factors", "long_factors"):
            count = len(getattr(self, field))
            if count != dim // 2:
                raise ValueError(
                    f"LongRoPE.{field} has {count} factors, but RoPE turns {dim // 2} planes ({dim} dimensions): give "
                    "one factor per plane"
                )
        long = length is not None and length > self.original_length
        return vaswani_frequencies(dim, base) / np.array(self.long_factors if long else self.short_factors)


@dataclasses.dataclass(frozen=True)
class Llama3(RoPEScaling):
    """Frequencies divided by ``factor`` where they are low, kept where they are high, and a blend of the two between
    (Llama 3.1, Dubey et al. 2024; the rule is in the published code, not in the report)::

        theta' = theta             for wavelengths 2 pi / theta < L / high
        theta' = theta / s         for wavelengths > L / low
        theta' = (1-x) theta / s + x theta,   x = (L / wavelength - low) / (high - low)   between

    The defaults are those of Llama 3.1 (with base 500000); Llama 3.2 has factor 32. Llama 4 Scout has low = high = 1:
    nothing is between.

    Attributes:
      factor: s, how many times longer than in training the sequences may be.
      low_freq_factor, high_freq_factor: low and high, in rotations over the original length.
      original_length: L, the length that the model was first trained on.
    """

    factor: float = 8.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_length: int = 8192

    name = "llama3"
    paper = "arXiv:2407.21783"
    citation = """@misc{dubey2024llama, author = {Dubey, A. and others}, title = {{The Llama 3 Herd of Models}},
        year = {2024}, eprint = {2407.21783}}"""
    methods = (Method("rotary", "Llama 3.1 scaling", "rope(base=5e5, scaling=llama3)", "Dubey et al. 2024", use="W"),)
    limits = limited(factor=FACTOR, original_length=ORIGINAL_LENGTH)

    def check_fields(self) -> None:
        if not 0 < self.low_freq_factor <= self.high_freq_factor:
            raise ValueError(
                f"Llama3.low_freq_factor = {self.low_freq_factor} must be positive and at most high_freq_factor = "
                f"{self.high_freq_factor}: Llama 3.1 has 1 and 4"
            )

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        plain = vaswani_frequencies(dim, base)
        rotations = self.original_length * plain / math.tau
        between = self.high_freq_factor - self.low_freq_factor
        over = rotations - self.low_freq_factor
        kept = over / between if between else np.where(over > 0, 1.0, 0.0)
        return blend(plain / self.factor, plain, kept)


def blend(low: np.ndarray, high: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """``low`` where ``kept`` is 0 or less, ``high`` where it is 1 or more, linear between."""
    kept = np.clip(kept, 0, 1)
    return (1 - kept) * low + kept * high
