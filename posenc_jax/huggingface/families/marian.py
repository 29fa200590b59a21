"""Marian, the translation models of OPUS-MT: an encoder and a decoder with post-norm and sinusoidal positions, sines
first; the output layer is the table, with a bias (https://aclanthology.org/P18-4020; transformers
``models/marian/modeling_marian.py``).

Not read: tables of source and target apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import ONE_ROW, NameRule, attention, each_layer, linear, norm

if TYPE_CHECKING:
    from posenc_jax.encodings.interface.slots import Slot


def settings(config: Settings) -> dict:
    config.refuse_unless("share_encoder_decoder_embeddings", True)
    config.refuse_unless("tie_word_embeddings", True)
    sizes = {}
    for name in ("attention_heads", "ffn_dim"):
        sizes[name], other = (config.whole(f"{stack}_{name}") for stack in ("encoder", "decoder"))
        if sizes[name] != other:
            raise DataError(
                f"{config.where}: encoder_{name} = {sizes[name]} and decoder_{name} = {other}, and stacks of one form "
                "are read: name another checkpoint"
            )
    layers = config.whole("encoder_layers")
    return {
        "d_model": config.whole("hidden_size"),
        "num_layers": layers,
        "num_decoder_layers": config.whole("decoder_layers", layers),
        "num_heads": sizes["attention_heads"],
        "mlp_dim": sizes["ffn_dim"],
        "norm": "post",
        "activation": config.activation("activation_function", "gelu"),
        "scale_embeddings": config.flag("scale_embedding", False),
        "tie_output": True,
        "output_bias": True,
    }


def slots(slot: Slot) -> dict[str, Slot]:
    """Those of both stacks; cross-attention has no positions."""
    return {"encoder": slot, "decoder": slot}


def _attention(theirs: str, ours: str) -> tuple[NameRule, ...]:
    return (*attention(f"{theirs}.{{}}_proj", "q k v out", ours), *norm(f"{theirs}_layer_norm", f"{ours}_norm"))


def _stack(name: str, *rows: tuple[NameRule, ...]) -> tuple[NameRule, ...]:
    return each_layer(
        f"model.{name}.layers.{{}}",
        f"{name}.blocks.{{}}",
        _attention("self_attn", "self_attention"),
        *rows,
        linear("fc1", "mlp.hidden"),
        linear("fc2", "mlp.output"),
        norm("final_layer_norm", "mlp_norm"),
    )


FAMILY = Family(
    name="marian",
    architecture="MarianMTModel",
    title="Marian",
    kind="encoder_decoder",
    settings=settings,
    slots=slots,
    names=(
        NameRule("model.shared.weight", ("embedding.table",)),
        *_stack("encoder"),
        *_stack("decoder", _attention("encoder_attn", "cross_attention")),
        NameRule("final_logits_bias", ("output.bias",), ONE_ROW),
    ),
    tied={f"model.{stack}.embed_tokens.weight": "model.shared.weight" for stack in ("encoder", "decoder")}
    | {"lm_head.weight": "model.shared.weight"},
    ids={"decoder_start": 58100, "eos": 0, "pad": 58100},
    ignored=(r"model\.(encoder|decoder)\.embed_positions\.weight",),
)
