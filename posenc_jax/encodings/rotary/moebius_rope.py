"""Möbius RoPE: some heads turn by half a turn, or an odd number of them, over the trained length (Bae 2026)."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import sincos, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, turn


@dataclasses.dataclass(frozen=True)
class MoebiusRoPE(Rotary):
    """RoPE whose first heads, ``fraction`` of them, turn by odd numbers of half turns over the trained length::

        theta_i = pi (2i + 1) / N,  i = 0 .. D/2 - 1,   so that R(N) = -1 and R(2N) = 1

    (Bae 2026, the hybrid arm.) There equal contents at distance m have the mean cosine
    ``sin(D pi m / N) / (D sin(pi m / N))``: 1 at 0, small in between, and -1 at N. The other heads are RoPE.

    The paper could not be read: this is the definition of its abstract and of three summaries, which agree on the
    formula, on N as the length in training (2,048) and on a quarter of the heads. Which quarter they are they do not
    say; here they are the first, at least one (key heads, where keys are grouped).

    Attributes:
      training_length: N.
      fraction: of the heads, 0.25 in the paper.
      base, layout: as in `RoPE`.

    The frozen parameter ``ladder`` ``[Hkv]`` is 1 in the heads with the ladder.

    Raises:
      ValueError: in `check`, if head_dim is odd.
    """

    training_length: int = 2048
    fraction: float = 0.25
    base: float = 10000.0
    layout: Layout = "interleaved"

    name = "moebius_rope"
    paper = "arXiv:2607.21405"
    citation = """@misc{bae2026anti, author = {Bae, J. H.}, title = {{Anti-Periodic Positional Encoding: Möbius
        Boundary Conditions Make In-Context Retrieval Reliable}}, year = {2026}, eprint = {2607.21405}}"""
    methods = (
        Method(
            "rotary",
            "Möbius RoPE, in a quarter of the heads",
            "moebius_rope",
            "Bae 2026",
            note="by the definition of its abstract and of summaries: the paper was not read",
        ),
    )
    shift_invariant = True
    frozen = frozenset({"ladder"})
    head_axes = (("ladder", 0),)
    by_key_head = True
    limits = limited(
        training_length=at_least(1, ": the length in training, 2048 in the paper"),
        fraction=above(0, ": 0.25 in the paper"),
        base=above(0, ": 10000.0 is RoPE's"),
    )

    def check_fields(self) -> None:
        if self.fraction > 1:
            raise ValueError(f"MoebiusRoPE.fraction = {self.fraction} must be at most 1: the part of the heads")

    def init(self, key: Key, dims: Dims) -> Params:
        heads = max(1, int(self.fraction * dims.num_kv_heads))
        return {"ladder": (jnp.arange(dims.num_kv_heads) < heads).astype(jnp.float32)}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        planes, dtype = x.shape[-1] // 2, at_least_float32(x)
        ladder = math.pi * (2 * np.arange(planes) + 1) / self.training_length
        plain = sincos(positions, vaswani_frequencies(x.shape[-1], self.base), dtype)
        own = jnp.repeat(jnp.asarray(params["ladder"]), x.shape[1] // len(params["ladder"]))[None, :, None, None] > 0
        sin, cos = (
            jnp.where(own, a[:, None], b[:, None]) for a, b in zip(sincos(positions, ladder, dtype), plain, strict=True)
        )
        return turn(x, sin, cos, self.layout)
