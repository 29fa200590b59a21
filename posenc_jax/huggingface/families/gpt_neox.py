"""GPT-NeoX and Pythia: attention and feed-forward layer side by side, each behind a norm of its own; a part of each
head is rotated, and queries, keys and values stand by head in one matrix (https://arxiv.org/abs/2204.06745;
transformers ``models/gpt_neox/modeling_gpt_neox.py``).
"""

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import BY_HEAD, QKV, NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    return {
        **config.sizes(),
        "mlp_dim": config.whole("intermediate_size"),
        "norm_epsilon": config.number("layer_norm_eps", 1e-5),
        "parallel": "two_norms" if config.flag("use_parallel_residual", True) else None,
        "activation": config.activation("hidden_act", "gelu"),
        "tie_output": config.flag("tie_word_embeddings", False),
        "attention_bias": config.flag("attention_bias", True),
    }


def layers(theirs: str, attention: str) -> tuple[NameRule, ...]:
    """Those of Megatron, under the names of a layer and of its attention."""
    return each_layer(
        theirs,
        "decoder.blocks.{}",
        norm("input_layernorm", "self_attention_norm"),
        linear(f"{attention}.query_key_value", *QKV, change=BY_HEAD),
        linear(f"{attention}.dense", "self_attention.output"),
        norm("post_attention_layernorm", "mlp_norm"),
        linear("mlp.dense_h_to_4h", "mlp.hidden"),
        linear("mlp.dense_4h_to_h", "mlp.output"),
    )


FAMILY = Family(
    name="gpt_neox",
    architecture="GPTNeoXForCausalLM",
    title="GPT-NeoX",
    settings=settings,
    names=(
        NameRule("gpt_neox.embed_in.weight", ("embedding.table",)),
        *norm("gpt_neox.final_layer_norm", "decoder.final_norm"),
        *linear("embed_out", "output"),
        *layers("gpt_neox.layers.{}", "attention"),
    ),
    tied={"embed_out.weight": "gpt_neox.embed_in.weight"},
    spellings={"lm_head.": "embed_out."},
    ignored=(r"gpt_neox\.layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",),
)


def _settings_of_bloom(config: Settings) -> dict:
    config.refuse_unless("apply_residual_connection_post_layernorm", False)
    return {
        **config.sizes(),
        "norm_epsilon": config.number("layer_norm_epsilon", 1e-5),
        "embedding_norm": True,
        "activation": "gelu_tanh",
        "tie_output": config.flag("tie_word_embeddings", True),
    }


# ALiBi, a norm of the embeddings, GELU by tanh, whose sqrt(2 / pi) has eight digits in transformers
# (https://arxiv.org/abs/2211.05100; ``models/bloom/modeling_bloom.py``).
BLOOM = Family(
    name="bloom",
    architecture="BloomForCausalLM",
    title="BLOOM",
    settings=_settings_of_bloom,
    names=(
        NameRule("transformer.word_embeddings.weight", ("embedding.table",)),
        *norm("transformer.word_embeddings_layernorm", "decoder.embedding_norm"),
        *norm("transformer.ln_f", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *layers("transformer.h.{}", "self_attention"),
    ),
    tied={"lm_head.weight": "transformer.word_embeddings.weight"},
    left_out="transformer.",
    max_length=2048,
)
