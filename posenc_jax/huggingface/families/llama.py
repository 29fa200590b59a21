"""Llama 1 to 3 and what has its form: SmolLM, SmolLM2, TinyLlama, Vicuna, Yi.

Pre-norm with RMSNorm, SwiGLU, rotary positions in the half layout (https://arxiv.org/abs/2307.09288; transformers
``models/llama/modeling_llama.py``).
"""

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    """The fields of `Transformer` that a config says."""
    config.refuse_unless("hidden_act", "silu")
    return {
        "d_model": config.whole("hidden_size"),
        "num_layers": config.whole("num_hidden_layers"),
        "num_heads": config.whole("num_attention_heads"),
        "num_kv_heads": config.whole("num_key_value_heads", None),
        "head_dim": config.whole("head_dim", None),
        "mlp_dim": config.whole("intermediate_size"),
        "norm_type": "rms",
        "norm_epsilon": config.number("rms_norm_eps", 1e-6),
        "activation": "swiglu",
        "scale_embeddings": False,
        "tie_output": config.flag("tie_word_embeddings", False),
        "output_bias": False,
        "attention_bias": config.flag("attention_bias", False),
        "mlp_bias": config.flag("mlp_bias", False),
    }


LAYER = each_layer(
    "model.layers.{}",
    "decoder.blocks.{}",
    norm("input_layernorm", "self_attention_norm"),
    linear("self_attn.q_proj", "self_attention.query"),
    linear("self_attn.k_proj", "self_attention.key"),
    linear("self_attn.v_proj", "self_attention.value"),
    linear("self_attn.o_proj", "self_attention.output"),
    norm("post_attention_layernorm", "mlp_norm"),
    linear("mlp.gate_proj", "mlp.gate"),
    linear("mlp.up_proj", "mlp.hidden"),
    linear("mlp.down_proj", "mlp.output"),
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
    kind="decoder_only",
    settings=settings,
    names=(*OUTSIDE, *LAYER),
    tied={"lm_head.weight": "model.embed_tokens.weight"},
    ignored=(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq",),
)
