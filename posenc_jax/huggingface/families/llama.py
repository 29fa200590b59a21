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
        **heads(config),
        "norm_type": "rms",
        "norm_epsilon": config.number("rms_norm_eps", 1e-6),
        "activation": "swiglu",
        "tie_output": config.flag("tie_word_embeddings", False),
        "attention_bias": config.flag("attention_bias", False),
        "mlp_bias": config.flag("mlp_bias", False),
    }


def heads(config: Settings, key_heads: int | None = None, width: int | None = None) -> dict:
    """The width of the feed-forward layer, and of heads, and the number of those of keys, with their defaults."""
    return {
        "num_kv_heads": config.whole("num_key_value_heads", key_heads),
        "head_dim": config.whole("head_dim", width),
        "mlp_dim": config.whole("intermediate_size"),
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

# The text model of Qwen2-VL: Qwen 2 with M-RoPE, which has one number for all three axes in text
# (https://arxiv.org/abs/2409.12191; ``models/qwen2_vl/modeling_qwen2_vl.py``).
QWEN2_VL = dataclasses.replace(
    QWEN2,
    name="qwen2_vl",
    architecture="Qwen2VLForConditionalGeneration",
    title="Qwen2-VL (text)",
    settings=lambda config: (
        QWEN2.settings(config)
        | {
            "num_kv_heads": config.whole("num_key_value_heads", 8),
            "head_dim": None,
            "norm_epsilon": config.number("rms_norm_eps", 1e-5),
        }
    ),
    spellings={"model.language_model.": "model."},
    ignored=(*FAMILY.ignored, r"(model\.)?visual\..*"),
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

# OLMo 2 with windows (https://arxiv.org/abs/2512.13961; ``models/olmo3/modeling_olmo3.py``).
OLMO3 = dataclasses.replace(OLMO2, name="olmo3", architecture="Olmo3ForCausalLM", title="OLMo 3")


def _settings_of_gemma(config: Settings) -> dict:
    config.refuse_unless("use_bidirectional_attention", None, False)
    config.refuse_unless("hidden_act", "gelu_pytorch_tanh", "gelu")
    return {
        **config.sizes(),
        **heads(config, 16, 256),
        "norm_type": "rms_offset",
        "norm_epsilon": config.number("rms_norm_eps", 1e-6),
        "activation": "geglu" if config.values.get("hidden_act") == "gelu" else "geglu_tanh",
        "scale_embeddings": True,
        "tie_output": config.flag("tie_word_embeddings", True),
        "attention_bias": config.flag("attention_bias", False),
        "mlp_bias": False,
    }


# Factors of norms are ``1 + w``, GELU with a gate, embeddings times sqrt(d_model) (https://arxiv.org/abs/2403.08295;
# ``models/gemma/modeling_gemma.py``).
GEMMA = dataclasses.replace(
    FAMILY, name="gemma", architecture="GemmaForCausalLM", title="Gemma", settings=_settings_of_gemma
)


def _settings_of_stablelm(config: Settings) -> dict:
    config.refuse_unless("qk_layernorm", False)
    return settings(config) | {
        "num_kv_heads": config.whole("num_key_value_heads", 32),
        "head_dim": None,
        "norm_type": "layer",
        "norm_epsilon": config.number("layer_norm_eps", 1e-5),
        "parallel": "one_norm" if config.flag("use_parallel_residual", False) else None,
        "attention_bias": config.flag("use_qkv_bias", False),
        "attention_output_bias": False,
        "mlp_bias": False,
    }


# LayerNorm, and a part of each head is rotated (https://arxiv.org/abs/2402.17834;
# ``models/stablelm/modeling_stablelm.py``).
STABLELM = dataclasses.replace(
    FAMILY, name="stablelm", architecture="StableLmForCausalLM", title="StableLM", settings=_settings_of_stablelm
)


def _settings_of_cohere(config: Settings) -> dict:
    config.refuse_unless("use_qk_norm", False)
    return settings(config) | {
        "norm_type": "layer",
        "norm_bias": False,
        "norm_epsilon": config.number("layer_norm_eps", 1e-5),
        "parallel": "one_norm",
        "tie_output": config.flag("tie_word_embeddings", True),
        "logit_scale": config.number("logit_scale", 0.0625),
        "mlp_bias": False,
    }


# Attention and feed-forward layer side by side behind one LayerNorm without biases; neighbouring dimensions are
# rotated, and logits are scaled (``models/cohere/modeling_cohere.py``; there is no paper).
COHERE = dataclasses.replace(
    FAMILY, name="cohere", architecture="CohereForCausalLM", title="Command R", settings=_settings_of_cohere
)

# Norms before and after each sub-layer; neighbouring dimensions of half of each head are rotated
# (https://arxiv.org/abs/2406.12793; ``models/glm4/modeling_glm4.py``).
GLM4 = _like_llama(
    "glm4",
    "Glm4ForCausalLM",
    "GLM-4",
    lambda config: {
        "num_kv_heads": config.whole("num_key_value_heads", 2),
        "head_dim": config.whole("head_dim", 128),
        "norm": "sandwich",
        "norm_epsilon": config.number("rms_norm_eps", 1.5625e-07),
        "attention_bias": config.flag("attention_bias", True),
        "attention_output_bias": False,
        "mlp_bias": False,
    },
    names=(
        *OUTSIDE,
        *layer(
            norm("input_layernorm", "self_attention_norm"),
            ATTENTION,
            norm("post_self_attn_layernorm", "self_attention_output_norm"),
            norm("post_attention_layernorm", "mlp_norm"),
            linear("mlp.gate_up_proj", "mlp.gate", "mlp.hidden"),
            linear("mlp.down_proj", "mlp.output"),
            norm("post_mlp_layernorm", "mlp_output_norm"),
        ),
    ),
)


def _settings_of_starcoder2(config: Settings) -> dict:
    biases = config.flag("use_bias", True)
    return {
        **config.without_gate("norm_epsilon", "hidden_act", "gelu_pytorch_tanh", tied=True),
        **heads(config, 2),
        "attention_bias": biases,
        "mlp_bias": biases,
    }


# LayerNorm, a feed-forward layer without a gate, biases (https://arxiv.org/abs/2402.19173;
# ``models/starcoder2/modeling_starcoder2.py``).
STARCODER2 = dataclasses.replace(
    FAMILY,
    name="starcoder2",
    architecture="Starcoder2ForCausalLM",
    title="StarCoder 2",
    settings=_settings_of_starcoder2,
    names=(
        *OUTSIDE,
        *layer(
            norm("input_layernorm", "self_attention_norm"),
            ATTENTION,
            norm("post_attention_layernorm", "mlp_norm"),
            linear("mlp.c_fc", "mlp.hidden"),
            linear("mlp.c_proj", "mlp.output"),
        ),
    ),
)


def _settings_of_phi(config: Settings) -> dict:
    config.refuse_unless("qk_layernorm", False)
    return {
        **config.without_gate("layer_norm_eps", "hidden_act", "gelu_new", tied=False),
        **heads(config),
        "parallel": "one_norm",
        "output_bias": True,
    }


# Phi-1, 1.5 and 2: attention and feed-forward layer side by side behind one LayerNorm, a part of each head is rotated,
# and all has biases (https://arxiv.org/abs/2309.05463; ``models/phi/modeling_phi.py``).
PHI = dataclasses.replace(
    FAMILY,
    name="phi",
    architecture="PhiForCausalLM",
    title="Phi",
    settings=_settings_of_phi,
    names=(
        OUTSIDE[0],
        *norm("model.final_layernorm", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *layer(
            norm("input_layernorm", "self_attention_norm"),
            attention("self_attn.{}", "q_proj k_proj v_proj dense"),
            linear("mlp.fc1", "mlp.hidden"),
            linear("mlp.fc2", "mlp.output"),
        ),
    ),
)
