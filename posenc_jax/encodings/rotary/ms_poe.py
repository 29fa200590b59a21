"""Ms-PoE: every head reads positions at a scale of its own (Zhang et al. 2024)."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, turn


@dataclasses.dataclass(frozen=True)
class MsPoE(Rotary):
    """RoPE whose positions each head divides by a number of its own::

        plane k of head h turns by (p / r_h) base^(-2k/D),   r_h = least + (most - least) rank_h / H

    (Zhang et al. 2024, Multi-scale Positional Encoding, in the form of the authors' code; H key heads.) It changes a
    trained model without training, so that some heads see the middle of a text from nearer. The authors rank heads by
    how peaked their attention is on the first prompt. Here the frozen parameter ``ratio`` (r) ``[Hkv]`` starts in the
    fixed order that they compare with, the last head scaled least; write measured ratios into it. They leave the first
    two layers unchanged, which a pattern of layers can do.

    With grouped keys the authors divide queries by ratios of their own, which are not those of their key, so that
    products are no longer functions of distances; here a group has the ratio of its key.

    Attributes:
      least, most: the ends of the range of ratios, 1.2 and 1.8 in the authors' code.
      base, layout: as in `RoPE`.

    Angles are plain products in at least float32.

    Raises:
      ValueError: in `check`, if head_dim is odd.
    """

    least: float = 1.2
    most: float = 1.8
    base: float = 10000.0
    layout: Layout = "half"

    name = "ms_poe"
    paper = "arXiv:2403.04797"
    citation = """@inproceedings{zhang2024found, author = {Zhang, Z. and Chen, R. and Liu, S. and Yao, Z. and Ruwase, O.
        and Chen, B. and Wu, X. and Wang, Z.}, title = {{Found in the Middle: How Language Models Use Long Contexts
        Better via Plug-and-Play Positional Encoding}}, booktitle = {NeurIPS}, year = {2024}, eprint = {2403.04797}}"""
    methods = (
        Method(
            "rotary",
            "Ms-PoE, heads in a fixed order",
            "ms_poe",
            "Zhang et al. 2024",
            note="ratios that were measured on a prompt are put into its parameter",
        ),
    )
    shift_invariant = True
    frozen = frozenset({"ratio"})
    head_axes = (("ratio", 0),)
    by_key_head = True
    limits = limited(
        least=above(0, ": the authors have 1.2"),
        most=at_least(1, ": the authors have 1.8"),
        base=above(0, ": 10000.0 is RoPE's"),
    )

    def check_fields(self) -> None:
        if self.most < self.least:
            raise ValueError(f"MsPoE.most = {self.most} must not be less than least = {self.least}")

    def init(self, key: Key, dims: Dims) -> Params:
        rank = jnp.arange(dims.num_kv_heads, dtype=jnp.float32)[::-1]
        return {"ratio": self.least + (self.most - self.least) * rank / dims.num_kv_heads}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        ratio = jnp.asarray(params["ratio"])
        dtype = at_least_float32(x, ratio)
        ratio = jnp.repeat(ratio.astype(dtype), x.shape[1] // len(ratio))[None, :, None, None]
        frequencies = vaswani_frequencies(x.shape[-1], self.base).astype(dtype)[None, None, None]
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] / ratio * frequencies
        return turn(x, jnp.sin(angles), jnp.cos(angles), self.layout)
