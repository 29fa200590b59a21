"""Proposes lines of `posenc_jax/huggingface/types.toml` from the configs and the source of the installed transformers.

    PYTHON scripts/class_defaults.py [TYPE ...]

PYTHON has transformers. What a line says is read off the class: defaults of its config, whether it has ``layer_types``,
whether frequencies without a scaling read ``partial_rotary_factor``, and how its source pairs dimensions. A person
compares it with the source, adds what no column of these shows, and measures it with `scripts/declared_parity.py`.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

_LETTERS = {"sliding": "S", "full": "F", "linear": "L", "conv": "C", "indexed": "I", "hybrid": "H", "chunked": "K"}


def main(kinds: list[str]) -> None:
    """Prints a line for each type, or why there is none."""
    for kind in kinds or MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        try:
            config = CONFIG_MAPPING[kind]().get_text_config()
            print(f"{config.model_type} = {{ {', '.join(_columns(config))} }}")
        except Exception as error:
            print(f"# {kind}: {type(error).__name__}: {str(error).splitlines()[0][:90]}")


def _columns(config: Any) -> list[str]:
    code = importlib.util.find_spec(type(config).__module__.replace("configuration_", "modeling_"))
    source = Path(code.origin).read_text() if code is not None and code.origin else ""
    fields = {field.name: field.default for field in dataclasses.fields(config)}
    found = {"length": getattr(config, "max_position_embeddings", None)}
    if "apply_rotary" not in source:
        return [*_shown(found), 'positions = "?"']
    rope = getattr(config, "rope_parameters", None) or {}
    turning = "".join(
        re.findall(r"\ndef (?:rotate|apply_rotary|_apply_rotary).*?(?=\n(?:def|class|@))", source, re.DOTALL)
    )
    kinds = getattr(config, "layer_types", None) or []
    default = re.search(r"def compute_default_rope_parameters.*?return ", source, re.DOTALL)
    found |= {
        "base": None if rope.get("rope_theta") == 10000.0 else rope.get("rope_theta"),
        "head_dim": fields.get("head_dim"),
        "latent": fields.get("qk_rope_head_dim"),
        "original": fields.get("original_max_position_embeddings"),
        "window": fields.get("sliding_window"),
        "layers": "".join(_LETTERS.get(k.partition("_")[0], "?") for k in kinds[:12]) if len(set(kinds)) > 1 else None,
        "typed": "layer_types" in fields or None,
        "part": rope.get("partial_rotary_factor"),
        "part_read": bool(default and '"partial_rotary_factor", ' in default[0]) or None,
        "pairs": "interleaved" if re.search(r"0::2|\.\.\., ::2|view_as_complex", turning) else None,
    }
    if nested := [f"{name} = {own}" for name, own in rope.items() if isinstance(own, dict) or own is None]:
        found["by_kind"] = f"? {', '.join(nested)}"
    elif rope.get("rope_type", "default") != "default":
        found["rope"] = str(rope)
    return _shown(found)


def _shown(found: dict[str, Any]) -> list[str]:
    return [
        f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
        for name, value in found.items()
        if value is not None
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
