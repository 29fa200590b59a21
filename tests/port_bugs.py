"""Faults of real ports of models, each planted in the example engine of the golden sequences."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posenc_jax.golden.sequences.reference import Engine


class Bug(NamedTuple):
    """A fault, the public threads that report it, and the scenario that shows it."""

    name: str
    threads: str
    scenario: str
    engine: Callable


def with_model(change):
    """An engine that reads another model: ``change(model)`` alters a copy."""

    class Changed(Engine):
        def __init__(self, model, inputs):
            model = copy.deepcopy(model)
            change(model)
            super().__init__(model, inputs)

    return Changed


def each_layer(change):
    """The same, by ``change(layer)`` of every layer."""
    return with_model(lambda model: [change(layer) for layer in model["layers"]])


def each_rope(change):
    """The same, by ``change(rope)`` wherever there is one."""
    return each_layer(lambda layer: change(layer["rope"]) if "rope" in layer else None)


class QueriesElsewhere(Engine):
    """Rotates queries, told from keys by their number of heads, at other positions."""

    def rotated(self, x, positions, rope):
        queries = x.shape[1] == self.model["heads"] != self.model["kv_heads"]
        return super().rotated(x, self.moved(positions) if queries else positions, rope)


class QueriesLate(QueriesElsewhere):
    def moved(self, positions):
        return positions + 1 if positions.shape[1] == 1 else positions


class QueriesFromZero(QueriesElsewhere):
    def moved(self, positions):
        return positions - positions[:, :1]


class FirstRowOnly(Engine):
    def rotated(self, x, positions, rope):
        turned = super().rotated(x, positions, rope)
        return turned * (np.arange(len(x)) == 0)[:, None, None, None] if x.shape[2] == 1 else turned


class CountsSlots(Engine):
    def prompt_positions(self):
        found = super().prompt_positions()
        return np.broadcast_to(np.arange(found.shape[1]), found.shape).copy()


class CountsCachedRows(Engine):
    def delta(self):
        return 0 * super().delta()


class BiasFromZero(Engine):
    def bias(self, name, layer, queries, keys):
        positions = np.broadcast_to(np.arange(len(queries.slots)), queries.positions.shape)
        return super().bias(name, layer, queries._replace(positions=positions), keys)


class FirstImageOnly(Engine):
    def __init__(self, model, inputs):
        images = {"images": [row[:1] for row in inputs["images"]]} if "images" in inputs else {}
        super().__init__(model, inputs | images)


class BiasBySlot(Engine):
    def bias(self, name, layer, queries, keys):
        own, other = (np.broadcast_to(side.slots, side.segments.shape) for side in (queries, keys))
        return super().bias(name, layer, queries._replace(positions=own), keys._replace(positions=other))


class NaiveSlopes(Engine):
    def slopes(self, heads):
        return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


class Tiled(Engine):
    def for_all_heads(self, x):
        return np.tile(x, (1, self.model["heads"] // self.model["kv_heads"], 1, 1))


class SpreadOverTheHead(Engine):
    def frequencies(self, rope):
        partial = rope["dims"] < self.model["head_dim"]
        return (
            super().frequencies(rope) ** (rope["dims"] / self.model["head_dim"])
            if partial
            else super().frequencies(rope)
        )


class SeesPaddedSource(Engine):
    def mask(self, layer, queries, keys, causal):
        if keys.segments.shape[1] != self.seen.shape[1] and queries.slots is not keys.slots:
            keys = keys._replace(segments=np.ones_like(keys.segments))
        return super().mask(layer, queries, keys, causal)


def lanes_mixed(rope):
    rope["lanes"] = {"half": "interleaved", "interleaved": "half"}[rope["lanes"]]


def all_rotated(model):
    for layer in model["layers"]:
        if "rope" in layer:
            layer["rope"] |= {"dims": model["head_dim"]}


def scaled_everywhere(model):
    scaling = next((layer["rope"]["yarn"] for layer in model["layers"] if "yarn" in layer.get("rope", {})), None)
    for layer in model["layers"]:
        if scaling and "rope" in layer:
            layer["rope"]["yarn"] = scaling


def rope_everywhere(model):
    ropes = [layer["rope"] for layer in model["layers"] if "rope" in layer]
    for layer in model["layers"]:
        if ropes:
            layer.setdefault("rope", ropes[-1])


def biased_across(model):
    for layer in model["layers"]:
        if "cross" in layer:
            layer["cross"] |= {"t5": model["encoder_layers"][0]["t5"]}


def one_base(model):
    for layer in model["layers"]:
        if "rope" in layer:
            layer["rope"]["base"] = 10000.0


BUGS = [
    Bug("queries of a step rotated one position late", "ml-explore/mlx-lm#1097, #1806", "layers", QueriesLate),
    Bug("rows after the first zero in a step", "ml-explore/mlx#3494", "prefill_then_steps", FirstRowOnly),
    Bug("queries counted from 0 in every call", "RobertCsordas/moeut#6", "chunked_prefill", QueriesFromZero),
    Bug("padding on the left counted", "ndif-team/nnsight#673, unslothai/unsloth#3699", "left_padding", CountsSlots),
    Bug("packed positions not reset", "allenai/OLMo-core#591, NVIDIA/Megatron-LM#453", "packing", CountsSlots),
    Bug(
        "rows left in the cache counted after eviction",
        "rajveer43/VeloxQuant-MLX#171, #175",
        "yarn_on_some_layers",
        CountsCachedRows,
    ),
    Bug("key heads tiled, not repeated", "ekzhang/jax-js#180", "grouped_queries", Tiled),
    Bug(
        "scaling dropped",
        "Blaizzy/mlx-vlm#1710, lablup/mlxcel#1340, MakazhanAlpamys/Soup#793",
        "yarn_on_some_layers",
        each_rope(lambda rope: rope.pop("yarn", None)),
    ),
    Bug(
        "scaling on all layers",
        "huggingface/transformers#45945, antonellof/ferrox#39",
        "yarn_on_some_layers",
        with_model(scaled_everywhere),
    ),
    Bug("one base for all layers", "vllm-project/vllm#29111", "layers", with_model(one_base)),
    Bug(
        "layers without positions rotated",
        "huggingface/transformers#43756, airockchip/rknn-llm#501, timtoole02/Camelid#535",
        "layers",
        with_model(rope_everywhere),
    ),
    Bug(
        "window one key too wide",
        "ml-explore/mlx-lm#390",
        "chunked_prefill",
        each_layer(lambda layer: layer.update(window=layer["window"] + 1) if "window" in layer else None),
    ),
    Bug("lanes in the other order", "NeuraLegion/shainet#111", "partial", each_rope(lanes_mixed)),
    Bug(
        "all dimensions rotated instead of a part",
        "vllm-project/vllm#43770, AI-Hypercomputer/maxtext#4742",
        "partial",
        with_model(all_rotated),
    ),
    Bug(
        "frequencies spread over the head instead of the rotated part",
        "pie-project/pie#603",
        "partial",
        SpreadOverTheHead,
    ),
    Bug("delta after an image forgotten", "sgl-project/sglang#8219", "mrope_images", CountsCachedRows),
    Bug("second image counted as text", "Blaizzy/mlx-vlm#1282", "mrope_images", FirstImageOnly),
    Bug("bucket distance counted from the call", "huggingface/candle#899", "t5_decoding", BiasFromZero),
    Bug("ALiBi's distance counts padding", "PaddlePaddle/PaddleNLP#6495", "alibi_with_padding", BiasBySlot),
    Bug("ALiBi's slopes of a power of two for three heads", "ml-explore/mlx#3071", "alibi_with_padding", NaiveSlopes),
    Bug(
        "T5's buckets in cross-attention too",
        "huggingface/transformers#8518, guillaume-be/rust-bert#171",
        "cross_attention",
        with_model(biased_across),
    ),
    Bug("padding of the source seen", "NVIDIA/FasterTransformer#270", "cross_attention", SeesPaddedSource),
]
