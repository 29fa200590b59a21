"""ModernBERT with its head of a masked language model, or without: pre-norm but for attention of the first layer, GELU
with a gate, no biases; windows and two bases of rotation by turns (https://arxiv.org/abs/2412.13663; transformers
``models/modernbert/modeling_modernbert.py``).
"""

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import QKV, NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("hidden_activation", "gelu")
    config.refuse_unless("classifier_activation", "gelu")
    biases = [config.flag(name, False) for name in ("mlp_bias", "classifier_bias")]
    if biases[0] != biases[1]:
        raise DataError(
            f"{config.where}: mlp_bias and classifier_bias must be equal to be read: name another checkpoint"
        )
    return {
        **config.sizes(),
        "mlp_dim": config.whole("intermediate_size"),
        "norm_epsilon": config.number("norm_eps", 1e-5),
        "norm_bias": config.flag("norm_bias", False),
        "embedding_norm": True,
        "first_norm": False,
        "activation": "geglu",
        "tie_output": config.flag("tie_word_embeddings", True),
        "output_bias": config.flag("decoder_bias", True),
        "output_transform": True,
        "attention_bias": config.flag("attention_bias", False),
        "mlp_bias": biases[0],
    }


FAMILY = Family(
    name="modernbert",
    architecture="ModernBertForMaskedLM",
    base="ModernBertModel",
    title="ModernBERT",
    kind="encoder_only",
    settings=settings,
    names=(
        NameRule("model.embeddings.tok_embeddings.weight", ("embedding.table",)),
        *norm("model.embeddings.norm", "encoder.embedding_norm"),
        *norm("model.final_norm", "encoder.final_norm"),
        *linear("head.dense", "transform.dense"),
        *norm("head.norm", "transform.norm"),
        *linear("decoder", "output"),
        *each_layer(
            "model.layers.{}",
            "encoder.blocks.{}",
            norm("attn_norm", "self_attention_norm"),
            linear("attn.Wqkv", *QKV),
            linear("attn.Wo", "self_attention.output"),
            norm("mlp_norm", "mlp_norm"),
            linear("mlp.Wi", "mlp.gate", "mlp.hidden"),
            linear("mlp.Wo", "mlp.output"),
        ),
    ),
    tied={"decoder.weight": "model.embeddings.tok_embeddings.weight"},
    left_out="model.",
)
