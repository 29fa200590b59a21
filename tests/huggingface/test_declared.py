"""What configs declare, against the formulas in plain loops in float64, and what is refused or found odd."""

import json
import math

import numpy as np
import pytest

from posenc_jax.data.errors import DataError
from posenc_jax.encodings import Inkling, MLARoPE, QueryTemperature, RoPE, Sequence, Sinusoidal, parse, spec
from posenc_jax.encodings.absolute.learned import Learned
from posenc_jax.huggingface import from_hf, read_config

SIZES = {"num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 8, "max_position_embeddings": 4096}
LLAMA = {"model_type": "llama", **SIZES}


def powers(base, dim):
    return [base ** (-2 * k / dim) for k in range(dim // 2)]


def declared(**config):
    found = from_hf({**LLAMA, **config})
    assert parse(spec(found.slot)) == found.slot
    return found


def scaled(kind, **more):
    return declared(rope_theta=1e4, rope_scaling={"rope_type": kind, **more}).layers[0]


def assert_frequencies(layer, wanted, length=None):
    np.testing.assert_allclose(layer.inverse_frequencies(length), wanted, rtol=1e-13)


def test_plain():
    assert_frequencies(declared(rope_theta=5e5).layers[3], powers(5e5, 128))
    assert_frequencies(
        declared(rope_parameters={"rope_theta": 5e5, "rope_type": "default"}).layers[3], powers(5e5, 128)
    )


def test_linear():
    assert_frequencies(scaled("linear", factor=4.0), [f / 4 for f in powers(1e4, 128)])


def test_dynamic():
    layer = scaled("dynamic", factor=2.0)
    assert layer.switches_above == 4096
    assert_frequencies(layer, powers(1e4, 128), 4096)
    assert_frequencies(layer, powers(1e4 * (2 * 9000 / 4096 - 1) ** (128 / 126), 128), 9000)


def test_a_length_that_is_missing_is_that_of_the_class():
    found = declared(rope_theta=1e4, rope_scaling={"type": "dynamic", "factor": 2.0}, max_position_embeddings=None)
    assert (found.max_length, found.layers[0].switches_above) == (2048, 2048)
    assert found.odd[0] == "max_position_embeddings is missing: 2048, the default of llama, is taken"


def test_yarn():
    layer = scaled("yarn", factor=8.0, original_max_position_embeddings=2048, beta_fast=24.0, truncate=False)
    low, high = (128 * math.log(2048 / (turns * math.tau)) / (2 * math.log(1e4)) for turns in (24, 1))
    wanted = []
    for k, f in enumerate(powers(1e4, 128)):
        ramp = min(max((k - low) / (high - low), 0), 1)
        wanted.append(f / 8 * ramp + f * (1 - ramp))
    assert_frequencies(layer, wanted)
    assert layer.attention_factor == pytest.approx(0.1 * math.log(8) + 1, rel=1e-15)
    scales = {"mscale": 1.0, "mscale_all_dim": 0.5}
    layer = scaled("yarn", factor=8.0, original_max_position_embeddings=2048, **scales)
    assert layer.attention_factor == pytest.approx((0.1 * math.log(8) + 1) / (0.05 * math.log(8) + 1), rel=1e-15)


def test_longrope():
    short, long = [1 + k / 100 for k in range(64)], [1 + k / 10 for k in range(64)]
    layer = declared(
        rope_theta=1e4,
        original_max_position_embeddings=1024,
        rope_scaling={"type": "longrope", "short_factor": short, "long_factor": long},
    ).layers[0]
    assert_frequencies(layer, [f / x for f, x in zip(powers(1e4, 128), short)], 1024)
    assert_frequencies(layer, [f / x for f, x in zip(powers(1e4, 128), long)], 1025)
    assert layer.attention_factor == pytest.approx(math.sqrt(1 + math.log(4) / math.log(1024)), rel=1e-15)


def test_llama3():
    values = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}
    wanted = []
    for f in powers(1e4, 128):
        wavelength = math.tau / f
        smooth = (1024 / wavelength - 1) / 3
        wanted.append(f if wavelength < 256 else f / 8 if wavelength > 1024 else (1 - smooth) * f / 8 + smooth * f)
    assert_frequencies(scaled("llama3", factor=8.0, **values), wanted)


def test_llama3_with_nothing_between():
    values = {"low_freq_factor": 1.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 8192}
    wanted = [f if math.tau / f < 8192 else f / 16 for f in powers(1e4, 128)]
    assert_frequencies(scaled("llama3", factor=16.0, **values), wanted)  # as Llama 4 Scout has it


def test_proportional():
    layer = scaled("proportional", partial_rotary_factor=0.25, factor=2.0)
    assert_frequencies(layer, [f / 2 if k < 16 else 0 for k, f in enumerate(powers(1e4, 128))])


def test_parts_of_heads():
    phi = {"model_type": "phi", "rope_theta": 1e4, "partial_rotary_factor": 0.25}
    assert_frequencies(declared(**phi).layers[0], powers(1e4, 32))
    assert_frequencies(from_hf({**LLAMA, "model_type": "gpt_neox", "rotary_emb_base": 1e4}).layers[0], powers(1e4, 32))
    assert_frequencies(from_hf({**LLAMA, "model_type": "gptj", "rotary_dim": 16}).layers[0], powers(1e4, 16))
    deep = from_hf({**LLAMA, "model_type": "deepseek_v3", "qk_rope_head_dim": 64, "rope_theta": 1e4})
    assert_frequencies(deep.layers[0], powers(1e4, 64))


def test_queries_of_llama_4_grow_where_they_do_not_turn():
    """Llama4TextAttention of transformers: attn_temperature_tuning is on unless a config turns it off."""
    config = {**LLAMA, "model_type": "llama4_text", "rope_theta": 5e5, "max_position_embeddings": 262144}
    found = from_hf(config)
    assert found.layers[3].encodings == (QueryTemperature(0.1, 8192, 1),)
    assert spec(found.slot) == "/".join([*["rope(base=500000.0)"] * 3, "query_temperature"])
    assert not any("attn_scale" in odd for odd in found.odd)
    own = from_hf({**config, "attn_scale": 0.2, "floor_scale": 4096}).layers[3].encodings
    assert own == (QueryTemperature(0.2, 4096, 1),)
    for off in (False, 0):
        assert from_hf({**config, "attn_temperature_tuning": off}).layers[3].encodings == ()


def test_queries_of_ministral_3_grow_beyond_the_original_length():
    yarn = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16384}
    config = {**LLAMA, "model_type": "ministral3", "max_position_embeddings": 262144}
    temperature, rope = (
        from_hf({**config, "rope_parameters": {**yarn, "llama_4_scaling_beta": 0.1}}).layers[0].encodings
    )
    assert temperature == QueryTemperature(0.1, 16384, 0)
    assert (rope,) == from_hf({**config, "rope_parameters": yarn}).layers[0].encodings


def test_logits_of_deepseek_have_the_factor_of_yarn():
    """yarn_apply_mscale of transformers: the scale times the square of 0.1 mscale_all_dim ln(factor) + 1."""
    yarn = {"type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}
    config = {**LLAMA, "model_type": "deepseek_v3", "qk_rope_head_dim": 64, "max_position_embeddings": 163840}
    found = from_hf({**config, "rope_theta": 1e4, "rope_scaling": {**yarn, "mscale": 1.0, "mscale_all_dim": 1.0}})
    (element,) = found.layers[0].encodings
    assert isinstance(element, MLARoPE)
    assert element.logit_factor == pytest.approx((0.1 * math.log(40) + 1) ** 2, rel=1e-15)
    assert (found.layers[0].attention_factor, found.odd) == (1, ())
    assert from_hf({**config, "rope_theta": 1e4}).layers[0].encodings[0].logit_factor == 1


def test_classes_have_defaults_of_their_own():
    """The slowest planes that the classes of transformers 5.24 have, for heads of 64."""
    slowest = {"gpt_oss": 3.0235114e-07, "ministral3": 9.6245408e-08, "apertus": 1.7336172e-08, "gemma4_text": 0.0}
    for kind, wanted in slowest.items():
        layer = from_hf({"model_type": kind, **SIZES, "max_position_embeddings": None, "head_dim": 64}).layers[5]
        assert layer.inverse_frequencies()[-1] == pytest.approx(wanted, rel=1e-6)


def test_a_magnitude_of_0_is_none():
    yarn = {"factor": 4.0, "original_max_position_embeddings": 1024, "mscale": 1.0, "mscale_all_dim": 0.0}
    assert scaled("yarn", **yarn).attention_factor == pytest.approx(0.1 * math.log(4) + 1, rel=1e-15)


def test_heads_of_two_widths():
    """Gemma 4's: head_dim is that of layers with a window."""
    both = {kind: {"rope_theta": 1e4} for kind in ("sliding_attention", "full_attention")}
    found = from_hf({**LLAMA, "model_type": "gemma4_text", "head_dim": 64, "rope_parameters": both})
    assert [layer.head_dim for layer in found.layers[:6]] == [64] * 5 + [512]
    assert from_hf({**LLAMA, "model_type": "gemma4_text", "global_head_dim": 32}).layers[5].head_dim == 32
    assert (
        from_hf({**LLAMA, "model_type": "gemma4_text", "per_layer_config": {"5": {"head_dim": 32}}}).layers[5].head_dim
        == 32
    )


def test_axes():
    sections = {"type": "mrope", "mrope_section": [16, 24, 24]}
    assert spec(declared(rope_theta=1e6, rope_scaling=sections).slot) == "mrope(sections=(16, 24, 24))"
    extended = sections | {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    layer = declared(rope_theta=1e6, rope_scaling=extended).layers[0]  # as Qwen2.5-VL's page has it for longer texts
    assert_frequencies(
        layer, scaled("yarn", **extended | {"rope_theta": 1e6, "mrope_section": None}).inverse_frequencies()
    )
    assert layer.attention_factor == pytest.approx(0.1 * math.log(4) + 1, rel=1e-15)
    glm = {"model_type": "glm4v_text", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    glm = declared(**glm, rope_scaling={"rope_type": "default", "mrope_section": [8, 12, 12]})
    assert spec(glm.slot) == "mrope(sections=(8, 12, 12), base=10000.0, layout='interleaved', rotary_dim=64)"
    axial = declared(rope_parameters={"rope_type": "axial", "rope_theta": 1e4})
    assert_frequencies(axial.layers[0], powers(1e4, 64) * 2)


def test_two_bases_and_windows():
    """Gemma 3's, in the old and in the new spelling."""
    linear = {"rope_type": "linear", "factor": 8.0}
    gemma = {**LLAMA, "model_type": "gemma3_text", "sliding_window": 1024}
    old = from_hf({**gemma, "rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_scaling": linear})
    nested = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {**linear, "rope_theta": 1e6},
    }
    new = from_hf({**gemma, "rope_parameters": nested, "layer_types": [layer.kind for layer in old.layers]})
    assert old.layers == new.layers
    assert [layer.window for layer in old.layers] == [1024] * 5 + [None] + [1024] * 5 + [None]
    assert_frequencies(old.layers[0], powers(1e4, 256))
    assert_frequencies(old.layers[5], [f / 8 for f in powers(1e6, 256)])
    assert from_hf({"model_type": "gemma3", "text_config": gemma}).layers == from_hf(gemma).layers


WINDOWED = {"sliding_window": 9, "use_sliding_window": True}
FULL = ["full_attention"] * 12
GRANITE = {"model_type": "granitemoehybrid", "layer_types": FULL}
UNROTATED = ("0000", [None] * 4)


@pytest.mark.parametrize(
    ("config", "rotating", "windows"),
    [
        ({"model_type": "smollm3"}, "1110", [None] * 4),
        ({"model_type": "smollm3", "no_rope_layers": [0, 1] * 6}, "0101", [None] * 4),
        ({"model_type": "smollm3", "sliding_window": 9, "use_sliding_window": True}, "1110", [None, None, None, 9]),
        ({"model_type": "llama4_text"}, "1110", [8192, 8192, 8192, None]),
        ({"model_type": "cohere2"}, "1110", [4096, 4096, 4096, None]),
        ({"model_type": "exaone4", "sliding_window_pattern": "LG"}, "1010", [4096, None, 4096, None]),
        ({"model_type": "modernbert", "local_attention": 32}, "1111", [None, 17, 17, None]),
        ({"model_type": "mistral"}, "1111", [4096] * 4),
        ({"model_type": "mistral", "sliding_window": None}, "1111", [None] * 4),
        ({"model_type": "qwen2", "sliding_window": 100, "max_window_layers": 2}, "1111", [None] * 4),
        ({"model_type": "qwen2", "max_window_layers": 2, **WINDOWED}, "1111", [None, None, 9, 9]),
        ({"model_type": "qwen2", "max_window_layers": 0, **WINDOWED}, "1111", [9] * 4),
        ({"model_type": "qwen2_vl", "max_window_layers": 3, "use_sliding_window": True}, "1111", [None] * 3 + [4096]),
        ({"model_type": "beam", "rope_parameters": {"full_attention": None}, "layer_types": FULL}, *UNROTATED),
        ({"model_type": "afmoe", "sliding_window": 9}, "1110", [9, 9, 9, None]),
        ({"model_type": "flint"}, "0011", [None, None, 513, 513]),
        ({"model_type": "bamba", "attn_layer_indices": [1, 3]}, "0101", [None] * 4),
        ({"model_type": "granitemoehybrid", "layer_types": FULL, "position_embedding_type": "nope"}, *UNROTATED),
        (
            {"model_type": "granitemoehybrid", "layer_types": FULL, "position_embedding_type": "rope"},
            "1111",
            [None] * 4,
        ),
        ({"model_type": "granite_swa", "layer_rope_theta": [0, 1e4, 1e4, 0] * 3}, "0110", [None, 128, 128, 128]),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*"}, *UNROTATED),
        ({"model_type": "recurrent_gemma", "attention_window_size": 9}, "0010", [None, None, 9, None]),
        ({"model_type": "gpt_neo", "window_size": 8}, "0000", [None, 8, None, 8]),
        ({"model_type": "jamba", "attn_layer_period": 2, "attn_layer_offset": 1}, *UNROTATED),
        ({"model_type": "mllama_text_model", "cross_attention_layers": [1]}, "1011", [None] * 4),
        ({"model_type": "qwen3_next", "layer_types": ["linear_attention"] * 11 + ["full_attention"]}, *UNROTATED),
        ({"sliding_window": 9}, "1111", [None] * 4),  # Llama's class has none
        ({"model_type": "mpt"}, *UNROTATED),
    ],
)
def test_layers(config, rotating, windows):
    layers = from_hf({**LLAMA, **config}).layers[:4]
    assert "".join(str(int(layer.rotation is not None)) for layer in layers) == rotating
    assert [layer.window for layer in layers] == windows


def test_others():
    assert spec(from_hf({"model_type": "gpt2", "n_layer": 2, "n_positions": 1024}).slot) == "learned(max_len=1024)"
    assert spec(from_hf({"model_type": "t5", "num_layers": 2}).slot) == "t5(scaled=False)"
    assert spec(from_hf({**LLAMA, "model_type": "bloom"}).slot) == "alibi"


BY_KIND = {"full_attention": {"rope_type": "default", "rope_theta": 1e5}}
LINEAR = {"type": "linear", "factor": 2.0}
LONG = {"type": "longrope", "factor": 8.0, "short_factor": [1.0] * 64, "long_factor": [2.0] * 64}


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, "rope_theta is missing: 10000, the default of llama"),
        ({"rope_scaling": {"type": "default", "factor": 4.0}}, "factor = 4.0 is ignored by rope_type 'default'"),
        ({"rope_scaling": {"type": "linear", "factor": 4.0, "beta": 1}}, "beta = 1 is no key that is read"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "original_max_position_embeddings is missing"),
        ({"rope_scaling": {"type": "yarn", "original_max_position_embeddings": 1024}}, "factor is missing"),
        ({"rope_scaling": {"type": "dynamic", "factor": 1.0}}, "factor = 1 does not mean unchanged"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "in a batch, the longest row decides in transformers"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0, "mscale": 1.0}}, "mscale and mscale_all_dim count together"),
        ({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}, "rope_theta = 1e+06 among"),
        ({"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2.0}}, "counts, not type = 'yarn'"),
        ({"rope_scaling": {"factor": 2.0}, "rope_parameters": {"rope_type": "default"}}, "both rope_scaling and"),
        ({"rope_embedding_base": 1e6}, "rope_embedding_base = 1000000.0 is not read"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5 is not read by the class of llama: whole heads"),
        ({"rope_parameters": BY_KIND}, "rotary parameters by kinds of layers are not read by the class of llama"),
        ({"model_type": "gemma3_text", "rope_scaling": LINEAR}, "type in rope_scaling is not read by the class"),
        ({"model_type": "gpt_oss"}, "rope_parameters are missing: yarn, the default of gpt_oss, is taken"),
        (
            {"model_type": "phi3", "rope_scaling": LONG},
            "original_max_position_embeddings is missing: 4096, the default",
        ),
        ({"model_type": "gemma4_text", "rope_theta": 1e5}, "rope_theta = 100000.0 is not read"),
        ({"model_type": "gemma3_text", "rope_parameters": {"rope_type": "yarn"}}, "unless by kinds of layers"),
        ({"auto_map": {"AutoModel": "code.Model"}}, "it is not run"),
        ({"model_type": "falcon", "alibi": True}, "divided by sqrt(head_dim)"),
    ],
)
def test_what_is_odd(config, found):
    assert any(found in odd for odd in declared(**config).odd)


def test_rows_of_sines_before_position_0():
    found = from_hf({"model_type": "xglm", "num_layers": 3, "d_model": 16, "max_position_embeddings": 64})
    (element,) = found.layers[2].encodings
    assert element == Sinusoidal(frequencies="tensor2tensor", layout="half", offset=2)
    row = element.embed({}, np.zeros((1, 4, 16), np.float32), Sequence.of_length(4))[0, 3]
    angles = [5 * 10000 ** (-k / 7) for k in range(8)]
    np.testing.assert_allclose(row, [*map(math.sin, angles), *map(math.cos, angles)], atol=1e-6)


def test_relative_logits_of_inkling():
    found = from_hf(
        {"model_type": "inkling2_text", "num_hidden_layers": 7, "rel_extent": 300, "local_layer_ids": [0, 6]}
    )
    assert [layer.kind for layer in found.layers] == ["hybrid_sliding", *["hybrid"] * 5, "hybrid_sliding"]
    assert [layer.window for layer in found.layers] == [1024, *[None] * 5, 1024]
    assert found.layers[0].encodings == (Inkling(extent=1024, clip=8.0),)
    assert found.layers[1].encodings == (Inkling(extent=300, clip=8.0, floor=128000),)
    first = from_hf({"model_type": "inkling_text", "num_hidden_layers": 12, "sliding_window_size": 64, "d_rel": 8})
    assert [n for n, layer in enumerate(first.layers) if layer.window is None] == [5, 11]
    assert first.layers[0].encodings == (Inkling(width=8, extent=64),)
    assert first.layers[5].encodings == (Inkling(width=8),)


def test_a_table_that_turns_neighbours():
    found = from_hf({"model_type": "roformer", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4})
    assert found.layers[0].rotation == RoPE(layout="interleaved")
    assert_frequencies(found.layers[0], powers(1e4, 16))
    with pytest.raises(DataError, match="rotary_value = True of roformer, and False is read"):
        from_hf({"model_type": "roformer", "num_hidden_layers": 1, "rotary_value": True})


def test_nothing_is_odd_without_a_reason():
    assert declared(rope_theta=1e4, rope_scaling=None).odd == ()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"rope_scaling": {"type": "yarm", "factor": 4.0}}, "did you mean 'yarn'"),
        ({"rope_scaling": {"type": "linear"}}, "needs a factor"),
        ({"rope_scaling": {"type": "linear", "factor": "4"}}, "factor = '4' must be a number above 0"),
        ({"rope_scaling": {"type": "linear", "factor": 0.5}}, "PositionInterpolation.factor = 0.5 must be at least 1"),
        ({"rope_scaling": {"type": "llama3", "factor": 4.0}}, "low_freq_factor and high_freq_factor"),
        ({"rope_scaling": {"type": "longrope", "factor": 4.0}}, "needs short_factor"),
        ({"rope_scaling": {"mrope_section": [1, 2, 3]}}, "are 6 planes"),
        ({"rope_scaling": {"mrope_section": [16, 24, 24], "type": "axial"}}, "is read with default, linear, dynamic, "),
        ({"model_type": "phi", "rope_scaling": {"mrope_section": [16, 24, 24]}}, "64 of head_dim = 128 dim"),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}, "partial_rotary_factor": 0.5},
            "gives fewer frequencies than",
        ),
        ({"model_type": "qwen2", "rope_parameters": BY_KIND}, "are not read by the class of qwen2: give one set"),
        ({"model_type": "laguna", "rope_parameters": {"rope_theta": 1e4}}, "must have a set for each kind of layer"),
        (
            {"model_type": "phi3", "rope_scaling": {"type": "linear", "factor": 2.0}},
            "'linear' of phi3 is no encoding here",
        ),
        ({"model_type": "granite_swa", "layer_rope_theta": [[1e4]] * 12}, "must be a list of 12 numbers, 0 for no rot"),
        (
            {"model_type": "gpt_neo", "attention_types": [3]},
            "attention_types = [3] must be pairs of words and a",
        ),
        ({"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": 3}}, "must be a list of the numbers"),
        ({"model_type": "bamba", "attn_layer_indices": "23"}, "must be a list of the numbers of layers"),
        (
            {"model_type": "xlm", "sinusoidal_embeddings": True},
            "sinusoidal_embeddings = True of xlm, and False is",
        ),
        ({"model_type": "gemma4_text", "per_layer_config": {"5": 3}}, "must say one head_dim for some layers"),
        ({"model_type": "inkling_text", "layer_types": ["conv"] * 12}, "'conv', and 'hybrid' and 'hybrid_sliding' are"),
        ({"model_type": "xlnet"}, "tells positions by Transformer-XL's distances, which is not read"),
        ({"rope_scaling": 4.0}, "rope_scaling must be an object"),
        ({"rope_scaling": {"rope_type": ["linear"]}}, "rope_type = \"['linear']\" is none that is read"),
        ({"rope_theta": [5e6, 1e4]}, "rope_theta = [5000000.0, 10000.0] is one for each layer, and one for all"),
        ({"model_type": "bert", "position_embedding_type": "alibi"}, "position_embedding_type = 'alibi', and 'abs"),
        ({"partial_rotary_factor": 2}, "partial_rotary_factor = 2 must be above 0"),
        ({"head_dim": 65}, "must be even"),
        ({"num_hidden_layers": None}, "the config lacks num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, "must be at most 1024"),
        ({"hidden_size": 2**30}, "heads of 134217728 dimensions are more than the 16384 that are read"),
        ({"layer_types": ["full_attention"]}, "layer_types has 1 entries"),
        ({"layer_types": "full"}, "must be a list of words"),
        ({"model_type": "smollm3", "no_rope_layers": [2]}, "must be a list of 12 numbers"),
        ({"model_type": "mpt", "attn_config": {"alibi_bias_max": 16}}, "alibi_bias_max = 16, and the slopes"),
        ({"model_type": ["new"]}, "is not known"),
        ({"model_type": "new", "rope_theta": 1e4}, "from_hf(..., assume='llama'), or posenc rope ... --as llama"),
        ({"model_type": "llamma"}, "(did you mean 'llama'?)"),
    ],
)
def test_refused(config, message):
    with pytest.raises(DataError) as caught:
        from_hf({**LLAMA, **config})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_type_that_is_not_known_is_read_as_another_where_that_is_asked_for():
    """Keys that the other type does not read are named."""
    config = {**LLAMA, "model_type": "new", "rope_theta": 1e5, "attn_layer_indices": [2, 5], "use_mem_rope": False}
    found = from_hf(config, assume="llama")
    assert (found.model_type, found.assumed, found.layers) == ("new", "llama", declared(rope_theta=1e5).layers)
    assert found.odd[0] == "model_type = 'new' is read as llama, which it may not be"
    assert found.unread == found.odd[1:] == ("attn_layer_indices = [2, 5] is not read",)
    with pytest.raises(DataError, match="assume = 'lama' is no type that is known: did you mean 'llama'"):
        from_hf(config, assume="lama")


def test_a_null_is_no_default():
    """Where the class has a default of its own, an explicit null is none: it divides the width, or fails."""
    config = {"model_type": "ernie4_5", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    assert [from_hf(own).layers[0].head_dim for own in (config, {**config, "head_dim": None})] == [128, 16]
    with pytest.raises(DataError, match=r"sliding_window = null, and sliding_attention needs one: .*, 4096"):
        from_hf({"model_type": "gemma2", "num_hidden_layers": 2, "sliding_window": None})


@pytest.mark.parametrize("name", ["use_rope", "rotary"])
def test_a_switch_that_is_off_and_not_read_is_named(name):
    assert from_hf({**LLAMA, name: False}).unread == (f"{name} = False is not read",)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "gptj", "rotary": True, "rotary_dim": 64},
        {"model_type": "bloom", "offset_alibi": 100, "seq_length": 2048},
        {"model_type": "modernbert", "position_embedding_type": "absolute", "local_attention": 128},
        {"model_type": "marian", "static_position_embeddings": True},
        {
            "model_type": "smollm3",
            "no_rope_layers": [1, 0] * 6,
            "no_rope_layer_interval": 4,
            "use_sliding_window": False,
        },
        {"model_type": "qwen2", "layer_types": FULL, "max_window_layers": 28, "sliding_window": 4096},
        {"model_type": "gemma2", "sliding_window": 4096, "sliding_window_size": 4096},
        {"model_type": "gemma3_text", "layer_types": FULL, "sliding_window_pattern": 6, "rope_local_base_freq": 1e4},
        {"model_type": "llama", "rope_interleaved": False, "original_max_position_embeddings": 4096},
    ],
)
def test_what_released_files_have_is_read_or_says_nothing(config):
    assert from_hf({**LLAMA, "rope_theta": None, **config}).unread == ()


def test_files(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert read_config(tmp_path) == read_config(tmp_path / "config.json") == LLAMA


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"[" * 10**6, "is no JSON"), (b"[1]", "holds a JSON list"), (b" " * (16 * 2**20 + 1), "bytes")],
)
def test_hostile_files(tmp_path, content, message):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_config(tmp_path)


def test_tables_of_positions_have_the_rows_before_position_0():
    sizes = {"num_hidden_layers": 2, "max_position_embeddings": 514}
    assert from_hf({"model_type": "opt", **sizes}).slot == (Learned(516, offset=2),)
    assert from_hf({"model_type": "roberta", **sizes}).slot == (Learned(514, offset=2),)
    assert from_hf({"model_type": "roberta", "pad_token_id": 0, **sizes}).slot == (Learned(514, offset=1),)
    assert from_hf({"model_type": "bert", "position_embedding_type": None, **sizes}).slot == (Learned(514),)
