"""Changes of positions: what a position is, before another encoding uses it.

Members stand before an encoding in a slot (``randomized(max_position=512) | learned(512)``) and map positions to
positions: the hook ``map_positions``. They draw positions at random in training, scale them to a known range, count
within numbers, segments or sections, or lay a sequence out in a grid. They add nothing to embeddings or logits.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.positions.randomized import Randomized as Randomized
from posenc_jax.encodings.positions.cape import SHAPE as SHAPE
from posenc_jax.encodings.positions.cape import CAPE as CAPE
from posenc_jax.encodings.positions.interpolated import Interpolated as Interpolated
from posenc_jax.encodings.positions.cape import PoSE as PoSE
from posenc_jax.encodings.positions.grid import Grid as Grid
from posenc_jax.encodings.positions.image_positions import ImagePositions as ImagePositions
from posenc_jax.encodings.images_and_media.media import V2PE as V2PE
from posenc_jax.encodings.positions.position_coupling import Abacus as Abacus
from posenc_jax.encodings.positions.position_coupling import PositionCoupling as PositionCoupling
from posenc_jax.encodings.positions.position_coupling import NumberIndex as NumberIndex
from posenc_jax.encodings.positions.bipe import WithinSegment as WithinSegment
from posenc_jax.encodings.positions.bipe import SegmentIndex as SegmentIndex
from posenc_jax.encodings.positions.sections import SectionIndex as SectionIndex
from posenc_jax.encodings.positions.sections import WithinSection as WithinSection
