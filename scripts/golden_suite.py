"""Computes posenc_jax/golden/rope/positions-v1.json: configs, and what follows from them, in float64.

A row is a config of which `scripts/declared_parity.py` found that the class of transformers does what is read of it, or
a released model of `rope-v1.json`, or one of `IMAGES`. Values that are there are never rewritten unasked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import declared_parity
import numpy as np
from golden_rope import alike

from posenc_jax.encodings import spec
from posenc_jax.encodings.absolute.learned import Learned
from posenc_jax.encodings.absolute.sinusoidal import Sinusoidal, sinusoidal
from posenc_jax.encodings.additive.alibi import ALiBi, alibi_slopes
from posenc_jax.encodings.additive.t5 import T5Bias, t5_buckets
from posenc_jax.encodings.additive.temperature import QueryTemperature
from posenc_jax.encodings.images_and_media.media_positions import Film, media_positions
from posenc_jax.encodings.images_and_media.mrope import MRoPE
from posenc_jax.encodings.rotary.mla_rope import MLARoPE
from posenc_jax.encodings.rotary.rope_scaling import DynamicNTK
from posenc_jax.golden.rope import check
from posenc_jax.huggingface import Layer, from_hf

Record = dict[str, Any]

FORMAT = "posenc positions 1"
POSITIONS = (0, 1, 4095, 131071, 1000003)
DISTANCES = (0, 1, 7, 8, 15, 16, 20, 31, 32, 100, 127, 128, 799, 800, 100000)
CONVENTIONS = {
    "config": "the settings of config.json that say something of positions, or of the sizes they depend on",
    "layers": "counted from 0; a group is layers with equal positions, kind is a word of layer_types",
    "window": "keys that a query sees, itself among them (without a causal mask: of one side and itself); in layers of "
    "chunked_attention the size of a chunk; null: all",
    "length": "of the whole sequence: a short one, and where frequencies switch, the last below and above",
    "planes": "the two dimensions of each plane that turns, in the order of the first: of the head, or in types with "
    "qk_rope_head_dim of that part of it, before the class reorders them; [] without a rotation",
    "inverse_frequencies": "radians per position of these planes",
    "attention_factor": "what cosine and sine are multiplied by",
    "cos, sin": "at each of `positions`, of the planes whose numbers are in `shown`, times attention_factor",
    "axes": "of each plane, for text with images: 0 turns by time, 1 by row, 2 by column",
    "media_positions": "time, row and column of each token of `media`: numbers are tokens of text, times are of frames",
    "logit_factor": "what YaRN multiplies all logits by, beside the factor of cosine and sine",
    "query_factors": "what queries at each of `positions` are multiplied by",
    "first_row, rows": "of the table of learned positions: the row of position 0, and how many rows there are",
    "sines": "row 0, 1 and 4095 of sines and cosines that are added: dimension 0, 1, the middle, and the last",
    "slopes": "of ALiBi, of each head",
    "buckets": "of a key that is each of `distances` before the query",
}
_QWEN_7B: Record = {
    "model_type": "qwen2_vl_text",
    "num_hidden_layers": 28,
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}
IMAGES: tuple[tuple[str, Record, list[int | Film]], ...] = (
    ("Qwen2-VL-7B", _QWEN_7B, [2, Film(2, 3), 1, Film(2, 2, (0, 1, 2)), 3]),
    (
        "Qwen2.5-VL-7B",
        _QWEN_7B | {"model_type": "qwen2_5_vl_text", "max_position_embeddings": 128000},
        [2, Film(3, 2), 1, Film(1, 2, (0, 2, 4)), 2],
    ),
    (
        "Qwen3-VL-4B with an image",
        {
            "model_type": "qwen3_vl_text",
            "num_hidden_layers": 36,
            "hidden_size": 2560,
            "num_attention_heads": 32,
            "head_dim": 128,
            "max_position_embeddings": 262144,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 5000000.0,
                "mrope_section": [24, 20, 20],
                "mrope_interleaved": True,
            },
        },
        [4, Film(2, 4), 2],
    ),
    (
        "GLM-4.1V-9B",
        {
            "model_type": "glm4v_text",
            "num_hidden_layers": 40,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "max_position_embeddings": 65536,
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.5,
            "rope_scaling": {"rope_type": "default", "mrope_section": [8, 12, 12]},
        },
        [1, Film(2, 2), 1],
    ),
)
_KEPT = re.compile(
    "rope|rotary|posit|theta|window|layer|nope|alibi|sliding|chunk_size|(?<!num_)block|attn_(temp|scale)|floor_scale|"
    "interval|pattern|attention_types|head_dim|kv_channels|buckets|distance|sinusoidal|global_attn|local_attention|_idxs|"
    "^(model_type|hidden_size|d_model|n_embd|emb_dim|num_attention_heads|num_heads|n_heads?|max_seq_len|pad_token_id|"
    "use_mem_rope|attn_config|max_target_positions|linear_attn_config|mscale|no_rope_layers|relative_attention|pos_att_type|"
    "share_att_key|norm_rel_ebd)$"
)
_DROPPED = re.compile(
    "norm|drop|mlp|moe|dense|kv_shared|layer_scale|index|mtp|ple_layer|expert|hybrid_layer_ids|linear_(?!attn)|mamba|v_head|"
    "nope_|qk_head|nextn|random_blocks|mem_blocks|weighted|(in|out)put_l|recurrent_l|sparsity|inverse_layer|layer_input|"
    "block_(multiple|ffn|auto)"
)


def new_text(before: str, changed: list[str]) -> str:
    """The text of the file, a row a line; what is there and equal but for rounding stays to the bit.

    Raises:
      ValueError: the numbers of a row are other ones, or it is gone, and it is not ``changed``.
    """
    old = {row["name"]: row for row in check.rows(before)} if before else {}
    kept: list[Record] = []
    for row in made():
        own = old.pop(row["name"], row)
        if row["name"] in changed:
            own = row
        if not alike(own, row):
            raise ValueError(f"the numbers of {row['name']} changed\nif it is meant, --changed NAME")
        kept.append(own)
    if gone := [name for name in old if name not in changed]:
        raise ValueError(f"{', '.join(gone)} are gone\nif it is meant, --changed NAME")
    return text_of(kept)


def text_of(rows: list[Record]) -> str:
    """Rows with each table written once."""
    tables: dict[str, int] = {}
    short = []
    for row in rows:
        groups = []
        for group in row["groups"]:
            points = []
            for point in group["points"]:
                text = json.dumps({name: value for name, value in point.items() if name != "length"})
                points.append({"length": point["length"], "table": tables.setdefault(text, len(tables))})
            groups.append(group | {"points": points})
        short.append(json.dumps(row | {"groups": groups}))
    head = json.dumps({"format": FORMAT, "conventions": CONVENTIONS, "positions": POSITIONS, "distances": DISTANCES})
    parts = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in (("tables", tables), ("rows", short))]
    return f"{head[:-1]}, {', '.join(parts)}}}\n"


def made() -> Iterator[Record]:
    """The rows."""
    record = json.loads(declared_parity.RECORD.read_text())
    version = record["versions"]["transformers"]
    for kind, types in record["types"].items():
        for case, config in declared_parity.configs(types).items():
            if types["cases"][case]["found"] == "right":
                name = kind if case == "default" else f"{kind}, {case}"
                yield row(name, f"transformers {version}: {kind}, {case}", thinned(config))
    for model in check.models():
        yield row(model["name"], model["source"], model["config"])
    for name, config, parts in IMAGES:
        listed = [part if isinstance(part, int) else part._asdict() | {"times": list(part.times)} for part in parts]
        media = {"media": listed, "media_positions": media_positions(parts)[0].tolist()}
        yield row(name, "settings of the released model, and tokens made up", config) | media


def thinned(config: Record) -> Record:
    """The settings that positions depend on."""
    found = {name: value for name, value in config.items() if _KEPT.search(name) and not _DROPPED.search(name)}
    found = {name: value for name, value in found.items() if name != "pad_token_id" or value is not None}
    if from_hf(found).layers != from_hf(config).layers:
        raise ValueError(f"{config['model_type']}: a setting is left out that says something: {config.keys() - found}")
    return found


def row(name: str, source: str, config: Record) -> Record:
    """What follows from a config."""
    found: dict[Layer, list[int]] = {}
    for number, layer in enumerate(from_hf(config).layers):
        found.setdefault(layer, []).append(number)
    groups = [
        {"layers": numbers, "kind": layer.kind, "spec": spec(layer.encodings), "window": layer.window}
        | beside(layer, config)
        | {"points": [{"length": length} | table(layer, length) for length in lengths(layer)]}
        for layer, numbers in found.items()
    ]
    return {"name": name, "type": config["model_type"], "source": source, "config": config, "groups": groups}


def lengths(layer: Layer) -> list[int]:
    """1, the last below a switch and the first above, and far above where frequencies depend on the length itself."""
    switch = layer.switches_above
    if switch is None:
        return [1]
    far = [4 * switch] if isinstance(getattr(layer.rotation, "scaling", None), DynamicNTK) else []
    return [1, switch, switch + 1, *far]


def table(layer: Layer, length: int) -> Record:
    """Planes, frequencies, cosines and sines."""
    every = layer.inverse_frequencies(length)
    turning = np.flatnonzero(every)
    neighbours = getattr(layer.rotation, "layout", "half") == "interleaved"
    planes = [[2 * k, 2 * k + 1] if neighbours else [k, k + len(every)] for k in turning.tolist()]
    frequencies, count, factor = every[turning], len(turning), layer.attention_factor
    shown = sorted({0, 1, count // 4, count // 2, count - 1} & set(range(count)))
    angles = np.array(POSITIONS)[:, None] * frequencies[shown]
    return {
        "planes": planes,
        "inverse_frequencies": frequencies.tolist(),
        "attention_factor": factor,
        "shown": shown,
        "cos": (factor * np.cos(angles)).tolist(),
        "sin": (factor * np.sin(angles)).tolist(),
    }


def beside(layer: Layer, config: Record) -> Record:
    """What positions do in a layer beside turning planes."""
    found: Record = {}
    for element in layer.encodings:
        if isinstance(element, MLARoPE):
            found["logit_factor"] = element.logit_factor
        if isinstance(element, MRoPE):
            found["axes"] = element.axes(layer.head_dim).tolist()
        if isinstance(element, QueryTemperature):
            steps = (np.array(POSITIONS) + element.offset) // element.floor
            found["query_factors"] = (1 + element.scale * np.log1p(steps)).tolist()
        if isinstance(element, Learned):
            found |= {"first_row": element.offset, "rows": element.max_len}
        if isinstance(element, Sinusoidal):
            found["sines"] = sines(element, config)
        if isinstance(element, ALiBi):
            heads = next(config[name] for name in ("num_attention_heads", "n_head", "n_heads") if name in config)
            found["slopes"] = alibi_slopes(heads).tolist()
        if isinstance(element, T5Bias):
            distances = -np.array(DISTANCES)
            found["buckets"] = t5_buckets(
                distances, element.num_buckets, element.max_distance, bidirectional=False
            ).tolist()
    return found


def sines(element: Sinusoidal, config: Record) -> list[list[float]]:
    """Dimensions 0, 1, the middle one and the last of rows 0, 1 and 4095."""
    width = next(config[name] for name in ("d_model", "n_embd", "hidden_size") if name in config)
    rows = sinusoidal(
        np.array([0, 1, 4095]),
        width,
        base=element.base,
        frequencies=element.frequencies,
        layout=element.layout,
        dtype=np.float64,
    )
    return rows[:, [0, 1, width // 2, width - 1]].tolist()
