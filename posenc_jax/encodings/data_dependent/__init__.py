"""Data-dependent encodings: the content of tokens decides how far apart they are.

Members compute decays, angles, reflections or positions from the inputs of a layer and accumulate them along the
sequence, so that the term of a query and a key depends on all tokens between them: the hooks ``content_bias``,
``encode_queries``, ``encode_keys`` and ``normalize``. They are causal, and have parameters in every layer. FoX, whose
term is a bias, is in `additive`, and CoPE, which reads a table, in `relative`.

In the order of tables:
"""

# isort: off
from posenc_jax.encodings.data_dependent.path import PaTH as PaTH
from posenc_jax.encodings.data_dependent.carope import CARoPE as CARoPE
from posenc_jax.encodings.data_dependent.selective_rope import SelectiveRoPE as SelectiveRoPE
from posenc_jax.encodings.data_dependent.carope import RePo as RePo
from posenc_jax.encodings.data_dependent.stick_breaking import StickBreaking as StickBreaking
