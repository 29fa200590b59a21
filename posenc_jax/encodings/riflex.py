"""RIFLEx: the one frequency of a film's time that repeats too early, lowered (Zhao et al. 2025)."""

import dataclasses
import math

import numpy as np

from posenc_jax.encodings.method import Method
from posenc_jax.encodings.rope_scaling import RoPEScaling
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.value import above, at_least, limited


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
