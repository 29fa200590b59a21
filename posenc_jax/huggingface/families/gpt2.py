"""GPT-2: pre-norm with LayerNorm, GELU by tanh, learned positions, a tied output.

Its matrices are not turned (``Conv1D``), and queries, keys and values stand side by side in one (transformers
``models/gpt2/modeling_gpt2.py``). Files on the hub leave out ``transformer.`` before all names.
"""

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import QKV, SAME, NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("scale_attn_weights", True)
    config.refuse_unless("scale_attn_by_inverse_layer_idx", False)
    config.refuse_unless("add_cross_attention", False)
    return {
        **config.sizes(),
        "mlp_dim": config.whole("n_inner", None),
        "activation": config.activation("activation_function", "gelu_new"),
        "norm_epsilon": config.number("layer_norm_epsilon", 1e-5),
        "tie_output": config.flag("tie_word_embeddings", True),
    }


FAMILY = Family(
    name="gpt2",
    architecture="GPT2LMHeadModel",
    title="GPT-2",
    settings=settings,
    names=(
        NameRule("transformer.wte.weight", ("embedding.table",)),
        NameRule("transformer.wpe.weight", ("posenc.decoder.0.table",)),
        *norm("transformer.ln_f", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *each_layer(
            "transformer.h.{}",
            "decoder.blocks.{}",
            norm("ln_1", "self_attention_norm"),
            linear("attn.c_attn", *QKV, change=SAME),
            linear("attn.c_proj", "self_attention.output", change=SAME),
            norm("ln_2", "mlp_norm"),
            linear("mlp.c_fc", "mlp.hidden", change=SAME),
            linear("mlp.c_proj", "mlp.output", change=SAME),
        ),
    ),
    tied={"lm_head.weight": "transformer.wte.weight"},
    left_out="transformer.",
    ignored=(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias",),
)
