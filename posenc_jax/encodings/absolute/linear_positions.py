"""A learned linear map of positions of several axes, for eigenvectors and probabilities of walks in a graph; and random
signs of eigenvectors, whose signs mean nothing.
"""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field
from posenc_jax.encodings.shared.draws import draw_keys


@dataclasses.dataclass(frozen=True)
class LinearPositions(PositionalEncoding):
    """A linear map of a position's axes, added to the input embeddings::

        x_t + W p_t + b,   W [d_model, axes]

    With eigenvectors of a graph's Laplacian it is the encoding of Dwivedi and Bresson 2020 (arXiv:2012.09699), see
    `RandomSigns`; with the return probabilities of a random walk that of Dwivedi et al. 2021, see `random_walks`.
    Departures: Dwivedi et al. 2021 update positions apart from contents in every layer, and GraphGPS (Rampášek et al.
    2022) normalises them over a batch and concatenates them; here they are added once.

    Attributes:
      axes: the number of axes of positions ``[#B, S, axes]``, as from `Attributes`.
      offset: b is added (not in GRIT).

    Parameters: ``weight [axes, d_model]``, uniform within sqrt(6 / (axes + d_model)), and ``offset [d_model]`` (b), 0.
    """

    axes: int
    offset: bool = True

    name = "linear_positions"
    paper = "arXiv:2110.07875"
    citation = """@inproceedings{dwivedi2022graph, author = {Dwivedi, V. P. and Luu, A. T. and Laurent, T. and Bengio,
        Y. and Bresson, X.}, title = {{Graph Neural Networks with Learnable Structural and Positional
        Representations}}, booktitle = {ICLR 2022}, year = {2021}, eprint = {2110.07875}}"""
    methods = (
        Method(
            "absolute",
            "Random-walk diagonals (RWSE)",
            "attributes(count=8)|linear_positions(axes=8)",
            "Dwivedi et al. 2021",
            note="the attributes of a node are the probabilities of returning after 1 to 8 steps",
            use="W",
        ),
    )
    limits = limited(axes=at_least(1, ": as many as the positions have", most=4096))
    position_axes = of_field("axes")

    def init(self, key: Key, dims: Dims) -> Params:
        weight = jax.nn.initializers.glorot_uniform()(key, (self.axes, dims.d_model), jnp.float32)
        return {"weight": weight} | ({"offset": jnp.zeros((dims.d_model,), jnp.float32)} if self.offset else {})

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x, params["weight"])
        positions = jnp.asarray(sequence.positions).astype(dtype)
        vectors = jnp.einsum("bsa,am->bsm", positions, params["weight"].astype(dtype), precision="highest")
        if self.offset:
            vectors = vectors + params["offset"].astype(dtype)[None, None]
        return (x.astype(dtype) + vectors).astype(x.dtype)


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
