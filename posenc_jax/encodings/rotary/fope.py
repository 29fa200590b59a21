"""Fourier position embedding: RoPE whose planes mix several frequencies (Hua et al. 2024)."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import sincos, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Rotary, check_planes, turn


@dataclasses.dataclass(frozen=True)
class FoPE(Rotary):
    """Queries and keys turned as by RoPE, with a Fourier series for each plane in place of one sine and cosine::

        sin_hk(p) = sum_j S_hjk sin(p theta_j),   cos_hk(p) = sum_j C_hjk cos(p theta_j)

        (a, b) -> (a cos_hk(p) - b sin_hk(p),  a sin_hk(p) + b cos_hk(p))

    (Hua et al. 2024, section 3; details as in the authors' code, olmo/model.py). theta_j are the F frequencies
    base^(-2j/D) of at least 2 pi / L, those that complete a turn within the training length L; all others are dropped.
    Only the first G = min(F, D // 4) of the D // 2 planes (k, D/2 + k) get a series. S and C ``[H, F, G]`` start as
    "identity plus noise": a one in row ``k ceil(F / G)`` of column k, where there is such a row, plus normal noise of
    Xavier's variance ``gain^2 2 / (G (F + H))``, with the fans as torch counts them in an array of three axes. They are
    drawn for each layer and not trained. Since sines and cosines are no longer those of one angle, logits are not a
    function of position differences.

    Attributes:
      base: 10000 in the paper.
      original_length: L, the length in training; 512 and 1024 in the paper.
      gain: 0.3, 0.4 and 0.6 for the authors' models of 60M, 180M and 1.2B parameters.
      learnable: train S and C (off in the authors' configurations).
      padding: what becomes of the planes without a series. "ones" as in the authors' code, which fills both sine and
        cosine with 1, so that (a, b) -> (a - b, a + b) and their part of the logits doubles; "identity" leaves them as
        they are, as the zero frequency of the paper says.

    With grouped keys there is one matrix per key head, and queries take that of their group (the authors' code has no
    grouped keys).

    Raises:
      ValueError: in `check`, for an odd head_dim or one below 4.
    """

    base: float = 10000.0
    original_length: int = 512
    gain: float = 0.3
    learnable: bool = False
    padding: Literal["ones", "identity"] = "ones"

    name = "fope"
    paper = "arXiv:2412.17739"
    citation = """@inproceedings{hua2025fourier, author = {Hua, E. and Jiang, C. and Lv, X. and Zhang, K. and Sun, Y.
        and Fan, Y. and Zhu, X. and Qi, B. and Ding, N. and Zhou, B.}, title = {{Fourier Position Embedding:
        Enhancing Attention's Periodic Extension for Length Generalization}}, booktitle = {ICML}, year = {2025},
        eprint = {2412.17739}}"""
    methods = (Method("rotary", "FoPE", "fope(original_length=512)", "Hua et al. 2024"),)
    per_layer = True
    head_axes = (("sin", 0), ("cos", 0))
    by_key_head = True
    limits = limited(
        base=above(1, ", so that frequencies fall: the paper has 10000.0"),
        original_length=at_least(7, ", or no frequency completes a turn: give the length of the training sequences"),
        gain=at_least(0, ": the paper has 0.3 to 0.6"),
    )

    @property
    def frozen(self) -> frozenset[str]:  # type: ignore[override]
        """Both matrices, unless they are trained."""
        return frozenset() if self.learnable else frozenset({"sin", "cos"})

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, least=4)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[F]``: those that complete a turn within the original length."""
        return self._kept(dims.head_dim)

    def _kept(self, head_dim: int) -> np.ndarray:
        every = vaswani_frequencies(head_dim, self.base)
        return every[every >= math.tau / self.original_length]

    def init(self, key: Key, dims: Dims) -> Params:
        """``sin``, ``cos``: ``[Hkv, F, G]``."""
        self.check(dims)
        count = len(self._kept(dims.head_dim))
        planes = min(count, dims.head_dim // 4)
        identity = np.zeros((count, planes), np.float32)
        kept = np.arange(0, count, math.ceil(count / planes))[:planes]
        identity[kept, np.arange(len(kept))] = 1
        scale = self.gain * math.sqrt(2 / (planes * (count + dims.num_kv_heads)))
        shape = (dims.num_kv_heads, count, planes)
        return {
            name: identity[None] + scale * jax.random.normal(k, shape, jnp.float32)
            for name, k in zip(("sin", "cos"), jax.random.split(key), strict=True)
        }

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        """``[B, heads, S, D]``, each head by the matrices of its key head."""
        dtype = at_least_float32(x)
        sin, cos = sincos(positions, self._kept(x.shape[-1]), dtype)

        def series(wave: Array, matrices: Array, rest: float) -> Array:
            """``[B, H, S, D/2]``."""
            matrices = jnp.repeat(matrices.astype(dtype), x.shape[1] // matrices.shape[0], axis=0)
            mixed = jnp.einsum("bsf,hfg->bhsg", wave, matrices, precision="highest")
            missing = x.shape[-1] // 2 - mixed.shape[-1]
            return jnp.pad(mixed, ((0, 0), (0, 0), (0, 0), (0, missing)), constant_values=rest)

        sin = series(sin, params["sin"], 1.0 if self.padding == "ones" else 0.0)
        return turn(x, sin, series(cos, params["cos"], 1.0), "half")
