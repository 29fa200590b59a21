"""RoBERTa with its head of a masked language model, or without: BERT's form; position 0 reads row ``pad_token_id + 1``
of the table (https://arxiv.org/abs/1907.11692; transformers ``models/roberta/modeling_roberta.py``).

Calls give ``token_types``, all 0.
"""

import dataclasses

from posenc_jax.huggingface.families import bert
from posenc_jax.huggingface.family import Settings
from posenc_jax.huggingface.names import NameRule, linear, norm


def settings(config: Settings) -> dict:
    config.refuse_unless("hidden_act", "gelu")  # the head has GELU whatever it says
    return bert.settings(config)


FAMILY = dataclasses.replace(
    bert.FAMILY,
    name="roberta",
    architecture="RobertaForMaskedLM",
    base="RobertaModel",
    title="RoBERTa",
    settings=settings,
    names=(
        *bert.encoder("roberta"),
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
