"""mT5: T5 1.1's form (https://arxiv.org/abs/2010.11934; transformers ``models/mt5/modeling_mt5.py``, which reads no
``scale_decoder_outputs``).
"""

import dataclasses

from posenc_jax.huggingface.families import t5
from posenc_jax.huggingface.family import Settings


def settings(config: Settings) -> dict:
    return t5.settings(config, "gated-gelu") | {"logit_scale": 1.0}


FAMILY = dataclasses.replace(
    t5.FAMILY,
    name="mt5",
    architecture="MT5ForConditionalGeneration",
    title="mT5",
    settings=settings,
    ids={**t5.FAMILY.ids, "decoder_start": 0},
)
