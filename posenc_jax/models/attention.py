"""The projections of attention; what happens between them is `posenc_jax.attention.attend`."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from posenc_jax.attention import attend
from posenc_jax.encodings.interface.base import Array, Params, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.slots import token_terms
from posenc_jax.models.config import Transformer
from posenc_jax.models.costs import LayerCost, Token
from posenc_jax.models.layer_encodings import LayerEncodings
from posenc_jax.models.norms import Norm, norm_layer
from posenc_jax.models.product import product

# How `Execution.model` splits a matrix and its bias: each device has some of the heads or hidden units, so that it
# computes its own and one sum joins them (Shoeybi et al. 2019, section 3).
OUTPUTS, INPUTS = "outputs", "inputs"


class KeysValues(NamedTuple):
    """Keys, after their norm, and values ``[B, Hkv, K, D]``, not encoded, and every encoding's `token_terms`,
    ``[B, K, ...]``, or None.
    """

    keys: Array
    values: Array
    terms: tuple[Params, ...]


def linear(
    config: Transformer, inputs: int, outputs: int, *, use_bias: bool, rngs: nnx.Rngs, variance: float = 1.0
) -> nnx.Linear:
    """``x W + b`` with float32 parameters: W from a normal of ``variance / inputs`` cut off at two sigma, b zero."""
    kernel_init = nnx.initializers.variance_scaling(variance, "fan_in", "truncated_normal")
    return nnx.Linear(
        inputs,
        outputs,
        use_bias=use_bias,
        dtype=config.compute_dtype,
        kernel_init=kernel_init,
        dot_general=product,
        rngs=rngs,
    )


class Attention(nnx.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2), each key head serving one or several query heads."""

    split: ClassVar[dict[str, str]] = {"query": OUTPUTS, "key": OUTPUTS, "value": OUTPUTS, "output": INPUTS}

    def __init__(self, config: Transformer, *, rngs: nnx.Rngs):
        self.head_dim = config.width_of_head
        queries, keys = config.num_heads * self.head_dim, config.kv_heads * self.head_dim
        bias = config.attention_bias
        self.query_factor, self.cap = config.query_factor, config.attention_cap
        variance = self.query_factor**-2
        self.query = linear(config, config.d_model, queries, use_bias=bias, rngs=rngs, variance=variance)
        self.key = linear(config, config.d_model, keys, use_bias=bias, rngs=rngs)
        self.value = linear(config, config.d_model, keys, use_bias=bias, rngs=rngs)
        last = bias if config.attention_output_bias is None else config.attention_output_bias
        self.output = linear(config, queries, config.d_model, use_bias=last, rngs=rngs)
        normed = config.query_key_norm is not None
        widths = (self.head_dim, self.head_dim) if config.query_key_norm == "head" else (queries, keys)
        self.query_norm = norm_layer(config, widths[0], rngs=rngs) if normed else None
        self.key_norm = norm_layer(config, widths[1], rngs=rngs) if normed else None

    def costs(self) -> LayerCost:
        """Kept are queries, keys, values, what the heads give, and the output; of each pair logits, weights and the
        gradient of one of them.
        """
        width, keys, last = self.output.in_features, self.key.out_features, self.output.out_features
        of_norm = 0 if self.query_norm is None else 1  # what it reads; held where it is a norm of several heads
        held = 1 if self.query_norm is not None and self.query_norm.num_features > self.head_dim else 0
        return LayerCost(
            Token.of(self.query, self.output, kept=(2 + of_norm) * width + last, held=(1 + held) * width),
            Token.of(self.key, self.value, kept=(2 + of_norm) * keys, held=(2 + held) * keys),
            operations=4 * width,
            logits=width // self.head_dim,
            arrays=3 if self.cap is None else 4,
            arrays_held=1 if self.cap is None else 2,
        )

    def _heads(self, x: jax.Array, norm: Norm | None = None) -> Array:
        if norm is not None:
            x = norm(x.reshape(*x.shape[:2], -1, norm.num_features))
        return jnp.swapaxes(x.reshape(*x.shape[:2], -1, self.head_dim), 1, 2)

    def keys_values(
        self, x: jax.Array, encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], sequence: Sequence
    ) -> KeysValues:
        """Keys, values and terms of ``x [B, K, M]``, not encoded, so a cache can hold them."""
        terms = token_terms(encodings, params, x, sequence)
        return KeysValues(self._heads(self.key(x), self.key_norm), self._heads(self.value(x)), terms)

    def __call__(
        self, x: jax.Array, keys_values: KeysValues, layer: LayerEncodings, *, return_weights: bool = False
    ) -> tuple[Array, Array | None]:
        """``[B, Q, M]`` for queries from ``x [B, Q, M]``, and the weights ``[B, H, Q, K]`` if asked for, else None."""
        queries = self._heads(self.query(x), self.query_norm)
        result: Any = attend(
            queries if self.query_factor == 1.0 else queries * self.query_factor,
            keys_values.keys,
            keys_values.values,
            layer.encodings,
            layer.params,
            layer.geometry,
            keys_values.terms,
            cap=self.cap,
            path="dense" if return_weights else layer.path,
            shared_bias=layer.shared_bias,
            return_weights=return_weights,
        )
        out, weights = result if return_weights else (result, None)
        return self.output(jnp.swapaxes(out, 1, 2).reshape(*x.shape[:2], -1)), weights
