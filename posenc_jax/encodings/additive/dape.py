"""DAPE: biases that adapt to the logits they are added to (Zheng et al. 2024)."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.token_order import TokenOrder

_NO_BIAS = (
    "DAPE adapts a bias, and no other element of the slot has one: put one beside it, as in 'kerple|dape', before any "
    "other element that adjusts logits, or set with_bias to False"
)


@dataclasses.dataclass(frozen=True)
class DAPE(PositionalEncoding):
    """A perceptron over the heads of a pair reads logits and, with ``with_bias``, biases, and adds to their sum::

        logits = A + B + f([A; B]),   A = q_i . k_j / sqrt(D),   f: 2H -> width -> LeakyReLU(0.01) -> H

    (Zheng et al. 2024, section 3.) B is the sum of the biases of the other elements of the slot, so ``kerple|dape`` is
    the paper's DAPE-Kerple, and ALiBi and FIRE go with it as well. Content biases of other elements count as part of A,
    and A is what an element with `score` makes it.

    With a ``kernel_size`` k above 1 both layers of f are convolutions over k neighbouring keys, of one query (Zheng et
    al. 2024, "DAPE V2", arXiv:2410.04798; its DAPE_1x3 has k = 3). Keys that a query does not see count as zero: later
    ones under a causal mask, as in the authors' code (``tril``), and so do padding and other segments of a row, which
    that code does not know. Neighbours are those in the order of places within a segment. At keys before the first the
    hidden layer is zero, the padding of the authors' second convolution; at the keys after a query it is what the first
    convolution makes of the zeros there. Departure: in the authors' code the end of the array also counts as padding of
    the second convolution, so its last k // 2 rows differ from the same rows of a longer sequence; here no row depends
    on the length. Without a causal mask, which the authors always have, both ends are padding.

    It needs all logits as an array, and ``width`` numbers for each pair besides: no fused attention.

    Attributes:
      width: the hidden units of f, 32 in the paper.
      kernel_size: k, an odd number: 1 for DAPE, 3 for DAPE V2.
      with_bias: False lets f read A alone, for slots without a bias, as after RoPE in the authors' code
        (``rope|dape(with_bias=False)``).

    Parameters, a set per layer, uniform within 1 / sqrt(inputs) as in torch: ``weight_0 [k, 2H, width]`` (H in place of
    2H where ``with_bias`` is False), ``bias_0``, ``weight_1 [k, width, H]``, ``bias_1``.

    Two heads, one pair; f adds to the first head what bias of the second exceeds 0.

    >>> w_0, w_1 = jnp.zeros((1, 4, 1)).at[0, 3].set(1.0), jnp.zeros((1, 1, 2)).at[0, 0, 0].set(1.0)
    >>> params = {"weight_0": w_0, "bias_0": jnp.zeros(1), "weight_1": w_1, "bias_1": jnp.zeros(2)}
    >>> logits, bias = (jnp.array(x).reshape(1, 2, 1, 1) for x in ([5.0, 6.0], [0.25, 0.5]))
    >>> DAPE(width=1).adjust_logits(params, logits, bias, Geometry.of_length(1, num_heads=2)).ravel().tolist()
    [5.75, 6.5]
    """

    width: int = 32
    kernel_size: int = 1
    with_bias: bool = True

    name = "dape"
    paper = "arXiv:2405.14722"
    citation = """@inproceedings{zheng2024dape, author = {Zheng, C. and Gao, Y. and Shi, H. and Huang, M. and Li, J.
        and Xiong, J. and Ren, X. and Ng, M. and Jiang, X. and Li, Z. and Li, Y.}, title = {{DAPE: Data-Adaptive
        Positional Encoding for Length Extrapolation}}, booktitle = {NeurIPS}, year = {2024}, eprint = {2405.14722}}"""
    methods = (
        Method("additive", "DAPE", "kerple|dape", "Zheng et al. 2024", note="after ALiBi or FIRE as well"),
        Method("additive", "DAPE V2", "kerple|dape(kernel_size=3)", "Zheng et al. 2024", "arXiv:2410.04798"),
    )
    shift_invariant = True
    per_layer = True
    head_axes = (("weight_1", 2), ("bias_1", 0))
    position_axes = "any"
    limits = limited(width=at_least(1, ": the paper has 32 hidden units"))

    @property
    def unsigned(self) -> bool:  # type: ignore[override]
        """Neighbours have a left and a right."""
        return self.kernel_size == 1

    def check_fields(self) -> None:
        if self.kernel_size < 1 or self.kernel_size % 2 == 0:
            raise ValueError(
                f"DAPE.kernel_size = {self.kernel_size} must be odd and at least 1, a key and as many on either side: "
                "use 1 for DAPE, 3 for DAPE V2"
            )

    def check_beside(self, others: tuple[PositionalEncoding, ...]) -> None:
        """Refuses a slot without a bias for f to read, unless ``with_bias`` is False."""
        if self.with_bias and not any("bias" in e.acts_on for e in others):
            raise ValueError(_NO_BIAS)

    def init(self, key: Key, dims: Dims) -> Params:
        """Two layers, of ``kernel_size`` keys each."""
        params = {}
        sizes = ((1 + self.with_bias) * dims.num_heads, self.width, dims.num_heads)
        for i in range(2):
            limit = 1 / math.sqrt(self.kernel_size * sizes[i])
            keys = jax.random.split(jax.random.fold_in(key, i))
            shape = (self.kernel_size, sizes[i], sizes[i + 1])
            params[f"weight_{i}"] = jax.random.uniform(keys[0], shape, jnp.float32, -limit, limit)
            params[f"bias_{i}"] = jax.random.uniform(keys[1], shape[2:], jnp.float32, -limit, limit)
        return params

    def more_logit_arrays(self, num_heads: int) -> int:
        """The hidden layer before and after its activation, and the neighbours side by side."""
        neighbours = 2 * self.kernel_size if self.kernel_size > 1 else 0
        return -(-2 * self.width // num_heads) + neighbours

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        """``[B, H, Q, K]``: ``logits + bias + f([logits; bias])``.

        Raises:
          ValueError: if the slot has no bias for f to read.
        """
        if self.with_bias and bias is None:
            raise ValueError(_NO_BIAS)
        params = {name: p.astype(logits.dtype) for name, p in params.items()}
        inputs = geometry.all_heads(logits)
        if self.with_bias:
            of_bias = geometry.all_heads(jnp.broadcast_to(jnp.asarray(bias), logits.shape))
            inputs = jnp.concatenate([inputs, of_bias], axis=1)
        mixed = _perceptron(params, inputs) if self.kernel_size == 1 else self._convolve(params, inputs, geometry)
        return logits + mixed if bias is None else logits + bias + mixed

    def _convolve(self, params: Params, x: Array, geometry: Geometry) -> Array:
        """f of the keys around each, in the order of places, of those that its query sees: ``[B, H, Q, K]``."""
        side, order = self.kernel_size // 2, TokenOrder.of_keys(geometry)
        counts = jnp.broadcast_to(np.arange(x.shape[3] + side) < x.shape[3], (1, 1, 1, x.shape[3] + side))
        if geometry.mask is not None:
            seen = jnp.broadcast_to(geometry.mask, (x.shape[0], 1, *x.shape[2:]))
            x = jnp.where(seen, x, 0)
            counts = jnp.pad(order.arrange(seen, axis=3), ((0, 0),) * 3 + ((0, side),))
        if geometry.causal:
            # Indices after the last key are later than any query, too.
            indices = np.arange(x.shape[3] + side)[None, None, None]
            counts = counts | (indices > order.of_queries(geometry)[:, None, :, None])
        return order.restore(_perceptron(params, order.arrange(x, axis=3), counts), axis=3)


def _perceptron(params: Params, x: Array, hidden_counts: Array | None = None) -> Array:
    """``[B, H, Q, K]`` from ``x [B, C, Q, K]``: two layers, over as many neighbouring keys as the weights have. The
    hidden layer, with k // 2 entries after the last key, is zero where ``hidden_counts`` is False.

    Two convolutions as matrix products, of neighbours side by side for the first layer and before they are added up for
    the second: XLA computes gradients of convolutions far slower on CPU.
    """
    size, num_keys = params["weight_0"].shape[0], x.shape[3]
    side = size // 2
    padded = jnp.pad(x, ((0, 0),) * 3 + ((side, 2 * side),))
    neighbours = [padded[..., tap : tap + num_keys + side] for tap in range(size)]
    weight = params["weight_0"].reshape(-1, params["weight_0"].shape[2])
    hidden = jax.nn.leaky_relu(_mix(jnp.concatenate(neighbours, axis=1), weight) + _beside(params["bias_0"]))
    if hidden_counts is not None:
        hidden = jnp.where(hidden_counts, hidden, 0)
    padded = jnp.pad(hidden, ((0, 0),) * 3 + ((side, 0),))
    products = _mix(padded, jnp.moveaxis(params["weight_1"], 0, 1).reshape(padded.shape[1], -1))
    parts = jnp.split(products, size, axis=1)
    return sum(part[..., tap : tap + num_keys] for tap, part in enumerate(parts)) + _beside(params["bias_1"])


def _mix(x: Array, weight: Array) -> Array:
    """``[B, D, Q, K]``: products of ``x [B, C, Q, K]`` with ``weight [C, D]``, heads left where they are."""
    batch, inputs, *pairs = x.shape
    rows = jnp.broadcast_to(weight.T[None], (batch, *weight.T.shape))
    return jnp.matmul(rows, x.reshape(batch, inputs, -1), precision="highest").reshape(batch, -1, *pairs)


def _beside(bias: Array) -> Array:
    return bias[None, :, None, None]
