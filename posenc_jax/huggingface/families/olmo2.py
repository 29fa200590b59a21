"""OLMo 2: Llama's form, with norms of what sub-layers give, ``x + norm(f(x))``, and norms of all queries and all keys
of a token (https://arxiv.org/abs/2501.00656; transformers ``models/olmo2/modeling_olmo2.py``).
"""

import dataclasses

from posenc_jax.huggingface.families import llama, qwen3
from posenc_jax.huggingface.family import Settings
from posenc_jax.huggingface.names import norm


def settings(config: Settings) -> dict:
    return llama.settings(config) | {
        "norm": "output",
        "norm_epsilon": config.number("rms_norm_eps", 1e-5),
        "query_key_norm": "projection",
        "mlp_bias": False,
    }


LAYER = llama.layer(
    llama.ATTENTION,
    norm("post_attention_layernorm", "self_attention_norm"),
    llama.FEED_FORWARD,
    norm("post_feedforward_layernorm", "mlp_norm"),
)

FAMILY = dataclasses.replace(
    llama.FAMILY,
    name="olmo2",
    architecture="Olmo2ForCausalLM",
    title="OLMo 2",
    settings=settings,
    names=(*llama.OUTSIDE, *qwen3.NORMS, *LAYER),
)
