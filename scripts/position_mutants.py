"""Mistakes of engines that read configs, each planted in one that makes none: what the checker of positions finds."""

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import golden_suite
import ml_dtypes
import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.encodings.additive.temperature import QueryTemperature
from posenc_jax.encodings.images_and_media.mrope import MRoPE
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import NTK, DynamicNTK, Llama3, LongRoPE, PositionInterpolation
from posenc_jax.encodings.rotary.rope_selection import PRoPE
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.golden.rope import check
from posenc_jax.huggingface import Layer, from_hf
from posenc_jax.huggingface.dialects import STILL

POSITIONS = np.array(golden_suite.POSITIONS)


class Mutant(NamedTuple):
    """A mistake, where it was reported, and what it changes: the config, the layers, the length, or the values."""

    name: str
    threads: str = ""
    config: Callable[[dict[str, Any]], dict[str, Any]] = lambda config: config
    layers: Callable[[list[Layer]], list[Layer]] = lambda layers: layers
    length: Callable[[Layer, int], int] = lambda layer, length: length
    values: Callable[[dict[str, Any], Layer, dict[str, Any]], dict[str, Any]] = lambda values, layer, row: {}


SOUND = Mutant("none")


def engine(mutant):
    """An engine with the mistake, as `check.problems` calls it."""
    known = {}

    def answer(row, number, length):
        if row["name"] not in known:
            known.clear()
            known[row["name"]] = mutated(mutant, row)
        layer = known[row["name"]][number]
        values = table(layer, mutant.length(layer, length)) | {"window": layer.window}
        values |= golden_suite.beside(layer, row["config"])
        values |= {"media_positions": row["media_positions"]} if "media" in row else {}
        return values | mutant.values(values, layer, row)

    return answer


def mutated(mutant, row):
    """The layers of a row, or those without the mistake where it makes nothing that an engine runs."""
    right = sound(json.dumps(row["config"]))
    if mutant.config is SOUND.config and mutant.layers is SOUND.layers:
        return right
    try:
        config = mutant.config(row["config"])
        layers = mutant.layers(list(right if config is row["config"] else from_hf(config).layers))
        for layer in set(layers):
            table(layer, 1)
            golden_suite.beside(layer, row["config"])
    except (DataError, ValueError):
        return right
    return layers if len(layers) == len(right) else right


@functools.cache
def sound(config):
    """The layers of a config, a text in JSON."""
    return from_hf(json.loads(config)).layers


table = functools.cache(golden_suite.table)


def each(change):
    """Layers whose rotation is ``change(rotation)``, where that is another."""

    def one(layer):
        found = tuple(change(e) if e is layer.rotation else e for e in layer.encodings)
        return dataclasses.replace(layer, encodings=tuple(e for e in found if e is not None))

    return lambda layers: [one(layer) for layer in layers]


def each_scaling(kind, change):
    """The same, of the scalings of a class."""

    def one(rotation):
        scaling = getattr(rotation, "scaling", None)
        return dataclasses.replace(rotation, scaling=change(scaling)) if isinstance(scaling, kind) else rotation

    return each(one)


def other(**fields):
    """A rotation with other fields, as far as it has them."""

    def change(rotation):
        known = {field.name for field in dataclasses.fields(rotation)}
        return dataclasses.replace(rotation, **{name: v for name, v in fields.items() if name in known})

    return change


def to(**fields):
    """The same of a scaling."""
    return lambda scaling: dataclasses.replace(scaling, **fields)


def laid_out(before, after):
    return each(lambda e: other(layout=after)(e) if getattr(e, "layout", None) == before else e)


def first_rotating(layers):
    return next((layer for layer in layers if layer.rotation is not None), None)


def all_rotate(kinds):
    """Layers that do not rotate, of some kinds, rotate as the first that does."""

    def change(layers):
        model = first_rotating(layers)
        still = [layer.rotation is None and kinds(layer.kind) for layer in layers]
        return [
            dataclasses.replace(layer, encodings=model.encodings, head_dim=model.head_dim) if one and model else layer
            for layer, one in zip(layers, still)
        ]

    return change


def one_for_all(layers):
    """All that rotate do so as the first."""
    model = first_rotating(layers)
    return [
        layer
        if layer.rotation is None
        else dataclasses.replace(layer, encodings=model.encodings, head_dim=model.head_dim)
        for layer in layers
    ]


def bases_exchanged(layers):
    """Of two bases each layer has the other."""
    bases = sorted({getattr(layer.rotation, "base", 0) for layer in layers} - {0})
    if len(bases) != 2:
        return layers
    return each(lambda e: other(base=bases[bases.index(e.base) - 1])(e))(layers)


def scaled_alike(layers):
    """The scaling of some layers is that of all."""
    found = next((s for layer in layers if (s := getattr(layer.rotation, "scaling", None)) is not None), None)
    return each(other(scaling=found))(layers)


def turned(values, angles):
    """Cosines and sines of other angles, ``[positions, shown]``."""
    factor = values["attention_factor"]
    return {"cos": (factor * np.cos(angles)).tolist(), "sin": (factor * np.sin(angles)).tolist()}


def shown(values):
    return np.array(values["inverse_frequencies"])[values["shown"]]


def at_positions(places):
    """Positions that are other ones."""
    return lambda values, layer, row: turned(values, np.asarray(places, float)[:, None] * shown(values))


def in_precision(of_frequencies, of_angles):
    """Frequencies and angles that are rounded."""

    def change(values, layer, row):
        frequencies = shown(values).astype(of_frequencies)
        angles = (POSITIONS.astype(of_angles)[:, None] * frequencies.astype(of_angles)).astype(of_angles)
        return turned(values, angles.astype(float))

    return change


def with_factor(power):
    """The factor of cosine and sine to a power."""

    def change(values, layer, row):
        own = values["attention_factor"]
        new = {name: (np.array(values[name]) * own ** (power - 1)).tolist() for name in ("cos", "sin")}
        return new | {"attention_factor": own**power}

    return change


def over_the_head(values, layer, row):
    """A part of a head turns by the frequencies of the whole head."""
    count, rotation = len(values["planes"]), layer.rotation
    if not isinstance(rotation, RoPE) or rotation.scaling is not None or 2 * count == layer.head_dim:
        return {}
    frequencies = rotation.base ** (-2 * np.arange(count) / layer.head_dim)
    own = values | {"inverse_frequencies": frequencies.tolist()}
    return {"inverse_frequencies": frequencies.tolist()} | turned(own, POSITIONS[:, None] * shown(own))


def partial_again(layers):
    """The fraction of a fraction."""
    return [
        each(lambda e, width=layer.head_dim: other(rotary_dim=e.rotary_dim**2 // width)(e) if part(e) else e)([layer])[
            0
        ]
        for layer in layers
    ]


def part(rotation):
    return getattr(rotation, "rotary_dim", None) is not None


def without(*names):
    return lambda config: {name: value for name, value in config.items() if name not in names}


def inside(change):
    """A config whose rotary parameters, in either spelling, are changed."""

    def changed(config):
        names = [name for name in ("rope_parameters", "rope_scaling") if isinstance(config.get(name), dict)]
        return config | {name: change(config, config[name]) for name in names}

    return changed


def from_the_length(config, given):
    name = "original_max_position_embeddings"
    return given | {name: config.get("max_position_embeddings", given[name])} if name in given else given


def factor_of_part(config):
    """A factor that the class passes over is read."""
    inner = config.get("rope_parameters") or config.get("rope_scaling") or {}
    part = inner.get("partial_rotary_factor") or config.get("partial_rotary_factor")
    flat = not any(isinstance(value, dict) for value in inner.values())
    return config | {"model_type": "stablelm"} if config["model_type"] == "llama" and part and flat else config


def unsmoothed(values, layer, row):
    """Llama 3's planes between the ends stay as they are."""
    scaling = getattr(layer.rotation, "scaling", None)
    if not isinstance(scaling, Llama3):
        return {}
    plain = layer.rotation.base ** (-2 * np.arange(layer.head_dim // 2) / layer.head_dim)
    longest = scaling.original_length / scaling.low_freq_factor
    found = np.where(2 * np.pi / plain > longest, plain / scaling.factor, plain)[: len(values["planes"])]
    return {"inverse_frequencies": found.tolist()}


def betas_exchanged(values, layer, row):
    """YaRN's ramp begins where it should end."""
    scaling, count = getattr(layer.rotation, "scaling", None), len(values["planes"])
    if not isinstance(scaling, YaRN):
        return {}
    plain = layer.rotation.base ** (-np.arange(count) / count)
    planes = [
        count * np.log(scaling.original_length / (2 * np.pi * beta)) / np.log(layer.rotation.base)
        for beta in (scaling.beta_slow, scaling.beta_fast)
    ]
    begin, end = np.floor(planes[0]), np.ceil(planes[1])
    ramp = np.clip((np.arange(count) - begin) / (end - begin), 0, 1)
    return {"inverse_frequencies": (plain / scaling.factor * ramp + plain * (1 - ramp)).tolist()}


def windowed(change):
    return lambda values, layer, row: {"window": change(values["window"], row)}


def from_count(values, layer, row):
    """Text after an image goes on from the number of tokens."""
    if "media" not in row:
        return {}
    places, last = row["media_positions"], row["media"][-1]
    return {"media_positions": [*places[:-last], *([n] * 3 for n in range(len(places) - last, len(places)))]}


def axes_by(order):
    def change(values, layer, row):
        rotation = layer.rotation
        if not isinstance(rotation, MRoPE):
            return {}
        counts = [int((rotation.axes(layer.head_dim) == axis).sum()) for axis in range(3)]
        if order == "reversed":
            return {"axes": np.repeat([2, 1, 0], counts[::-1]).tolist()}
        return {"axes": np.repeat([0, 1, 2], counts).tolist()}

    return change


def attends(kind):
    return kind not in STILL


def still(kind):
    return kind in STILL


def short(layer, length):
    return 1


def long(layer, length):
    return 10**7 if isinstance(getattr(layer.rotation, "scaling", None), LongRoPE) else length


def rotations_later(layers):
    """The pattern of layers without a rotation begins one layer late."""
    return [layers[-1], *layers[:-1]] if any(layer.rotation is None for layer in layers) else layers


def wrong_halves(rotation):
    """Proportional rotation taken for a part of the head."""
    if not isinstance(getattr(rotation, "scaling", None), PRoPE):
        return rotation
    return other(scaling=None, rotary_dim=rotation.scaling.fraction)(rotation)


def interpolated_twice(scaling):
    return PositionInterpolation(scaling.factor**2)


def fixed(scaling):
    return NTK(scaling.factor)


NO_YARN = inside(lambda config, given: {k: v for k, v in given.items() if "mscale" not in k})
UNTRUNCATED = inside(lambda config, given: {k: v for k, v in given.items() if k != "truncate"})

MUTANTS = (
    Mutant("attention factor dropped", "vllm-project/vllm#46280, #48351", values=with_factor(0)),
    Mutant("attention factor squared", values=with_factor(2)),
    Mutant("scaling dropped", "turboderp-org/exllamav3#259", layers=each(other(scaling=None))),
    Mutant("linear scaling applied twice", layers=each_scaling(PositionInterpolation, interpolated_twice)),
    Mutant("scaling on all layers", "huggingface/transformers#45945", layers=scaled_alike),
    Mutant("base of the other kind of layer", layers=bases_exchanged),
    Mutant("one rotation for all layers", "vllm-project/vllm#29111", layers=one_for_all),
    Mutant("halves paired as neighbours", "ooples/AiDotNet#2074", layers=laid_out("half", "interleaved")),
    Mutant("neighbours paired as halves", layers=laid_out("interleaved", "half")),
    Mutant("part applied twice", "vllm-project/vllm#29966", layers=partial_again),
    Mutant(
        "part ignored: whole heads rotate",
        "huggingface/transformers#48242, AI-Hypercomputer/maxtext#4616",
        layers=each(other(rotary_dim=None)),
    ),
    Mutant("part read that the class passes over", "huggingface/transformers#46912", config=factor_of_part),
    Mutant("frequencies of a part spread over the head", values=over_the_head),
    Mutant("proportional rotation taken for a part", layers=each(wrong_halves)),
    Mutant(
        "layers with attention rotate that do not", "vllm-project/vllm#30406, kekzl/imp#515", layers=all_rotate(attends)
    ),
    Mutant("layers without attention rotate", "EricLBuehler/mistral.rs#2305", layers=all_rotate(still)),
    Mutant(
        "no layer rotates where some do not",
        "huggingface/transformers#42872",
        layers=lambda layers: [
            dataclasses.replace(layer, encodings=())
            if layer.rotation is not None and any(one.rotation is None for one in layers)
            else layer
            for layer in layers
        ],
    ),
    Mutant("pattern of layers one late", layers=rotations_later),
    Mutant(
        "positions in bfloat16", "huggingface/candle#3520", values=at_positions(POSITIONS.astype(ml_dtypes.bfloat16))
    ),
    Mutant("frequencies in bfloat16", values=in_precision(ml_dtypes.bfloat16, float)),
    Mutant("frequencies in float32", "kekzl/imp#1325", values=in_precision(np.float32, float)),
    Mutant("angles in float32", values=in_precision(float, np.float32)),
    Mutant("positions from 1", values=at_positions(POSITIONS + 1)),
    Mutant("window one too wide", "NVIDIA-NeMo/Megatron-Bridge#2656", values=windowed(lambda w, row: w and w + 1)),
    Mutant(
        "windows in all layers",
        values=windowed(
            lambda w, row: w or next((group["window"] for group in row["groups"] if group["window"]), None)
        ),
    ),
    Mutant("windows dropped", values=windowed(lambda w, row: None)),
    Mutant("sections in the order of columns, rows, time", values=axes_by("reversed")),
    Mutant(
        "alternating sections read as blocks",
        "JJJYmmm/Multimodal-RoPEs#2, vllm-project/vllm-gaudi#1437",
        values=axes_by("blocks"),
    ),
    Mutant("text after an image counted by tokens", values=from_count),
    Mutant(
        "original length from max_position_embeddings", "huggingface/transformers#42513", config=inside(from_the_length)
    ),
    Mutant("YaRN's betas exchanged", values=betas_exchanged),
    Mutant("truncate ignored", config=UNTRUNCATED),
    Mutant("mscale ignored", config=NO_YARN),
    Mutant(
        "logits without the square of mscale",
        "onnxruntime/mobius#548",
        values=lambda values, layer, row: {"logit_factor": 1.0} if "logit_factor" in values else {},
    ),
    Mutant("short factors at every length", length=short),
    Mutant("long factors at every length", length=long),
    Mutant("dynamic base fixed at the factor", layers=each_scaling(DynamicNTK, fixed)),
    Mutant("Llama 3's planes between its ends left out", values=unsmoothed),
    Mutant(
        "factor of queries dropped",
        layers=lambda layers: [
            dataclasses.replace(one, encodings=tuple(e for e in one.encodings if not isinstance(e, QueryTemperature)))
            for one in layers
        ],
        values=lambda values, layer, row: {"query_factors": values.get("query_factors")},
    ),
    Mutant(
        "defaults of Llama where a config is silent",
        config=lambda config: (
            config if "rope_parameters" in config or "rope_scaling" in config else config | {"model_type": "llama"}
        ),
    ),
)


def found(mutant, only=()):
    """The lines of the checker."""
    return check.problems(engine(mutant), only)


def changes(mutant, row):
    """Whether any value of a row that the engine with the mistake gives is another one."""
    wrong, sound = engine(mutant), engine(SOUND)
    for group in row["groups"]:
        for layer, point in itertools.product(group["layers"], group["points"]):
            right = sound(row, layer, point["length"])
            if any(value != right.get(name) for name, value in wrong(row, layer, point["length"]).items()):
                return True
    return False
