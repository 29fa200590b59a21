"""Mistral: Llama's form, with 8 key heads where a config says nothing (transformers
``models/mistral/modeling_mistral.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama
from posenc_jax.huggingface.family import Settings


def settings(config: Settings) -> dict:
    return llama.settings(config) | {
        "num_kv_heads": config.whole("num_key_value_heads", 8),
        "attention_bias": False,
        "mlp_bias": False,
    }


FAMILY = dataclasses.replace(
    llama.FAMILY, name="mistral", architecture="MistralForCausalLM", title="Mistral", settings=settings
)
