"""The families of models that are read and written, one file each; this list is the registry."""

from posenc_jax.files.shapes import Json
from posenc_jax.huggingface.families import (
    bert,
    bloom,
    deberta_v2,
    gemma2,
    gemma3,
    gpt2,
    gpt_neox,
    gptj,
    llama,
    marian,
    mistral,
    modernbert,
    mpt,
    mt5,
    olmo2,
    opt,
    phi3,
    qwen2,
    qwen3,
    roberta,
    smollm3,
    t5,
    umt5,
)
from posenc_jax.huggingface.family import Family

_MODULES = (
    *(llama, mistral, qwen2, qwen3, phi3, gemma2, gemma3, olmo2, smollm3),
    *(gpt2, gpt_neox, gptj, opt, bloom, mpt),
    *(bert, roberta, modernbert, deberta_v2),
    *(t5, mt5, umt5, marian),
)
FAMILIES: dict[str, Family] = {module.FAMILY.name: module.FAMILY for module in _MODULES}


def of_config(config: Json) -> Family:
    """The family of a config whose ``model_type`` is here; where it names an encoder alone, without the head."""
    family = FAMILIES[config["model_type"]]
    return family.without_head() if family.base and config.get("architectures") == [family.base] else family


def titles() -> str:
    """Names of all families, in words."""
    *names, last = (family.title for family in FAMILIES.values())
    return f"{', '.join(names)} and {last}"
