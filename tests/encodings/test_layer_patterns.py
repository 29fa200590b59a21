"""Patterns of layers by name: every layer against what the released model's config declares of it."""

import json
from pathlib import Path

import pytest

from posenc_jax.encodings import Interpolated, QueryTemperature, RoPE, elements, for_layer, parse
from posenc_jax.encodings.layer_patterns import PATTERNS
from posenc_jax.golden.rope import check
from posenc_jax.huggingface import from_hf

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


def test_llama_4_scales_queries_where_it_does_not_turn():
    slot = parse(SPECS["iRoPE, layers of Llama 4"])
    assert for_layer(slot, 3) == (QueryTemperature(floor=8),)
    assert for_layer(slot, 0) == (RoPE(base=500000.0),)
