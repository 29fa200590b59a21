"""Random signs of positions in training, for eigenvectors, whose signs mean nothing."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import draw_keys


@dataclasses.dataclass(frozen=True)
class RandomSigns(PositionalEncoding):
    """Flips, in training, each axis of the positions of an example with probability 1/2, for the elements after it::

        p_ta -> s_a p_ta,   s_a ~ U{-1, 1},   one draw for each example and axis

    (Dwivedi et al. 2020; Dwivedi and Bresson 2020, arXiv:2012.09699.) The sign of an eigenvector is arbitrary, so
    random signs teach a model to ignore it. Outside of training positions are unchanged. Eigenvectors of a repeated
    eigenvalue are arbitrary up to a rotation, which random signs do not cover.

    The slot of Laplacian positions is ``attributes(count=8)|random_signs|linear_positions(axes=8)``, with
    `laplacian_eigenvectors` of each graph as attributes. Graphs that are packed into one row share their draws.
    """

    name = "random_signs"
    paper = "arXiv:2003.00982"
    citation = """@article{dwivedi2020benchmarking, author = {Dwivedi, V. P. and Joshi, C. K. and Luu, A. T. and
        Laurent, T. and Bengio, Y. and Bresson, X.}, title = {{Benchmarking Graph Neural Networks}}, journal = {JMLR},
        year = {2023}, eprint = {2003.00982}}"""
    methods = (
        Method(
            "absolute",
            "Laplacian eigenvectors",
            "attributes(count=8)|random_signs|linear_positions(axes=8)",
            "Dwivedi et al. 2020",
            note="the attributes of a node are its entries of the eigenvectors",
            use="W",
        ),
    )
    shift_invariant = True
    random = True
    position_axes = "any"

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        if not train:
            return sequence.positions
        positions = jnp.asarray(sequence.positions)
        axes = positions.shape[2:]
        keys = draw_keys(key, sequence, "example", "RandomSigns")
        signs = jax.vmap(lambda k: jax.random.rademacher(k, axes, positions.dtype))(keys)
        return positions * signs[:, None]
