"""GPT-NeoX and Pythia: attention and feed-forward layer side by side, each behind a norm of its own; a part of each
head is rotated, and queries, keys and values stand by head in one matrix (https://arxiv.org/abs/2204.06745;
transformers ``models/gpt_neox/modeling_gpt_neox.py``).
"""

import dataclasses

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import BY_HEAD, QKV, NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    return {
        **config.without_gate("layer_norm_eps", "hidden_act", "gelu", tied=False),
        "mlp_dim": config.whole("intermediate_size"),
        "parallel": "two_norms" if config.flag("use_parallel_residual", True) else None,
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


def _settings_of_falcon(config: Settings) -> dict:
    config.refuse_unless("alibi", False, None)
    grouped, biases = config.flag("new_decoder_architecture", False), config.flag("bias", False)
    own_norms = grouped and config.whole("num_ln_in_parallel_attn", 2) == 2
    beside = grouped or config.flag("parallel_attn", True)
    one_key = not grouped and config.flag("multi_query", True)
    return {
        **config.without_gate("layer_norm_epsilon", "activation", "gelu", tied=True),
        "num_kv_heads": 1 if one_key else config.whole("num_kv_heads", None) if grouped else None,
        "mlp_dim": config.whole("ffn_hidden_size", None),
        "parallel": "two_norms" if own_norms else "one_norm" if beside else None,
        "attention_bias": biases,
        "mlp_bias": biases,
    }


# BLOOM's names, rotated heads: the layouts of 7B, of 40B and 180B, and of 11B (https://arxiv.org/abs/2311.16867;
# ``models/falcon/modeling_falcon.py``). Not read: ALiBi (Falcon-RW), which transformers rounds to bfloat16.
FALCON = dataclasses.replace(
    BLOOM,
    name="falcon",
    architecture="FalconForCausalLM",
    title="Falcon",
    settings=_settings_of_falcon,
    renamed=lambda model: (
        {"input_layernorm": "ln_attn", "post_attention_layernorm": "ln_mlp"} if model.parallel == "two_norms" else {}
    ),
    ignored=(r"(transformer\.)?h\.\d+\.self_attention\.rotary_emb\.inv_freq",),
)
