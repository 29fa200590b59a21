"""RoPE with a selection of its frequencies: the high ones only (p-RoPE, HoPE), the lowest ones lowered (clipped RoPE),
one of them lowered (RIFLEx), each lowered by radices (MrRoPE), or whole wavelengths (Resonance).
"""

import dataclasses
import math
from typing import Literal

import numpy as np

from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.rotary.rope_scaling import FACTOR, ORIGINAL_LENGTH, DynamicNTK, RoPEScaling
from posenc_jax.encodings.rotary.yarn import ramp_ends
from posenc_jax.encodings.shared.phase import vaswani_frequencies


@dataclasses.dataclass(frozen=True)
class PRoPE(RoPEScaling):
    """p-RoPE: the highest frequencies, ``fraction`` of all, are kept, the planes of the others do not turn (Barbero et
    al. 2024, section 6 and the listing in the appendix)::

        theta'_k = base^(-2k/d) for k < floor(p d / 2), else 0

    The frequencies are those of all d dimensions, unlike in partial RoPE, which spreads all of them over fewer
    dimensions.

    Attributes:
      fraction: p: 1 is RoPE, 0 is NoPE, and the paper finds 0.75 best.

    >>> PRoPE(0.5).frequencies(10000.0, 8).tolist()
    [1.0, 0.1, 0.0, 0.0]
    """

    fraction: float = 0.75

    name = "p_rope"
    paper = "arXiv:2410.06205"
    citation = """@misc{barbero2024round, author = {Barbero, F. and Vitvitskyi, A. and Perivolaropoulos, C. and
        Pascanu, R. and Velickovic, P.}, title = {{Round and Round We Go! What makes Rotary Positional Encodings
        useful?}}, year = {2024}, eprint = {2410.06205}}"""
    methods = (
        Method("rotary", "p-RoPE", "rope(scaling=p_rope(fraction=0.75))", "Barbero et al. 2024", use="W"),
        Method(
            "rotary",
            "Proportional RoPE (Gemma 4)",
            "rope(base=1e6, layout='half', scaling=p_rope(fraction=0.25))",
            "Gemma team 2026",
            "arXiv:2607.02770",
            "in every sixth layer, which sees all keys; the others have a window, and rope(base=1e4, layout='half')",
            use="W",
        ),
    )

    def check_fields(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise ValueError(
                f"PRoPE.fraction = {self.fraction} must lie in 0 .. 1: the part of the frequencies to keep, as in 0.75"
            )

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        kept = np.arange(dim // 2) < int(self.fraction * dim // 2)
        return np.where(kept, vaswani_frequencies(dim, base), 0.0)


@dataclasses.dataclass(frozen=True)
class HoPE(RoPEScaling):
    """High-frequency RoPE: planes that do not complete a turn within the training length do not turn at all (Chen et
    al. 2024, section 4)::

        theta'_k = theta_k where 2 pi / theta_k <= L, the training length, else 0

    There is no code by the authors. The rule is stated here after two descriptions of the paper and an implementation
    by others (in praxis), which agree; such planes stay as they are, the paper's position-independent components.

    Attributes:
      original_length: L, the training length.

    >>> HoPE(original_length=64).frequencies(10000.0, 8).tolist()
    [1.0, 0.1, 0.0, 0.0]
    """

    original_length: int = 0

    name = "hope"
    paper = "arXiv:2410.21216"
    citation = """@misc{chen2024hope, author = {Chen, Y. and Lv, A. and Luan, J. and Wang, B. and Liu, W.},
        title = {{HoPE: A Novel Positional Encoding Without Long-Term Decay for Enhanced Context Awareness and
        Extrapolation}}, year = {2024}, eprint = {2410.21216}}"""
    methods = (Method("rotary", "HoPE", "rope(scaling=hope(original_length=64))", "Chen et al. 2024"),)
    limits = limited(original_length=ORIGINAL_LENGTH)

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        plain = vaswani_frequencies(dim, base)
        return np.where(plain * self.original_length >= math.tau, plain, 0.0)


@dataclasses.dataclass(frozen=True)
class ClippedRoPE(RoPEScaling):
    """Clipped RoPE: the lowest frequencies, of ``planes`` planes, are lowered by a cosine window down to 0 (Li et al.
    2026, who call it CoPE, the name of another method, `CoPE`)::

        theta'_k = theta_k (1 + cos(pi (k - F + n) / (n - 1))) / 2   for k >= F - n, else theta_k;   F = d / 2 planes

    As in the authors' code, ``hrlics/CoPE`` (``modeling_cope.py``), with n = 20 of the 64 planes of a head of 128. A
    hard cut, n planes that do not turn (as `PRoPE` has them), leaks into all distances, they argue; the code has it to
    compare with, as ``use_hardclip``. (The paper's window is on amplitudes of the spectrum; what the code multiplies
    are frequencies.)

    Attributes:
      planes: n, at least 2, since the window begins at 1; a number above that of all planes means all.
      window: "cosine", or "none" for the hard cut.

    >>> ClippedRoPE(planes=3).frequencies(10000.0, 8).tolist()
    [1.0, 0.1, 0.005, 0.0]
    """

    planes: int = 20
    window: Literal["cosine", "none"] = "cosine"

    name = "clipped"
    paper = "arXiv:2602.05258"
    citation = """@misc{li2026cope, author = {Li, H. and Ren, S. and Yuille, A. and Wang, F.}, title = {{CoPE: Clipped
        RoPE as A Scalable Free Lunch for Long Context LLMs}}, year = {2026}, eprint = {2602.05258}}"""
    methods = (
        Method(
            "rotary",
            "Clipped RoPE (CoPE)",
            "rope(scaling=clipped(planes=3))",
            "Li et al. 2026",
            note="20 of 64 planes in the authors' code",
        ),
        Method(
            "rotary",
            "Clipped RoPE, a hard cut",
            "rope(scaling=clipped(planes=2, window='none'))",
            "Li et al. 2026",
            note="what the authors compare with; 20 of 64 planes in their code",
        ),
    )
    limits = limited(planes=at_least(2, ": the authors' code has 20 of 64"))

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        plain = vaswani_frequencies(dim, base)
        count = min(self.planes, len(plain))
        window = np.zeros(count)
        if self.window == "cosine":
            # 0 and not 1e-17 at the end, where a plane stands still.
            window = np.append(0.5 + 0.5 * np.cos(np.linspace(0, math.pi, count)[:-1]), 0.0)[-count:]
        return plain * np.concatenate([np.ones(len(plain) - count), window])


@dataclasses.dataclass(frozen=True)
class Resonance(RoPEScaling):
    """Every wavelength rounded to a whole number of positions, so that each plane repeats itself exactly (Wang et al.
    2024, section 4)::

        theta'_k = 2 pi / round(2 pi / theta_k)

    Attributes:
      inner: another scaling that comes first, as in the paper's Resonance YaRN; its magnitude is kept, and planes that
        do not turn stay so. (The authors' code for Resonance YaRN on small models has beta_fast = 2.)

    Raises:
      ValueError: if ``inner`` is `DynamicNTK`, whose frequencies have no fixed wavelengths.

    >>> (2 * np.pi / Resonance().frequencies(10000.0, 8)).round(9).tolist()
    [6.0, 63.0, 628.0, 6283.0]
    """

    inner: RoPEScaling | None = None

    name = "resonance"
    paper = "arXiv:2403.00071"
    citation = """@misc{wang2024resonance, author = {Wang, S. and Kobyzev, I. and Lu, P. and Rezagholizadeh, M. and
        Liu, B.}, title = {{Resonance RoPE: Improving Context Length Generalization of Large Language Models}},
        year = {2024}, eprint = {2403.00071}}"""
    methods = (
        Method("rotary", "Resonance RoPE", "rope(scaling=resonance)", "Wang et al. 2024"),
        Method(
            "rotary",
            "Resonance YaRN",
            "rope(scaling=resonance(yarn(factor=8, original_length=512)))",
            "Wang et al. 2024",
        ),
    )

    def check_fields(self) -> None:
        if isinstance(self.inner, DynamicNTK):
            raise ValueError(
                f"Resonance.inner = {self.inner} changes its frequencies with every length, so that no wavelength is "
                "fixed: use ntk or yarn"
            )

    @property
    def magnitude(self) -> float:
        return 1.0 if self.inner is None else self.inner.magnitude

    @property
    def switches_above(self) -> int | None:
        return None if self.inner is None else self.inner.switches_above

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        inner = self.inner
        plain = vaswani_frequencies(dim, base) if inner is None else inner.frequencies(base, dim, length)
        turning = plain > 0
        wavelengths = np.round(math.tau / np.where(turning, plain, 1.0))
        return np.where(turning, math.tau / wavelengths, 0.0)


@dataclasses.dataclass(frozen=True)
class RIFLEx(RoPEScaling):
    """One frequency lowered until it makes less than a turn in the longer film, so that a generated film does not
    begin again::

        theta'_k = 0.9 (2 pi / L) for k = argmin |2 pi / theta_k - N|,   theta_k else

    (Zhao et al. 2025, section 4, equations 7 and 8; the 0.9 is that of the authors' code, ``thu-ml/RIFLEx``; the paper
    has none.) Plane k is the one with the period nearest to N, the frame at which longer films of the model were first
    seen to repeat. (The code rounds periods to frames first, which matters only near a tie.) For the RoPE over the time
    of a video model, whose rows and columns keep their frequencies. Nothing is trained.

    Attributes:
      repeats_at: N, counted in the latent frames that have positions.
      length: L, the frames to be generated, counted in latent frames too. It is fixed for a film: it does not follow
        the length of the sequence.

    >>> RIFLEx(repeats_at=60, length=100).frequencies(10000.0, 8).round(4).tolist()
    [1.0, 0.0565, 0.01, 0.001]
    """

    repeats_at: float = 0.0
    length: int = 1

    name = "riflex"
    paper = "arXiv:2502.15894"
    citation = """@inproceedings{zhao2025riflex, author = {Zhao, M. and He, G. and Chen, Y. and Zhu, H. and Li, C. and
        Zhu, J.}, title = {{RIFLEx: A Free Lunch for Length Extrapolation in Video Diffusion Transformers}},
        booktitle = {ICML}, year = {2025}, eprint = {2502.15894}}"""
    methods = (
        Method(
            "rotary",
            "RIFLEx",
            "rope(scaling=riflex(repeats_at=60, length=100))",
            "Zhao et al. 2025",
            note="of the time of a video model: frames are positions here",
            use="s",
        ),
    )
    limits = limited(
        repeats_at=above(0, ": the frame at which longer films repeat, as seen in a few of them"),
        length=at_least(1, ": the number of frames to be generated"),
    )

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        found = vaswani_frequencies(dim, base)
        found[np.argmin(np.abs(math.tau / found - self.repeats_at))] = 0.9 * math.tau / self.length
        return found


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
    agree. Where ``low`` is not below ``high``, planes after ``high`` are divided by s and the others kept.

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
