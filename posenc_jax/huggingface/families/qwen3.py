"""Qwen 3: Llama's form, with norms of the queries and keys of each head (https://arxiv.org/abs/2505.09388; transformers
``models/qwen3/modeling_qwen3.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama
from posenc_jax.huggingface.family import Settings
from posenc_jax.huggingface.names import NameRule


def settings(config: Settings) -> dict:
    return llama.settings(config) | {
        "num_kv_heads": config.whole("num_key_value_heads", 32),
        "head_dim": config.whole("head_dim", 128),
        "query_key_norm": "head",
        "mlp_bias": False,
    }


NORMS = llama.layer(
    NameRule("self_attn.q_norm.weight", ("self_attention.query_norm.scale",)),
    NameRule("self_attn.k_norm.weight", ("self_attention.key_norm.scale",)),
)

FAMILY = dataclasses.replace(
    llama.FAMILY,
    name="qwen3",
    architecture="Qwen3ForCausalLM",
    title="Qwen 3",
    settings=settings,
    names=(*llama.FAMILY.names, *NORMS),
)
