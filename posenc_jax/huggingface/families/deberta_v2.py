"""DeBERTa v2 and v3 with the head of a masked language model, or without: BERT's form with disentangled attention in
place of positions, logarithmic buckets of distances (https://arxiv.org/abs/2006.03654,
https://arxiv.org/abs/2111.09543; transformers ``models/deberta_v2/modeling_deberta_v2.py``).

All layers share one table of distances, which each projects by the matrices of its queries and keys. An encoding here
owns its parameters, so that tensors are copied for it, and a model whose copies differ is not written. Not read: the
convolution of the xlarge ones.
"""

import dataclasses

from posenc_jax.huggingface.families import bert
from posenc_jax.huggingface.family import Settings
from posenc_jax.huggingface.names import SAME, TURNED, NameRule, copied, linear


def settings(config: Settings) -> dict:
    config.refuse_unless("conv_kernel_size", 0)
    config.refuse_unless("type_vocab_size", 0)
    config.refuse_unless("layer_norm_eps", 1e-7)  # the norm of distances in `DeBERTa` has it
    config.refuse_unless("embedding_size", config.whole("hidden_size"))
    config.refuse_unless("attention_head_size", config.whole("hidden_size") // config.whole("num_attention_heads"))
    inner = Settings({"layer_norm_eps": 1e-7, **config.values, "type_vocab_size": None}, config.where)
    return {**bert.settings(inner), "token_types": 0}


def _shared(part: str) -> tuple[NameRule, NameRule]:
    """A projection of tokens that is one of distances too."""
    theirs = f"deberta.encoder.layer.{{}}.attention.self.{part}_proj"
    token, position = f"encoder.blocks.{{}}.self_attention.{part}", f"posenc.encoder.0.{{}}.{part}"
    return (
        NameRule(f"{theirs}.weight", (f"{token}.kernel", f"{position}_projection"), copied(TURNED)),
        NameRule(f"{theirs}.bias", (f"{token}.bias", f"{position}_offset"), copied(SAME)),
    )


FAMILY = dataclasses.replace(
    bert.FAMILY,
    name="deberta-v2",
    architecture="DebertaV2ForMaskedLM",
    base="DebertaV2Model",
    title="DeBERTa v2 and v3",
    settings=settings,
    names=(
        *bert.encoder("deberta", linear("attention.self.value_proj", "self_attention.value")),
        *_shared("query"),
        *_shared("key"),
        *(
            NameRule(f"deberta.encoder.{theirs}", (f"posenc.encoder.0.{{}}.{ours}",), copied(SAME))
            for theirs, ours in {
                "rel_embeddings.weight": "table",
                "LayerNorm.weight": "norm_scale",
                "LayerNorm.bias": "norm_offset",
            }.items()
        ),
        *bert.HEAD,
    ),
    tied={**bert.FAMILY.tied, "cls.predictions.decoder.weight": "deberta.embeddings.word_embeddings.weight"},
    spellings={
        **bert.FAMILY.spellings,
        **{f"lm_predictions.lm_head.{name}": f"cls.predictions.transform.{name}" for name in ("dense", "LayerNorm")},
        "lm_predictions.lm_head.bias": "cls.predictions.bias",
    },
    written={"legacy": True},  # the name of the head
    left_out="deberta.",
    ignored=(r"(deberta\.)?embeddings\.position_(ids|embeddings\.weight)", r"mask_predictions\..*"),
)
