"""UMT5: T5 1.1's form, with buckets of its own in each layer (https://arxiv.org/abs/2304.09151; transformers
``models/umt5/modeling_umt5.py``).
"""

import dataclasses
import functools

from posenc_jax.huggingface.families import t5
from posenc_jax.huggingface.names import TURNED, NameRule

FAMILY = dataclasses.replace(
    t5.FAMILY,
    name="umt5",
    architecture="UMT5ForConditionalGeneration",
    title="UMT5",
    settings=functools.partial(t5.settings, feed_forward="gated-gelu"),
    ids={**t5.FAMILY.ids, "decoder_start": 0},
    names=(
        *t5.OUTSIDE,
        *t5.LAYERS,
        *(
            NameRule(f"{stack}.block.{{}}.{t5.BIAS}", (f"posenc.{stack}.0.{{}}.table",), TURNED)
            for stack in ("encoder", "decoder")
        ),
    ),
)
