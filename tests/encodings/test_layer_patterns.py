"""Rows named after released models, against what the config of the model declares, layer by layer."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from posenc_jax.encodings import Inkling, Interpolated, QueryTemperature, RoPE, elements, for_layer, parse
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
# As published, without what does not concern positions; OLMo's also names the attention factor that YaRN's rule gives.
_SIZES = {"num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16}
_LLAMA_3 = {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
OTHERS = {
    "Two bases, layers of ModernBERT": {"model_type": "modernbert", "local_attention": 128},
    "Scaled where all is seen, layers of OLMo 3": {
        "model_type": "olmo3",
        "max_position_embeddings": 65536,
        "sliding_window": 4096,
        "rope_theta": 500000,
        "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192},
    },
    "Layers of EXAONE 4.0": {
        "model_type": "exaone4",
        "max_position_embeddings": 131072,
        "sliding_window": 4096,
        "sliding_window_pattern": "LLLG",
        "rope_theta": 1000000,
        "rope_scaling": {**_LLAMA_3, "original_max_position_embeddings": 8192},
    },
}
CONFIGS = {model["name"]: model["config"] for model in json.loads(Path(check.FILE).read_text())["models"]}


def declared_by(name):
    return from_hf(CONFIGS[MODELS[name]] if name in MODELS else _SIZES | OTHERS[name])


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_a_pattern_is_that_of_the_released_model(name):
    slot, declared = parse(SPECS[name]), declared_by(name)
    assert declared.slot == slot
    for number, layer in enumerate(declared.layers):
        assert for_layer(slot, number) == layer.encodings


def test_windows_of_the_notes_are_those_of_the_models():
    notes = {method.name: method.note for method in PATTERNS}
    for name in ("Two bases, layers of Gemma 3", "Two rotations, layers of Gemma 4", *OTHERS):
        assert f"model.windows = {declared_by(name).windows}" in notes[name]


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


def test_every_fourth_layer_of_swan_sees_all_and_does_not_turn():
    slot = parse(SPECS["SWAN-GPT"])
    assert [for_layer(slot, number) for number in range(8)] == [(), *[(RoPE(),)] * 3] * 2


def test_layers_of_models_without_a_config_here():
    """As `layer_types` of their classes in transformers: every fourth sees all, every sixth from the first on."""
    trinity, inkling = parse(SPECS["Layers of Trinity"]), parse(SPECS["Layers of Inkling 2"])
    for number in range(24):
        turns = (RoPE(layout="half"),) if (number + 1) % 4 else ()
        assert for_layer(trinity, number) == turns
        sees_all = number % 6 == 0
        wanted = Inkling(extent=1024 if sees_all else 512, clip=8.0, floor=128000 if sees_all else None)
        assert for_layer(inkling, number) == (wanted,)
    assert parse(SPECS["Attention layers of Ling 3.0"])[0].base == 6e6
    assert parse(SPECS["Attention layers of Nemotron-H"]) == ()


def test_bases_of_deepseek_v4():
    """Frequencies as DeepSeek's code has them, over the last dimensions: YaRN without its magnitude."""
    slot = parse(SPECS["Two bases, layers of DeepSeek-V4"])
    ((plain,), (same,), (compressed,), (other,)) = (for_layer(slot, number) for number in range(4))
    assert (plain, compressed) == (same, other)
    assert (plain.base, plain.scaling, compressed.scaling.magnitude, compressed.logit_factor) == (10000.0, None, 1, 1)
    low, high = (64 * math.log(65536 / (turns * math.tau)) / (2 * math.log(160000)) for turns in (32, 1))
    low, high = math.floor(low), math.ceil(high)
    found = []
    for k in range(32):
        ramp, frequency = min(max((k - low) / (high - low), 0), 1), 160000 ** (-2 * k / 64)
        found.append(frequency / 16 * ramp + frequency * (1 - ramp))
    np.testing.assert_allclose(compressed.frequencies_for(dims_of(256)), found, rtol=1e-12)


def test_llama_4_scales_queries_where_it_does_not_turn():
    slot = parse(SPECS["iRoPE, layers of Llama 4"])
    assert for_layer(slot, 3) == (QueryTemperature(floor=8),)
    assert for_layer(slot, 0) == (RoPE(base=500000.0),)
