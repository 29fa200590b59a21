"""Inkling's relative logits: each token mixes a bias for every distance to the past from learned profiles."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited, of_field
from posenc_jax.encodings.relative.shaw import check_whole, occurring, pick
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.token_order import at_queries

_LAB = "Thinking Machines Lab 2026"


@dataclasses.dataclass(frozen=True)
class Inkling(PositionalEncoding):
    """A bias for each distance to the past, which the token of the query mixes from learned profiles::

        logits_ij += r_i . P_(i-j)   for 0 <= i - j < extent,   r_i = W_h x_i

    x_i is the block's input (transformers' ``modeling_inkling.py``; there is no paper). The heads share the profiles P.
    With ``floor`` queries and biases grow beyond that position, so that no logit flattens over more keys::

        q'_i = t_i q_i,   logits_ij += t_i r_i . P_(i-j),   t_i = 1 + scale ln(max(1, (p_i + 1) / floor))

    Inkling has normalised queries and keys and divides their products by D; those are options of a model.

    Attributes:
      width: the number of profiles, 16 in the released models.
      extent: distances from it on have no bias; 1024 in layers that see all, the window in the others.
      clip: Inkling 2 multiplies r_i by a learned scale and shortens it to this length: 8 there. None is Inkling.
      floor: None has no t_i. 128,000 in Inkling 2 and 8192 in Inkling 2 Loop, in layers that see all.
      scale: of t_i.

    Parameters: ``projection [d_model, H, width]`` (W) and ``profiles [width, extent]`` (P), normal with std 0.02; with
    ``clip`` ``stretch [H, width]``, ones.
    """

    width: int = 16
    extent: int = 1024
    clip: float | None = None
    floor: int | None = None
    scale: float = 0.1

    name = "inkling"
    paper = "https://huggingface.co/thinkingmachines/Inkling"
    citation = """@misc{thinkingmachines2026inkling, author = {{Thinking Machines Lab}}, title = {{Inkling}},
        year = {2026}, url = {https://huggingface.co/thinkingmachines/Inkling}}"""
    methods = (
        Method("relative", "Relative logits (Inkling)", "inkling", _LAB, use="W"),
        Method(
            "relative", "Relative logits of clipped mixtures (Inkling 2)", "inkling(clip=8.0, floor=64)", _LAB, use="W"
        ),
    )
    shift_invariant = of_field("floor", lambda floor: floor is None)
    causal_only = True
    integer_positions = True
    per_layer = True
    terms_by_head = True
    head_axes = (("projection", 1), ("stretch", 0))
    breaks = frozenset({"blocks"})  # a query reads its own token
    limits = limited(width=at_least(1), extent=at_least(1), clip=above(0, ", or None"), floor=at_least(1, ", or None"))

    @property
    def acts_on(self) -> frozenset[str]:
        """Queries only where ``floor`` is given."""
        return super().acts_on - {"encode_queries"} if self.floor is None else super().acts_on

    def init(self, key: Key, dims: Dims) -> Params:
        shapes = {"projection": (dims.d_model, dims.num_heads, self.width), "profiles": (self.width, self.extent)}
        stretch = {} if self.clip is None else {"stretch": jnp.ones((dims.num_heads, self.width), jnp.float32)}
        return normals(key, shapes) | stretch

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, H, width]``: r, in at least float32."""
        dtype = at_least_float32(x)
        mixture = jnp.einsum("bsm,mhr->bshr", x.astype(dtype), params["projection"].astype(dtype))
        if self.clip is None:
            return mixture
        mixture *= params["stretch"].astype(dtype)[None, None]
        square = (mixture**2).sum(axis=-1, keepdims=True)
        length = jnp.sqrt(jnp.maximum(square, self.clip**2 / 4))  # shorter ones stay, also where a root has no slope
        return mixture * jnp.minimum(self.clip / (length + 1e-6), 1)

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return (q.astype(at_least_float32(q)) * self._growth(positions, at_least_float32(q))).astype(q.dtype)

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        distance = -geometry.relative
        check_whole(distance, "Inkling")
        mixture = jnp.swapaxes(at_queries(terms, geometry), 1, 2)
        part, rows = occurring(distance.clip(0, self.extent - 1).astype(np.int32), self.extent)
        products = jnp.einsum("bhqr,re->bhqe", mixture, params["profiles"][:, part].astype(mixture.dtype))
        seen = (distance >= 0) & (distance < self.extent)
        return jnp.where(seen[:, None], pick(products, rows), 0) * self._growth(geometry.q_positions, products.dtype)

    def _growth(self, positions: Array, dtype: np.dtype) -> Array:
        """``[#B, 1, S, 1]``: t."""
        ratio = jnp.asarray(positions + 1)[:, None, :, None].astype(dtype) / (self.floor or np.inf)
        return 1 + self.scale * jnp.log(jnp.maximum(ratio, 1))
