"""Initial parameters from one program instead of one for each operation, which is most of the time of a small test."""

import jax
import numpy as np

from posenc_jax.encodings.interface.base import Dims, PositionalEncoding


def initial(encoding: PositionalEncoding, dims: Dims, seed: int = 0):
    """``encoding.init(jax.random.key(seed), dims)`` as NumPy arrays."""
    return jax.tree.map(np.asarray, jax.jit(lambda key: encoding.init(key, dims))(jax.random.key(seed)))


def shapes_of(encoding: PositionalEncoding, dims: Dims):
    """The same without values: nothing is compiled."""
    return jax.eval_shape(lambda: encoding.init(jax.random.key(0), dims))
