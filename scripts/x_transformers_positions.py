"""Answers of x-transformers' rotary embedding to the rows of `posenc_jax/golden/rope` whose rotation it can make.

    PYTHON scripts/x_transformers_positions.py     # PYTHON has torch and x-transformers

Its ``RotaryEmbedding`` has a width, a base and a factor of interpolation, and turns the first dimensions of heads:
plain and linear RoPE. What a row says is read from its config here.
"""

import json
from pathlib import Path

import torch
from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

ROWS = Path(__file__).parent.parent / "posenc_jax" / "golden" / "rope" / "positions-v1.json"
TYPES = ("llama", "mistral", "qwen2", "qwen3", "cohere", "olmo2", "gemma2", "arcee", "helium", "seed_oss")


def main() -> None:
    """Prints the answers."""
    whole, answers = json.loads(ROWS.read_text()), {}
    for row in whole["rows"]:
        config, layers = row["config"], sum(len(group["layers"]) for group in row["groups"])
        rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
        kind = rope.get("rope_type", rope.get("type", "default"))
        nested = any(isinstance(value, dict) for value in rope.values())
        if row["type"] in TYPES and kind in ("default", "linear") and not nested:
            width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
            base = rope.get("rope_theta") or config.get("rope_theta")
            if base:
                shown = whole["tables"][row["groups"][0]["points"][0]["table"]]["shown"]
                values = of(width, base, rope.get("factor", 1.0), whole["positions"], shown)
                answers[row["name"]] = [{"1": values}, *[0] * (layers - 1)]
    print(json.dumps(answers))


def of(width: int, base: float, factor: float, positions: list[int], shown: list[int]) -> dict:
    """What unit vectors turn into."""
    rotary = RotaryEmbedding(width, base=base, interpolation_factor=factor)
    angles, _ = rotary(torch.tensor(positions))
    unit = torch.eye(width)[:, None].expand(width, len(positions), width)
    turned = apply_rotary_pos_emb(unit, angles)
    planes = [(int(a), int(b)) for a, b in torch.nonzero(turned[:, 1].triu(1))]
    frequencies = [float(torch.atan2(turned[a, 1, b], turned[a, 1, a])) for a, b in planes]
    cos = [[float(turned[planes[k][0], p, planes[k][0]]) for k in shown] for p in range(len(positions))]
    sin = [[float(turned[planes[k][0], p, planes[k][1]]) for k in shown] for p in range(len(positions))]
    found = {"planes": planes, "inverse_frequencies": frequencies, "attention_factor": float(turned[0, 0].norm())}
    return found | {"cos": cos, "sin": sin}


if __name__ == "__main__":
    main()
