"""A small language model with RoPE, to be read beyond its 128 tokens: the documentation of Python, for 2 cores.

    python -m experiments.corpora.make python-docs
    posenc train experiments/context/small.py --directory runs/context-small

With so few steps it is no good model; what changes of positions do to it can be seen all the same. Perplexities are on
the page beside this file.
"""

import dataclasses

from experiments.language_model.small import base, with_positions
from posenc_jax.encodings import RoPE

config = dataclasses.replace(
    with_positions("rope", RoPE()),
    training=dataclasses.replace(base.training, steps=400),
    evaluation=dataclasses.replace(base.evaluation, lengths=(128,)),
    seeds=(0,),
)
