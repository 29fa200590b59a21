"""Rotary encodings of one axis: queries and keys turn by angles proportional to their positions.

A pair of features is a plane, and plane k turns by position times frequency k: the hooks ``encode_queries`` and
``encode_keys``. A product of a turned query and a turned key depends on positions through their difference alone, with
no parameters and no term added to the logits, so every attention kernel can be used. The classes of `rope_scaling`,
`yarn` and `rope_selection` are values of ``scaling=``: they change the frequencies for contexts longer than those of
training. Then come variants of what turns (single heads, values, learned phases) and of which distances are used
(`rerope` and those after it), and the factors of queries that go with them, which are in `additive.temperature`.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.rotary.rope import RoPE as RoPE
from posenc_jax.encodings.rotary.rope_scaling import PositionInterpolation as PositionInterpolation
from posenc_jax.encodings.rotary.rope_scaling import NTK as NTK
from posenc_jax.encodings.rotary.rope_scaling import DynamicNTK as DynamicNTK
from posenc_jax.encodings.rotary.yarn import NTKByParts as NTKByParts
from posenc_jax.encodings.rotary.yarn import YaRN as YaRN
from posenc_jax.encodings.rotary.rope_scaling import LongRoPE as LongRoPE
from posenc_jax.encodings.rotary.rope_scaling import Llama3 as Llama3
from posenc_jax.encodings.rotary.rope_selection import Resonance as Resonance
from posenc_jax.encodings.rotary.rope_selection import PRoPE as PRoPE
from posenc_jax.encodings.rotary.rope_selection import HoPE as HoPE
from posenc_jax.encodings.rotary.rope_selection import ClippedRoPE as ClippedRoPE
from posenc_jax.encodings.rotary.rope_selection import MrRoPE as MrRoPE
from posenc_jax.encodings.rotary.rope_selection import RIFLEx as RIFLEx
from posenc_jax.encodings.rotary.mla_rope import MLARoPE as MLARoPE
from posenc_jax.encodings.rotary.lerope import LeRoPE as LeRoPE
from posenc_jax.encodings.rotary.clex import CLEX as CLEX
from posenc_jax.encodings.rotary.ms_poe import MsPoE as MsPoE
from posenc_jax.encodings.rotary.moebius_rope import MoebiusRoPE as MoebiusRoPE
from posenc_jax.encodings.rotary.rope import RoPEPlusPlus as RoPEPlusPlus
from posenc_jax.encodings.rotary.rotated_values import RotatedValues as RotatedValues
from posenc_jax.encodings.rotary.blended_rope import BlendedRoPE as BlendedRoPE
from posenc_jax.encodings.rotary.fope import FoPE as FoPE
from posenc_jax.encodings.rotary.xpos import XPos as XPos
from posenc_jax.encodings.rotary.rerope import ReRoPE as ReRoPE
from posenc_jax.encodings.rotary.lm_infinite import LMInfinite as LMInfinite
from posenc_jax.encodings.rotary.self_extend import SelfExtend as SelfExtend
from posenc_jax.encodings.rotary.string import String as String
from posenc_jax.encodings.rotary.dual_chunk import DualChunk as DualChunk
from posenc_jax.encodings.additive.temperature import LogScaling as LogScaling
from posenc_jax.encodings.additive.temperature import SSMax as SSMax
from posenc_jax.encodings.additive.temperature import QueryTemperature as QueryTemperature
from posenc_jax.encodings.rotary.pope import PoPE as PoPE
from posenc_jax.encodings.rotary.tapa import TAPA as TAPA
