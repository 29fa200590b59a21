"""Qwen 1.5, 2 and 2.5: Llama's form, with biases of queries, keys and values (https://arxiv.org/abs/2407.10671;
transformers ``models/qwen2/modeling_qwen2.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama
from posenc_jax.huggingface.family import Settings


def settings(config: Settings) -> dict:
    return llama.settings(config) | {
        "num_kv_heads": config.whole("num_key_value_heads", 32),
        "attention_bias": True,
        "attention_output_bias": False,
        "mlp_bias": False,
    }


FAMILY = dataclasses.replace(
    llama.FAMILY, name="qwen2", architecture="Qwen2ForCausalLM", title="Qwen 2", settings=settings
)
