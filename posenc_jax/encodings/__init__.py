"""Positional encodings behind one small pure interface.

The first lines below are the registry, one per encoding and one per scaling of RoPE, in the order of tables: what they
import can be written in strings, is in the catalogue (with the ``methods`` of the class) and is tested. After adding
one, ``scripts/regenerate`` writes what is kept of it in files.
"""

from collections.abc import Callable, Mapping

# isort: off
from posenc_jax.encodings.sinusoidal import Sinusoidal as Sinusoidal
from posenc_jax.encodings.learned import Learned as Learned
from posenc_jax.encodings.sinusoidal_axes import SinusoidalAxes as SinusoidalAxes
from posenc_jax.encodings.learned_axes import LearnedAxes as LearnedAxes
from posenc_jax.encodings.learned_axes import LayoutTables as LayoutTables
from posenc_jax.encodings.attributes import Attributes as Attributes
from posenc_jax.encodings.linear_positions import RandomSigns as RandomSigns
from posenc_jax.encodings.linear_positions import LinearPositions as LinearPositions
from posenc_jax.encodings.tree_positions import TreePositions as TreePositions
from posenc_jax.encodings.numbers import FoNE as FoNE
from posenc_jax.encodings.numbers import XVal as XVal
from posenc_jax.encodings.fourier_features import RandomFourier as RandomFourier
from posenc_jax.encodings.fourier_features import FourierBands as FourierBands
from posenc_jax.encodings.fourier_features import LearnedFourier as LearnedFourier
from posenc_jax.encodings.fourier_features import Time2Vec as Time2Vec
from posenc_jax.encodings.conv_position import ConvPosition as ConvPosition
from posenc_jax.encodings.conv_position import ConditionalPosition as ConditionalPosition
from posenc_jax.encodings.floater import FLOATER as FLOATER
from posenc_jax.encodings.rope import RoPE as RoPE
from posenc_jax.encodings.rope_scaling import PositionInterpolation as PositionInterpolation
from posenc_jax.encodings.rope_scaling import NTK as NTK
from posenc_jax.encodings.rope_scaling import DynamicNTK as DynamicNTK
from posenc_jax.encodings.yarn import NTKByParts as NTKByParts
from posenc_jax.encodings.yarn import YaRN as YaRN
from posenc_jax.encodings.rope_scaling import LongRoPE as LongRoPE
from posenc_jax.encodings.rope_scaling import Llama3 as Llama3
from posenc_jax.encodings.rope_selection import Resonance as Resonance
from posenc_jax.encodings.rope_selection import PRoPE as PRoPE
from posenc_jax.encodings.rope_selection import HoPE as HoPE
from posenc_jax.encodings.rope_selection import ClippedRoPE as ClippedRoPE
from posenc_jax.encodings.rope_selection import MrRoPE as MrRoPE
from posenc_jax.encodings.rope_selection import RIFLEx as RIFLEx
from posenc_jax.encodings.mla_rope import MLARoPE as MLARoPE
from posenc_jax.encodings.lerope import LeRoPE as LeRoPE
from posenc_jax.encodings.clex import CLEX as CLEX
from posenc_jax.encodings.ms_poe import MsPoE as MsPoE
from posenc_jax.encodings.rope import RoPEPlusPlus as RoPEPlusPlus
from posenc_jax.encodings.rotated_values import RotatedValues as RotatedValues
from posenc_jax.encodings.blended_rope import BlendedRoPE as BlendedRoPE
from posenc_jax.encodings.fope import FoPE as FoPE
from posenc_jax.encodings.xpos import XPos as XPos
from posenc_jax.encodings.rerope import ReRoPE as ReRoPE
from posenc_jax.encodings.lm_infinite import LMInfinite as LMInfinite
from posenc_jax.encodings.self_extend import SelfExtend as SelfExtend
from posenc_jax.encodings.string import String as String
from posenc_jax.encodings.dual_chunk import DualChunk as DualChunk
from posenc_jax.encodings.temperature import LogScaling as LogScaling
from posenc_jax.encodings.temperature import SSMax as SSMax
from posenc_jax.encodings.temperature import QueryTemperature as QueryTemperature
from posenc_jax.encodings.pope import PoPE as PoPE
from posenc_jax.encodings.tapa import TAPA as TAPA
from posenc_jax.encodings.axial_rope import AxialRoPE as AxialRoPE
from posenc_jax.encodings.axial_rope import MixedRoPE as MixedRoPE
from posenc_jax.encodings.mrope import MRoPE as MRoPE
from posenc_jax.encodings.directional_rope import SpiralRoPE as SpiralRoPE
from posenc_jax.encodings.directional_rope import GoldenGateRoPE as GoldenGateRoPE
from posenc_jax.encodings.lie_rope import LieRE as LieRE
from posenc_jax.encodings.lie_rope import ComRoPE as ComRoPE
from posenc_jax.encodings.separable_rope import CayleyString as CayleyString
from posenc_jax.encodings.separable_rope import CirculantString as CirculantString
from posenc_jax.encodings.media import Media as Media
from posenc_jax.encodings.media import CirclePositions as CirclePositions
from posenc_jax.encodings.film_with_sound import FilmWithSound as FilmWithSound
from posenc_jax.encodings.axial_rope import MHRoPE as MHRoPE
from posenc_jax.encodings.grape_m import GRAPEM as GRAPEM
from posenc_jax.encodings.grape_m import GRAPEMPlanes as GRAPEMPlanes
from posenc_jax.encodings.grape_m import GRAPEMContext as GRAPEMContext
from posenc_jax.encodings.grape_a import GRAPEA as GRAPEA
from posenc_jax.encodings.grape_a import GRAPEAP as GRAPEAP
from posenc_jax.encodings.alibi import ALiBi as ALiBi
from posenc_jax.encodings.t5 import T5Bias as T5Bias
from posenc_jax.encodings.kerple import KERPLE as KERPLE
from posenc_jax.encodings.sandwich import Sandwich as Sandwich
from posenc_jax.encodings.fire import FIRE as FIRE
from posenc_jax.encodings.dynamic_bias import DynamicBias as DynamicBias
from posenc_jax.encodings.log_cpb import LogCPB as LogCPB
from posenc_jax.encodings.window_bias import WindowBias as WindowBias
from posenc_jax.encodings.spatial_bias import SpatialALiBi as SpatialALiBi
from posenc_jax.encodings.spatial_bias import LayoutBias as LayoutBias
from posenc_jax.encodings.pairs import PairTable as PairTable
from posenc_jax.encodings.pairs import PairLinear as PairLinear
from posenc_jax.encodings.dape import DAPE as DAPE
from posenc_jax.encodings.temperature import Temperature as Temperature
from posenc_jax.encodings.temperature import ScaleInvariant as ScaleInvariant
from posenc_jax.encodings.forgetting import FoX as FoX
from posenc_jax.encodings.shaw import Shaw as Shaw
from posenc_jax.encodings.wavelet import Wavelet as Wavelet
from posenc_jax.encodings.music_transformer import MusicTransformer as MusicTransformer
from posenc_jax.encodings.shaw import Huang as Huang
from posenc_jax.encodings.transformer_xl import TransformerXL as TransformerXL
from posenc_jax.encodings.transformer_xl import XLNet as XLNet
from posenc_jax.encodings.deberta import DeBERTa as DeBERTa
from posenc_jax.encodings.decomposed import Decomposed as Decomposed
from posenc_jax.encodings.irpe import IRPE as IRPE
from posenc_jax.encodings.gpsa import GPSA as GPSA
from posenc_jax.encodings.tupe import TUPE as TUPE
from posenc_jax.encodings.cope import CoPE as CoPE
from posenc_jax.encodings.path import PaTH as PaTH
from posenc_jax.encodings.carope import CARoPE as CARoPE
from posenc_jax.encodings.selective_rope import SelectiveRoPE as SelectiveRoPE
from posenc_jax.encodings.carope import RePo as RePo
from posenc_jax.encodings.stick_breaking import StickBreaking as StickBreaking
from posenc_jax.encodings.randomized import Randomized as Randomized
from posenc_jax.encodings.cape import SHAPE as SHAPE
from posenc_jax.encodings.cape import CAPE as CAPE
from posenc_jax.encodings.interpolated import Interpolated as Interpolated
from posenc_jax.encodings.cape import PoSE as PoSE
from posenc_jax.encodings.grid import Grid as Grid
from posenc_jax.encodings.image_positions import ImagePositions as ImagePositions
from posenc_jax.encodings.media import V2PE as V2PE
from posenc_jax.encodings.position_coupling import Abacus as Abacus
from posenc_jax.encodings.position_coupling import PositionCoupling as PositionCoupling
from posenc_jax.encodings.position_coupling import NumberIndex as NumberIndex
from posenc_jax.encodings.bipe import WithinSegment as WithinSegment
from posenc_jax.encodings.bipe import SegmentIndex as SegmentIndex
from posenc_jax.encodings.sections import SectionIndex as SectionIndex
from posenc_jax.encodings.sections import WithinSection as WithinSection
from posenc_jax.encodings.frequency_designs import LowSideLobes as LowSideLobes
from posenc_jax.encodings.frequency_designs import CosineDensity as CosineDensity
# isort: on

from posenc_jax.encodings import parsing
from posenc_jax.encodings.alibi import alibi_bias as alibi_bias
from posenc_jax.encodings.alibi import alibi_slopes as alibi_slopes
from posenc_jax.encodings.attention import attend as attend
from posenc_jax.encodings.attention import position_bias as position_bias
from posenc_jax.encodings.base import Dims as Dims
from posenc_jax.encodings.base import Geometry as Geometry
from posenc_jax.encodings.base import PositionalEncoding as PositionalEncoding
from posenc_jax.encodings.base import Sequence as Sequence
from posenc_jax.encodings.layer_inputs import LayerInputs as LayerInputs
from posenc_jax.encodings.layer_inputs import layer_inputs as layer_inputs
from posenc_jax.encodings.media_positions import Film as Film
from posenc_jax.encodings.media_positions import media_positions as media_positions
from posenc_jax.encodings.parsing import spec as spec
from posenc_jax.encodings.randomized import random_positions as random_positions
from posenc_jax.encodings.rope import convert_layout as convert_layout
from posenc_jax.encodings.rope import half_permutation as half_permutation
from posenc_jax.encodings.rope_scaling import RoPEScaling as RoPEScaling
from posenc_jax.encodings.shared.phase import fixed_point as fixed_point
from posenc_jax.encodings.shared.phase import sincos as sincos
from posenc_jax.encodings.shared.phase import tensor2tensor_frequencies as tensor2tensor_frequencies
from posenc_jax.encodings.shared.phase import vaswani_frequencies as vaswani_frequencies
from posenc_jax.encodings.shared.rotation import rotate as rotate
from posenc_jax.encodings.sinusoidal import sinusoidal as sinusoidal
from posenc_jax.encodings.sinusoidal import sinusoidal_frequencies as sinusoidal_frequencies
from posenc_jax.encodings.sinusoidal_axes import sinusoidal_axes as sinusoidal_axes
from posenc_jax.encodings.slots import Slot as Slot
from posenc_jax.encodings.slots import check_slot as check_slot
from posenc_jax.encodings.slots import elements as elements
from posenc_jax.encodings.slots import embed as embed
from posenc_jax.encodings.slots import for_layer as for_layer
from posenc_jax.encodings.slots import geometries as geometries
from posenc_jax.encodings.slots import init_slot as init_slot
from posenc_jax.encodings.slots import is_pattern as is_pattern
from posenc_jax.encodings.slots import layer_params as layer_params
from posenc_jax.encodings.slots import map_slot as map_slot
from posenc_jax.encodings.slots import token_terms as token_terms
from posenc_jax.encodings.t5 import t5_buckets as t5_buckets
from posenc_jax.encodings.value import Value as Value

# The classes of the registry; `ENCODINGS` and `SCALINGS` have them by the word used in strings and tables.
REGISTERED: tuple[type[PositionalEncoding] | type[RoPEScaling], ...] = tuple(
    value
    for value in tuple(globals().values())
    if isinstance(value, type) and issubclass(value, PositionalEncoding | RoPEScaling) and hasattr(value, "name")
)
ENCODINGS: dict[str, type[PositionalEncoding]] = {c.name: c for c in REGISTERED if issubclass(c, PositionalEncoding)}
SCALINGS: dict[str, type[RoPEScaling]] = {c.name: c for c in REGISTERED if issubclass(c, RoPEScaling)}


def parse(
    text: str,
    known: Mapping[str, type[PositionalEncoding]] | None = None,
    own: Callable[[str, str], type] | None = None,
) -> Slot:
    """The slot that a string describes.

    Elements are Python calls with literal arguments (a bare name is a call without any), joined by ``|`` in the order
    in which they act. Arguments may be calls where a field holds another value. ``nope`` or nothing is the empty slot.
    Groups joined by ``/`` are a pattern that repeats over the layers. Nothing is evaluated, only the syntax tree read.

    ``FILE.py:Class`` stands for a class in a file of yours, wherever a word may stand, and is found by ``own``. A path
    goes on over ``/``: write blanks around the ``/`` between layers, as in ``rope / mine.py:Mine``, and a path with
    blanks in quotes.

    Args:
      text: the string.
      known: names and classes of encodings; by default the registry, `ENCODINGS`.
      own: gives the class of a name in a file, or raises a ValueError; without it no file can be named.

    Raises:
      ValueError: naming the unknown word and the nearest known one, or the position of the syntax error.

    >>> parse("randomized(max_position=512) | learned(64)")[0]
    Randomized(max_position=512, per='batch', redraw='forward')
    >>> parse("rope/rope/rope/nope") == ((parse("rope"),) * 3 + ((),))
    True
    """
    return parsing.parse(text, ENCODINGS if known is None else known, REGISTERED, own)
