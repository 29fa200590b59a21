"""Rows named after released models, against what the config of the model declares, layer by layer."""

import json
from pathlib import Path

import numpy as np
import pytest

from posenc_jax.encodings import Interpolated, QueryTemperature, RoPE, elements, for_layer, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.layer_patterns import PATTERNS
from posenc_jax.golden.rope import check
from posenc_jax.huggingface import from_hf
from posenc_jax.huggingface.rotation import dims_of

SPECS = {method.name: method.spec for method in PATTERNS}
MODELS = {
    "Layers of SmolLM3": "SmolLM3-3B",
    "Two bases, layers of Gemma 3": "Gemma-3-1b",
    "Two rotations, layers of Gemma 4": "Gemma-4-26B-A4B",
}
CONFIGS = {model["name"]: model["config"] for model in json.loads(Path(check.FILE).read_text())["models"]}


@pytest.mark.parametrize("name", MODELS)
def test_a_pattern_is_that_of_the_released_model(name):
    slot, declared = parse(SPECS[name]), from_hf(CONFIGS[MODELS[name]])
    assert declared.slot == slot
    for number, layer in enumerate(declared.layers):
        assert for_layer(slot, number) == layer.encodings


def test_windows_of_the_notes_are_those_of_the_models():
    notes = {method.name: method.note for method in PATTERNS}
    for name in ("Two bases, layers of Gemma 3", "Two rotations, layers of Gemma 4"):
        assert f"model.windows = {from_hf(CONFIGS[MODELS[name]]).windows}" in notes[name]


@pytest.mark.parametrize("name", ["RNoPE with windows", "iRoPE, layers of Llama 4"])
def test_every_fourth_layer_does_not_turn(name):
    slot = parse(SPECS[name])
    for number in range(48):
        turning = any(isinstance(element, RoPE) for element in for_layer(slot, number))
        assert turning == (number % 4 < 3)
    assert not any(isinstance(element, Interpolated) for element in elements(slot))


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("RoPE with an adjusted base (ABF)", {"model_type": "glm", "partial_rotary_factor": 1.0, "rope_theta": 5e5}),
        ("Partial RoPE of neighbours (GLM-4)", {"model_type": "glm"}),
        ("YaRN without rounding (gpt-oss)", CONFIGS["gpt-oss-20b"]),
        ("Proportional RoPE (Gemma 4)", None),
    ],
)
def test_rows_named_after_models_are_what_their_configs_declare(name, config):
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "head_dim": 32}
    (row,) = (method for method in CATALOGUE["rotary"] if method.name == name)
    declared = from_hf(CONFIGS["Gemma-4-26B-A4B"] if config is None else sizes | config)
    layer, (rope,) = declared.layers[-1], parse(row.spec)
    np.testing.assert_array_equal(rope.frequencies_for(dims_of(layer.head_dim)), layer.inverse_frequencies())
    assert (rope.layout, rope.magnitude) == (layer.rotation.layout, layer.attention_factor)


def test_llama_4_scales_queries_where_it_does_not_turn():
    slot = parse(SPECS["iRoPE, layers of Llama 4"])
    assert for_layer(slot, 3) == (QueryTemperature(floor=8),)
    assert for_layer(slot, 0) == (RoPE(base=500000.0),)
