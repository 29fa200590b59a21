"""The families of models that are read and written, one file each; this list is the registry."""

from posenc_jax.huggingface.families import gpt2, llama, mistral, phi3, qwen2
from posenc_jax.huggingface.family import Family

FAMILIES: dict[str, Family] = {module.FAMILY.name: module.FAMILY for module in (llama, mistral, qwen2, phi3, gpt2)}
