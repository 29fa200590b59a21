"""The families of models that are read and written, one file each; this list is the registry."""

from posenc_jax.huggingface.families import (
    bloom,
    gemma2,
    gemma3,
    gpt2,
    gpt_neox,
    gptj,
    llama,
    mistral,
    mpt,
    olmo2,
    opt,
    phi3,
    qwen2,
    qwen3,
    smollm3,
)
from posenc_jax.huggingface.family import Family

_MODULES = (
    *(llama, mistral, qwen2, qwen3, phi3, gemma2, gemma3, olmo2, smollm3),
    *(gpt2, gpt_neox, gptj, opt, bloom, mpt),
)
FAMILIES: dict[str, Family] = {module.FAMILY.name: module.FAMILY for module in _MODULES}


def titles() -> str:
    """Names of all families, in words."""
    *names, last = (family.title for family in FAMILIES.values())
    return f"{', '.join(names)} and {last}"
