"""T5 1.0 and 1.1: an encoder and a decoder with RMSNorm and no biases, buckets of distances in place of positions,
logits of attention that are not divided (https://arxiv.org/abs/1910.10683; transformers ``models/t5/modeling_t5.py``).

1.1 has a gate and no factor ``d_model**-0.5`` before the output layer. That is a layer of its own if its file has one,
as those of 1.1 that were released, and the table otherwise.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.names import TURNED, NameRule, attention, each_layer, linear, norm

if TYPE_CHECKING:
    from posenc_jax.encodings.interface.slots import Slot

# Ours, and what transformers writes of each, which counts where it says something else.
_ACTIVATIONS = {
    "relu": ("relu", False, "relu"),
    "gated-gelu": ("geglu_tanh", True, "gelu_new"),
    "gated-silu": ("swiglu", True, "silu"),
}


def settings(config: Settings, feed_forward: str = "relu") -> dict:
    width, layers = config.whole("hidden_size"), config.whole("num_layers")
    activation, gated, function = config.one_of("feed_forward_proj", _ACTIVATIONS, feed_forward)
    config.refuse_unless("is_gated_act", gated)
    config.refuse_unless("dense_act_fn", function)
    # Of 1.1 released files say that the second is false, and those that transformers 5 writes the first.
    scaled = config.flag("scale_decoder_outputs", config.flag("tie_word_embeddings", True))
    return {
        "d_model": width,
        "num_layers": layers,
        "num_decoder_layers": config.whole("num_decoder_layers", layers),
        "num_heads": config.whole("num_heads"),
        "head_dim": config.whole("d_kv"),
        "mlp_dim": config.whole("d_ff"),
        "norm_type": "rms",
        "norm_epsilon": config.number("layer_norm_epsilon", 1e-6),
        "activation": activation,
        "scale_embeddings": False,
        "output_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_scale": 1.0,
        "logit_scale": width**-0.5 if scaled else 1.0,
    }


def slots(slot: Slot) -> dict[str, Slot]:
    """Those of both stacks; cross-attention has no positions. The scale of attention is the model's."""
    elements: Any = slot
    divided = tuple(dataclasses.replace(element, scaled=True) for element in elements)
    return {"encoder": divided, "decoder": divided}


def _stack(name: str, feed_forward: int, *rows: tuple[NameRule, ...]) -> tuple[NameRule, ...]:
    """The layers of a stack, of which the feed-forward one has a number, with what else they have."""
    inner = f"layer.{feed_forward}.DenseReluDense"
    return each_layer(
        f"{name}.block.{{}}",
        f"{name}.blocks.{{}}",
        _attention("layer.0", "SelfAttention", "self_attention"),
        *rows,
        norm(f"layer.{feed_forward}.layer_norm", "mlp_norm"),
        linear(f"{inner}.wi_0", "mlp.gate"),
        linear(f"{inner}.wi", "mlp.hidden"),
        linear(f"{inner}.wo", "mlp.output"),
    )


def _attention(layer: str, theirs: str, ours: str) -> tuple[NameRule, ...]:
    return (*norm(f"{layer}.layer_norm", f"{ours}_norm"), *attention(f"{layer}.{theirs}.{{}}", "q k v o", ours))


LAYERS = (*_stack("encoder", 1), *_stack("decoder", 2, _attention("layer.1", "EncDecAttention", "cross_attention")))
OUTSIDE = (
    NameRule("shared.weight", ("embedding.table",)),
    *norm("encoder.final_layer_norm", "encoder.final_norm"),
    *norm("decoder.final_layer_norm", "decoder.final_norm"),
    *linear("lm_head", "output"),
)
BIAS = "layer.0.SelfAttention.relative_attention_bias.weight"

FAMILY = Family(
    name="t5",
    architecture="T5ForConditionalGeneration",
    title="T5",
    kind="encoder_decoder",
    settings=settings,
    slots=slots,
    names=(
        *OUTSIDE,
        *LAYERS,
        *(
            NameRule(f"{stack}.block.0.{BIAS}", (f"posenc.{stack}.0.table",), TURNED)
            for stack in ("encoder", "decoder")
        ),
    ),
    tied={name: "shared.weight" for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")},
    renamed=lambda model: {".wi.": ".wi_1."} if "glu" in model.activation else {},
    head="lm_head.weight",
    ignored=(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",),
    max_length=512,
    ids={"eos": 1, "pad": 0},
)

# T5 1.1's form (https://arxiv.org/abs/2010.11934; ``models/mt5/modeling_mt5.py``, which reads no
# ``scale_decoder_outputs``).
MT5 = dataclasses.replace(
    FAMILY,
    name="mt5",
    architecture="MT5ForConditionalGeneration",
    title="mT5",
    settings=lambda config: settings(config, "gated-gelu") | {"logit_scale": 1.0},
    ids={**FAMILY.ids, "decoder_start": 0},
)

# T5 1.1's form, with buckets of its own in each layer (https://arxiv.org/abs/2304.09151;
# ``models/umt5/modeling_umt5.py``).
UMT5 = dataclasses.replace(
    FAMILY,
    name="umt5",
    architecture="UMT5ForConditionalGeneration",
    title="UMT5",
    settings=functools.partial(settings, feed_forward="gated-gelu"),
    ids=MT5.ids,
    names=(
        *OUTSIDE,
        *LAYERS,
        *(
            NameRule(f"{stack}.block.{{}}.{BIAS}", (f"posenc.{stack}.0.{{}}.table",), TURNED)
            for stack in ("encoder", "decoder")
        ),
    ),
)
