"""Golden sequences: what a tiny model does with its positions, step by step; `scripts/regenerate` writes them.

`posenc_jax/golden/sequences/sequences-v1.json` holds them, in float64, made here by the encodings and the attention of
the package in one full pass without a cache. README.md beside it says what they mean.
"""

from __future__ import annotations

import json
from typing import Any

import jax
import numpy as np

from posenc_jax.analysis.invariance import Reveal
from posenc_jax.encodings import (
    ALiBi,
    Dims,
    Learned,
    MRoPE,
    RoPE,
    Sequence,
    Sinusoidal,
    T5Bias,
    attend,
    embed,
    position_bias,
)
from posenc_jax.encodings.attention import prepare
from posenc_jax.encodings.base import Array, Geometry, Params, PositionalEncoding
from posenc_jax.encodings.rope_selection import PRoPE
from posenc_jax.encodings.yarn import YaRN
from posenc_jax.golden.sequences import check

FORMAT = "posenc_jax sequences 1"
VOCABULARY, WIDTH = 16, 8
MARGIN = 1e-3  # of a greedy token before the next best: other orders of summation choose the same

Record = dict[str, Any]  # JSON
Element = tuple[PositionalEncoding, Params]


def rope(base: float = 10000.0, lanes: str = "half", dims: int = 8, **more: Any) -> Record:
    return {"rope": {"base": base, "lanes": lanes, "dims": dims, **more}}


YARN = {"yarn": {"factor": 4.0, "original_length": 1024, "beta_fast": 32.0, "beta_slow": 1.0}}
T5 = {"t5": {"buckets": 8, "max_distance": 20, "bidirectional": False}, "scale": 1.0}
BOTH_WAYS = {"t5": {**T5["t5"], "bidirectional": True}, "scale": 1.0}


def scenario(
    name: str,
    about: str,
    layers: list[Record],
    positions: list[Any],
    calls: list[int],
    *,
    heads: tuple[int, int, int] = (2, 1, 8),
    absolute: str | None = None,
    encoder_layers: list[Record] | None = None,
    segments: list[list[int]] | None = None,
    **inputs: Any,
) -> Record:
    """A scenario without its outputs. ``positions`` of all slots; ``calls``: how many slots each has, those of the
    prompt first; the calls after it have one each. ``heads``: H, Hkv and D.
    """
    prompt = inputs.pop("prompt", calls[0])
    ends = np.cumsum(calls).tolist()
    segments = segments or [[1] * ends[-1] for _ in positions]
    tokens = [[(5 * slot + 3 * row + 2) % VOCABULARY for slot in range(prompt)] for row in range(len(positions))]
    model = {
        "vocabulary": VOCABULARY,
        "width": WIDTH,
        **dict(zip(("heads", "kv_heads", "head_dim"), heads, strict=True)),
        "absolute": absolute,
        "layers": layers,
        **({"encoder_layers": encoder_layers} if encoder_layers else {}),
    }
    model["parameters"] = shapes(model)
    calls_ = [[end - size, end] for size, end in zip(calls, ends, strict=True)]
    given = {"tokens": tokens, "segments": segments, "prompt": prompt, "calls": calls_, **inputs}
    return {"name": name, "about": about, "model": model, "inputs": given, "positions": positions}


def shapes(model: Record) -> dict[str, list[int]]:
    """The parameters in their order, by name."""
    heads, kv_heads, dim = (model[name] for name in ("heads", "kv_heads", "head_dim"))
    found = {"embedding": [VOCABULARY, WIDTH]}
    if model["absolute"] == "learned":
        found["positions"] = [16, WIDTH]
    stacks = {"encoder": model.get("encoder_layers", []), "layer": model["layers"]}
    stacks["cross"] = [layer["cross"] for layer in model["layers"] if "cross" in layer]
    for stack, layers in stacks.items():
        for number in range(len(layers)):
            for part, size in {"query": heads, "key": kv_heads, "value": kv_heads}.items():
                found[f"{stack}{number}.{part}"] = [WIDTH, size * dim]
            found[f"{stack}{number}.output"] = [heads * dim, WIDTH]
    for stack, layers in (("encoder", stacks["encoder"]), ("decoder", stacks["layer"])):
        if any("t5" in layer for layer in layers):
            found[f"{stack}.t5"] = [heads, T5["t5"]["buckets"]]
    return found


def scenarios() -> list[Record]:
    """The twelve, without outputs."""
    steps = [1, 1, 1]
    local = rope() | {"window": 4}
    images = [[[3, 1, 2, 3], [11, 1, 2, 2]], [[6, 1, 3, 1]]]
    return [
        scenario(
            "prefill_then_steps",
            "A prompt in one call, then greedy steps: RoPE in halves.",
            [rope(), rope()],
            [[*range(11)]] * 2,
            [6, 1, 1, 1, 1, 1],
        ),
        scenario(
            "chunked_prefill",
            "A prompt in four chunks, then greedy steps: RoPE in neighbours, and a window that reaches over chunks.",
            [rope(lanes="interleaved") | {"window": 5}, rope(lanes="interleaved")],
            [[*range(14)]],
            [5, 4, 1, 2, 1, 1],
            prompt=12,
        ),
        scenario(
            "left_padding",
            "A batch padded on the left, then greedy steps: a learned table of positions, as in GPT-2.",
            [{}, {}],
            [[0] * n + [*range(10 - n)] for n in (0, 2, 4)],
            [7, *steps],
            absolute="learned",
            segments=[[0] * n + [1] * (10 - n) for n in (0, 2, 4)],
        ),
        scenario(
            "packing",
            "Three sequences in a row, each from position 0, and padding: sinusoids at the input, RoPE in a layer.",
            [rope(), {}],
            [[*range(4), *range(5), *range(2), 0]],
            [12],
            absolute="sinusoidal",
            segments=[[1] * 4 + [2] * 5 + [3] * 2 + [0]],
        ),
        scenario(
            "grouped_queries",
            "Six query heads over two key heads.",
            [rope(dims=4), rope(dims=4)],
            [[*range(9)]],
            [6, *steps],
            heads=(6, 2, 4),
        ),
        scenario(
            "layers",
            "Two layers with a window of 4 and base 1e4, one without window at base 1e6, one without positions.",
            [local, local, rope(1e6), {}],
            [[*range(12)]],
            [8, 1, *steps],
        ),
        scenario(
            "partial",
            "Half of the dimensions rotated, with frequencies spread over these; or the faster half of all planes "
            "(proportional). Both in halves and in neighbours.",
            [rope(lanes=lanes, **own) for own in ({"dims": 4}, {"turning": 0.5}) for lanes in ("half", "interleaved")],
            [[*range(9)]],
            [6, *steps],
        ),
        scenario(
            "yarn_on_some_layers",
            "YaRN on layers 1 and 3, plain RoPE with a window on layers 0 and 2, over the end of the original length: "
            "the first 1,018 tokens are no longer in the cache.",
            [rope() | {"window": 6}, rope(**YARN)] * 2,
            [[*range(1018, 1030)]],
            [8, 1, *steps],
            first_position=1018,
        ),
        scenario(
            "mrope_images",
            "Text, an image, text, another image, text, then greedy steps; and a row with padding and one image.",
            [rope(1e6, dims=16, sections=[2, 3, 3])],
            [
                [
                    *([n] * 3 for n in range(3)),
                    *([3, 3 + i, 3 + j] for i in range(2) for j in range(3)),
                    *([n] * 3 for n in (6, 7)),
                    *([8, 8 + i, 8 + j] for i in range(2) for j in range(2)),
                    *([n] * 3 for n in range(10, 15)),
                ],
                [
                    *([0] * 3 for _ in range(2)),
                    *([n] * 3 for n in range(4)),
                    *([4, 4 + i, 4] for i in range(3)),
                    *([n] * 3 for n in range(7, 18)),
                ],
            ],
            [17, *steps],
            heads=(1, 1, 16),
            segments=[[1] * 20, [0] * 2 + [1] * 18],
            images=images,
        ),
        scenario(
            "t5_decoding",
            "T5's buckets of distances, one table for both layers, logits not divided by sqrt(D).",
            [T5, T5],
            [[*range(24)]],
            [18, 1, 1, 1, *steps],
            heads=(2, 2, 4),
        ),
        scenario(
            "alibi_with_padding",
            "A batch padded on the right, whose steps come after the padding: ALiBi with three heads.",
            [{"alibi": True}, {"alibi": True}],
            [[*range(12)], [*range(5), 0, 0, 0, *range(5, 9)]],
            [8, 1, *steps],
            heads=(3, 3, 4),
            segments=[[1] * 12, [1] * 5 + [0] * 3 + [1] * 4],
        ),
        scenario(
            "cross_attention",
            "An encoder with T5's buckets both ways over padded sources; a decoder with RoPE, whose cross-attention "
            "has no positions in layer 0 and RoPE over the source's own positions in layer 1.",
            [rope(dims=4) | {"cross": {}}, rope(dims=4) | {"cross": rope(dims=4)}],
            [[*range(7)]] * 2,
            [2, 1, 1, *steps],
            heads=(2, 1, 4),
            encoder_layers=[BOTH_WAYS],
            source=[[(7 * slot + row + 2) % VOCABULARY for slot in range(8)] for row in range(2)],
            source_segments=[[1] * 8, [1] * 5 + [0] * 3],
        ),
    ]


# The values, by the package.


def parameters(model: Record) -> dict[str, np.ndarray]:
    numbers = (np.arange(np.prod(shape)).reshape(shape) for shape in model["parameters"].values())
    return {name: ((37 * n + 11 * j) % 101 - 50) / 50 for j, (name, n) in enumerate(zip(model["parameters"], numbers))}


def elements(layer: Record, weights: dict[str, np.ndarray], stack: str) -> tuple[Element, ...]:
    """The encodings of a layer, each with its parameters."""
    found: list[Element] = []
    if given := layer.get("rope"):
        scaling = YaRN(**given["yarn"]) if "yarn" in given else PRoPE(given["turning"]) if "turning" in given else None
        if "sections" in given:
            found.append((MRoPE(tuple(given["sections"]), base=given["base"], layout=given["lanes"]), {}))
        else:
            found.append((RoPE(given["base"], given["lanes"], given["dims"], scaling), {}))
    if given := layer.get("t5"):
        table = {"table": weights[f"{'encoder' if stack == 'encoder' else 'decoder'}.t5"]}
        found.append((T5Bias(given["buckets"], given["max_distance"], scaled=False), table))
    if layer.get("alibi"):
        found.append((ALiBi(), {}))
    return tuple(found)


def outputs(model: Record, inputs: Record, positions: list[Any]) -> dict[str, np.ndarray]:
    """The arrays of a scenario, for the tokens that it has so far; in float64 under ``jax.enable_x64``."""
    weights = parameters(model)
    tokens = np.array(inputs["tokens"], np.int32)
    sides = [sequence(tokens, np.array(positions), np.array(inputs["segments"]))]
    absolute: dict[str | None, tuple[Element, ...]] = {
        None: (),
        "learned": ((Learned(16), {"table": weights.get("positions")}),),
        "sinusoidal": ((Sinusoidal(), {}),),
    }
    encodings, params = split(absolute[model["absolute"]])
    found = {"positions": hidden(sides[0].positions, sides[0].segment_ids)}
    x = embed(encodings, params, weights["embedding"][tokens], sides[0])
    if "source" in inputs:
        source = np.array(inputs["source"], np.int32)
        sides.append(sequence(source, np.arange(source.shape[1])[None], np.array(inputs["source_segments"])))
        memory = weights["embedding"][source]
        for number, layer in enumerate(model["encoder_layers"]):
            memory = memory + layer_output("encoder", number, model, layer, memory, memory, (sides[1], sides[1]), found)
    for number, layer in enumerate(model["layers"]):
        x = x + layer_output("layer", number, model, layer, x, x, (sides[0], sides[0]), found)
        if "source" in inputs:
            x = x + layer_output("cross", number, model, layer["cross"], x, memory, (sides[0], sides[1]), found)
    logits = np.asarray(x) @ weights["embedding"].T
    own = {"logits": logits, "tokens": logits.argmax(-1)}
    return found | {name: hidden(a, sides[0].segment_ids) for name, a in own.items()}


def sequence(tokens: np.ndarray, positions: np.ndarray, segments: np.ndarray) -> Sequence:
    length = np.full(1, positions.max() + 1, np.int32)
    return Sequence(positions.astype(np.int32), length, tokens, segments.astype(np.int32))


def layer_output(
    stack: str,
    number: int,
    model: Record,
    layer: Record,
    x: Array,
    source: Array,
    sides: tuple[Sequence, Sequence],
    found: dict[str, np.ndarray],
) -> np.ndarray:
    """``[B, S, M]``; what happens on the way is added to ``found``."""
    name, weights = f"{stack}{number}", parameters(model)
    encodings, params = split(elements(layer, weights, stack))
    causal, heads = stack == "layer", model["heads"]
    geometry = Geometry.between(*sides, causal=causal, num_heads=heads, window=layer.get("window"))
    q, k, v = (
        np.swapaxes((np.asarray(a) @ weights[f"{name}.{part}"]).reshape(*a.shape[:2], -1, model["head_dim"]), 1, 2)
        for a, part in ((x, "query"), (source, "key"), (source, "value"))
    )
    if "rope" in layer:
        rotary, dims = encodings[0], Dims(WIDTH, heads, model["kv_heads"], model["head_dim"], 1, 2048, VOCABULARY)
        found[f"{name}.frequencies"] = rotary.frequencies_for(dims)
        found[f"{name}.factor"] = np.array(getattr(getattr(rotary, "scaling", None), "magnitude", 1.0))
    own, others = (side.segment_ids for side in sides)
    found |= {f"{name}.q": hidden(q, own), f"{name}.k": hidden(k, others)}
    if "rope" in layer:
        call = prepare(q, k, v, encodings, params, geometry)
        found[f"{name}.k_encoded"] = hidden(call.k_encoded, others)
        found[f"{name}.q_encoded"] = hidden(call.q_encoded, own)
    mask = np.asarray(geometry.mask)
    found[f"{name}.mask"] = hidden(mask[:, 0], own)
    bias = position_bias(encodings, params, geometry)
    if bias is not None:
        found[f"{name}.bias"] = np.where(mask, bias, np.nan)
    logits = attend(q, k, v, (*encodings, Reveal()), (*params, {}), geometry, return_weights=True)[1]
    found[f"{name}.logits"] = np.where(mask, logits, np.nan)
    out = np.swapaxes(np.asarray(attend(q, k, v, encodings, params, geometry)), 1, 2)
    return out.reshape(*out.shape[:2], -1) @ weights[f"{name}.output"]


def split(elements: tuple[Element, ...]) -> tuple[tuple[PositionalEncoding, ...], tuple[Params, ...]]:
    return tuple(e for e, _ in elements), tuple(p for _, p in elements)


def hidden(array: Array, segments: Array) -> np.ndarray:
    """``[B, S]``, ``[B, S, ...]`` or ``[B, H, S, D]``, NaN at padding."""
    real = np.asarray(segments > 0)
    real = real[:, None, :, None] if array.ndim == 4 else real.reshape(*real.shape, *[1] * (array.ndim - 2))
    return np.where(real, array, np.nan)


# The file.


def made(own: Record) -> Record:
    """A scenario with its greedy tokens and its outputs."""
    own = dict(own)
    positions, inputs = own.pop("positions"), dict(own["inputs"])
    segments = np.array(inputs["segments"])
    prompt, tokens = np.array(inputs["tokens"]), np.zeros(segments.shape, int)  # zeros are written over step by step
    tokens[:, : prompt.shape[1]] = prompt
    with jax.enable_x64(True):
        found = outputs(own["model"], inputs | {"tokens": tokens}, positions)
        for slot in range(inputs["prompt"], tokens.shape[1]):
            for row, real in enumerate(segments > 0):
                tokens[row, slot] = found["tokens"][row, np.flatnonzero(real[:slot])[-1]]
            found = outputs(own["model"], inputs | {"tokens": tokens}, positions)
    inputs["tokens"] = tokens.tolist()
    best = np.sort(found["logits"], axis=-1)
    if np.nanmin(best[..., -1] - best[..., -2]) < MARGIN:
        raise ValueError(f"{own['name']}: two tokens are nearly as good: change the prompt")
    return own | {"inputs": inputs, "outputs": {name: listed(array) for name, array in found.items()}}


def listed(array: np.ndarray) -> Any:
    """Nested lists of numbers with twelve decimals, None for NaN."""
    rounded = np.round(array, 12) + 0.0  # no minus zero
    whole = rounded == np.floor(rounded)
    values = np.where(whole, np.nan_to_num(rounded).astype(int).astype(object), rounded.astype(object))
    values[np.isnan(rounded)] = None
    return values.tolist()


def new_text(before: str, changed: list[str]) -> str:
    """The text of the file, a scenario a line; what is there and equal but for rounding stays to the bit.

    Raises:
      ValueError: a scenario's values are other ones, or it is gone, and it is not ``changed``.
    """
    kept = {own["name"]: own for own in json.loads(before)["scenarios"]} if before else {}
    lines, differing = [], []
    for new in map(made, scenarios()):
        old = kept.pop(new["name"], new)
        if new["name"] not in changed:
            differing += [f"golden sequence {new['name']}: {wrong}" for wrong in differences(old, new)][:1]
            new = new | {"outputs": old["outputs"]}
        lines.append(json.dumps(new, separators=(",", ":"), allow_nan=False))
    differing += [f"golden sequence {name} is gone" for name in kept if name not in changed]
    if differing:
        raise ValueError("\n".join([*differing, "if it is meant, --changed NAME"]))
    rows = ",\n".join(lines)
    return f'{{"format":"{FORMAT}","read":"README.md","scenarios":[\n{rows}\n]}}\n'


def differences(old: Record, new: Record) -> list[str]:
    if any(old[part] != new[part] for part in ("model", "inputs")) or list(old["outputs"]) != list(new["outputs"]):
        return ["model, inputs or names changed"]
    found = (check.differing(name, new["outputs"][name], array) for name, array in old["outputs"].items())
    return [wrong for wrong in found if wrong]
