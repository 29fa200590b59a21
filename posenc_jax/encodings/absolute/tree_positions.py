"""Positions in a tree: the branches from a node up to the root (Shiv and Quirk 2019)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field


@dataclasses.dataclass(frozen=True)
class TreePositions(PositionalEncoding):
    """The path from a node to the root, as a choice of branch at each step, weighted by depth, added to embeddings::

        x_t[(k degree + b) F + f] += sqrt(d (1 - p_f^2) / 2) p_f^k     if step k leaves branch b + 1,   0 otherwise
        p_f = tanh(rate_f)

    (Shiv and Quirk 2019, sections 3.2 and 3.3, the stack-like encoding with parameters. The paper's own code could not
    be had: the tanh, the start of the rates and the norm are those of re-implementations, which agree.) Step 0 is the
    branch from the node to its parent, so going to a child shifts all entries by one step and going up shifts them
    back: both are linear maps, as shifts are for sinusoids. The F rates are trained and start apart; d = F depth degree
    dimensions are used, and the rest of d_model stays as it is.

    Positions ``[#B, S, depth]``: the branch of each step, 1 for the first child, 0 above the root, as `tree_paths`
    makes them, in ``attributes(count=depth)|tree_positions(depth=..., degree=...)``. Fractions are rounded, branches
    beyond ``degree`` get nothing.

    Attributes:
      depth: how many steps are kept.
      degree: the most children of a node.

    Parameters: ``rates [F]``, uniform from 0.7 to 0.999.

    Raises:
      ValueError: in `check`, if d_model is less than ``depth * degree``.
    """

    depth: int = 8
    degree: int = 2

    name = "tree_positions"
    paper = "https://papers.nips.cc/paper/2019/hash/6e0917469214d8fbd8c517dcdc6b8dcf-Abstract.html"
    citation = """@inproceedings{shiv2019novel, author = {Shiv, V. L. and Quirk, C.}, title = {{Novel positional
        encodings to enable tree-based transformers}}, booktitle = {NeurIPS}, year = {2019}, url =
        {https://papers.nips.cc/paper/2019/hash/6e0917469214d8fbd8c517dcdc6b8dcf-Abstract.html}}"""
    methods = (
        Method(
            "absolute",
            "Tree positions",
            "attributes(count=8)|tree_positions",
            "Shiv & Quirk 2019",
            note="the attributes of a node are the branches from it up to the root",
            use="s",
        ),
    )
    limits = limited(
        depth=at_least(1, ": the steps of a path that are kept", most=4096),
        degree=at_least(1, ": 2 for binary trees", most=4096),
    )
    position_axes = of_field("depth")

    def check(self, dims: Dims) -> None:
        if dims.d_model < self.depth * self.degree:
            raise ValueError(
                f"{self} has {self.depth * self.degree} choices, and d_model = {dims.d_model} a dimension for each at "
                "least: lower depth or degree, or raise d_model"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        features = dims.d_model // (self.depth * self.degree)
        return {"rates": jax.random.uniform(key, (features,), jnp.float32, 0.7, 0.999)}

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x, params["rates"])
        rates = jnp.tanh(params["rates"].astype(dtype))
        used = rates.size * self.depth * self.degree
        steps = jnp.arange(self.depth, dtype=dtype)[:, None]
        weights = jnp.sqrt((1 - rates**2) * used / 2)[None] * rates[None] ** steps
        branches = jnp.round(jnp.asarray(sequence.positions))[..., None]
        chosen = (branches == np.arange(1, self.degree + 1, dtype=branches.dtype)[None, None, None]).astype(dtype)
        chosen = jnp.where(jnp.isnan(branches), jnp.nan, chosen)
        vectors = chosen[..., None] * weights[None, None, :, None]
        vectors = vectors.reshape(*vectors.shape[:2], used)
        padded = jnp.pad(vectors, ((0, 0), (0, 0), (0, x.shape[2] - used)))
        return (x.astype(dtype) + padded).astype(x.dtype)
