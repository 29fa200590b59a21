"""A Transformer layer and a stack of them."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import jax
from flax import nnx

from posenc_jax.encodings.interface.base import Params, PositionalEncoding, Sequence
from posenc_jax.models.activation import gelu
from posenc_jax.models.attention import INPUTS, OUTPUTS, Attention, KeysValues, linear
from posenc_jax.models.config import Transformer
from posenc_jax.models.costs import LayerCost, Token
from posenc_jax.models.layer_encodings import LayerEncodings
from posenc_jax.models.norms import norm_layer
from posenc_jax.models.randomness import Dropout

Captured = dict[str, Any]

# Dropout sites of a stack: 0 after the embeddings, then three for each layer.
EMBEDDINGS, SITES_PER_LAYER = 0, 3


# The function f of an activation, and how many arrays of the hidden width a training step keeps, and a forward pass
# holds, as XLA:CPU plans them.
_GATED: dict[str, Any] = {"swiglu": (jax.nn.silu, 6, 3.5), "geglu": (gelu, 6, 3.5), "geglu_tanh": (jax.nn.gelu, 6, 3.5)}
_FUNCTIONS: dict[str, Any] = _GATED | {
    "relu": (jax.nn.relu, 2, 1.4),
    "silu": (jax.nn.silu, 4, 2.5),
    "gelu": (gelu, 4, 2.5),
    "gelu_tanh": (jax.nn.gelu, 4, 2.5),
}


class MLP(nnx.Module):
    """The feed-forward layer, without a gate or with one (Shazeer 2020, GLU Variants Improve Transformer, equation 6)::

        W2 f(W1 x + b1) + b2                   "relu", "gelu", "silu": f(x) = x sigmoid(x)
        W2 (f(V x + c) * (W1 x + b1)) + b2     "swiglu": f as "silu", "geglu": f = GELU

    "swiglu" without biases is Llama's, "geglu_tanh" without biases that of T5 v1.1 and Gemma. The tanh form of GELU is
    ``x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2``, within 5e-4 of the exact one. The hidden width is ``mlp_dim``
    in both, so a gate adds half as many weights; two thirds of the width have as many as without, as in the paper and
    in Llama.

    Parameters: ``hidden`` W1, ``gate`` V (drawn last, so that the others start as without it), ``output`` W2.

    Reference: Shazeer, N. (2020), arXiv:2002.05202.
    """

    split: ClassVar[dict[str, str]] = {"hidden": OUTPUTS, "gate": OUTPUTS, "output": INPUTS}

    def __init__(self, config: Transformer, *, rngs: nnx.Rngs):
        self.activation = config.activation
        inwards = functools.partial(linear, config, config.d_model, config.hidden_width, use_bias=config.mlp_bias)
        self.hidden = inwards(rngs=rngs)
        self.output = linear(config, config.hidden_width, config.d_model, use_bias=config.mlp_bias, rngs=rngs)
        self.gate = inwards(rngs=rngs) if config.activation in _GATED else None

    def __call__(self, x: jax.Array) -> jax.Array:
        """``[B, S, M]`` of ``x [B, S, M]``."""
        function = _FUNCTIONS[self.activation][0]
        hidden = self.hidden(x)
        return self.output(function(hidden) if self.gate is None else function(self.gate(x)) * hidden)

    def costs(self) -> LayerCost:
        """Costs of a token."""
        (_, kept, held), hidden = _FUNCTIONS[self.activation], self.hidden.out_features
        layers = (self.hidden, self.output, *([] if self.gate is None else [self.gate]))
        return LayerCost(Token.of(*layers, kept=kept * hidden, held=self.output.out_features + int(held * hidden)))


class Transform(nnx.Module):
    """``norm(f(x W + b))`` before the output layer, f the function of the feed-forward layers, W of the width of the
    model (Devlin et al. 2018, in the code of BERT's masked language model).
    """

    def __init__(self, config: Transformer, *, rngs: nnx.Rngs):
        self.activation = config.activation
        self.dense = linear(config, config.d_model, config.d_model, use_bias=config.mlp_bias, rngs=rngs)
        self.norm = norm_layer(config, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """``[..., M]`` of ``x [..., M]``."""
        return self.norm(_FUNCTIONS[self.activation][0](self.dense(x)))

    def costs(self) -> Token:
        """Costs of a token."""
        return Token.of(self.dense, kept=6 * self.dense.out_features, held=2 * self.dense.out_features)


class Block(nnx.Module):
    """One layer: self-attention, cross-attention if it has an encoder to look at, feed-forward.

    Each sub-layer f stands in ``x + dropout(f(norm(x)))`` (pre-norm), ``norm(x + dropout(f(x)))`` (post-norm), ``x +
    dropout(norm(f(x)))`` ("output") or, with two norms, ``x + dropout(norm(f(norm(x))))`` ("sandwich"). Parallel
    attention and feed-forward layer both read the input of the layer (Wang and Komatsuzaki 2021, GPT-J).
    """

    split: ClassVar[dict[str, dict[str, str]]] = {
        "self_attention": Attention.split,
        "cross_attention": Attention.split,
        "mlp": MLP.split,
    }

    def __init__(self, config: Transformer, *, cross: bool, first: bool = False, rngs: nnx.Rngs):
        self.norm, self.parallel = config.norm, config.parallel is not None
        self.has_dropout = config.dropout > 0
        norm, sandwich = functools.partial(norm_layer, config, rngs=rngs), config.norm == "sandwich"
        self.self_attention = Attention(config, rngs=rngs)
        self.self_attention_norm = None if first and not config.first_norm else norm()
        self.cross_attention = Attention(config, rngs=rngs) if cross else None
        self.cross_attention_norm = norm() if cross else None
        self.mlp = MLP(config, rngs=rngs)
        self.mlp_norm = None if config.parallel == "one_norm" else norm()
        self.self_attention_output_norm = norm() if sandwich else None
        self.cross_attention_output_norm = norm() if sandwich and cross else None
        self.mlp_output_norm = norm() if sandwich else None

    def costs(self) -> tuple[LayerCost, ...]:
        """Costs of the sub-layers, each with its norms and residual connection; that of cross-attention last."""
        modules: Any = (self.self_attention, self.mlp, self.cross_attention)
        layers = [module.costs() for module in modules if module is not None]
        width = self.mlp.output.out_features
        form: Any = {"dropout": self.has_dropout, "norms": 2 if self.norm == "sandwich" else 1}
        # XLA:CPU computes a parallel feed-forward layer while it holds the keys and values of attention.
        beside = (0, layers[0].keys.held + width if self.parallel else 0, 0)
        return tuple(layer.in_block(width, beside=more, **form) for layer, more in zip(layers, beside, strict=False))

    def cross_memory(
        self, x: jax.Array, encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], source: Sequence
    ) -> KeysValues:
        """Keys and values of the cross-attention, from an encoder's output ``x [B, K, M]``."""
        assert self.cross_attention is not None
        return self.cross_attention.keys_values(x, encodings, params, source)

    def __call__(
        self,
        x: jax.Array,
        layer: LayerEncodings,
        *,
        cross_layer: LayerEncodings | None,
        memory: KeysValues | None,
        remember: Callable[[KeysValues], KeysValues] | None,
        dropout: Dropout,
        site: int,
        capture: bool,
    ) -> tuple[jax.Array, KeysValues, Captured]:
        """``x [B, S, M]`` after this layer, the keys and values that its self-attention saw, and activations.

        Args:
          layer, cross_layer: encodings of self-attention and cross-attention.
          memory: keys and values of the cross-attention.
          remember: puts new keys and values behind those of a cache.
          site: the first of this layer's dropout sites.
        """
        captured: Captured = {}

        def before(norm: Any) -> jax.Array:
            return x if norm is None or self.norm not in ("pre", "sandwich") else norm(x)

        def after(norm: Any, output_norm: Any, out: Any, sublayer: int) -> jax.Array:
            if self.norm in ("output", "sandwich"):
                out = (norm if output_norm is None else output_norm)(out)
            added = x + dropout(out, site + sublayer)
            return norm(added) if self.norm == "post" else added

        h = before(self.self_attention_norm)
        keys_values = self.self_attention.keys_values(h, layer.encodings, layer.params, layer.sequence)
        if remember is not None:
            keys_values = remember(keys_values)
        out, weights = self.self_attention(h, keys_values, layer, return_weights=capture)
        captured |= {"attention_weights": weights, "attention_output": out}
        if self.parallel and self.mlp_norm is not None:
            h = before(self.mlp_norm)
        x = after(self.self_attention_norm, self.self_attention_output_norm, out, 0)

        if self.cross_attention is not None:
            assert memory is not None
            assert cross_layer is not None
            h = before(self.cross_attention_norm)
            out, weights = self.cross_attention(h, memory, cross_layer, return_weights=capture)
            captured |= {"cross_attention_weights": weights, "cross_attention_output": out}
            x = after(self.cross_attention_norm, self.cross_attention_output_norm, out, 1)

        out = self.mlp(h if self.parallel else before(self.mlp_norm))
        x = after(self.mlp_norm, self.mlp_output_norm, out, 2)
        return x, keys_values, captured | {"mlp_output": out, "output": x}


# What is kept of a layer, beside its input, for the gradient.
_KEPT = {
    "dots": jax.checkpoint_policies.dots_with_no_batch_dims_saveable,
    "layers": jax.checkpoint_policies.nothing_saveable,
}


class Stack(nnx.Module):
    """The ``num_layers`` of an encoder or a decoder, unrolled, and the norms after them and of the embeddings, which
    `Model.embed` calls, if the config has them.
    """

    def __init__(self, config: Transformer, num_layers: int, *, cross: bool = False, rngs: nnx.Rngs):
        self.blocks = nnx.List([Block(config, cross=cross, first=i == 0, rngs=rngs) for i in range(num_layers)])
        self.final_norm = norm_layer(config, rngs=rngs) if config.has_final_norm else None
        self.embedding_norm = norm_layer(config, rngs=rngs) if config.embedding_norm else None
        self.remat = config.remat

    def with_masks(self, dropout: Dropout, x: jax.Array) -> Dropout:
        """The dropout of a call on embedded ``x``, whose masks are drawn at once unless layers are computed again."""
        of_layer = (0, 1, 2) if any(block.cross_attention is not None for block in self.blocks) else (0, 2)
        firsts = (EMBEDDINGS + 1 + SITES_PER_LAYER * index for index in range(len(self.blocks)))
        sites = [EMBEDDINGS, *(first + sublayer for first in firsts for sublayer in of_layer)]
        return dropout.drawn(x, sites) if self.remat == "none" else dropout

    def memory(
        self,
        x: jax.Array,
        layers: tuple[tuple[tuple[PositionalEncoding, ...], tuple[Params, ...]], ...],
        source: Sequence,
    ) -> tuple[KeysValues, ...]:
        """Keys and values of every layer's cross-attention, from an encoder's output ``x [B, K, M]``; ``layers`` are
        the encodings of each and their parameters.
        """
        return tuple(block.cross_memory(x, *layer, source) for block, layer in zip(self.blocks, layers, strict=True))

    def __call__(
        self,
        x: jax.Array,
        layers: tuple[LayerEncodings, ...],
        *,
        cross_layers: tuple[LayerEncodings, ...] | None = None,
        memory: tuple[KeysValues, ...] | None = None,
        remember: Callable[[int, KeysValues], KeysValues] | None = None,
        dropout: Dropout,
        capture: bool = False,
    ) -> tuple[jax.Array, tuple[KeysValues, ...], Captured]:
        """``[B, S, M]`` of embedded ``x [B, S, M]``, every layer's keys and values, and activations.

        Captured are "embeddings" ``[B, S, M]`` and "layers", one dict a layer: "attention_weights" ``[B, H, Q, K]``
        (None unless ``capture``), "attention_output" and "mlp_output" ``[B, S, M]`` (of the sub-layers, before a norm
        of them, dropout and residual connection), "output" ``[B, S, M]``; with cross-attention also
        "cross_attention_weights" and "cross_attention_output".
        """
        captured: Captured = {"embeddings": x, "layers": ()}
        all_keys_values: tuple[KeysValues, ...] = ()
        for index, block in enumerate(self.blocks):
            layer: Callable[[jax.Array], Any] = functools.partial(
                block,
                layer=layers[index],
                cross_layer=None if cross_layers is None else cross_layers[index],
                memory=None if memory is None else memory[index],
                remember=None if remember is None else functools.partial(remember, index),
                dropout=dropout,
                site=EMBEDDINGS + 1 + SITES_PER_LAYER * index,
                capture=capture,
            )
            if self.remat != "none":
                layer = jax.checkpoint(layer, policy=_KEPT[self.remat])
            x, keys_values, of_block = layer(x)
            all_keys_values += (keys_values,)
            captured["layers"] += (of_block,)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return x, all_keys_values, captured
