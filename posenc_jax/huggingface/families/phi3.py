"""Phi-3, 3.5 and 4-mini: Llama's form, with queries, keys and values in one matrix, and the gate above the hidden
layer in another (https://arxiv.org/abs/2404.14219; transformers ``models/phi3/modeling_phi3.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama
from posenc_jax.huggingface.family import Settings
from posenc_jax.huggingface.names import QKV, linear, norm


def settings(config: Settings) -> dict:
    return llama.settings(config) | {
        "norm_epsilon": config.number("rms_norm_eps", 1e-5),
        "attention_bias": False,
        "mlp_bias": False,
    }


FAMILY = dataclasses.replace(
    llama.FAMILY,
    name="phi3",
    architecture="Phi3ForCausalLM",
    title="Phi-3",
    settings=settings,
    names=(
        *llama.OUTSIDE,
        *llama.layer(
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
