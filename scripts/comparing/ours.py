"""Encodings of the catalogue, given what `theirs` gives public code; run with 64-bit floats."""

import dataclasses
from collections.abc import Callable

import numpy as np

from comparing.given import (
    ADDITION,
    ATTRIBUTES,
    BOXES,
    CELLS,
    FILM,
    POSITIONS,
    SCALINGS,
    SCRATCHPAD,
    SOUND,
    TABLES,
    normal,
)
from posenc_jax.encodings import Film, Geometry, Sequence, elements, map_slot, media_positions, parse

TRANSFORMERS = "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One row of the table.

    Attributes:
      spec: what is compared, the row's own unless it says otherwise.
      source, link: the public code.
      what: which numbers are compared.
      ours: makes them.
    """

    spec: str
    source: str
    link: str
    what: str
    ours: Callable[[str], np.ndarray]


def queries(positions: np.ndarray, dim: int = 16, heads: int = 2) -> Callable[[str], np.ndarray]:
    """Turned queries at positions ``[S]`` or ``[A, S]``."""

    def turned(spec: str) -> np.ndarray:
        (element,) = elements(parse(spec))
        given = positions.T[None].astype(np.int32)
        length = np.array([positions.max() + 1])
        return np.asarray(element.encode_queries({}, normal(1, heads, given.shape[1], dim), given, length))

    return turned


def values_and_outputs(spec: str) -> np.ndarray:
    """Turned values, and outputs turned back, by the last element."""
    element, given = elements(parse(spec))[-1], (normal(1, 2, len(POSITIONS), 16), POSITIONS[None].astype(np.int32))
    return np.stack(
        [
            encode({}, *given, np.array([POSITIONS.max() + 1]))
            for encode in (element.encode_values, element.encode_outputs)
        ]
    )


def patches(count: int) -> Callable[[str], np.ndarray]:
    """Turned queries of the first places of a slot that begins with a grid."""

    def turned(spec: str) -> np.ndarray:
        slot = elements(parse(spec))
        seen = map_slot(slot, Sequence.of_length(count))[-1].positions
        return np.asarray(slot[-1].encode_queries({}, normal(1, 2, count, 16), seen, np.array([count])))

    return turned


def added(count: int, **params: np.ndarray) -> Callable[[str], np.ndarray]:
    """What a slot adds to embeddings that are zero."""

    def embedded(spec: str) -> np.ndarray:
        slot = elements(parse(spec))
        sequence = map_slot(slot, Sequence.of_length(count))[-1]
        width = 16 if "weight" not in params else params["weight"].shape[1]
        return np.asarray(slot[-1].embed(params, np.zeros((1, count, width)), sequence))[0]

    return embedded


def of_attributes(numbers: np.ndarray, **params: np.ndarray) -> Callable[[str], np.ndarray]:
    """What the last element of a slot adds to embeddings that are zero, for attributes ``[S, A]``."""

    def embedded(spec: str) -> np.ndarray:
        slot = elements(parse(spec))
        sequence = map_slot(slot, Sequence.of_length(len(numbers), attributes=numbers[None]))[-1]
        return np.asarray(slot[-1].embed(params, np.zeros((1, len(numbers), 16)), sequence))[0]

    return embedded


def biases(count: int, heads: int = 2, **params: np.ndarray) -> Callable[[str], np.ndarray]:
    """The bias of all pairs of places, or that of queries by their contents."""

    def bias(spec: str) -> np.ndarray:
        slot = elements(parse(spec))
        sequence = map_slot(slot, Sequence.of_length(count))[-1]
        geometry = Geometry.between(sequence, sequence, num_heads=heads)
        if "content_bias" in slot[-1].acts_on:
            q = normal(2, count, 8)[None]
            return np.asarray(slot[-1].content_bias(params, q, q, geometry, None))
        return np.asarray(slot[-1].bias(params, geometry))

    return bias


def mixed(**params: np.ndarray) -> Callable[[str], np.ndarray]:
    """The bias of all pairs of 12 tokens, whose queries read their own input."""

    def bias(spec: str) -> np.ndarray:
        (element,) = elements(parse(spec))
        sequence, heads = Sequence.of_length(12), np.zeros((1, 2, 12, 8))
        terms = element.token_terms(params, normal(1, 12, 16), sequence)
        causal = element.causal_only
        geometry = Geometry.between(sequence, sequence, num_heads=2, causal=causal)
        return np.asarray(element.content_bias(params, heads, heads, geometry, terms))

    return bias


def clex_queries(spec: str) -> np.ndarray:
    """Turned queries of a text of twice the length in training."""
    (element,) = elements(parse(spec))
    params = {"up": normal(8, 16) / 16, "down": normal(16, 8) / 16}
    given, length = POSITIONS[None].astype(np.int32), np.array([120])
    return np.asarray(element.encode_queries(params, normal(1, 2, len(POSITIONS), 16), given, length))


def coupled(text: str) -> Callable[[str], np.ndarray]:
    """The positions of a line, by each element that makes some; ids are 0 to 9, then those of +, = and >."""

    def levels(spec: str) -> np.ndarray:
        tokens = np.array([["0123456789+=>".index(character) for character in text]])
        sequence = Sequence.of_length(len(text), tokens=tokens)
        makers = [element for element in elements(parse(spec)) if "map_positions" in element.acts_on]
        return np.array([np.asarray(own.map_positions(sequence, key=None, train=False))[0] for own in makers])

    return levels


def last_query(spec: str) -> np.ndarray:
    """``[H, 1, 12]``: what the last of 12 tokens adds."""
    return biases(12, heads=6)(spec)[0, :, -1:]


def convolved(spec: str) -> np.ndarray:
    """``[1, 12, 32]``, without the embeddings that it is added to."""
    (element,) = elements(parse(spec))
    # There [to, from in the group, K], here [K, group, from, to].
    weights = normal(32, 8, 8).reshape(4, 8, 8, 8).transpose(3, 0, 2, 1)
    params = {"v": weights, "g": normal(1, 1, 8)[0, 0], "bias": normal(32)}
    x = normal(1, 12, 32)
    return np.asarray(element.embed(params, x, Sequence.of_length(12))) - x


def numbered(types: list[int], places: list[int] | None = None) -> Callable[[str], np.ndarray]:
    """The positions of a sequence with tokens of these types."""

    def positions(spec: str) -> np.ndarray:
        given = np.arange(len(types)) if places is None else np.array(places)
        sequence = Sequence(
            given[None].astype(np.int32), np.array([len(types)]), token_types=np.array([types], np.int32)
        )
        return np.asarray(map_slot(elements(parse(spec)), sequence)[1].positions)[0]

    return positions


def film_alone(spec: str) -> np.ndarray:
    """The film of `FILM`, behind three tokens of text."""
    return numbered(FILM)(spec)[3:21]


def four_corners(spec: str) -> np.ndarray:
    """``[30, 6]``: the position of each of six planes."""
    return numbered(FILM)(spec)[:, [0, 1, 2, 3, 0, 1]]


def images_with_text(spec: str) -> np.ndarray:
    """Turned queries of a text, an image of 2 x 3 and one of 3 x 2."""
    x = normal(1, 2, 15, 12, 2).reshape(1, 2, 15, 24)
    _, rotary = elements(parse(spec))
    positions, _ = media_positions([3, Film(2, 3), Film(3, 2)], "reset")
    return np.asarray(rotary.encode_queries({}, x, positions[None].astype(np.int32), np.array([15])))


MARKED = [0, 1, 2, 2, *range(3, 109), 109, 109, 110, 111, 112]
"""Two marks share a position before the film, and two behind it."""
HALF = "layout='half'"
TEXT = queries(POSITIONS)


def transformers(spec: str, path: str, what: str, ours: Callable[[str], np.ndarray]) -> Comparison:
    """A comparison with a model of transformers."""
    return Comparison(spec, f"transformers, {path.split('/')[0]}", TRANSFORMERS + path, what, ours)


def _text(spec: str, path: str = "llama/modeling_llama.py") -> Comparison:
    return transformers(spec, path, "turned queries", TEXT)


def _film(spec: str, path: str, dim: int = 16) -> Comparison:
    return transformers(spec, path, "turned queries of a film", queries(CELLS, dim))


_long = SCALINGS["LongRoPE"]
_digits = tuple(range(10))
_addition = "https://github.com/HanseulJo/position-coupling/blob/main/src/data/addition.py"

COMPARISONS: dict[str, Comparison] = {
    "RoPE": _text(f"rope({HALF})"),
    "Position Interpolation": _text(f"rope({HALF}, scaling=linear(factor=8))"),
    "Dynamic NTK scaling": _text(f"rope({HALF}, scaling=dynamic_ntk(factor=2, original_length=64))"),
    "YaRN": _text(f"rope({HALF}, scaling=yarn(factor=8, original_length=512))"),
    "LongRoPE": _text(
        f"rope({HALF}, scaling=longrope({tuple(_long['short_factor'])}, {tuple(_long['long_factor'])}, factor=8, "
        "original_length=512))"
    ),
    "Llama 3.1 scaling": _text(f"rope(base=5e5, {HALF}, scaling=llama3(factor=8, original_length=512))"),
    "Proportional RoPE (Gemma 4)": _text(f"rope(base=1e6, {HALF}, scaling=p_rope(fraction=0.25))"),
    "YaRN without rounding (gpt-oss)": _text(
        f"rope(base=150000.0, {HALF}, scaling=yarn(factor=32, original_length=128, truncate=False))"
    ),
    "Partial RoPE": transformers(
        f"rope(rotary_dim=0.25, {HALF})", "gpt_neox/modeling_gpt_neox.py", "turned queries", queries(POSITIONS, 32)
    ),
    "Partial RoPE of neighbours (GLM-4)": _text("rope(rotary_dim=0.5)", "glm/modeling_glm.py"),
    "M-RoPE": _film("mrope(sections=(2, 3, 3))", "qwen2_vl/modeling_qwen2_vl.py"),
    "M-RoPE, interleaved": _film("mrope(order='interleaved')", "qwen3_vl/modeling_qwen3_vl.py", 32),
    "M-RoPE, rows and columns first (ERNIE 4.5 VL)": _film(
        "mrope(sections=(0.3125, 0.34375, 0.34375), order='space_first', base=5e5, layout='interleaved')",
        "ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py",
    ),
    "M-RoPE of a part (GLM-4.1V)": _film(
        "mrope(base=10000.0, layout='interleaved', rotary_dim=0.5)", "glm4v/modeling_glm4v.py", 32
    ),
    "Axial 2-D RoPE (encoder of Qwen2-VL)": transformers(
        "axial_rope(base=1e4, layout='half', rows_first=True)",
        "qwen2_vl/modeling_qwen2_vl.py",
        "turned queries of an image",
        queries(CELLS[1:]),
    ),
    "Axial 2-D RoPE (Pixtral)": transformers(
        "axial_rope(base=1e4, layout='half', rows_first=True, staggered=True)",
        "pixtral/modeling_pixtral.py",
        "turned queries of an image",
        queries(CELLS[1:]),
    ),
    "Axial 2-D RoPE of disturbed images (DINOv3)": transformers(
        "grid(width=3)|image_positions(sizes=(2, 3))|axial_rope(layout='half', rows_first=True, unit='turns')",
        "dinov3_vit/modeling_dinov3_vit.py",
        "turned queries of an image, undisturbed",
        patches(6),
    ),
    "M-RoPE at absolute time (Qwen2.5-VL)": transformers(
        "media(width=3, height=2, stride=4)|mrope",
        "qwen2_5_vl/modeling_qwen2_5_vl.py",
        "positions of a film",
        film_alone,
    ),
    "VRoPE": Comparison(
        "media(width=3, height=2, design='symmetric')|mrope(order=(0, 1, 2, 3))",
        "the authors' code",
        "https://github.com/johncaged/VRoPE/blob/main/vrope.py",
        "positions of texts, a film and an image, by plane",
        four_corners,
    ),
    "Omni-RoPE (OmniGen2)": Comparison(
        "media(width=3, design='reset')|axial_rope(axes=3, base=1e4, rows_first=True, rest_first=True)",
        "the authors' code",
        "https://github.com/VectorSpaceLab/OmniGen2/blob/main/omnigen2/models/transformers/repo.py",
        "turned queries of a text and two images",
        images_with_text,
    ),
    "Circle-RoPE": Comparison(
        "circle_positions(width=3, height=2)|mrope",
        "the authors' code",
        "https://github.com/lose4578/CircleRoPE/blob/main/code/circle_rope.py",
        "positions of an image",
        numbered([1] * 6),
    ),
    "RIFLEx": Comparison(
        "rope(scaling=riflex(repeats_at=60, length=100))",
        "the authors' code",
        "https://github.com/thu-ml/RIFLEx/blob/main/riflex_utils.py",
        "turned queries",
        TEXT,
    ),
    "Position coupling": Comparison(
        f"position_coupling(digits={_digits}, plus=10, equals=11)|learned",
        "the authors' code",
        _addition,
        "positions of a sum",
        coupled(ADDITION),
    ),
    "Position coupling of two levels": Comparison(
        f"position_coupling(digits={_digits}, plus=10, equals=11, then=12)|learned"
        f"|number_index(digits={_digits}, plus=10, equals=11, then=12)|learned(init_scale=0.01)",
        "the authors' code",
        _addition,
        "both positions of a sum with its scratchpad",
        coupled(SCRATCHPAD),
    ),
    "RoPE with rotated values (RoVE)": transformers(
        "rope|rotated_values",
        "deepseek_v4/modeling_deepseek_v4.py",
        "turned values, and outputs turned back",
        values_and_outputs,
    ),
    "RoPE with a strength": Comparison(
        "blended_rope",
        "the authors' code",
        "https://github.com/facebookresearch/audiocraft/blob/main/audiocraft/modules/rope.py",
        "turned queries",
        TEXT,
    ),
    "CLEX": Comparison(
        "clex(original_length=64, max_factor=4)",
        "the authors' code",
        "https://github.com/DAMO-NLP-SG/CLEX/blob/main/CLEX/clex_layer.py",
        "turned queries of a text of twice the length",
        clex_queries,
    ),
    "TMRoPE (Qwen2.5-Omni)": transformers(
        "film_with_sound(width=3, height=2, stride=12.5)|mrope",
        "qwen2_5_omni/modeling_qwen2_5_omni.py",
        "positions of a text, a film with its sound, and text",
        numbered(SOUND, MARKED),
    ),
    "Sinusoidal, tensor2tensor's form": transformers(
        "sinusoidal(frequencies='tensor2tensor', layout='half', odd='zero')",
        "m2m_100/modeling_m2m_100.py",
        "vectors of 120 positions",
        added(120),
    ),
    "2-D sinusoidal (MAE)": transformers(
        "grid(width=3)|sinusoidal_axes(layout='half')",
        "vit_mae/modeling_vit_mae.py",
        "vectors of an image; rows first there, unlike the authors",
        added(15),
    ),
    "2-D sinusoidal of an image's size (DETR)": transformers(
        "grid(width=5)|image_positions(sizes=(4, 5), to='turn')|sinusoidal_axes",
        "detr/modeling_detr.py",
        "vectors of an image",
        added(20),
    ),
    "Boxes on a page (LayoutLM)": transformers(
        "attributes(count=4)|layout_tables(size=16)",
        "layoutlm/modeling_layoutlm.py",
        "vectors of boxes",
        of_attributes(
            BOXES, **{name: normal(16, 16, seed=i) for i, name in enumerate(("left", "top", "height", "width"))}
        ),
    ),
    "Tables of seven attributes (TaPas)": transformers(
        f"attributes(count=3)|learned_axes(sizes={TABLES})",
        "tapas/modeling_tapas.py",
        "vectors of three attributes",
        of_attributes(ATTRIBUTES, **{f"axis_{a}": normal(rows, 16, seed=a) for a, rows in enumerate(TABLES)}),
    ),
    "Random Fourier features (Segment Anything)": transformers(
        "grid(width=5)|image_positions(sizes=(4, 5))|random_fourier(scale=1, sines_first=True)",
        "sam/modeling_sam.py",
        "vectors of an image",
        added(20, matrix=normal(2, 8)[::-1].T),
    ),
    "Fourier features in linear bands (Perceiver)": transformers(
        "grid(width=5)|image_positions(sizes=(4, 5), to='corners')|fourier_bands(bands=6, resolution=224)",
        "perceiver/modeling_perceiver.py",
        "features of an image",
        added(20, weight=np.eye(26)),
    ),
    "Convolutional positions (wav2vec 2.0)": transformers(
        "conv_position(kernel=8, groups=4)",
        "wav2vec2/modeling_wav2vec2.py",
        "what is added to 12 embeddings",
        convolved,
    ),
    "ALiBi": transformers("alibi", "mpt/modeling_mpt.py", "biases of 6 heads", last_query),
    "ALiBi with another largest exponent": transformers(
        "alibi(largest_exponent=16)", "mpt/modeling_mpt.py", "biases of 6 heads", last_query
    ),
    "T5 bias": transformers("t5", "t5/modeling_t5.py", "biases of 300 tokens", biases(300, table=normal(2, 32))),
    "Gated relative bias (WavLM)": transformers(
        "gated_bias(num_buckets=8, max_distance=6)",
        "wavlm/modeling_wavlm.py",
        "bias",
        mixed(
            table=normal(2, 8),
            gates=normal(8, 8).reshape(2, 4, 8).sum(axis=1),
            offsets=normal(8).reshape(2, 4).sum(axis=1),
            constants=normal(1, 2, 1, 1).ravel(),
        ),
    ),
    "Relative logits (Inkling)": transformers(
        "inkling(width=4, extent=8)",
        "inkling/modeling_inkling.py",
        "bias",
        mixed(projection=normal(16, 2, 4), profiles=normal(4, 8)),
    ),
    "Relative logits of clipped mixtures (Inkling 2)": transformers(
        "inkling(width=4, extent=8, clip=2.0, floor=4)",
        "inkling2/modeling_inkling2.py",
        "bias",
        mixed(projection=normal(16, 2, 4), profiles=normal(4, 8), stretch=normal(2, 4)),
    ),
    "Window bias (Swin)": transformers(
        "grid(width=4)|window_bias(window=(3, 4))",
        "swin/modeling_swin.py",
        "biases of a window",
        biases(12, table=normal(35, 2)),
    ),
    "Log-spaced continuous bias (Swin V2)": transformers(
        "grid(width=4)|log_cpb(window=(3, 4))",
        "swinv2/modeling_swinv2.py",
        "biases of a window",
        biases(12, weight_0=normal(512, 2).T, bias_0=normal(512), weight_1=normal(2, 512).T / 8),
    ),
    "Decomposed relative positions (MViTv2, ViTDet)": transformers(
        "grid(width=4)|decomposed(sizes=(3, 4))",
        "vitdet/modeling_vitdet.py",
        "what is added to the logits of an image",
        biases(12, axis_0=normal(5, 8), axis_1=normal(7, 8)),
    ),
}
