"""A Transformer layer and a stack of them."""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx

from posenc_jax.encodings.base import Array
from posenc_jax.models.attention import Attention, linear
from posenc_jax.models.config import Transformer
from posenc_jax.models.positions import LayerEncodings
from posenc_jax.models.streams import Dropout

KeysValues = tuple[Array, Array]
Captured = dict[str, Any]

# Dropout sites of a stack: 0 after the embeddings, then for every layer self-attention, cross-attention, feed-forward.
EMBEDDINGS = 0


def norm_layer(config: Transformer, *, rngs: nnx.Rngs) -> nnx.LayerNorm | nnx.RMSNorm:
    """LayerNorm or RMSNorm with epsilon 1e-5; computed in at least float32, given back in the dtype of the activations."""
    kind = nnx.LayerNorm if config.norm_type == "layer" else nnx.RMSNorm
    return kind(config.d_model, epsilon=1e-5, dtype=config.compute_dtype, use_fast_variance=False, rngs=rngs)


class MLP(nnx.Module):
    """The feed-forward layer ``W2 f(W1 x + b1) + b2``."""

    def __init__(self, config: Transformer, *, rngs: nnx.Rngs):
        width = config.mlp_dim or 4 * config.d_model
        self.hidden = linear(config, config.d_model, width, use_bias=config.mlp_bias, rngs=rngs)
        self.output = linear(config, width, config.d_model, use_bias=config.mlp_bias, rngs=rngs)
        self.activation = config.activation

    def __call__(self, x: Array) -> Array:
        """``[B, S, M]`` of ``x [B, S, M]``."""
        x = self.hidden(x)
        return self.output(jax.nn.relu(x) if self.activation == "relu" else jax.nn.gelu(x, approximate=False))


class Block(nnx.Module):
    """One layer: self-attention, in a decoder over an encoder also cross-attention, feed-forward; each with norm, dropout and residual connection."""

    def __init__(self, config: Transformer, *, cross: bool, rngs: nnx.Rngs):
        self.pre_norm = config.norm == "pre"
        self.self_attention = Attention(config, rngs=rngs)
        self.self_attention_norm = norm_layer(config, rngs=rngs)
        self.cross_attention = Attention(config, rngs=rngs) if cross else None
        self.cross_attention_norm = norm_layer(config, rngs=rngs) if cross else None
        self.mlp = MLP(config, rngs=rngs)
        self.mlp_norm = norm_layer(config, rngs=rngs)

    def __call__(
        self,
        x: Array,
        layer: LayerEncodings,
        cross_layer: LayerEncodings | None,
        memory: KeysValues | None,
        dropout: Dropout,
        site: int,
        capture: bool,
    ) -> tuple[Array, Captured]:
        """``x [B, S, M]`` after this layer, and what it captured."""
        captured: Captured = {}

        def add(x, name, norm, sublayer, site):
            out = sublayer(norm(x) if self.pre_norm else x)
            if capture:
                captured[f"{name}_output"] = out
            x = x + dropout(out, site)
            return x if self.pre_norm else norm(x)

        def self_attention(h):
            keys, values = self.self_attention.keys_values(h)
            out, weights = self.self_attention(h, keys, values, layer, return_weights=capture)
            if capture:
                captured["attention_weights"] = weights
            return out

        def cross_attention(h):
            keys, values = memory
            out, weights = self.cross_attention(h, keys, values, cross_layer, return_weights=capture)
            if capture:
                captured["cross_attention_weights"] = weights
            return out

        x = add(x, "attention", self.self_attention_norm, self_attention, site)
        if self.cross_attention is not None:
            x = add(x, "cross_attention", self.cross_attention_norm, cross_attention, site + 1)
        x = add(x, "mlp", self.mlp_norm, self.mlp, site + 2)
        if capture:
            captured["output"] = x
        return x, captured


class Stack(nnx.Module):
    """The layers of an encoder or a decoder, unrolled, and the final norm if the config has one."""

    def __init__(self, config: Transformer, *, cross: bool = False, rngs: nnx.Rngs):
        self.blocks = nnx.List([Block(config, cross=cross, rngs=rngs) for _ in range(config.num_layers)])
        self.final_norm = norm_layer(config, rngs=rngs) if config.has_final_norm else None

    def __call__(
        self,
        x: Array,
        layers: tuple[LayerEncodings, ...],
        *,
        cross_layers: tuple[LayerEncodings, ...] | None = None,
        memory: tuple[KeysValues, ...] | None = None,
        dropout: Dropout,
        capture: bool = False,
    ) -> tuple[Array, Captured]:
        """``[B, S, M]`` of embedded ``x [B, S, M]``, and captured activations (empty unless ``capture``)."""
        embeddings, captured = x, []
        for index, block in enumerate(self.blocks):
            cross_layer = None if cross_layers is None else cross_layers[index]
            x, of_block = block(x, layers[index], cross_layer, None if memory is None else memory[index], dropout, 1 + 3 * index, capture)
            captured.append(of_block)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return x, {"embeddings": embeddings, "layers": tuple(captured)} if capture else {}
