"""The families of models that are read and written, one file for each form; this list is the registry."""

from posenc_jax.files.shapes import Json
from posenc_jax.huggingface.families import (
    bert,
    deberta_v2,
    gemma2,
    gpt2,
    gpt_neox,
    gptj,
    llama,
    marian,
    modernbert,
    mpt,
    opt,
    t5,
)
from posenc_jax.huggingface.family import Family

_ALL = (
    *(llama.FAMILY, llama.MISTRAL, llama.QWEN2, llama.QWEN2_VL, llama.QWEN3, llama.PHI, llama.PHI3),
    *(llama.GEMMA, gemma2.FAMILY, gemma2.GEMMA3, llama.OLMO2, llama.OLMO3, llama.SMOLLM3),
    *(llama.STABLELM, llama.STARCODER2, llama.COHERE, llama.GLM4),
    *(gpt2.FAMILY, gpt2.GPT_NEO, gpt_neox.FAMILY, gptj.FAMILY, opt.FAMILY),
    *(gpt_neox.FALCON, gpt_neox.BLOOM, mpt.FAMILY),
    *(bert.FAMILY, bert.ROBERTA, modernbert.FAMILY, deberta_v2.FAMILY),
    *(t5.FAMILY, t5.MT5, t5.UMT5, marian.FAMILY),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}


def of_config(config: Json) -> Family:
    """The family of a config whose ``model_type`` is here; where it names an encoder alone, without the head."""
    family = FAMILIES[config["model_type"]]
    return family.without_head() if family.base and config.get("architectures") == [family.base] else family


def titles() -> str:
    """Names of all families, in words."""
    *names, last = (family.title for family in FAMILIES.values())
    return f"{', '.join(names)} and {last}"
