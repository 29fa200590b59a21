"""Computes the outputs of golden sequences from the scenarios in their file, in float64.

They are made by the encodings and the attention of the package, in one full pass without a cache; README.md beside the
file says what they mean. A scenario is added by its name, about, model and inputs, and by outputs with its positions
alone; `scripts/regenerate` computes what there is of it beside these.
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
from posenc_jax.encodings.interface.attention import prepare
from posenc_jax.encodings.interface.base import Array, Geometry, Params, PositionalEncoding
from posenc_jax.encodings.rotary.rope_selection import PRoPE
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.golden.sequences import check

FORMAT = "posenc_jax sequences 1"
VOCABULARY, WIDTH = 16, 8
MARGIN = 1e-3  # of a greedy token before the next best: other orders of summation choose the same

Record = dict[str, Any]  # JSON
Element = tuple[PositionalEncoding, Params]


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


def outputs(model: Record, inputs: Record, positions: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a scenario, for the tokens that it has so far; in float64 under ``jax.enable_x64``."""
    weights = parameters(model)
    tokens = np.array(inputs["tokens"], np.int32)
    sides = [sequence(tokens, positions, np.array(inputs["segments"]))]
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


def positions_of(own: Record) -> np.ndarray:
    """Those of all slots, 0 at padding."""
    return np.nan_to_num(np.array(own["outputs"]["positions"], float)).astype(int)


def made(own: Record) -> Record:
    """A scenario with its greedy tokens and its outputs."""
    positions, inputs = positions_of(own), dict(own["inputs"])
    segments, prompt = np.array(inputs["segments"]), inputs["prompt"]
    tokens = np.zeros(segments.shape, int)  # zeros are written over step by step
    tokens[:, :prompt] = np.array(inputs["tokens"])[:, :prompt]
    with jax.enable_x64(True):
        found = outputs(own["model"], inputs | {"tokens": tokens}, positions)
        for slot in range(prompt, tokens.shape[1]):
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
      ValueError: a scenario's values are other ones, and it is not ``changed``.
    """
    lines, differing = [], []
    for own in json.loads(before)["scenarios"]:
        new = made(own)
        if own["name"] not in changed and own["outputs"].keys() != {"positions"}:
            differing += [f"golden sequence {own['name']}: {wrong}" for wrong in differences(own, new)][:1]
            new = own
        lines.append(json.dumps(new, separators=(",", ":"), allow_nan=False))
    if differing:
        raise ValueError("\n".join([*differing, "if it is meant, --changed NAME"]))
    rows = ",\n".join(lines)
    return f'{{"format":"{FORMAT}","read":"README.md","scenarios":[\n{rows}\n]}}\n'


def differences(old: Record, new: Record) -> list[str]:
    if list(old["outputs"]) != list(new["outputs"]):
        return ["its arrays have other names"]
    found = (check.differing(name, new["outputs"][name], array) for name, array in old["outputs"].items())
    return [wrong for wrong in found if wrong]
