"""Log-spaced continuous position bias of Swin Transformer V2 (Liu et al. 2021)."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.distances import by_distance, perceptron


@dataclasses.dataclass(frozen=True)
class LogCPB(PositionalEncoding):
    """A perceptron reads the offset of two cells on a logarithmic scale, axis by axis, and gives every head its bias::

        logits_ij += 16 sigmoid( f_h(x) ),   f: axes -> width -> ReLU -> H
        x_a = sign(d_a) log2(|8 d_a / (window_a - 1)| + 1) / log2(8),   d = position of i - position of j

    (Liu et al. 2021, "Swin Transformer V2", section 3.3 and equation 4, in the form of the authors' code: the paper has
    ``x_a = sign(d_a) ln(1 + |d_a|)`` and no sigmoid.) The code divides by the window of training, so that a model moved
    to larger windows sees mostly inputs that it knows; at the window's edge x is 1.06. The second layer of f has no
    bias. Swin V2 adds it to scaled cosines of q and k, here it is added to any logits, after the 1/sqrt(D) scaling.

    Attributes:
      window: the size of the windows in training, one number for each axis: two for images, as in the paper
        (``grid(width=8)|log_cpb`` for patches in reading order); a single one reads plain positions, the axis of a
        text.
      coordinates: "log2" as above, "ln" for the paper's equation, which needs no window's size.
      width: the hidden units of f, 512 in the authors' code.

    Parameters, a set per layer: ``weight_0 [axes, width]``, ``bias_0``, ``weight_1 [width, H]``; weights N(0, 0.02^2),
    biases 0, as there.

    >>> params = {"weight_0": jnp.ones((1, 1)), "bias_0": jnp.zeros(1), "weight_1": jnp.ones((1, 1))}
    >>> bias = LogCPB(window=(9,)).bias(params, Geometry.of_length(8, num_heads=1))
    >>> [f"{x:.3f}" for x in bias[0, 0, 7, ::7]]  # 16 sigmoid(log2(8) / 3) and 16 sigmoid(0)
    ['11.697', '8.000']
    """

    window: tuple[int, ...] = (8, 8)
    coordinates: Literal["log2", "ln"] = "log2"
    width: int = 512

    name = "log_cpb"
    paper = "arXiv:2111.09883"
    citation = """@inproceedings{liu2022swin, author = {Liu, Z. and Hu, H. and Lin, Y. and Yao, Z. and Xie, Z. and
        Wei, Y. and Ning, J. and Cao, Y. and Zhang, Z. and Dong, L. and Wei, F. and Guo, B.}, title = {{Swin
        Transformer V2: Scaling Up Capacity and Resolution}}, booktitle = {CVPR}, year = {2022},
        eprint = {2111.09883}}"""
    methods = (
        Method("additive", "Log-spaced continuous bias (Swin V2)", "grid(width=8)|log_cpb", "Liu et al. 2021", use="W"),
    )
    shift_invariant = True
    bias_of_distance = True
    per_layer = True
    head_axes = (("weight_1", 1),)
    limits = limited(width=at_least(1, ": the authors have 512 hidden units"))

    @property
    def position_axes(self) -> int | None:  # type: ignore[override]
        """The number of axes of ``window``, or None (plain positions) for one."""
        return None if len(self.window) == 1 else len(self.window)

    def check_fields(self) -> None:
        if not self.window or min(self.window) < 2:
            raise ValueError(
                f"LogCPB.window = {self.window} must have a number of at least 2 for each axis, since offsets are "
                "divided by one less: the paper has windows of 8 by 8 and more"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        keys = jax.random.split(key)
        shapes = (len(self.window), self.width), (self.width, dims.num_heads)
        return {
            "weight_0": 0.02 * jax.random.normal(keys[0], shapes[0], jnp.float32),
            "bias_0": jnp.zeros((self.width,), jnp.float32),
            "weight_1": 0.02 * jax.random.normal(keys[1], shapes[1], jnp.float32),
        }

    def bias(self, params: Params, geometry: Geometry) -> Array:
        dtype = params["weight_0"].dtype

        def values(relative: Array) -> Array:
            offset = -jnp.asarray(relative).astype(dtype)
            offset = offset[..., None] if self.position_axes is None else offset
            if self.coordinates == "ln":
                x = jnp.sign(offset) * jnp.log1p(jnp.abs(offset))
            else:
                scale = (8 / (np.array(self.window) - 1)).astype(dtype)[None, None]
                # log2(z + 1) / log2(8), in a form that is exact near 0.
                x = jnp.sign(offset) * jnp.log1p(jnp.abs(offset) * scale) / np.log(8).astype(dtype)
            return 16 * jax.nn.sigmoid(perceptron(params, x, jax.nn.relu))

        return by_distance(values, geometry, width=self.width)
