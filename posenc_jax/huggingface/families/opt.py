"""OPT: GPT-2's form with ReLU and separate matrices; position 0 reads row 2 of the table (https://arxiv.org/abs/2205.01068;
transformers ``models/opt/modeling_opt.py``).

Not read: embeddings of another width than the layers (OPT-350m, whose norms come last, too).
"""

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import NameRule, attention, each_layer, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("do_layer_norm_before", True)
    config.refuse_unless("_remove_final_layer_norm", False)
    config.refuse_unless("layer_norm_elementwise_affine", True)
    width, bias = config.whole("hidden_size"), config.flag("enable_bias", True)
    if (narrow := config.whole("word_embed_proj_dim", width)) != width:
        raise DataError(
            f"{config.where}: word_embed_proj_dim = {narrow} is not hidden_size = {width}, and embeddings of the width "
            "of the layers are read: name another checkpoint"
        )
    return {
        **config.sizes(),
        "mlp_dim": config.whole("ffn_dim"),
        "activation": config.activation("activation_function", "relu"),
        "tie_output": config.flag("tie_word_embeddings", True),
        "attention_bias": bias,
        "mlp_bias": bias,
    }


FAMILY = Family(
    name="opt",
    architecture="OPTForCausalLM",
    title="OPT",
    settings=settings,
    names=(
        NameRule("model.decoder.embed_tokens.weight", ("embedding.table",)),
        NameRule("model.decoder.embed_positions.weight", ("posenc.decoder.0.table",)),
        *norm("model.decoder.final_layer_norm", "decoder.final_norm"),
        *linear("lm_head", "output"),
        *each_layer(
            "model.decoder.layers.{}",
            "decoder.blocks.{}",
            norm("self_attn_layer_norm", "self_attention_norm"),
            attention("self_attn.{}_proj", "q k v out"),
            norm("final_layer_norm", "mlp_norm"),
            linear("fc1", "mlp.hidden"),
            linear("fc2", "mlp.output"),
        ),
    ),
    tied={"lm_head.weight": "model.decoder.embed_tokens.weight"},
    left_out="model.",
)
