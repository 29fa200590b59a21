"""Pooling: one vector for a row, from the vectors of its tokens."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Array, Geometry, Sequence
from posenc_jax.models.attention import linear
from posenc_jax.models.config import Transformer
from posenc_jax.models.costs import LayerCost, Token


def mean_of_real(x: jax.Array, segment_ids: Array | None) -> jax.Array:
    """``[B, M]``: the mean of ``x [B, S, M]`` over slots whose segment id ``[#B, S]`` is not 0; zero without any."""
    if segment_ids is None:
        return jnp.mean(x, axis=1)
    real = (segment_ids != 0)[..., None]
    return (jnp.sum(x, axis=1, where=real) / jnp.maximum(jnp.sum(real, axis=1), 1)).astype(x.dtype)


def first_of_real(x: jax.Array, segment_ids: Array | None) -> jax.Array:
    """``[B, M]``: the first of ``x [B, S, M]`` whose segment id ``[#B, S]`` is not 0; slot 0 without any."""
    if segment_ids is None:
        return x[:, 0]
    first = jnp.argmax(segment_ids != 0, axis=1)[:, None, None]
    return jnp.take_along_axis(x, first, axis=1, mode="clip")[:, 0]


class AttentionPooling(nnx.Module):
    """Learned queries attend to the tokens of a row, one query for each type of section::

        pooled_p = sum over j in section p of softmax_j(u_p . (W_K x_j) / sqrt(D)) W_V x_j,   for each of H heads
        out = W [pooled_1, ..., pooled_P] + b

    With T token types P is T - 1, and section p is all real tokens of type p, in one stretch or several: that is the
    structure mask. Type 0 belongs to none. A section without tokens gives zeros. Without token types P is 1, and all
    real tokens are its section.

    A learned query that weighs the tokens of a text is the word attention of Yang et al. 2016 (Hierarchical Attention
    Networks for Document Classification, section 2.2), and several of them, concatenated, are Lin et al. 2017 (A
    Structured Self-attentive Sentence Embedding, section 2.1). Both score with a hidden layer, ``u . tanh(W x + b)``;
    here it is the scaled product of Vaswani et al. 2017 with several heads. The structure mask, a query for every type
    of section, is this library's own.

    Parameters: ``queries`` (u) ``[P, H, D]`` from N(0, 0.02^2), so that pooling starts close to the mean of the values
    of each section; projections as in `Attention`, with as many key heads.
    """

    def __init__(self, config: Transformer, *, rngs: nnx.Rngs):
        self.sections = max(config.token_types - 1, 1)
        self.by_type = config.token_types > 0
        self.head_dim = config.width_of_head
        shape = (self.sections, config.num_heads, self.head_dim)
        keys, bias = config.kv_heads * self.head_dim, config.attention_bias
        self.queries = nnx.Param(0.02 * jax.random.normal(rngs.params(), shape, jnp.float32))
        self.key = linear(config, config.d_model, keys, use_bias=bias, rngs=rngs)
        self.value = linear(config, config.d_model, keys, use_bias=bias, rngs=rngs)
        pooled = self.sections * config.num_heads * self.head_dim
        self.output = linear(config, pooled, config.d_model, use_bias=bias, rngs=rngs)

    def costs(self) -> LayerCost:
        """Each row asks once; to a token the learned queries are two more matrices, of its logits and of its share."""
        width = self.output.in_features
        keys = Token.of(self.key, self.value, kept=2 * self.key.out_features)
        return LayerCost(Token.of(self.output), dataclasses.replace(keys, weights=keys.weights + 2 * width))

    def __call__(self, x: jax.Array, segment_ids: Array | None, token_types: Array | None) -> tuple[jax.Array, Array]:
        """``[B, M]`` of ``x [B, S, M]``, and the weights ``[B, H, P, S]``, in at least float32; 0 for absent sections.

        Segment id 0 is padding (None: there is none); ``token_types [#B, S]`` are read if the config has some.
        """
        rows, size = x.shape[:2]
        real = np.ones((1, size), bool) if segment_ids is None else segment_ids != 0
        if self.by_type:
            assert token_types is not None  # the embedding has refused such a call
            section_of = jnp.where(real, token_types, 0)
        else:
            section_of = jnp.asarray(real, jnp.int32)
        # What a segment id is in attention a section is here: a query sees the keys of its own, and nobody sees 0.
        sections = np.arange(1, self.sections + 1, dtype=np.int32)[None]
        queries = Sequence.of_length(self.sections, segment_ids=sections)
        geometry = Geometry.between(
            queries, Sequence.of_length(size, segment_ids=section_of), num_heads=self.queries.shape[1]
        )
        u = jnp.swapaxes(self.queries[...], 0, 1)[None].astype(x.dtype)
        # The reference, since the others may do anything where a query sees no key.
        out, weights = attend(
            jnp.broadcast_to(u, (rows, *u.shape[1:])),
            self._heads(self.key(x)),
            self._heads(self.value(x)),
            (),
            (),
            geometry,
            return_weights=True,
        )
        assert geometry.mask is not None
        present = jnp.any(geometry.mask, axis=3, keepdims=True)
        out, weights = jnp.where(present, out, 0), jnp.where(present, weights, 0)
        return self.output(jnp.swapaxes(out, 1, 2).reshape(rows, -1)), weights

    def _heads(self, x: jax.Array) -> Array:
        return jnp.swapaxes(x.reshape(*x.shape[:2], -1, self.head_dim), 1, 2)
