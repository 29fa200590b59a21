"""MPT: ALiBi, no biases at all, GELU (https://www.databricks.com/blog/mpt-7b; transformers
``models/mpt/modeling_mpt.py``).
"""

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import QKV, NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    attention = config.inner("attn_config")
    for name, value in (("clip_qkv", None), ("qk_ln", False), ("alibi", True), ("alibi_bias_max", 8)):
        attention.refuse_unless(name, value)
    attention.refuse_unless("attn_type", "multihead_attention")
    attention.refuse_unless("prefix_lm", False)
    config.refuse_unless("no_bias", True)
    config.refuse_unless("logit_scale", None)
    return {
        **config.sizes(),
        "mlp_dim": 4 * config.whole("hidden_size"),  # its class does not read expansion_ratio
        "norm_epsilon": config.number("layer_norm_epsilon", 1e-5),
        "norm_bias": False,
        "activation": "gelu",
        "tie_output": config.flag("tie_word_embeddings", True),
        "attention_bias": False,
        "mlp_bias": False,
        "attention_scale": attention.number("softmax_scale", None),
    }


FAMILY = Family(
    name="mpt",
    architecture="MptForCausalLM",
    title="MPT",
    settings=settings,
    names=(
        NameRule("transformer.wte.weight", ("embedding.table",)),
        *norm("transformer.norm_f", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *each_layer(
            "transformer.blocks.{}",
            "decoder.blocks.{}",
            norm("norm_1", "self_attention_norm"),
            linear("attn.Wqkv", *QKV),
            linear("attn.out_proj", "self_attention.output"),
            norm("norm_2", "mlp_norm"),
            linear("ffn.up_proj", "mlp.hidden"),
            linear("ffn.down_proj", "mlp.output"),
        ),
    ),
    tied={"lm_head.weight": "transformer.wte.weight"},
)
