"""Additive encodings: a bias for each pair of positions, added to the logits of attention.

Members compute ``[#B, H, Q, K]`` from distances (or from pairs given with the input) by the hook ``bias``, or change
the sum of logits by ``adjust_logits``. Queries and keys carry no positions. A bias is a fixed function of the distance
(`alibi`, `sandwich`), one with learned parameters (`t5`, `kerple`, `fire`, `log_cpb`), or one with the content of
tokens (`forgetting`, `dape`). Most of them decrease with the distance and are defined beyond the training length.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.additive.alibi import ALiBi as ALiBi
from posenc_jax.encodings.additive.t5 import T5Bias as T5Bias
from posenc_jax.encodings.additive.gated_bias import GatedBias as GatedBias
from posenc_jax.encodings.additive.kerple import KERPLE as KERPLE
from posenc_jax.encodings.additive.sandwich import Sandwich as Sandwich
from posenc_jax.encodings.additive.fire import FIRE as FIRE
from posenc_jax.encodings.additive.dynamic_bias import DynamicBias as DynamicBias
from posenc_jax.encodings.additive.log_cpb import LogCPB as LogCPB
from posenc_jax.encodings.additive.window_bias import WindowBias as WindowBias
from posenc_jax.encodings.additive.spatial_bias import SpatialALiBi as SpatialALiBi
from posenc_jax.encodings.additive.spatial_bias import LayoutBias as LayoutBias
from posenc_jax.encodings.additive.pairs import PairTable as PairTable
from posenc_jax.encodings.additive.pairs import PairLinear as PairLinear
from posenc_jax.encodings.additive.dape import DAPE as DAPE
from posenc_jax.encodings.additive.temperature import Temperature as Temperature
from posenc_jax.encodings.additive.temperature import ScaleInvariant as ScaleInvariant
from posenc_jax.encodings.additive.forgetting import FoX as FoX
