"""Transformers over positional encodings, in Flax NNX."""

from posenc_jax.models.build import build, init_posenc
from posenc_jax.models.config import ModelKind, Slots, Transformer, model_dims
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.encoder_only import EncoderOnly
from posenc_jax.models.streams import Streams

__all__ = [
    "DecoderOnly",
    "EncoderOnly",
    "ModelKind",
    "Slots",
    "Streams",
    "Transformer",
    "build",
    "init_posenc",
    "model_dims",
]
