"""How many parameters a model has, told without building it: sums of the shapes in `blocks`, `embedding`, `pooling`."""

from __future__ import annotations

from posenc_jax.model_kind import ModelKind
from posenc_jax.models.config import STACKS, Transformer


def num_parameters(kind: ModelKind, config: Transformer, *, vocab_size: int, num_classes: int) -> int:
    """Parameters of `posenc_jax.models.build`, those of the encodings apart."""
    width = config.d_model
    total = (vocab_size + config.token_types + (0 if config.tie_embeddings else num_classes)) * width
    total += 0 if config.tie_output else _linear(width, num_classes, bias=True)
    for stack in STACKS[kind]:
        if stack != "cross":  # part of the decoder's blocks
            cross = kind == "encoder_decoder" and stack == "decoder"
            total += config.depth(stack) * _block(config, cross=cross) + config.has_final_norm * _norm(config)
    return total + (_pooling(config) if config.pooling == "attention" else 0)


def _block(config: Transformer, *, cross: bool) -> int:
    hidden, attentions = hidden_width(config), 1 + cross
    mlp = _linear(config.d_model, hidden, config.mlp_bias) + _linear(hidden, config.d_model, config.mlp_bias)
    return attentions * (_attention(config) + _norm(config)) + mlp + _norm(config)


def _attention(config: Transformer) -> int:
    queries, keys, bias = config.num_heads * config.width_of_head, key_width(config), config.attention_bias
    return (
        _linear(config.d_model, queries, bias)
        + 2 * _linear(config.d_model, keys, bias)
        + _linear(queries, config.d_model, bias)
    )


def _pooling(config: Transformer) -> int:
    queries = max(config.token_types - 1, 1) * config.num_heads * config.width_of_head
    keys, bias = key_width(config), config.attention_bias
    return queries + 2 * _linear(config.d_model, keys, bias) + _linear(queries, config.d_model, bias)


def _norm(config: Transformer) -> int:
    return config.d_model * (2 if config.norm_type == "layer" else 1)


def _linear(inputs: int, outputs: int, bias: bool) -> int:
    return (inputs + bias) * outputs


def hidden_width(config: Transformer) -> int:
    """Hidden width of the feed-forward layer."""
    return config.mlp_dim or 4 * config.d_model


def key_width(config: Transformer) -> int:
    """Width of the keys of all heads together."""
    return config.kv_heads * config.width_of_head
