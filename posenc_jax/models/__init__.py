"""Transformers over positional encodings, in Flax NNX."""

from posenc_jax.models.build import build, init_posenc
from posenc_jax.models.cache import Cache
from posenc_jax.models.config import ModelKind, Slots, Transformer, model_dims
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.decoding import greedy
from posenc_jax.models.encoder_decoder import EncoderDecoder, Memory
from posenc_jax.models.encoder_only import EncoderOnly
from posenc_jax.models.model import Model
from posenc_jax.models.streams import Streams

__all__ = [
    "Cache",
    "DecoderOnly",
    "EncoderDecoder",
    "EncoderOnly",
    "Memory",
    "Model",
    "ModelKind",
    "Slots",
    "Streams",
    "Transformer",
    "build",
    "greedy",
    "init_posenc",
    "model_dims",
]
