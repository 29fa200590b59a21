"""Slots that are refused before anything is computed: settings that cannot be, and models that cannot be served."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Dims, Sequence, attend, check_slot, embed, init_slot, layer_inputs, parse

DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16, vocab_size=100)
COUPLED = "position_coupling(digits=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), plus={}, equals={})"

SETTINGS = {
    "alibi(slopes='nape', learned=True)": r"ALiBi.slopes = 'nape' are 1/h and 0, which largest_exponent does not",
    "axial_rope(staggered=True, rest_first=True)": "staggered deals the frequencies of one RoPE out evenly, .*: choose",
    "conditional_position(kernel=4)": r"ConditionalPosition.kernel = 4 must be odd, with a cell in the middle: 3",
    "decomposed(sizes=(14,))": r"Decomposed.sizes = \(14,\) must have .* two axes .*: .* there is `shaw`",
    "deberta('v2', max_distance=5, num_buckets=8)": r"max_distance = 5 must exceed num_buckets // 2 \+ 1 = 5",
    "dual_chunk(chunk=6, window=6)": r"DualChunk.window = 6 must be below chunk = 6, or a chunk",
    "film_with_sound(2, 1, sound=1)": "FilmWithSound.sound = 1 must be another type of token than visual, which",
    "golden_gate_rope(2.0, 1.0)": r"GoldenGateRoPE.highest = 1.0 must exceed lowest = 2.0",
    "image_positions(sizes=(0, 4))": r"sizes = \(0, 4\) must have a number of cells, at least 1 for to='centres', for",
    "image_positions(sizes=(1, 4), to='unit')": r"sizes = \(1, 4\) must have a number of cells, at least 2 for to='u",
    "image_positions(sizes=(4, 4, 4), to='aspect')": r"sizes = \(4, 4, 4\) must .* for each axis of two: \(14, 14\)",
    "layout_bias(num_buckets=7)": "LayoutBias.num_buckets = 7 must be even and at least 4, half a direction",
    "layout_bias(max_distance=16)": "LayoutBias.max_distance = 16 must exceed 16, the number",
    "learned(2, offset=2)": "max_len = 2 counts all rows, and offset = 2 of them come before",
    "learned_axes(sizes=(0, 3))": r"LearnedAxes.sizes = \(0, 3\) must have a number of rows, at least 1",
    "media(width=2, design='diagonal')": "Media.height = None must be the number of rows of a frame with design='dia",
    "media(width=2, height=1, design='symmetric', stride=2)": "Media.stride = 2.0 must be 1 with design=.symmetric., ",
    "mhrope(sections=(-1, 3, 3))": r"\(-1, 3, 3\) must be numbers of heads",
    "moebius_rope(fraction=2)": "MoebiusRoPE.fraction = 2.0 must be at most 1",
    "ms_poe(most=1.1)": "MsPoE.most = 1.1 must not be less than least = 1.2",
    "spiral_rope(directions=3)": "SpiralRoPE.directions = 3 must be even: each has its perpendicular",
    "window_bias(window=(0, 3))": r"window = \(0, 3\) must have a side of at least 1 .*: the paper has \(7, 7\)",
    "window_bias(resized=(3,))": r"resized = \(3,\) must have a side of at least 1 for each axis .*, as window has",
    "window_bias(mirrored=True, resized=(3, 3))": "resizes signed offsets: leave mirrored or resized out",
    "window_bias(resized=(2049, 2049))": "by 16785409 numbers, which must be at most 16777216: resize to smaller",
    "abacus(digits=(1, 1))": r"Abacus.digits = \(1, 1\) must be different token ids from 0 on, one at least: for ins",
    "alibi(past_offset=1.5)": r"past_offset = 1.5 must lie in 0 .. 1.*use 0 for the paper's bias, 0.5",
    "mrope(sections=(5, -1, 0))": r"\(5, -1, 0\) must be numbers of planes: Qwen2-VL has \(16, 24, 24\)",
    "mrope(sections=(0.5, 0.25))": r"\(0.5, 0.25\) are shares of all planes and must add up to 1, or whole numbers",
    "mrope(sections=())": r"MRoPE.sections = \(\) must be numbers of planes: Qwen2-VL has",
    "mrope(order=(0, 2))": r"MRoPE.order = \(0, 2\) must name every axis from 0 on, as the planes of one cycle have",
    "mrope(order=())": r"MRoPE.order = \(\) must name every axis from 0 on",
    "mrope(order=(0, 1), sections=(2, 2))": r"\(0, 1\) says the axis of every plane: leave sections and still_time out",
    "mrope(sections=(2, 2), order='interleaved')": r"\(2, 2\) are 2 axes, .* give three sections, or use",
    "within_segment(separators=())": r"WithinSegment.separators = \(\) must be different token ids from 0 on",
    "dape(kernel_size=2)|alibi": r"kernel_size = 2 must be odd and at least 1.*use 1 for DAPE, 3 for DAPE V2",
    "dape(kernel_size=-1)|alibi": r"kernel_size = -1 must be odd",
    "deberta('v2', num_buckets=3)": r"DeBERTa: num_buckets = 3 must be at least 4.*v3 have 256",
    "sinusoidal(frequencies=low_side_lobes(256))": r"length = 256 is not one of 128, 512, .*minimax\(d_model, 256\)",
    "sinusoidal(frequencies=low_side_lobes(search='bases'))": "'bases' is not one of 'frequencies', 'base'",
    "sinusoidal(frequencies='vaswan')": r"'vaswan' is not one of 'vaswani', 'tensor2tensor'; did you mean 'vaswani'",
    "sinusoidal(frequencies=())": "must be numbers, radians per position, one per pair",
    "sinusoidal(frequencies=(1.0, 1e999))": r"Sinusoidal.frequencies\[1\] = inf must be finite",
    "sinusoidal(base=500, frequencies=(1.0, 0.1))": r"base = 500.0 does nothing beside given frequencies: leave it",
    "grape_ap(size=3)": r"GRAPEAP.size = 3 must be even and at least 2.*experiments have 8",
    "grape_ap(size=0)": r"GRAPEAP.size = 0 must be even and at least 2",
    "kerple('nemo', constraint='softplus')": r"constraint = 'softplus' has no meaning for kernel 'nemo'.*leave it out",
    "learned_fourier(features=7)": r"LearnedFourier.features = 7 must be even: half cosines, half sines",
    "log_cpb(window=(8, 1))": r"window = \(8, 1\) must have a number of at least 2 for each axis",
    "log_cpb(window=())": r"window = \(\) must have a number of at least 2 for each axis",
    COUPLED.format(9, 11): "plus = 9 and equals = 11 must be different token ids from 0 on",
    COUPLED.format(10, 10): "plus = 10 and equals = 10 must be different token ids from 0 on",
    COUPLED.format(10, -1): "plus = 10 and equals = -1 must be different token ids from 0 on",
    "position_coupling(digits=(), plus=1, equals=2)": r"PositionCoupling.digits = \(\) must be different token ids",
    "rope(rotary_dim=3.5)": r"rotary_dim = .* must be a whole number, a fraction below 1, or None",
    "rope(rotary_dim=0)": r"rotary_dim = .* must be a whole number, a fraction below 1, or None",
    "rope(rotary_dim=-2)": r"rotary_dim = .* must be a whole number, a fraction below 1, or None",
    "rope(scaling=yarm(8))": r"unknown value of RoPE.scaling 'yarm': did you mean 'yarn'\? \(it takes linear",
    "rope(scaling=longrope((1,), (), original_length=10))": r"long_factors = \(\) must be positive numbers, one per ro",
    "rope(scaling=longrope((1, 0), (1, 1), original_length=10))": r"short_factors = \(1.0, 0.0\) must be positive",
    "rope(scaling=llama3(low_freq_factor=5))": r"low_freq_factor = 5.0 must be positive and at most high_freq_factor",
    "rope(scaling=p_rope(1.5))": "PRoPE.fraction = 1.5 must lie in 0 .. 1: the part of the freq",
    "rope(scaling=p_rope(-0.1))": "PRoPE.fraction = -0.1 must lie in 0 .. 1",
    "rope(scaling=resonance(dynamic_ntk(2, 10)))": "changes its frequencies with every length, .*: use ntk or yarn",
    "rope(scaling=yarn(8, 4096, mscale=1))": "are two rules for one magnitude, or half of one: give both mscales",
    "rope(scaling=yarn(8, 4096, mscale_all_dim=1))": "are two rules for one magnitude",
    "rope(scaling=yarn(8, 4096, mscale=1, mscale_all_dim=1, attention_factor=1))": "are two rules for one magnitude",
    "rope(scaling=yarn(8, 4096, mscale=-1, mscale_all_dim=1))": "mscale = -1.0 and mscale_all_dim = 1.0 must not be be",
    "rope(scaling=yarn(8, 4096, beta_slow=32))": "beta_slow = 32.0 must be positive and below beta_fast = 32.0: the p",
    "sandwich(width=7)": r"width = 7 must be even and at least 2.*the paper has 128",
    "sandwich(width=0)": r"width = 0 must be even and at least 2",
    "string(training_length=100)": r"window = 128 must lie in 0 \.\. 33, the shift.*a larger shift",
    "t5(num_buckets=2)": "num_buckets = 2 must be even and at least 4.*use 4",
    "t5(num_buckets=33)": "num_buckets = 33 must be even.*use 34",
    "t5(max_distance=16)": r"max_distance = 16 must exceed num_buckets // 2 = 16.*raise max_distance or lower",
    "tapa(theta=1)": "TAPA.theta = 1.0 must lie between 0 and 1: the paper has 0.5",
    "tupe(relative=True, num_buckets=7)": r"TUPE: .*num_buckets = 7 must be even and at least 4",
    "t5|temperature(0)": r"Temperature.value = .* must be from 1e-6 to 1e6: 1 changes nothing",
    "t5|temperature(1e7)": r"Temperature.value = .* must be from 1e-6 to 1e6: 1 changes nothing",
}
MODELS = {
    ("axial_rope(axes=3, rest_first=True)", "head_dim=4"): "head_dim = 4 must be even and at least 6",
    ("clex", "head_dim=2"): "head_dim = 2 must be even and at least 4",
    ("comrope('partition', block=6)", "head_dim=6"): "turns blocks of 6 dimensions, so head_dim = 6 must be a m",
    ("conv_position", "d_model=6"): "ConvPosition.groups = 16 must divide d_model = 6: wav2vec 2.0 has 16 of",
    ("rope|dape", ""): "DAPE adapts a bias, and no other element of the slot has one",
    ("random_fourier", "d_model=7"): "pairs a sine with a cosine, so d_model = 7 must be even",
    ("learned(16, offset=2)", ""): r"max_len = 16, but 16 positions occur after the first 2 rows: raise .* to 18,",
    ("learned_axes(sizes=(4, 4, 4), combine='concat')", "d_model=64"): "each of 3 axes an equal part of d_model = 64",
    ("liere(block=4)", "head_dim=6"): "turns blocks of 4 dimensions, so head_dim = 6 must be a multiple of",
    ("mhrope(sections=(2, 3, 3))", ""): r"\(2, 3, 3\) are 8 heads, and the model has 4: choose sections that add up",
    ("mla_rope(rotary_dim=3)", "head_dim=12"): "rotates 3 of head_dim = 12",
    ("xval(number=100)", ""): "reads token 100 as a number, and the vocabulary ends at 99: number is the",
    ("fone(number=7)", "d_model=18"): "has two dimensions for each of 10 digits, more than d_model = 18: lower",
    ("repo", "head_dim=5"): "turns planes of two dimensions, so head_dim = 5 must be even",
    ("rope_pp", "num_heads=3 num_kv_heads=3"): "pairs heads, a real and an imaginary one, and num_heads = 3 is odd",
    ("rotated_values", "head_dim=7"): "rotates 7 of head_dim = 7, but that must be even",
    ("tree_positions(depth=8, degree=4)", "d_model=26"): "has 32 choices, and d_model = 26 a dimension for each",
    ("wavelet(scales=3)", ""): "Wavelet.scales = 3 must divide head_dim = 8, of which each dimension has a",
    ("number_index(digits=(1,), plus=2, equals=3, then=100)", ""): "NumberIndex has token 100, but the vocabulary has",
    ("abacus(digits=(1, 100))", ""): r"Abacus.digits has token 100, but the vocabulary has ids 0 .. 99: name the ids",
    ("axial_rope(axes=3)", ""): "so head_dim = 8 must be a multiple of 6",
    ("mixed_rope", "head_dim=6"): "head_dim = 6 must be a multiple of 4",
    ("mrope(sections=(2, 1, 2))", ""): r"\(2, 1, 2\) are 5 planes .* but 8 of head_dim = 8 dimensions turn",
    ("mrope", "head_dim=7"): "rotates 7 of head_dim = 7, but that must be even",
    ("mrope(sections=(1, 1, 2), order='interleaved')", ""): r"\(1, 1, 2\) cannot alternate.*or use order='blocks'",
    ("mrope(sections=(1, 1, 2), order='space_first')", ""): r"\(1, 1, 2\) cannot alternate rows and columns: give both",
    ("segment_index(separators=(1, 869))", ""): "SegmentIndex.separators has token 869, but the vocabulary has ids 0",
    ("carope", "head_dim=2"): "head_dim = 2 must be even and at least 4",
    ("carope", "head_dim=5"): "head_dim = 5 must be even and at least 4",
    ("dynamic_bias", "d_model=3"): r"d_model // 4 hidden units, and d_model = 3: use a model of at least 4",
    ("floater(max_len=8)", ""): r"FLOATER.max_len = 8, but 16 positions occur: raise max_len to 16",
    ("fope", "head_dim=2"): "head_dim = 2 must be even and at least 4",
    ("fope", "head_dim=7"): "head_dim = 7 must be even and at least 4",
    ("sinusoidal(frequencies=low_side_lobes)", "d_model=48"): "128, 256, 512 dimensions, not for 48: find them by ",
    ("rope(scaling=low_side_lobes)", "head_dim=48"): "128, 256, 512 dimensions, not for 48: find them by ",
    ("sinusoidal(base=500, frequencies=low_side_lobes)", ""): "base = 500.0 does nothing beside LowSideLobes",
    ("rope(base=500, scaling=low_side_lobes)", ""): "base = 500.0 does nothing beside LowSideLobes",
    ("sinusoidal(frequencies=(1.0, 0.1))", "d_model=8"): "2 frequencies are given, but 8 dimensions are 4 pairs",
    ("sinusoidal", "d_model=7"): "pair a sine with a cosine, but the dimension is 7: name odd='pad'",
    ("grape_m", "head_dim=7"): "planes of two dimensions, so head_dim = 7 must be even",
    ("grape_m_planes", "head_dim=7"): "planes of two dimensions, so head_dim = 7 must be even",
    ("grape_m_context", "head_dim=7"): "planes of two dimensions, so head_dim = 7 must be even",
    ("grape_m_planes(planes=5)", ""): "planes = 5 span 10 dimensions, but head_dim = 8: at most 4 planes fit",
    ("learned(6)", ""): "shorter than an evaluated length: Learned.max_len = 6, but 16 positions occur: raise",
    ("position_coupling(digits=(1,), plus=2, equals=100)", ""): "PositionCoupling has token 100, but the vocabulary h",
    ("randomized(15)|rope", ""): "max_position = 15 has too few distinct positions for max_len = 16: raise it to at",
    ("rerope", "head_dim=7"): "planes of two dimensions",
    ("self_extend", "head_dim=7"): "planes of two dimensions",
    ("string", "head_dim=7"): "planes of two dimensions",
    ("rope", "head_dim=7"): "rotates 7 of head_dim = 7, but that must be even",
    ("rope(rotary_dim=5)", ""): "rotates 5 of head_dim = 8, but that must be even",
    ("rope(rotary_dim=16)", ""): "rotates 16 of head_dim = 8, but that must be even",
    ("rope(rotary_dim=0.1)", ""): "rotates 0 of head_dim = 8, but that must be even",
    ("rope(scaling=longrope((1, 1), (1, 1), 2, 9))", ""): r"short_factors has 2 factors, but RoPE turns 4 planes \(8",
    ("rope(scaling=ntk(2), rotary_dim=2)", ""): "d = 2 rotated dimensions: rotate at least 4, or use linear",
    ("rope(scaling=dynamic_ntk(2, 9), rotary_dim=2)", ""): "d = 2 rotated dimensions: rotate at least 4, or use linear",
    ("rope(scaling=ntk_by_parts(8, 9, form='code'), rotary_dim=2)", ""): "d = 2 rotated dimensions",
    ("rope(base=1, scaling=yarn(8, 4096))", ""): "RoPE.base = 1.0: use one above 1",
    ("selective_rope", "head_dim=3"): "planes of two dimensions, so head_dim = 3 must be even",
    ("selective_rope", "d_model=9 num_heads=2"): "d_model = 9 in num_heads = 2 parts: d_model must be a multiple of",
    ("sinusoidal_axes(3)", "d_model=4"): "each of 3 axes 2 channels, but d_model = 4 ends before the last",
    ("sinusoidal_axes(3)", "d_model=7"): "each of 3 axes 4 channels, but d_model = 7 ends before the last",
    ("tapa(theta=0.3)", ""): "theta = 0.3 of head_dim = 8 is 2.4 dimensions: it must be a whole number",
    ("tapa(theta=1e-9)", ""): "of head_dim = 8 is 8e-09 dimensions",
    ("transformer_xl", "d_model=13"): "TransformerXL splits d_model = 13 into sines and cosines: use an even d_model",
    ("xlnet", "d_model=13"): "XLNet splits d_model = 13 into sines and cosines: use an even d_model",
    ("tupe(max_len=4)", ""): r"TUPE.max_len = 4, but 16 positions occur: raise max_len to 16, or.*clamp",
    ("xpos", "max_len=40000"): r"by 3.5 per 512 positions .* overflows float32 within max_len = 40000: set center",
    ("xpos", "head_dim=7"): "head_dim = 7 must be even",
}


@pytest.mark.parametrize("spec", SETTINGS)
def test_settings_that_cannot_be(spec):
    with pytest.raises(ValueError, match=SETTINGS[spec]):
        parse(spec)


@pytest.mark.parametrize(("spec", "sizes"), MODELS)
def test_models_that_cannot_be_served(spec, sizes):
    changed = {name: int(size) for name, _, size in (one.partition("=") for one in sizes.split())}
    with pytest.raises(ValueError, match=MODELS[spec, sizes]):
        check_slot(parse(spec), dataclasses.replace(DIMS, **changed))


DRAWN = "draws random positions: pass key="
TOKENS, TYPES = "by token ids, and the sequence has none: pass", "by token types, and the sequence has none: pass"
FRACTIONS = "reads a table by whole distances, got float32: use integer positions"
READING = {
    "abacus(digits=(1,), max_offset=2)": TOKENS,
    "within_segment(separators=(1,))": TOKENS,
    "segment_index(separators=(1,))": TOKENS,
    COUPLED.format(10, 11): TOKENS,
    "xval(number=7)": "tells numbers from words by token ids, and the sequence has none: pass tokens=",
    **dict.fromkeys(("media(2)", "v2pe", "circle_positions(2, 2)", "film_with_sound(2, 1)"), TYPES),
    **dict.fromkeys(("within_section", "section_index"), TYPES),
    **dict.fromkeys(("cape", "pose(9)", "randomized", "shape", "random_signs"), DRAWN),
    "randomized(per='example')": "draws for each example, .* does not tell how many there are: give the Sequence tok",
    "interpolated(2)|randomized": "maps integer positions, got float32: put it before",
    "interpolated(2)|cape": "draws by integer positions, got float32: put it before",
    "interpolated(2)|grid(8)": "counts integer positions, got float32: put it before",
    "grid(8)|rope": r"reads plain positions .* it is given positions of 2 axes",
    "sinusoidal_axes": "reads positions of 2 axes .* given plain positions .*`grid`",
    **{f"interpolated(2)|{s}": FRACTIONS for s in ("huang", "music_transformer", "deberta", "shaw")},
    "interpolated(2)|window_bias(window=(7,))": FRACTIONS,
    "attributes(2)|rope": "reads 3 attributes of each token, and the sequence has 0: pass attributes=",
    "pair_table": "reads 1 attributes of each pair of tokens, and .* has 0: pass",
}


@pytest.mark.parametrize("spec", READING)
def test_sequences_that_do_not_say_what_is_read(spec):
    slot, q = parse(spec), jnp.ones((1, 4, 5, 8))
    params = init_slot(jax.random.key(0), slot, DIMS)
    sequence = Sequence(jnp.arange(5)[None], np.array([5]))
    options = {"key": None if READING[spec] == DRAWN else jax.random.key(0), "train": True}

    def layer():
        x = embed(slot, params, jnp.ones((1, 5, 32)), sequence, **options)
        attend(q, q, q, *layer_inputs(slot, params, x, sequence, num_heads=4, embedded=True, **options))

    with pytest.raises(ValueError, match=READING[spec]):
        layer()
