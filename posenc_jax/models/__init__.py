"""Transformers over positional encodings, in Flax NNX.

What needs Flax is imported when it is first used: configs are checked without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_jax import lazy
from posenc_jax.model_kind import ModelKind as ModelKind
from posenc_jax.models.checks import check_model as check_model
from posenc_jax.models.config import STACKS as STACKS
from posenc_jax.models.config import Slots as Slots
from posenc_jax.models.config import Transformer as Transformer
from posenc_jax.models.config import model_dims as model_dims
from posenc_jax.models.decoding_config import Beam as Beam
from posenc_jax.models.decoding_config import Decoding as Decoding
from posenc_jax.models.decoding_config import Greedy as Greedy
from posenc_jax.models.decoding_config import Sampling as Sampling

if TYPE_CHECKING:
    from posenc_jax.models.building import build as build
    from posenc_jax.models.building import init_posenc as init_posenc
    from posenc_jax.models.cache import Cache as Cache
    from posenc_jax.models.decoder_only import DecoderOnly as DecoderOnly
    from posenc_jax.models.decoding import Decoded as Decoded
    from posenc_jax.models.decoding import decode as decode
    from posenc_jax.models.decoding import greedy as greedy
    from posenc_jax.models.encoder_decoder import EncoderDecoder as EncoderDecoder
    from posenc_jax.models.encoder_decoder import Memory as Memory
    from posenc_jax.models.encoder_only import EncoderOnly as EncoderOnly
    from posenc_jax.models.model import Model as Model
    from posenc_jax.models.randomness import Streams as Streams


def __getattr__(name: str) -> Any:
    return lazy.find(__name__, name)
