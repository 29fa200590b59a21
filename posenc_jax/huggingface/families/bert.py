"""BERT with its head of a masked language model, or without: post-norm, tables of positions and of two types of tokens,
a norm of their sum (https://arxiv.org/abs/1810.04805; transformers ``models/bert/modeling_bert.py``).

Calls give ``token_types``, 0 where a text has one part. The pooler of files without that head is not read.
"""

import dataclasses

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import NameRule, each_layer, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("is_decoder", False)
    config.refuse_unless("add_cross_attention", False)
    config.refuse_unless("tie_word_embeddings", True)
    return {
        **config.sizes(),
        "mlp_dim": config.whole("intermediate_size"),
        "norm": "post",
        "norm_epsilon": config.number("layer_norm_eps", 1e-12),
        "embedding_norm": True,
        "token_types": config.whole("type_vocab_size", 2),
        "activation": config.activation("hidden_act", "gelu"),
        "tie_output": True,
        "output_bias": True,
        "output_transform": True,
    }


PROJECTIONS = (
    *linear("attention.self.query", "self_attention.query"),
    *linear("attention.self.key", "self_attention.key"),
    *linear("attention.self.value", "self_attention.value"),
)


def encoder(prefix: str, projections: tuple[NameRule, ...] = PROJECTIONS) -> tuple[NameRule, ...]:
    """The table of all but the head."""
    return (
        NameRule(f"{prefix}.embeddings.word_embeddings.weight", ("embedding.table",)),
        NameRule(f"{prefix}.embeddings.token_type_embeddings.weight", ("embedding.types",)),
        NameRule(f"{prefix}.embeddings.position_embeddings.weight", ("posenc.encoder.0.table",)),
        *norm(f"{prefix}.embeddings.LayerNorm", "encoder.embedding_norm"),
        *each_layer(
            f"{prefix}.encoder.layer.{{}}",
            "encoder.blocks.{}",
            projections,
            linear("attention.output.dense", "self_attention.output"),
            norm("attention.output.LayerNorm", "self_attention_norm"),
            linear("intermediate.dense", "mlp.hidden"),
            linear("output.dense", "mlp.output"),
            norm("output.LayerNorm", "mlp_norm"),
        ),
    )


HEAD = (
    *linear("cls.predictions.transform.dense", "transform.dense"),
    *norm("cls.predictions.transform.LayerNorm", "transform.norm"),
    NameRule("cls.predictions.bias", ("output.bias",)),
)

FAMILY = Family(
    name="bert",
    architecture="BertForMaskedLM",
    base="BertModel",
    title="BERT",
    kind="encoder_only",
    settings=settings,
    names=(*encoder("bert"), *HEAD),
    tied={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    spellings={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    left_out="bert.",
    ignored=(r"(bert\.)?embeddings\.position_ids", r"(bert\.)?pooler\..*", r"cls\.seq_relationship\..*"),
)


def _settings_of_roberta(config: Settings) -> dict:
    config.refuse_unless("hidden_act", "gelu")  # the head has GELU whatever it says
    return settings(config)


# Position 0 reads row ``pad_token_id + 1`` of the table (https://arxiv.org/abs/1907.11692;
# ``models/roberta/modeling_roberta.py``). Calls give ``token_types``, all 0.
ROBERTA = dataclasses.replace(
    FAMILY,
    name="roberta",
    architecture="RobertaForMaskedLM",
    base="RobertaModel",
    title="RoBERTa",
    settings=_settings_of_roberta,
    names=(
        *encoder("roberta"),
        *linear("lm_head.dense", "transform.dense"),
        *norm("lm_head.layer_norm", "transform.norm"),
        NameRule("lm_head.bias", ("output.bias",)),
    ),
    tied={
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    left_out="roberta.",
    ignored=(r"(roberta\.)?embeddings\.position_ids", r"(roberta\.)?pooler\..*"),
)
