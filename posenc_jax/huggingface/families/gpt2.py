"""GPT-2: pre-norm with LayerNorm, GELU by tanh, learned positions, a tied output.

Its matrices are not turned (``Conv1D``), and queries, keys and values stand side by side in one (transformers
``models/gpt2/modeling_gpt2.py``). Files on the hub leave out ``transformer.`` before all names.
"""

import dataclasses

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import QKV, SAME, NameRule, attention, each_layer, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("scale_attn_weights", True)
    config.refuse_unless("scale_attn_by_inverse_layer_idx", False)
    config.refuse_unless("add_cross_attention", False)
    plain = config.without_gate("layer_norm_epsilon", "activation_function", "gelu_new", tied=True)
    return {**plain, "mlp_dim": config.whole("n_inner", None)}


_OUTSIDE = (
    NameRule("transformer.wte.weight", ("embedding.table",)),
    NameRule("transformer.wpe.weight", ("posenc.decoder.0.table",)),
    *norm("transformer.ln_f", "decoder.final_norm"),
    *linear("lm_head", "output"),
)

FAMILY = Family(
    name="gpt2",
    architecture="GPT2LMHeadModel",
    title="GPT-2",
    settings=settings,
    names=(
        *_OUTSIDE,
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


def _settings_of_gpt_neo(config: Settings) -> dict:
    return {
        **config.without_gate("layer_norm_epsilon", "activation_function", "gelu_new", tied=True),
        "mlp_dim": config.whole("intermediate_size", None),
        "divide_logits": False,
        "attention_bias": False,
        "attention_output_bias": True,
    }


# Every second layer has a window, matrices are turned, and logits are not divided (Black et al. 2021;
# ``models/gpt_neo/modeling_gpt_neo.py``).
GPT_NEO = dataclasses.replace(
    FAMILY,
    name="gpt_neo",
    architecture="GPTNeoForCausalLM",
    title="GPT-Neo",
    settings=_settings_of_gpt_neo,
    names=(
        *_OUTSIDE,
        *each_layer(
            "transformer.h.{}",
            "decoder.blocks.{}",
            norm("ln_1", "self_attention_norm"),
            attention("attn.attention.{}_proj", "q k v out"),
            norm("ln_2", "mlp_norm"),
            linear("mlp.c_fc", "mlp.hidden"),
            linear("mlp.c_proj", "mlp.output"),
        ),
    ),
    ignored=(r"(transformer\.)?h\.\d+\.attn\.attention\.(masked_)?bias",),
)
