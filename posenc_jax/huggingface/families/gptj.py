"""GPT-J: attention and feed-forward layer side by side behind one norm; neighbouring dimensions of a part of each head
are rotated (Wang and Komatsuzaki 2021; transformers ``models/gptj/modeling_gptj.py``).
"""

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import NameRule, attention, each_layer, linear, norm


def settings(config: Settings) -> dict:
    return {
        **config.without_gate("layer_norm_epsilon", "activation_function", "gelu_new", tied=False),
        "mlp_dim": config.whole("n_inner", None),
        "parallel": "one_norm",
        "output_bias": True,
        "attention_bias": False,
    }


FAMILY = Family(
    name="gptj",
    architecture="GPTJForCausalLM",
    title="GPT-J",
    settings=settings,
    names=(
        NameRule("transformer.wte.weight", ("embedding.table",)),
        *norm("transformer.ln_f", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *each_layer(
            "transformer.h.{}",
            "decoder.blocks.{}",
            norm("ln_1", "self_attention_norm"),
            attention("attn.{}_proj", "q k v out"),
            linear("mlp.fc_in", "mlp.hidden"),
            linear("mlp.fc_out", "mlp.output"),
        ),
    ),
    tied={"lm_head.weight": "transformer.wte.weight"},
    left_out="transformer.",
    ignored=(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias", r"(transformer\.)?h\.\d+\.attn\.embed_positions"),
)
