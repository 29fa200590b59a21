"""BLOOM: ALiBi, a norm of the embeddings, GELU by tanh; queries, keys and values stand by head in one matrix
(https://arxiv.org/abs/2211.05100; transformers ``models/bloom/modeling_bloom.py``, whose GELU has sqrt(2 / pi) to eight
digits).
"""

from posenc_jax.huggingface.families import gpt_neox
from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import NameRule, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("apply_residual_connection_post_layernorm", False)
    return {
        **config.sizes(),
        "norm_epsilon": config.number("layer_norm_epsilon", 1e-5),
        "embedding_norm": True,
        "activation": "gelu_tanh",
        "tie_output": config.flag("tie_word_embeddings", True),
    }


FAMILY = Family(
    name="bloom",
    architecture="BloomForCausalLM",
    title="BLOOM",
    settings=settings,
    names=(
        NameRule("transformer.word_embeddings.weight", ("embedding.table",)),
        *norm("transformer.word_embeddings_layernorm", "decoder.embedding_norm"),
        *norm("transformer.ln_f", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *gpt_neox.layers("transformer.h.{}", "self_attention"),
    ),
    tied={"lm_head.weight": "transformer.word_embeddings.weight"},
    left_out="transformer.",
    max_length=2048,
)
