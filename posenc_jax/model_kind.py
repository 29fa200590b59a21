"""Which of the three architectures a task is for and a model has: the one thing that tasks and models both name."""

from typing import Literal

ModelKind = Literal["decoder_only", "encoder_only", "encoder_decoder"]
