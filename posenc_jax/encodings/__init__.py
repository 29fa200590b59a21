"""Positional encodings behind one small pure interface.

The import lines of the classes below are the registry: `ENCODINGS` maps the word used in strings and tables
to the class.
"""

from posenc_jax.encodings.abacus import Abacus
from posenc_jax.encodings.alibi import ALiBi, alibi_bias, alibi_slopes
from posenc_jax.encodings.attention import attend, position_bias
from posenc_jax.encodings.axial_rope import AxialRoPE, MixedRoPE, MRoPE
from posenc_jax.encodings.base import Dims, Geometry, PositionalEncoding, Sequence
from posenc_jax.encodings.bipe import SegmentIndex, WithinSegment
from posenc_jax.encodings.cape import CAPE
from posenc_jax.encodings.carope import CARoPE
from posenc_jax.encodings.cope import CoPE
from posenc_jax.encodings.dape import DAPE
from posenc_jax.encodings.deberta import DeBERTa
from posenc_jax.encodings.dynamic_bias import DynamicBias
from posenc_jax.encodings.fire import FIRE
from posenc_jax.encodings.floater import FLOATER
from posenc_jax.encodings.fope import FoPE
from posenc_jax.encodings.forgetting import FoX
from posenc_jax.encodings.frequency_designs import CosineDensity, LowSideLobes
from posenc_jax.encodings.grape_a import GRAPEA
from posenc_jax.encodings.grape_ap import GRAPEAP
from posenc_jax.encodings.grape_m import GRAPEM
from posenc_jax.encodings.grape_m_context import GRAPEMContext
from posenc_jax.encodings.grape_m_planes import GRAPEMPlanes
from posenc_jax.encodings.grid import Grid
from posenc_jax.encodings.huang import Huang
from posenc_jax.encodings.interpolated import Interpolated
from posenc_jax.encodings.kerple import KERPLE
from posenc_jax.encodings.learned import Learned
from posenc_jax.encodings.learned_fourier import LearnedFourier
from posenc_jax.encodings.log_cpb import LogCPB
from posenc_jax.encodings.log_scaling import LogScaling
from posenc_jax.encodings.music_transformer import MusicTransformer
from posenc_jax.encodings.parsing import parse, spec
from posenc_jax.encodings.path import PaTH
from posenc_jax.encodings.phase import fixed_point, sincos, tensor2tensor_frequencies, vaswani_frequencies
from posenc_jax.encodings.pope import PoPE
from posenc_jax.encodings.pose import PoSE
from posenc_jax.encodings.position_coupling import PositionCoupling
from posenc_jax.encodings.randomized import Randomized, random_positions
from posenc_jax.encodings.rerope import ReRoPE
from posenc_jax.encodings.rope import SCALINGS, RoPE, convert_layout, half_permutation, rotate
from posenc_jax.encodings.rope_scaling import NTK, DynamicNTK, Llama3, LongRoPE, PositionInterpolation, RoPEScaling
from posenc_jax.encodings.rope_selection import HoPE, PRoPE, Resonance
from posenc_jax.encodings.sandwich import Sandwich
from posenc_jax.encodings.sections import SectionIndex, WithinSection
from posenc_jax.encodings.selective_rope import SelectiveRoPE
from posenc_jax.encodings.self_extend import SelfExtend
from posenc_jax.encodings.shape import SHAPE
from posenc_jax.encodings.shaw import Shaw
from posenc_jax.encodings.sinusoidal import Sinusoidal, sinusoidal, sinusoidal_frequencies
from posenc_jax.encodings.sinusoidal_axes import SinusoidalAxes, sinusoidal_axes
from posenc_jax.encodings.slots import (
    Slot,
    check_slot,
    elements,
    embed,
    for_layer,
    geometries,
    init_slot,
    is_pattern,
    layer_params,
    map_slot,
    token_terms,
)
from posenc_jax.encodings.stick_breaking import StickBreaking
from posenc_jax.encodings.string import String
from posenc_jax.encodings.t5 import T5Bias, t5_buckets
from posenc_jax.encodings.tapa import TAPA
from posenc_jax.encodings.transformer_xl import TransformerXL
from posenc_jax.encodings.tupe import TUPE
from posenc_jax.encodings.value import Value
from posenc_jax.encodings.xlnet import XLNet
from posenc_jax.encodings.xpos import XPos
from posenc_jax.encodings.yarn import NTKByParts, YaRN

ENCODINGS: dict[str, type[PositionalEncoding]] = {
    cls.name: cls
    for cls in (
        Sinusoidal,
        Learned,
        RoPE,
        XPos,
        PoPE,
        TAPA,
        AxialRoPE,
        MixedRoPE,
        MRoPE,
        GRAPEM,
        GRAPEMPlanes,
        GRAPEMContext,
        GRAPEA,
        GRAPEAP,
        LogScaling,
        ReRoPE,
        SelfExtend,
        String,
        FoPE,
        ALiBi,
        T5Bias,
        DynamicBias,
        LogCPB,
        DAPE,
        FIRE,
        Sandwich,
        KERPLE,
        Shaw,
        MusicTransformer,
        Huang,
        TransformerXL,
        XLNet,
        DeBERTa,
        CoPE,
        TUPE,
        CARoPE,
        SelectiveRoPE,
        FoX,
        PaTH,
        StickBreaking,
        Randomized,
        Grid,
        SHAPE,
        CAPE,
        Interpolated,
        PoSE,
        Abacus,
        WithinSegment,
        SegmentIndex,
        WithinSection,
        SectionIndex,
        PositionCoupling,
        SinusoidalAxes,
        LearnedFourier,
        FLOATER,
    )
}

__all__ = [
    "CAPE",
    "DAPE",
    "ENCODINGS",
    "FIRE",
    "FLOATER",
    "GRAPEA",
    "GRAPEAP",
    "GRAPEM",
    "KERPLE",
    "NTK",
    "SCALINGS",
    "SHAPE",
    "TAPA",
    "TUPE",
    "ALiBi",
    "Abacus",
    "AxialRoPE",
    "CARoPE",
    "CoPE",
    "CosineDensity",
    "DeBERTa",
    "Dims",
    "DynamicBias",
    "DynamicNTK",
    "FoPE",
    "FoX",
    "GRAPEMContext",
    "GRAPEMPlanes",
    "Geometry",
    "Grid",
    "HoPE",
    "Huang",
    "Interpolated",
    "Learned",
    "LearnedFourier",
    "Llama3",
    "LogCPB",
    "LogScaling",
    "LongRoPE",
    "LowSideLobes",
    "MRoPE",
    "MixedRoPE",
    "MusicTransformer",
    "NTKByParts",
    "PRoPE",
    "PaTH",
    "PoPE",
    "PoSE",
    "PositionCoupling",
    "PositionInterpolation",
    "PositionalEncoding",
    "Randomized",
    "ReRoPE",
    "Resonance",
    "RoPE",
    "RoPEScaling",
    "Sandwich",
    "SectionIndex",
    "SegmentIndex",
    "SelectiveRoPE",
    "SelfExtend",
    "Sequence",
    "Shaw",
    "Sinusoidal",
    "SinusoidalAxes",
    "Slot",
    "StickBreaking",
    "String",
    "T5Bias",
    "TransformerXL",
    "Value",
    "WithinSection",
    "WithinSegment",
    "XLNet",
    "XPos",
    "YaRN",
    "alibi_bias",
    "alibi_slopes",
    "attend",
    "check_slot",
    "convert_layout",
    "elements",
    "embed",
    "fixed_point",
    "for_layer",
    "geometries",
    "half_permutation",
    "init_slot",
    "is_pattern",
    "layer_params",
    "map_slot",
    "parse",
    "position_bias",
    "random_positions",
    "rotate",
    "sincos",
    "sinusoidal",
    "sinusoidal_axes",
    "sinusoidal_frequencies",
    "spec",
    "t5_buckets",
    "tensor2tensor_frequencies",
    "token_terms",
    "vaswani_frequencies",
]
