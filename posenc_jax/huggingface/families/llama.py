"""Llama 1 to 3 and what has its form: SmolLM, SmolLM2, TinyLlama, Vicuna, Yi.

Pre-norm with RMSNorm, SwiGLU, rotary positions in the half layout (https://arxiv.org/abs/2307.09288; transformers
``models/llama/modeling_llama.py``).
"""

import functools

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import NameRule, attention, each_layer, linear, norm


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
