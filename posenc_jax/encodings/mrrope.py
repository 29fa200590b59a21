"""MrRoPE: RoPE's frequencies lowered as by a change of radix, plane by plane (Tian et al. 2026)."""

import dataclasses
import math
from typing import Literal

import numpy as np

from posenc_jax.encodings.method import Method
from posenc_jax.encodings.rope_scaling import FACTOR, ORIGINAL_LENGTH, RoPEScaling
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.value import limited
from posenc_jax.encodings.yarn import ramp_ends


@dataclasses.dataclass(frozen=True)
class MrRoPE(RoPEScaling):
    """Mixed-radix RoPE: between the planes that are kept and those that are divided by ``factor`` every plane divides
    all planes after it by a radix of its own (Tian et al. 2026, section 3)::

        theta'_k = theta_k / prod(lambda_d for d < k),   m = 0.1 ln s + 1

        lambda_d = s^(1/n)                            uniform, MrRoPE-Uni
                   s^(2 (1 + d - low) / (n (n + 1)))  progressive, MrRoPE-Pro       for low <= d < high, else 1

    n = high - low. The exponents add up to 1: plane ``low`` keeps its frequency, and those from ``high`` on are divided
    by s. low and high are the planes that make 32 rotations and one in L positions, rounded outwards, as YaRN has them
    (`ramp_ends`); so is the magnitude m. Where YaRN's divisors grow fastest at first, these grow evenly in their
    logarithm, or fastest at the end. Nothing is trained.

    The authors' code was not available: this follows two descriptions of the paper and a re-implementation, which
    agree. Where ``low`` is not below ``high``, planes after ``high`` are divided by s and the others kept, as in
    `index_ramp`.

    Attributes:
      factor: s, how many times longer than in training the sequences may be.
      original_length: L, the length that the model was first trained on.
      form: the radices, "progressive" or "uniform".
    """

    factor: float = 1.0
    original_length: int = 0
    form: Literal["progressive", "uniform"] = "progressive"

    name = "mrrope"
    paper = "arXiv:2601.22181"
    citation = """@inproceedings{tian2026mrrope, author = {Tian, Q. and Zhu, W. and Liu, X. and Wang, X. and Wang, R.},
        title = {{MrRoPE: Mixed-radix Rotary Position Embedding}}, booktitle = {ICLR}, year = {2026},
        eprint = {2601.22181}}"""
    methods = (
        Method("rotary", "MrRoPE-Pro", "rope(scaling=mrrope(factor=8, original_length=512))", "Tian et al. 2026"),
        Method(
            "rotary",
            "MrRoPE-Uni",
            "rope(scaling=mrrope(factor=8, original_length=512, form='uniform'))",
            "Tian et al. 2026",
        ),
    )
    limits = limited(factor=FACTOR, original_length=ORIGINAL_LENGTH)

    @property
    def magnitude(self) -> float:
        return 0.1 * math.log(self.factor) + 1

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        low, high = ramp_ends(32, 1, base, dim, self.original_length)
        planes, n = np.arange(dim // 2), high - low
        if n <= 0:
            exponents = (planes > high).astype(np.float64)
        else:
            steps = np.clip(planes - low, 0, n)
            exponents = steps / n if self.form == "uniform" else steps * (steps + 1) / (n * (n + 1))
        return vaswani_frequencies(dim, base) / self.factor**exponents
