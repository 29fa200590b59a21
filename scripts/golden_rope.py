"""Writes the numbers of posenc_jax/golden/rope/rope-v1.json from the configs that stand in it, in float64:

    python -m scripts.golden_rope

A model is added by its name, source and config; what there is of it beside these is computed.
"""

from __future__ import annotations

import json
from typing import Any

from posenc_jax.encodings import spec
from posenc_jax.golden.rope.check import FILE, models
from posenc_jax.huggingface import Layer, from_hf

FORMAT = "posenc rope 1"
CONVENTIONS = {
    "config": "the settings of the released model that positions depend on, as the source has them",
    "layers": "counted from 0; a group is layers with equal positions",
    "inverse_frequencies": "radians per position of each plane, in the order of planes, float64; [] without a rotation",
    "attention_factor": "what cosine and sine are multiplied by",
    "points": "lengths of the whole sequence: a short one, and where frequencies switch, the last below and above",
    "window": "keys that a query sees, itself among them (without a causal mask: of one side and itself); null: all",
}


def document() -> dict[str, Any]:
    """The whole file."""
    rows = [
        {name: row[name] for name in ("name", "source", "config")} | {"groups": groups(row["config"])}
        for row in models()
    ]
    return {"format": FORMAT, "conventions": CONVENTIONS, "models": rows}


def groups(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups of equal layers of a config."""
    found: dict[Layer, list[int]] = {}
    for number, layer in enumerate(from_hf(config).layers):
        found.setdefault(layer, []).append(number)
    return [
        {
            "layers": numbers,
            "kind": layer.kind,
            "spec": spec(layer.encodings),
            "head_dim": layer.head_dim,
            "window": layer.window,
            "attention_factor": layer.attention_factor,
            "points": [
                {"length": length, "inverse_frequencies": layer.inverse_frequencies(length).tolist()}
                for length in lengths(layer)
            ],
        }
        for layer, numbers in found.items()
    ]


def lengths(layer: Layer) -> list[int]:
    """1, and the last below a switch and the first above."""
    switch = layer.switches_above
    return [1] if switch is None else [1, switch, switch + 1]


if __name__ == "__main__":
    FILE.write_text(json.dumps(document(), indent=None).replace('{"name"', '\n{"name"') + "\n", encoding="utf-8")
