"""Transformers over positional encodings, in Flax NNX.

What needs Flax is imported when it is first used: configs are checked without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from posenc_jax.model_kind import ModelKind
from posenc_jax.models.checks import check_model
from posenc_jax.models.config import STACKS, Slots, Transformer, model_dims
from posenc_jax.models.decoding_config import Beam, Decoding, Greedy, Sampling

if TYPE_CHECKING:
    from posenc_jax.models.building import build, init_posenc
    from posenc_jax.models.cache import Cache
    from posenc_jax.models.decoder_only import DecoderOnly
    from posenc_jax.models.decoding import Decoded, decode, greedy
    from posenc_jax.models.encoder_decoder import EncoderDecoder, Memory
    from posenc_jax.models.encoder_only import EncoderOnly
    from posenc_jax.models.model import Model
    from posenc_jax.models.randomness import Streams

__all__ = [
    "STACKS",
    "Beam",
    "Cache",
    "Decoded",
    "DecoderOnly",
    "Decoding",
    "EncoderDecoder",
    "EncoderOnly",
    "Greedy",
    "Memory",
    "Model",
    "ModelKind",
    "Sampling",
    "Slots",
    "Streams",
    "Transformer",
    "build",
    "check_model",
    "decode",
    "greedy",
    "init_posenc",
    "model_dims",
]

_MODULES = {
    "building": ("build", "init_posenc"),
    "cache": ("Cache",),
    "decoder_only": ("DecoderOnly",),
    "decoding": ("Decoded", "decode", "greedy"),
    "encoder_decoder": ("EncoderDecoder", "Memory"),
    "encoder_only": ("EncoderOnly",),
    "model": ("Model",),
    "randomness": ("Streams",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
