"""SmolLM3: Llama's form, without positions in every fourth layer (transformers
``models/smollm3/modeling_smollm3.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama
from posenc_jax.huggingface.family import Settings


def settings(config: Settings) -> dict:
    return llama.settings(config) | {
        "num_kv_heads": config.whole("num_key_value_heads", 4),
        "tie_output": config.flag("tie_word_embeddings", True),
    }


FAMILY = dataclasses.replace(
    llama.FAMILY, name="smollm3", architecture="SmolLM3ForCausalLM", title="SmolLM3", settings=settings
)
