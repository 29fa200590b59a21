"""ReRoPE and Leaky ReRoPE: rotary positions that stop growing, or grow slower, beyond a window (Su 2023)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Geometry, Params, Terms, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.rotary.rope import RoPE, WithRoPE
from posenc_jax.encodings.shared.distances import relative_on_device


def scaled_product(q: Array, k: Array) -> Array:
    """``[B, H, Q, K]``: ``q . k / sqrt(D)`` of encoded queries and keys, in at least float32."""
    scale = q.shape[-1] ** -0.5
    return jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=at_least_float32(q, k)) * scale


def selected_product(near: tuple[Array, Array], far: tuple[Array, Array], is_near: Array) -> Array:
    """``[B, H, Q, K]`` scaled products of one pair of encoded queries and keys where ``is_near [#B, Q, K]``, of the
    other elsewhere; computed in at least float32. No vector per pair of tokens exists.
    """
    return jnp.where(is_near[:, None], scaled_product(*near), scaled_product(*far))


class TwoProducts(WithRoPE):
    """Base class of those that rotate queries and keys twice, and select one of two products for each pair."""

    causal_only = True

    def encoded(
        self, params: Params, q: Array, k: Array, geometry: Geometry, q_positions: Array, k_positions: Array
    ) -> tuple[Array, Array]:
        """Queries and keys rotated by these positions."""
        return (
            self.rope.encode_queries(params, q, q_positions, geometry.q_length),
            self.rope.encode_keys(params, k, k_positions, geometry.k_length),
        )


@dataclasses.dataclass(frozen=True)
class ReRoPE(TwoProducts):
    """RoPE over distances up to a window; beyond it the distance stays, or grows ``factor`` times slower::

        logits_ij = q_i . R(-d) k_j / sqrt(D),   d = i - j           where |i - j| < w
                                                 d = w                        elsewhere  (ReRoPE)
                                                 d = w + (i - j - w) / factor  elsewhere  (Leaky ReRoPE)

    (Su 2023, kexue.fm/archives/9708 and the author's code, bojone/rerope.) Distances then stay within those seen in
    training at any length. It costs a second product of queries and keys, which are rotated a second time, by w and 0
    or by (p + w (factor - 1)) / factor and p / factor; each pair of tokens selects one of the two.

    The code also scales queries by max(1, log(p + 1) / log(training length)), which is an element of its own:
    ``(LogScaling(4096), ReRoPE())``. Defined under a causal mask; the code, and this, take w for a key that lies w or
    more after its query too.

    Attributes:
      window: w, 512 in the code.
      factor: None is ReRoPE, 16 is the Leaky ReRoPE of the code. Quotients by one that is no power of two are rounded:
        with 3, phases are off by 2e-2 at positions around 1e6.
      rope: the rotation.
    """

    window: int = 512
    factor: float | None = None
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "rerope"
    paper = "https://kexue.fm/archives/9708"
    citation = """@misc{su2023rectified, author = {Su, J.}, title = {{Rectified Rotary Position Embeddings}},
        year = {2023}, url = {https://kexue.fm/archives/9708}, note = {https://github.com/bojone/rerope}}"""
    methods = (
        Method(
            "rotary",
            "ReRoPE",
            "log_scaling(training_length=64)|rerope(window=4)",
            "Su 2023",
            note="a window of 512 and a training length of 4096 in the author's code",
            use="s",
        ),
        Method(
            "rotary",
            "Leaky ReRoPE",
            "log_scaling(training_length=64)|rerope(window=4, factor=16)",
            "Su 2023",
            note="a window of 512 and a training length of 4096 in the author's code",
            use="s",
        ),
    )
    shift_invariant = True
    limits = limited(
        window=at_least(1, ": the author's code has 512"),
        factor=at_least(
            1,
            ", or distances beyond the window would grow faster than within: use None for ReRoPE, 16 for the Leaky "
            "ReRoPE of the author's code",
        ),
    )

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        q_positions, k_positions = geometry.q_positions, geometry.k_positions
        q_far: Array
        k_far: Array
        if self.factor is None:
            q_far, k_far = np.full((1, 1), self.window), np.zeros((1, 1), np.int64)
        else:
            q_far, k_far = (
                positions.astype(np.float64 if isinstance(positions, np.ndarray) else jnp.result_type(float))
                for positions in (q_positions, k_positions)
            )
            q_far, k_far = (q_far + self.window * (self.factor - 1)) / self.factor, k_far / self.factor
        near, far = (self.encoded(params, q, k, geometry, *at) for at in ((q_positions, k_positions), (q_far, k_far)))
        return selected_product(near, far, jnp.abs(relative_on_device(geometry)) < self.window)
