"""BLOOM: ALiBi, a norm of the embeddings, GELU by tanh; queries, keys and values stand by head in one matrix
(https://arxiv.org/abs/2211.05100; transformers ``models/bloom/modeling_bloom.py``, whose GELU has sqrt(2 / pi) to eight
digits).
"""

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import BY_HEAD, NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    """The fields of `Transformer` that a config says."""
    config.refuse_unless("apply_residual_connection_post_layernorm", False)
    return {
        "d_model": config.whole("hidden_size"),
        "num_layers": config.whole("num_hidden_layers"),
        "num_heads": config.whole("num_attention_heads"),
        "norm_epsilon": config.number("layer_norm_epsilon", 1e-5),
        "embedding_norm": True,
        "activation": "gelu_tanh",
        "scale_embeddings": False,
        "tie_output": config.flag("tie_word_embeddings", True),
        "output_bias": False,
    }


FAMILY = Family(
    name="bloom",
    architecture="BloomForCausalLM",
    title="BLOOM",
    kind="decoder_only",
    settings=settings,
    names=(
        NameRule("transformer.word_embeddings.weight", ("embedding.table",)),
        *norm("transformer.word_embeddings_layernorm", "decoder.embedding_norm"),
        *norm("transformer.ln_f", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *each_layer(
            "transformer.h.{}",
            "decoder.blocks.{}",
            norm("input_layernorm", "self_attention_norm"),
            linear(
                "self_attention.query_key_value",
                *(f"self_attention.{part}" for part in ("query", "key", "value")),
                change=BY_HEAD,
            ),
            linear("self_attention.dense", "self_attention.output"),
            norm("post_attention_layernorm", "mlp_norm"),
            linear("mlp.dense_h_to_4h", "mlp.hidden"),
            linear("mlp.dense_4h_to_h", "mlp.output"),
        ),
    ),
    tied={"lm_head.weight": "transformer.word_embeddings.weight"},
    left_out="transformer.",
    max_length=2048,
)
