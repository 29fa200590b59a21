"""Relative encodings: a vector or a term for each distance, which meets queries, keys or values.

Members read a table of distances, learned or sinusoidal, and multiply it with the content of a query or key: the hook
``content_bias`` (or ``score``), and for some ``value_term``. Distances beyond the table are clipped to its end or have
no entry. This costs a product of its own for each layer, which additive and rotary encodings avoid. `Shaw` is the
first; `TransformerXL`, `DeBERTa` and `TUPE` differ in which of content and position meets which.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.relative.shaw import Shaw as Shaw
from posenc_jax.encodings.relative.wavelet import Wavelet as Wavelet
from posenc_jax.encodings.relative.music_transformer import MusicTransformer as MusicTransformer
from posenc_jax.encodings.relative.shaw import Huang as Huang
from posenc_jax.encodings.relative.transformer_xl import TransformerXL as TransformerXL
from posenc_jax.encodings.relative.transformer_xl import XLNet as XLNet
from posenc_jax.encodings.relative.deberta import DeBERTa as DeBERTa
from posenc_jax.encodings.relative.decomposed import Decomposed as Decomposed
from posenc_jax.encodings.relative.irpe import IRPE as IRPE
from posenc_jax.encodings.relative.gpsa import GPSA as GPSA
from posenc_jax.encodings.relative.tupe import TUPE as TUPE
from posenc_jax.encodings.relative.cope import CoPE as CoPE
from posenc_jax.encodings.relative.inkling import Inkling as Inkling
