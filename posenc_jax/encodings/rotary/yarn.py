"""NTK-by-parts and YaRN: RoPE's low frequencies interpolated, its high ones kept (Peng et al. 2023)."""

import dataclasses
import math
from typing import Literal

import numpy as np

from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import limited
from posenc_jax.encodings.rotary.rope_scaling import ATTENTION_FACTOR, FACTOR, NTK, ORIGINAL_LENGTH, RoPEScaling, blend
from posenc_jax.encodings.shared.phase import vaswani_frequencies

_CITATION = """@misc{peng2023yarn, author = {Peng, B. and Quesnelle, J. and Fan, H. and Shippole, E.},
    title = {{YaRN: Efficient Context Window Extension of Large Language Models}}, year = {2023},
    eprint = {2309.00071}}"""


def plane_of_rotations(rotations: float, base: float, dim: int, original_length: int) -> float:
    """The index k, not rounded, of the plane that makes so many rotations over the original length L::

        k = d ln(L / (2 pi r)) / (2 ln base)

    >>> [round(plane_of_rotations(r, 10000.0, 128, 4096), 2) for r in (32, 1)]
    [20.94, 45.03]
    """
    if base <= 1:
        raise ValueError(f"a ramp over planes needs falling frequencies, but RoPE.base = {base}: use one above 1")
    return dim * math.log(original_length / (math.tau * rotations)) / (2 * math.log(base))


def ramp_ends(
    fast: float, slow: float, base: float, dim: int, original_length: int, truncate: bool = True
) -> tuple[float, float]:
    """The planes of ``fast`` and of ``slow`` rotations, as `plane_of_rotations` but within 0 .. dim - 1 and, with
    ``truncate``, rounded outwards to whole ones.

    >>> ramp_ends(32, 1, 10000.0, 128, 4096)
    (20, 46)
    """
    low = plane_of_rotations(fast, base, dim, original_length)
    high = plane_of_rotations(slow, base, dim, original_length)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, dim - 1)


def index_ramp(
    fast: float, slow: float, base: float, dim: int, original_length: int, truncate: bool = True
) -> np.ndarray:
    """``[dim/2]``: 0 up to the plane of ``fast`` rotations, 1 from that of ``slow`` rotations on, linear in the index
    between, as in the authors' code. ``truncate`` rounds the two planes outwards to whole ones.

    Where both are one plane, the ramp is a step behind it. Where the second lies before plane 0 the ramp is 0, though
    all planes make fewer than ``slow`` rotations, and where the first lies beyond the last it is 1: the bounds cross,
    and a ramp between them falls.
    """
    low, high = ramp_ends(fast, slow, base, dim, original_length, truncate)
    return np.clip((np.arange(dim // 2) - low) / (high - low or 0.001), 0, 1)


def rotation_ramp(fast: float, slow: float, base: float, dim: int, original_length: int) -> np.ndarray:
    """``[dim/2]``: 0 for planes of ``fast`` or more rotations over the original length, 1 for those of ``slow`` or
    fewer, linear in the number of rotations between.
    """
    rotations = original_length * vaswani_frequencies(dim, base) / math.tau
    return np.clip((fast - rotations) / (fast - slow), 0, 1)


@dataclasses.dataclass(frozen=True)
class NTKByParts(RoPEScaling):
    """Frequencies that rotate often in the original length are kept, those that rotate less than once are divided by
    ``factor``, with a blend between.

    Two forms:

    - "paper" (Peng et al. 2023, section 3.2)::

        theta' = (1-g) theta / s + g theta,   g = clip((r - 1) / (32 - 1), 0, 1),   r = L theta / 2 pi

    - "code" (the authors' earlier code, which the paper does not have): from low to high frequencies theta / s, the
      frequencies of `NTK`, and theta, with ramps in the index of the plane over 0.75 to 1.25 and 2 to 16 rotations.

    The logits are not scaled; that is what `YaRN` adds.

    Attributes:
      factor: s, how many times longer than in training the sequences may be.
      original_length: L, the length that the model was first trained on.
      form: one of the two, "paper" or "code".

    Raises:
      ValueError: in `frequencies` of the form "code", if d is 2.
    """

    factor: float = 1.0
    original_length: int = 0
    form: Literal["paper", "code"] = "paper"

    name = "ntk_by_parts"
    paper = "arXiv:2309.00071"
    citation = _CITATION
    methods = (
        Method(
            "rotary",
            "NTK-by-parts",
            "rope(scaling=ntk_by_parts(factor=8, original_length=512))",
            "Peng et al. 2023",
            use="s",
        ),
    )
    limits = limited(factor=FACTOR, original_length=ORIGINAL_LENGTH)

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        plain, sizes = vaswani_frequencies(dim, base), (base, dim, self.original_length)
        if self.form == "paper":
            return blend(plain / self.factor, plain, 1 - rotation_ramp(32, 1, *sizes))
        middle = NTK(self.factor).frequencies(base, dim)
        slow = blend(plain / self.factor, middle, 1 - index_ramp(1.25, 0.75, *sizes))
        return blend(slow, plain, 1 - index_ramp(16, 2, *sizes))


@dataclasses.dataclass(frozen=True)
class YaRN(RoPEScaling):
    """NTK-by-parts, and logits that grow with ``factor``: cosine and sine are multiplied by one number (Peng et al.
    2023, section 3.4; the ramp as in the authors' code)::

        theta' = (1-g) theta / s + g theta,   m = 0.1 ln s + 1

        g = 1 - clip((k - low) / (high - low), 0, 1),   low = max(floor k(32), 0),   high = min(ceil k(1), d - 1)

    k(r) is the plane that makes r rotations in L positions, see `plane_of_rotations`.

    The paper's rule is turned round, by the authors' code, Hugging Face and here, where no plane makes ``beta_slow``
    rotations in L, so that ``high`` is below 0: all frequencies are kept (``yarn(4, 8, beta_slow=2)`` at d = 64); and
    where all make more than ``beta_fast``, so that ``low`` is above d - 1: all are divided by s. ``ramp_space =
    "rotations"`` does as the paper says.

    Attributes:
      factor: s.
      original_length: L, the length before the extension.
      beta_fast, beta_slow: the rotations 32 and 1 of the formula.
      ramp_space: "index" as in the authors' code and Hugging Face, or "rotations" as in the paper, where g is linear in
        r between 1 and 32; frequencies differ by more than half.
      truncate: False leaves floor and ceil out (gpt-oss).
      mix: "log" mixes logarithms of frequencies, theta' = theta s^(g - 1), as xAI's ``yarn_log`` does in SGLang's and
        vLLM's code for Grok, without a magnitude.
      attention_factor: m, in place of the formula.
      mscale, mscale_all_dim: in place of the formula m = (0.1 mscale ln s + 1) / (0.1 mscale_all_dim ln s + 1), so that
        equal ones give 1, as in DeepSeek-V3 (which then scales all logits by (0.1 mscale_all_dim ln s + 1)^2).

    >>> round(YaRN(factor=16, original_length=4096).magnitude, 6)
    1.277259
    """

    factor: float = 1.0
    original_length: int = 0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    ramp_space: Literal["index", "rotations"] = "index"
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    mix: Literal["linear", "log"] = "linear"

    name = "yarn"
    paper = "arXiv:2309.00071"
    citation = _CITATION
    methods = (
        Method("rotary", "YaRN", "rope(scaling=yarn(factor=8, original_length=512))", "Peng et al. 2023", use="W"),
        Method(
            "rotary",
            "YaRN without rounding (gpt-oss)",
            "rope(base=150000.0, layout='half', scaling=yarn(factor=32, original_length=4096, truncate=False))",
            "OpenAI 2025",
            "arXiv:2508.10925",
            "with windows of 128 places in every other layer",
            use="W",
        ),
        Method(
            "rotary",
            "YaRN with a smaller magnitude (TeleChat3)",
            "rope(layout='half', scaling=yarn(factor=4, original_length=8192, attention_factor=1.0970406052783923))",
            "TeleAI 2025",
            "https://github.com/Tele-AI/TeleChat3",
            use="W",
        ),
        Method(
            "rotary",
            "YaRN in logarithms (Grok)",
            "rope(layout='half', scaling=yarn(factor=8, original_length=512, attention_factor=1, mix='log'))",
            "xAI 2025",
            "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/models/grok.py",
        ),
    )
    limits = limited(factor=FACTOR, original_length=ORIGINAL_LENGTH, attention_factor=ATTENTION_FACTOR)

    def check_fields(self) -> None:
        if not 0 < self.beta_slow < self.beta_fast:
            raise ValueError(
                f"YaRN.beta_slow = {self.beta_slow} must be positive and below beta_fast = {self.beta_fast}: the paper "
                "has 1 and 32 rotations"
            )
        scales = (self.mscale, self.mscale_all_dim)
        if (None in scales and scales != (None, None)) or (
            self.mscale is not None and self.attention_factor is not None
        ):
            raise ValueError(
                f"YaRN.mscale = {self.mscale}, mscale_all_dim = {self.mscale_all_dim} and attention_factor = "
                f"{self.attention_factor} are two rules for one magnitude, or half of one: give both mscales, or "
                "attention_factor alone, or none of the three for 0.1 ln s + 1"
            )
        if any(scale is not None and scale < 0 for scale in scales):
            raise ValueError(
                f"YaRN.mscale = {self.mscale} and mscale_all_dim = {self.mscale_all_dim} must not be below 0: "
                "DeepSeek-V3 has 1 and 1"
            )

    @property
    def magnitude(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale is None or self.mscale_all_dim is None:
            return self._growth(1.0)
        return self._growth(self.mscale) / self._growth(self.mscale_all_dim)

    @property
    def logit_factor(self) -> float:
        """The number by which DeepSeek's attention multiplies all logits besides, ``(0.1 mscale_all_dim ln s + 1)^2``;
        `RoPE` does not, `MLARoPE` does. 1 without ``mscale_all_dim``.
        """
        return 1.0 if self.mscale_all_dim is None else self._growth(self.mscale_all_dim) ** 2

    def _growth(self, mscale: float) -> float:
        return 0.1 * mscale * math.log(self.factor) + 1.0

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        plain, bounds = vaswani_frequencies(dim, base), (self.beta_fast, self.beta_slow)
        if self.ramp_space == "rotations":
            ramp = rotation_ramp(*bounds, base, dim, self.original_length)
        else:
            ramp = index_ramp(*bounds, base, dim, self.original_length, self.truncate)
        return plain / self.factor**ramp if self.mix == "log" else blend(plain / self.factor, plain, 1 - ramp)
