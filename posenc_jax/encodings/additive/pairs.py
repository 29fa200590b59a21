"""Biases of attributes of pairs of tokens: of distances, of edges and of walks in a graph."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field
from posenc_jax.encodings.shared.draws import normals


def read_pairs(encoding: PositionalEncoding, geometry: Geometry) -> Array:
    """`Geometry.pairs`.

    Raises:
      ValueError: if there are fewer attributes than the encoding reads.
    """
    found = 0 if geometry.pairs is None else geometry.pairs.shape[-1]
    if found < encoding.needs_pairs:
        raise ValueError(
            f"{encoding!r} reads {encoding.needs_pairs} attributes of each pair of tokens, and this call has {found}: "
            "pass pairs= [batch, tokens, tokens, attributes] of whole sequences that attend to themselves; a cache of "
            "a model and cross-attention have none"
        )
    assert geometry.pairs is not None
    return geometry.pairs


class _OfPairs(PositionalEncoding):
    shift_invariant = True
    position_axes = "any"


@dataclasses.dataclass(frozen=True)
class PairTable(_OfPairs):
    """A learned bias per head for a whole number that each pair of tokens brings (`Sequence.pairs`)::

        logits_ij += table[h, r_ij]

    With the length of the shortest path between two nodes as r_ij it is the spatial encoding of Graphormer (Ying et al.
    2021, section 3.1.2, equation 6), see `shortest_paths`; with types of relations a bias for each. All layers share
    the table, as there. Graphormer reserves a number for unconnected nodes and another for its virtual node: the data
    may use any numbers below ``rows`` for them.

    Attributes:
      rows: how many rows the table has, 512 in Graphormer. Numbers outside read the nearest row, and NaN gives NaN.
      column: which attribute of a pair is r, from 0. Fractions are rounded.

    Parameters: ``table [H, rows]``, N(0, 0.02^2).

    Raises:
      ValueError: if there are no attributes of pairs, or fewer than it reads.
    """

    rows: int = 512
    column: int = 0

    name = "pair_table"
    paper = "arXiv:2106.05234"
    citation = """@inproceedings{ying2021transformers, author = {Ying, C. and Cai, T. and Luo, S. and Zheng, S. and Ke,
        G. and He, D. and Shen, Y. and Liu, T.-Y.}, title = {{Do Transformers Really Perform Badly for Graph
        Representation?}}, booktitle = {NeurIPS}, year = {2021}, eprint = {2106.05234}}"""
    methods = (
        Method(
            "additive",
            "Spatial encoding (Graphormer)",
            "pair_table",
            "Ying et al. 2021",
            note="the attribute of a pair is the length of the shortest path between two nodes",
            use="W",
        ),
    )
    head_axes = (("table", 0),)
    limits = limited(
        rows=at_least(1, ": Graphormer has 512"), column=at_least(0, ": attributes are counted from 0", most=4095)
    )
    needs_pairs = of_field("column", lambda column: column + 1)

    def init(self, key: Key, dims: Dims) -> Params:
        return normals(key, {"table": (dims.num_heads, self.rows)})

    def bias(self, params: Params, geometry: Geometry) -> Array:
        numbers = jnp.clip(jnp.round(read_pairs(self, geometry)[..., self.column]), 0, self.rows - 1)
        rows = jnp.where(jnp.isnan(numbers), self.rows, numbers).astype(jnp.int32)
        return jnp.moveaxis(jnp.take(params["table"], rows, axis=1, mode="fill", fill_value=jnp.nan), 0, 1)


@dataclasses.dataclass(frozen=True)
class PairLinear(_OfPairs):
    """A learned bias per head that is linear in numbers that each pair of tokens brings (`Sequence.pairs`)::

        logits_ij += sum over a of weight[h, a] r_ija

    - With the features of the edges along the shortest path, each divided by the number of edges, it is the edge
      encoding of Graphormer (Ying et al. 2021, section 3.1.3, equation 7), see `edge_paths`.
    - With the probabilities of going from i to j in 0, 1, 2, ... steps of a random walk (RRWP, Ma et al. 2023, GRIT,
      section 3.1; see `random_walks`) it is the part of GRIT that adds to logits. GRIT's attention, which has these
      features in the product of query and key too and changes them from layer to layer, and its scaling of outputs by
      degree are another model.

    Attributes:
      count: how many attributes are read.
      first: the first of them, from 0.

    Parameters: ``weight [H, count]``, N(0, 0.02^2), one for all layers.

    Raises:
      ValueError: if there are no attributes of pairs, or fewer than it reads.
    """

    count: int
    first: int = 0

    name = "pair_linear"
    paper = PairTable.paper
    citation = PairTable.citation
    methods = (
        Method(
            "additive",
            "Edge encoding (Graphormer)",
            "pair_linear(count=6, first=1)",
            "Ying et al. 2021",
            note="the attributes of a pair are the features of the edges between two nodes, here two of up to three "
            "edges",
            use="W",
        ),
        Method(
            "additive",
            "Random-walk probabilities (RRWP)",
            "attributes(count=8)|linear_positions(axes=8, offset=False)|pair_linear(count=8)",
            "Ma et al. 2023",
            "arXiv:2305.17589",
            "the attributes of a pair are the probabilities of 0 to 7 steps, those of a node of its pair with itself",
            use="s",
        ),
    )
    head_axes = (("weight", 0),)
    limits = limited(
        count=at_least(1, ": as many as a pair has", most=4096),
        first=at_least(0, ": attributes are counted from 0", most=4095),
    )

    @property
    def needs_pairs(self) -> int:  # type: ignore[override]
        """Up to the last one."""
        return self.first + self.count

    def init(self, key: Key, dims: Dims) -> Params:
        return normals(key, {"weight": (dims.num_heads, self.count)})

    def bias(self, params: Params, geometry: Geometry) -> Array:
        pairs = read_pairs(self, geometry)[..., self.first : self.first + self.count]
        dtype = at_least_float32(params["weight"])
        weight = params["weight"].astype(dtype)
        return jnp.einsum("bqka,ha->bhqk", jnp.asarray(pairs).astype(dtype), weight, precision="highest")
