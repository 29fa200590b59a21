"""Llama 1 to 3 and what has its form: SmolLM, SmolLM2, TinyLlama, Vicuna, Yi; and forms that change it.

Pre-norm with RMSNorm, SwiGLU, rotary positions in the half layout (https://arxiv.org/abs/2307.09288; transformers
``models/llama/modeling_llama.py``).
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import QKV, NameRule, attention, each_layer, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("hidden_act", "silu")
    return {
        **config.sizes(),
        "num_kv_heads": config.whole("num_key_value_heads", None),
        "head_dim": config.whole("head_dim", None),
        "mlp_dim": config.whole("intermediate_size"),
        "norm_type": "rms",
        "norm_epsilon": config.number("rms_norm_eps", 1e-6),
        "activation": "swiglu",
        "tie_output": config.flag("tie_word_embeddings", False),
        "attention_bias": config.flag("attention_bias", False),
        "mlp_bias": config.flag("mlp_bias", False),
    }


layer = functools.partial(each_layer, "model.layers.{}", "decoder.blocks.{}")
ATTENTION = attention("self_attn.{}_proj", "q k v o")
FEED_FORWARD = (
    *linear("mlp.gate_proj", "mlp.gate"),
    *linear("mlp.up_proj", "mlp.hidden"),
    *linear("mlp.down_proj", "mlp.output"),
)
LAYER = layer(
    norm("input_layernorm", "self_attention_norm"),
    ATTENTION,
    norm("post_attention_layernorm", "mlp_norm"),
    FEED_FORWARD,
)
OUTSIDE = (
    NameRule("model.embed_tokens.weight", ("embedding.table",)),
    *norm("model.norm", "decoder.final_norm"),
    *linear("lm_head", "output"),
)

FAMILY = Family(
    name="llama",
    architecture="LlamaForCausalLM",
    title="Llama",
    settings=settings,
    names=(*OUTSIDE, *LAYER),
    tied={"lm_head.weight": "model.embed_tokens.weight"},
    ignored=(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq",),
)


def _like_llama(name: str, architecture: str, title: str, own: Callable[[Settings], dict], **changes: Any) -> Family:
    """A family of Llama's form with settings of its ``own``."""
    changes["settings"] = lambda config: settings(config) | own(config)
    return dataclasses.replace(FAMILY, name=name, architecture=architecture, title=title, **changes)


# 8 key heads where a config says nothing (``models/mistral/modeling_mistral.py``).
MISTRAL = _like_llama(
    "mistral",
    "MistralForCausalLM",
    "Mistral",
    lambda config: {"num_kv_heads": config.whole("num_key_value_heads", 8), "attention_bias": False, "mlp_bias": False},
)

# Qwen 1.5, 2 and 2.5: biases of queries, keys and values (https://arxiv.org/abs/2407.10671;
# ``models/qwen2/modeling_qwen2.py``).
QWEN2 = _like_llama(
    "qwen2",
    "Qwen2ForCausalLM",
    "Qwen 2",
    lambda config: {
        "num_kv_heads": config.whole("num_key_value_heads", 32),
        "attention_bias": True,
        "attention_output_bias": False,
        "mlp_bias": False,
    },
)

NORMS = layer(
    NameRule("self_attn.q_norm.weight", ("self_attention.query_norm.scale",)),
    NameRule("self_attn.k_norm.weight", ("self_attention.key_norm.scale",)),
)
# Norms of the queries and keys of each head (https://arxiv.org/abs/2505.09388; ``models/qwen3/modeling_qwen3.py``).
QWEN3 = _like_llama(
    "qwen3",
    "Qwen3ForCausalLM",
    "Qwen 3",
    lambda config: {
        "num_kv_heads": config.whole("num_key_value_heads", 32),
        "head_dim": config.whole("head_dim", 128),
        "query_key_norm": "head",
        "mlp_bias": False,
    },
    names=(*FAMILY.names, *NORMS),
)

# No positions in every fourth layer (``models/smollm3/modeling_smollm3.py``).
SMOLLM3 = _like_llama(
    "smollm3",
    "SmolLM3ForCausalLM",
    "SmolLM3",
    lambda config: {
        "num_kv_heads": config.whole("num_key_value_heads", 4),
        "tie_output": config.flag("tie_word_embeddings", True),
    },
)

# Phi-3, 3.5 and 4-mini: queries, keys and values in one matrix, and the gate above the hidden layer in another
# (https://arxiv.org/abs/2404.14219; ``models/phi3/modeling_phi3.py``).
PHI3 = _like_llama(
    "phi3",
    "Phi3ForCausalLM",
    "Phi-3",
    lambda config: {"norm_epsilon": config.number("rms_norm_eps", 1e-5), "attention_bias": False, "mlp_bias": False},
    names=(
        *OUTSIDE,
        *layer(
            norm("input_layernorm", "self_attention_norm"),
            linear("self_attn.qkv_proj", *QKV),
            linear("self_attn.o_proj", "self_attention.output"),
            norm("post_attention_layernorm", "mlp_norm"),
            linear("mlp.gate_up_proj", "mlp.gate", "mlp.hidden"),
            linear("mlp.down_proj", "mlp.output"),
        ),
    ),
    ignored=(),
)

# Norms of what sub-layers give, ``x + norm(f(x))``, and norms of all queries and all keys of a token
# (https://arxiv.org/abs/2501.00656; ``models/olmo2/modeling_olmo2.py``).
OLMO2 = _like_llama(
    "olmo2",
    "Olmo2ForCausalLM",
    "OLMo 2",
    lambda config: {
        "norm": "output",
        "norm_epsilon": config.number("rms_norm_eps", 1e-5),
        "query_key_norm": "projection",
        "mlp_bias": False,
    },
    names=(
        *OUTSIDE,
        *NORMS,
        *layer(
            ATTENTION,
            norm("post_attention_layernorm", "self_attention_norm"),
            FEED_FORWARD,
            norm("post_feedforward_layernorm", "mlp_norm"),
        ),
    ),
)
