"""A dynamic position bias: a perceptron of the signed distance (x-transformers)."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, HeadAxes, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.distances import by_distance, init_perceptron, perceptron


@dataclasses.dataclass(frozen=True)
class DynamicBias(PositionalEncoding):
    """A perceptron reads the signed distance, or its logarithm, and gives every head its bias::

        logits_ij += f_h(d),   d = i - j   or   sign(i - j) ln(|i - j| + 1)

    `DynamicPositionBias` of x-transformers (github.com/lucidrains/x-transformers), whose author has it from the windows
    of images in CrossFormer (Wang et al. 2021), which has two axes and layer norms. f has ``depth`` hidden layers of
    width d_model // 4 with SiLU. One set per stack. Added after the 1/sqrt(D) scaling. Departure: no layer norm (in
    x-transformers an option, off by default).

    Contiguous positions need f at the Q+K-1 distances that occur, others that are known before the program runs at each
    distance once. Traced ones (packed rows, random positions) need it for every pair: depth d_model // 4 numbers for
    each, which are made anew in the backward pass where they would be many.

    Attributes:
      depth: the hidden layers of f, up to 64; 2 in x-transformers.
      log_distance: f reads the logarithm of the distance; off by default as in x-transformers, where it went less far
        beyond the length of training.

    Parameters, uniform within 1 / sqrt(inputs) as in torch: ``weight_0 [1, d_model // 4]``, ``bias_0``, ..., of which
    the last lead to H.

    One hidden unit, silu(d), as the bias of one head: query 2 and keys 0, 1, 2.

    >>> params = {"weight_0": jnp.ones((1, 1)), "bias_0": jnp.zeros(1), "weight_1": jnp.ones((1, 1))}
    >>> bias = DynamicBias(depth=1).bias(params, Geometry.of_length(3, num_heads=1))
    >>> [f"{x:.3f}" for x in bias[0, 0, 2]]
    ['1.762', '0.731', '0.000']
    """

    depth: int = 2
    log_distance: bool = False

    name = "dynamic_bias"
    paper = "arXiv:2108.00154"
    citation = """@inproceedings{wang2022crossformer, author = {Wang, W. and Yao, L. and Chen, L. and Lin, B. and
        Cai, D. and He, X. and Liu, W.}, title = {{CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale
        Attention}}, booktitle = {ICLR}, year = {2022}, eprint = {2108.00154}, note = {In the form of
        x-transformers}}"""
    methods = (
        Method(
            "additive",
            "Dynamic position bias",
            "dynamic_bias",
            "Wang et al. 2021",
            note="as in x-transformers",
            use="s",
        ),
        Method(
            "additive",
            "Dynamic position bias of the log distance",
            "dynamic_bias(log_distance=True)",
            "Wang et al. 2021",
            note="as in x-transformers",
            use="s",
        ),
    )
    shift_invariant = True
    bias_of_distance = True
    limits = limited(depth=at_least(1, " hidden layer: x-transformers has 2", most=64))

    @property
    def head_axes(self) -> HeadAxes:  # type: ignore[override]
        """The axes of the last layer."""
        return (f"weight_{self.depth}", 1), (f"bias_{self.depth}", 0)

    def check(self, dims: Dims) -> None:
        if dims.d_model < 4:
            raise ValueError(
                f"DynamicBias has d_model // 4 hidden units, and d_model = {dims.d_model}: use a model of at least 4"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        return init_perceptron(key, (1, *(dims.d_model // 4,) * self.depth, dims.num_heads))

    def bias(self, params: Params, geometry: Geometry) -> Array:
        weight = params["weight_0"]

        def values(relative: Array) -> Array:
            distance = -jnp.asarray(relative).astype(weight.dtype)
            if self.log_distance:
                distance = jnp.sign(distance) * jnp.log1p(jnp.abs(distance))
            return perceptron(params, distance[..., None], jax.nn.silu)

        return by_distance(values, geometry, width=weight.shape[1])
