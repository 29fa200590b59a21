"""STRING: far keys read through the well-trained positions nearby (An et al. 2024)."""

import dataclasses
import math

from posenc_jax.encodings.interface.base import Array, Geometry, Params, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.rotary.rerope import TwoProducts, selected_product
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class String(TwoProducts):
    """ShifTed Rotary position embeddING: distances from ``shift`` on are ``shift - window`` shorter, so that the
    longest, which training rarely shows, do not occur::

        logits_ij = m^2 q_i . R(-d) k_j / sqrt(D),   d = i - j           where i - j < S
                                                     d = i - j - S + W   elsewhere

    (An et al. 2024, section 4.1, equation 4.) Nothing is trained. It costs a second product of queries and keys, with
    the queries rotated by i - S + W. Google DeepMind's STRING is another method, `CayleyString`.

    Attributes:
      training_length: L. ``shift``: S, or None for int(0.33 L) as in the authors' code (the paper: L/3, and from L/7 to
        L/2).
      window: W, 128: what keeps neighbours nearest.
      attention_factor: m, by which the authors' code multiplies sines and cosines, 0.1 ln 2 + 1, to recover the
        sharpness that the shift costs; the paper's equations have none: 1.
      rope: the rotation.

    Departure: the authors' code for a prompt counts pairs at distance S twice, in both products; its decoding and the
    paper do not. Defined under a causal mask.
    """

    training_length: int = 2048
    shift: int | None = None
    window: int = 128
    attention_factor: float = 0.1 * math.log(2) + 1
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "string"
    paper = "arXiv:2410.18745"
    citation = """@inproceedings{an2025does, author = {An, C. and Zhang, J. and Zhong, M. and Li, L. and Gong, S. and
        Luo, Y. and Xu, J. and Kong, L.}, title = {{Why Does the Effective Context Length of LLMs Fall Short?}},
        booktitle = {ICLR}, year = {2025}, eprint = {2410.18745}}"""
    methods = (
        Method(
            "rotary",
            "STRING",
            "string(shift=4, window=2)",
            "An et al. 2024",
            note="a third of the training length and a window of 128 in the paper",
        ),
    )
    shift_invariant = True
    limits = limited(attention_factor=above(0, ": 1 leaves the logits as they are"))

    def check_fields(self) -> None:
        if not 0 <= self.window <= self.offset:
            raise ValueError(
                f"String.window = {self.window} must lie in 0 .. {self.offset}, the shift, or far distances would "
                "grow: choose a smaller window or a larger shift (None: int(0.33 training_length))"
            )

    @property
    def offset(self) -> int:
        """S, the first distance that is shortened."""
        return int(0.33 * self.training_length) if self.shift is None else self.shift

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        at_q, length = geometry.q_positions, geometry.q_length
        keys = self.rope.encode_keys(params, k, geometry.k_positions, geometry.k_length)
        near = self.rope.encode_queries(params, q, at_q, length)
        far = self.rope.encode_queries(params, q, at_q - self.offset + self.window, length)
        is_near = -relative_on_device(geometry) < self.offset
        return self.attention_factor**2 * selected_product((near, keys), (far, keys), is_near)
