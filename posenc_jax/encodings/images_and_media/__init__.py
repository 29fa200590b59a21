"""Rotary encodings of several axes: positions in images, films, and texts that hold them.

Positions are ``[B, S, A]``, one number an axis: rows and columns of an image, the time of a film, or the index of a
token of text, which has the same position on all axes. Members act on queries and keys, as those of `rotary` do, and
differ in how planes are shared among axes: planes of an axis of its own, directions between axes, or matrices that
commute. `media` and `media_positions` compute the positions of mixed sequences, `film_with_sound` those of films.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.images_and_media.axial_rope import AxialRoPE as AxialRoPE
from posenc_jax.encodings.images_and_media.axial_rope import MixedRoPE as MixedRoPE
from posenc_jax.encodings.images_and_media.mrope import MRoPE as MRoPE
from posenc_jax.encodings.images_and_media.directional_rope import SpiralRoPE as SpiralRoPE
from posenc_jax.encodings.images_and_media.directional_rope import GoldenGateRoPE as GoldenGateRoPE
from posenc_jax.encodings.images_and_media.lie_rope import LieRE as LieRE
from posenc_jax.encodings.images_and_media.lie_rope import ComRoPE as ComRoPE
from posenc_jax.encodings.images_and_media.separable_rope import CayleyString as CayleyString
from posenc_jax.encodings.images_and_media.separable_rope import CirculantString as CirculantString
from posenc_jax.encodings.images_and_media.camera_prope import CameraPRoPE as CameraPRoPE
from posenc_jax.encodings.images_and_media.media import Media as Media
from posenc_jax.encodings.images_and_media.media import CirclePositions as CirclePositions
from posenc_jax.encodings.images_and_media.film_with_sound import FilmWithSound as FilmWithSound
from posenc_jax.encodings.images_and_media.axial_rope import MHRoPE as MHRoPE
