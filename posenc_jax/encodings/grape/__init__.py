"""GRAPE (arXiv:2512.07805): positions act on queries and keys as a group of matrices, a power of one generator.

The multiplicative members turn queries and keys in planes that are learned, of which RoPE's are a special case: the
hooks ``encode_queries`` and ``encode_keys``. The additive members multiply with unipotent matrices, which is a term
linear in the distance, as in ALiBi and FoX: the hooks ``bias`` and ``content_bias``.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.grape.grape_m import GRAPEM as GRAPEM
from posenc_jax.encodings.grape.grape_m import GRAPEMPlanes as GRAPEMPlanes
from posenc_jax.encodings.grape.grape_m import GRAPEMContext as GRAPEMContext
from posenc_jax.encodings.grape.grape_a import GRAPEA as GRAPEA
from posenc_jax.encodings.grape.grape_a import GRAPEAP as GRAPEAP
