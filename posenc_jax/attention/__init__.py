"""Attention with positional encodings in other ways than the reference, and the choice among them.

`posenc_jax.encodings.attend` is the reference. `attend` here has the same arguments and one more, the path, and gives
the same; `choose` says which path it takes, and why. `dot_product_attention` has the layout and the arguments of the
functions that Flax's modules call.
"""

from posenc_jax.attention.choice import Asked as Asked
from posenc_jax.attention.choice import AttentionPath as AttentionPath
from posenc_jax.attention.choice import Call as Call
from posenc_jax.attention.choice import Choice as Choice
from posenc_jax.attention.choice import choose as choose
from posenc_jax.attention.choice import fused_paths as fused_paths
from posenc_jax.attention.dot_product import dot_product_attention as dot_product_attention
from posenc_jax.attention.paths import attend as attend
