"""Models as they are published: what the ``config.json`` of Hugging Face's layout declares.

What needs JAX is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_jax import lazy
from posenc_jax.huggingface.config import read_config as read_config

if TYPE_CHECKING:
    from posenc_jax.huggingface.declared import Declared as Declared
    from posenc_jax.huggingface.declared import Layer as Layer
    from posenc_jax.huggingface.declared import from_hf as from_hf
    from posenc_jax.huggingface.writing import to_hf as to_hf


def __getattr__(name: str) -> Any:
    return lazy.find(__name__, name)
