"""Dual chunk attention: rotary positions within chunks, so that no distance is longer than in training."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Geometry, Params, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.rotary.rerope import TwoProducts, scaled_product, selected_product
from posenc_jax.encodings.rotary.rope import RoPE


@dataclasses.dataclass(frozen=True)
class DualChunk(TwoProducts):
    """RoPE over positions within chunks, with other positions of a query for keys in its own chunk, in the one before
    it, and in all before that::

        logits_ij = q_i . R(-d) k_j / sqrt(D),   s = c - w
        d = i - j                                           in the same chunk, i div s = j div s
            min(i mod s + s, c) - j mod s                   where the key is in the chunk before
            min(2s - 1, c) - j mod s                        elsewhere

    (An et al. 2024, section 3.2 and the authors' code, ``HKUNLP/ChunkLlama``, whose largest position is c, as vLLM's;
    the paper's is c - 1.) The w keys that stand nearest before a chunk are at their true distances. Nothing is trained;
    no distance is longer than c. It costs two additional products of queries and keys.

    Where a chunk begins depends on the absolute position, so moving a sequence changes it. Defined under a causal mask.

    Attributes:
      chunk: c, 3/4 of the length in training in the code.
      window: w, 1/16 of that length in the code.
      rope: the rotation.

    Raises:
      ValueError: for a window that is not smaller than the chunk.
    """

    chunk: int = 3072
    window: int = 256
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "dual_chunk"
    paper = "arXiv:2402.17463"
    citation = """@inproceedings{an2024training, author = {An, C. and Huang, F. and Zhang, J. and Gong, S. and Qiu, X.
        and Zhou, C. and Kong, L.}, title = {{Training-Free Long-Context Scaling of Large Language Models}},
        booktitle = {ICML}, year = {2024}, eprint = {2402.17463}}"""
    methods = (
        Method(
            "rotary",
            "Dual chunk attention",
            "dual_chunk(chunk=6, window=2)",
            "An et al. 2024",
            note="3/4 and 1/16 of the length in training in the authors' code",
            use="W",
        ),
    )
    limits = limited(
        chunk=at_least(2, ": the largest position, 3072 of 4096 in the authors' code"),
        window=at_least(0, ": the authors' code has 256 of 4096"),
    )

    def check_fields(self) -> None:
        if self.window >= self.chunk:
            raise ValueError(
                f"DualChunk.window = {self.window} must be below chunk = {self.chunk}, or a chunk would have no "
                "tokens: the authors' code has 256 and 3072 for 4096 positions"
            )

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        size, most = self.chunk - self.window, self.chunk
        at_q, at_k = geometry.q_positions, geometry.k_positions
        keys = self.rope.encode_keys(params, k, at_k % size, geometry.k_length)
        own, before, far = (
            self.rope.encode_queries(params, q, positions, geometry.q_length)
            for positions in (at_q % size, (at_q % size + size).clip(max=most), at_q * 0 + min(2 * size - 1, most))
        )
        behind = jnp.asarray(at_q // size)[:, :, None] - jnp.asarray(at_k // size)[:, None]
        near = selected_product((own, keys), (before, keys), behind < 1)
        return jnp.where(behind[:, None] < 2, near, scaled_product(far, keys))
