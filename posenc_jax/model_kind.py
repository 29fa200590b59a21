"""The three architectures, which tasks and models both name."""

from typing import Literal

ModelKind = Literal["decoder_only", "encoder_only", "encoder_decoder"]
