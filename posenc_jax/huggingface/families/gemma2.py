"""Gemma 2: norms before and after each sub-layer, whose factors are ``1 + w``; GELU with a gate, embeddings times
sqrt(d_model), caps of logits (https://arxiv.org/abs/2408.00118; transformers ``models/gemma2/modeling_gemma2.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama
from posenc_jax.huggingface.family import Settings
from posenc_jax.huggingface.names import norm


def settings(config: Settings) -> dict:
    config.refuse_unless("hidden_activation", "gelu_pytorch_tanh")
    config.refuse_unless("use_bidirectional_attention", None, False)
    return {
        **config.sizes(),
        **llama.heads(config, 4, 256),
        "norm": "sandwich",
        "norm_type": "rms_offset",
        "norm_epsilon": config.number("rms_norm_eps", 1e-6),
        "activation": "geglu_tanh",
        "scale_embeddings": True,
        "tie_output": config.flag("tie_word_embeddings", True),
        "attention_bias": config.flag("attention_bias", False),
        "mlp_bias": False,
        "attention_scale": config.number("query_pre_attn_scalar", 256.0) ** -0.5,
        "attention_cap": config.cap("attn_logit_softcapping", 50.0),
        "logit_cap": config.cap("final_logit_softcapping", 30.0),
    }


LAYER = llama.layer(
    norm("input_layernorm", "self_attention_norm"),
    llama.ATTENTION,
    norm("post_attention_layernorm", "self_attention_output_norm"),
    norm("pre_feedforward_layernorm", "mlp_norm"),
    llama.FEED_FORWARD,
    norm("post_feedforward_layernorm", "mlp_output_norm"),
)

# Text alone: no cap of attention, norms of queries and keys of each head (https://arxiv.org/abs/2503.19786;
# ``models/gemma3/modeling_gemma3.py``).
FAMILY = dataclasses.replace(
    llama.FAMILY,
    name="gemma2",
    architecture="Gemma2ForCausalLM",
    title="Gemma 2",
    settings=settings,
    names=(*llama.OUTSIDE, *LAYER),
)


def _settings_of_gemma3(config: Settings) -> dict:
    return settings(config) | {
        "query_key_norm": "head",
        "attention_cap": None,  # its class does not read attn_logit_softcapping
        "logit_cap": config.cap("final_logit_softcapping", None),
    }


GEMMA3 = dataclasses.replace(
    FAMILY,
    name="gemma3_text",
    architecture="Gemma3ForCausalLM",
    title="Gemma 3",
    settings=_settings_of_gemma3,
    names=(*FAMILY.names, *llama.NORMS),
)
