"""Positional encodings behind one small pure interface.

A folder has a family, and its ``__init__.py`` lists the encodings and scalings of RoPE of that family in the order of
tables: what these lists import can be written in strings, is in the catalogue (with the ``methods`` of the class) and
is tested. After adding one, ``scripts/regenerate`` writes what is kept of it in files. `interface` carries encodings
out, `shared` has what several of them compute.
"""

import typing
from collections.abc import Callable, Mapping

from posenc_jax import lazy

# isort: off
from posenc_jax.encodings.absolute import *
from posenc_jax.encodings.rotary import *
from posenc_jax.encodings.images_and_media import *
from posenc_jax.encodings.grape import *
from posenc_jax.encodings.additive import *
from posenc_jax.encodings.relative import *
from posenc_jax.encodings.data_dependent import *
from posenc_jax.encodings.positions import *
from posenc_jax.encodings.frequency_designs import LowSideLobes as LowSideLobes
from posenc_jax.encodings.frequency_designs import CosineDensity as CosineDensity
# isort: on

from posenc_jax.encodings.absolute.sinusoidal import sinusoidal as sinusoidal
from posenc_jax.encodings.absolute.sinusoidal import sinusoidal_frequencies as sinusoidal_frequencies
from posenc_jax.encodings.absolute.sinusoidal_axes import sinusoidal_axes as sinusoidal_axes
from posenc_jax.encodings.additive.alibi import alibi_bias as alibi_bias
from posenc_jax.encodings.additive.alibi import alibi_slopes as alibi_slopes
from posenc_jax.encodings.additive.t5 import t5_buckets as t5_buckets
from posenc_jax.encodings.images_and_media.media_positions import Film as Film
from posenc_jax.encodings.images_and_media.media_positions import media_positions as media_positions
from posenc_jax.encodings.interface import parsing
from posenc_jax.encodings.interface.attention import attend as attend
from posenc_jax.encodings.interface.attention import position_bias as position_bias
from posenc_jax.encodings.interface.base import Dims as Dims
from posenc_jax.encodings.interface.base import Geometry as Geometry
from posenc_jax.encodings.interface.base import PositionalEncoding as PositionalEncoding
from posenc_jax.encodings.interface.base import Sequence as Sequence
from posenc_jax.encodings.interface.layer_inputs import LayerInputs as LayerInputs
from posenc_jax.encodings.interface.layer_inputs import layer_inputs as layer_inputs
from posenc_jax.encodings.interface.parsing import spec as spec
from posenc_jax.encodings.interface.slots import Slot as Slot
from posenc_jax.encodings.interface.slots import check_slot as check_slot
from posenc_jax.encodings.interface.slots import elements as elements
from posenc_jax.encodings.interface.slots import embed as embed
from posenc_jax.encodings.interface.slots import for_layer as for_layer
from posenc_jax.encodings.interface.slots import geometries as geometries
from posenc_jax.encodings.interface.slots import init_slot as init_slot
from posenc_jax.encodings.interface.slots import is_pattern as is_pattern
from posenc_jax.encodings.interface.slots import layer_params as layer_params
from posenc_jax.encodings.interface.slots import map_slot as map_slot
from posenc_jax.encodings.interface.slots import token_terms as token_terms
from posenc_jax.encodings.interface.value import Value as Value
from posenc_jax.encodings.positions.randomized import random_positions as random_positions
from posenc_jax.encodings.rotary.rope import convert_layout as convert_layout
from posenc_jax.encodings.rotary.rope import half_permutation as half_permutation
from posenc_jax.encodings.rotary.rope_scaling import RoPEScaling as RoPEScaling
from posenc_jax.encodings.shared.phase import fixed_point as fixed_point
from posenc_jax.encodings.shared.phase import sincos as sincos
from posenc_jax.encodings.shared.phase import tensor2tensor_frequencies as tensor2tensor_frequencies
from posenc_jax.encodings.shared.phase import vaswani_frequencies as vaswani_frequencies
from posenc_jax.encodings.shared.rotation import rotate as rotate

# The classes of the registry; `ENCODINGS` and `SCALINGS` have them by the word used in strings and tables.
REGISTERED: tuple[type[PositionalEncoding] | type[RoPEScaling], ...] = tuple(
    value
    for value in tuple(globals().values())
    if isinstance(value, type) and issubclass(value, PositionalEncoding | RoPEScaling) and hasattr(value, "name")
)
ENCODINGS: dict[str, type[PositionalEncoding]] = {c.name: c for c in REGISTERED if issubclass(c, PositionalEncoding)}
SCALINGS: dict[str, type[RoPEScaling]] = {c.name: c for c in REGISTERED if issubclass(c, RoPEScaling)}

if not typing.TYPE_CHECKING:

    def __getattr__(name):
        return lazy.find(__name__, name)


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
