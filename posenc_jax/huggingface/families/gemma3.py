"""Gemma 3, text alone: Gemma 2's form without the cap of attention, with norms of queries and keys of each head
(https://arxiv.org/abs/2503.19786; transformers ``models/gemma3/modeling_gemma3.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import gemma2, qwen3
from posenc_jax.huggingface.family import Settings


def settings(config: Settings) -> dict:
    return gemma2.settings(config) | {
        "query_key_norm": "head",
        "attention_cap": None,  # its class does not read attn_logit_softcapping
        "logit_cap": config.cap("final_logit_softcapping", None),
    }


FAMILY = dataclasses.replace(
    gemma2.FAMILY,
    name="gemma3_text",
    architecture="Gemma3ForCausalLM",
    title="Gemma 3",
    settings=settings,
    names=(*gemma2.FAMILY.names, *qwen3.NORMS),
)
