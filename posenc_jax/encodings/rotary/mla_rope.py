"""The rotation of multi-head latent attention: a part of each head of its own turns (DeepSeek-V2)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Params
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import RoPEScaling
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.encodings.shared.rotation import Layout, Rotary


@dataclasses.dataclass(frozen=True)
class MLARoPE(Rotary):
    """The decoupled rotation of multi-head latent attention: the last dimensions of each head turn, the others carry no
    position, and YaRN's second factor multiplies all logits::

        logits_ij = f (q^C_i . k^C_j + R(i) q^R_i . R(j) k^R_j) / sqrt(D),   f = (0.1 mscale_all_dim ln s + 1)^2

    (DeepSeek-V2, section 2.1.3, equations 14 to 18; f is in DeepSeek's code, ``softmax_scale``, and in transformers'
    ``modeling_deepseek_v3.py``, not in these equations.) q = [q^C; q^R], k = [k^C; k^R]; the r last dimensions turn, by
    the frequencies of RoPE over r dimensions. Where r is a third of D, as in DeepSeek, most of a key can be read from a
    latent vector that knows no position.

    The model's projections decide whether q^C, k^C and values come from latent vectors and whether all heads share k^R:
    here each key head has its own k^R.

    Attributes:
      base, layout: as in `RoPE`.
      rotary_dim: r, a number of dimensions, or a fraction of head_dim below 1.
      scaling: as in `RoPE`.

    DeepSeek-V2 and V3 have 64 of 192 dimensions, "interleaved", and ``yarn(factor=40, original_length=4096, mscale=1,
    mscale_all_dim=1)`` (V2: 0.707 both), by which cosine and sine keep their magnitude; f is 1.874 in V3.

    Raises:
      ValueError: in `check`, as `RoPE`.
    """

    base: float = 10000.0
    layout: Layout = "interleaved"
    rotary_dim: int | float = 0.25
    scaling: RoPEScaling | None = None

    name = "mla_rope"
    paper = "arXiv:2405.04434"
    citation = """@misc{deepseek2024v2, author = {{DeepSeek-AI}}, title = {{DeepSeek-V2: A Strong, Economical, and
        Efficient Mixture-of-Experts Language Model}}, year = {2024}, eprint = {2405.04434}}"""
    methods = (
        Method(
            "rotary",
            "Decoupled RoPE (MLA)",
            "mla_rope(scaling=yarn(factor=40, original_length=4096, mscale=1, mscale_all_dim=1))",
            "DeepSeek-AI 2024",
            note="64 of 192 dimensions in DeepSeek-V2 and V3; here a quarter",
            use="W",
        ),
    )
    shift_invariant = True
    limits = limited(base=above(0, ": DeepSeek-V3 has 10000.0"))

    def check_fields(self) -> None:
        object.__setattr__(self, "rotary_dim", self._part.rotary_dim)  # checked, and 64.0 and 64 are one value

    @property
    def _part(self) -> RoPE:
        """RoPE, which would turn as many of the first dimensions."""
        return RoPE(self.base, self.layout, self.rotary_dim, self.scaling)

    @property
    def logit_factor(self) -> float:
        """f."""
        return self.scaling.logit_factor if isinstance(self.scaling, YaRN) else 1.0

    def check(self, dims: Dims) -> None:
        self._part.check(dims)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[r/2]``, of each plane that turns."""
        return self._part.frequencies_for(dims, length)

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        still = x.shape[-1] - self._part.rotated_dim(x.shape[-1])
        whole = dataclasses.replace(self._part, rotary_dim=None)
        return jnp.concatenate([x[..., :still], whole.rotated(params, x[..., still:], positions, length)], axis=-1)

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        # Of the queries, where the factor costs no pass over the logits.
        return (self.rotated(params, q, positions, length) * self.logit_factor).astype(q.dtype)
