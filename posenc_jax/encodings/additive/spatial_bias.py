"""Biases of distances on a page or an image: ALiBi in two dimensions, and LayoutLM's buckets of each axis."""

import dataclasses
import functools

import jax.numpy as jnp

from posenc_jax.encodings.additive.alibi import alibi_slopes
from posenc_jax.encodings.additive.t5 import read_buckets
from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, HeadAxes, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited, of_field
from posenc_jax.encodings.shared.distances import by_distance, relative_on_device
from posenc_jax.encodings.shared.draws import normals


@dataclasses.dataclass(frozen=True)
class SpatialALiBi(PositionalEncoding):
    """A penalty that grows linearly with the Euclidean distance of two cells, with one slope per head::

        logits_ij += -slope_h |p_i - p_j|,   slope_h as in ALiBi

    (Fuller et al. 2023, CROMA, "2D-ALiBi", as in the authors' code, ``get_2dalibi``; their X-ALiBi is the same between
    encoders of two sensors.) It cannot tell directions apart. Positions ``[#B, S, axes]`` in cells, as from `Grid`.

    Attributes:
      axes: how many axes the positions have, 2 for images.
      largest_exponent: as in `ALiBi`.
    """

    axes: int = 2
    largest_exponent: float = 8.0

    name = "spatial_alibi"
    paper = "arXiv:2311.00566"
    citation = """@inproceedings{fuller2023croma, author = {Fuller, A. and Millard, K. and Green, J. R.},
        title = {{CROMA: Remote Sensing Representations with Contrastive Radar-Optical Masked Autoencoders}},
        booktitle = {NeurIPS}, year = {2023}, eprint = {2311.00566}}"""
    methods = (Method("additive", "2D-ALiBi (CROMA)", "grid(width=8)|spatial_alibi", "Fuller et al. 2023", use="s"),)
    shift_invariant = True
    unsigned = True
    bias_of_distance = True
    limits = limited(axes=at_least(1, ": 2 for images"), largest_exponent=above(0, ": ALiBi has 8.0"))
    position_axes = of_field("axes")

    def bias(self, params: Params, geometry: Geometry) -> Array:
        slopes = jnp.asarray(geometry.own_heads(alibi_slopes(geometry.num_heads, self.largest_exponent)))
        dtype = at_least_float32(slopes)
        squared = jnp.square(relative_on_device(geometry).astype(dtype)).sum(axis=-1)
        root = jnp.sqrt(jnp.where(squared == 0, 1, squared))  # a slope at 0 for gradients
        distance = jnp.where(squared == 0, 0, root)
        return -slopes.astype(dtype)[None, :, None, None] * distance[:, None]


@dataclasses.dataclass(frozen=True)
class LayoutBias(PositionalEncoding):
    """A learned bias per head for the bucket of the distance on each axis of a page::

        logits_ij += sum over axes a of table_a[h, bucket(p_ja - p_ia)]

    (Xu et al. 2020, LayoutLMv2, section 2.2; Huang et al. 2022, LayoutLMv3, divides it by sqrt(D), as a model can learn
    to.) Buckets are T5's in both directions, `t5_buckets`. Positions ``[#B, S, axes]``: of a word the lower and the
    left edge of its box in 1/1000 of the page, which the model gives, slowest axis first as everywhere here. Both
    models add a third table for distances in reading order, which is `T5Bias` before `Grid` or beside this. Tables are
    shared by the layers.

    Attributes:
      axes: how many axes the positions have, 2 for x and y.
      num_buckets: the buckets of an axis, half of them for each direction.
      max_distance: the distance from which on all share the last bucket.

    Parameters: ``axis_0``, ``axis_1``, ... ``[H, num_buckets]``, N(0, 0.02^2).
    """

    axes: int = 2
    num_buckets: int = 64
    max_distance: int = 256

    name = "layout_bias"
    paper = "arXiv:2012.14740"
    citation = """@inproceedings{xu2021layoutlmv2, author = {Xu, Y. and Xu, Y. and Lv, T. and Cui, L. and Wei, F. and
        Wang, G. and Lu, Y. and Florencio, D. and Zhang, C. and Che, W. and Zhang, M. and Zhou, L.},
        title = {{LayoutLMv2: Multi-modal Pre-training for Visually-Rich Document Understanding}}, booktitle = {ACL},
        year = {2021}, eprint = {2012.14740}}"""
    methods = (Method("additive", "Spatial bias (LayoutLMv2)", "grid(width=8)|layout_bias", "Xu et al. 2020", use="W"),)
    shift_invariant = True
    bias_of_distance = True
    limits = limited(axes=at_least(1, ": x and y are 2", most=16))

    @property
    def head_axes(self) -> HeadAxes:  # type: ignore[override]
        """One for each axis."""
        return tuple((f"axis_{axis}", 0) for axis in range(self.axes))

    position_axes = of_field("axes")

    def check_fields(self) -> None:
        if self.num_buckets < 4 or self.num_buckets % 2:
            raise ValueError(
                f"LayoutBias.num_buckets = {self.num_buckets} must be even and at least 4, half a direction"
            )
        if self.max_distance <= self.num_buckets // 4:
            raise ValueError(
                f"LayoutBias.max_distance = {self.max_distance} must exceed {self.num_buckets // 4}, the number of "
                "distances that have a bucket of their own: raise max_distance or lower num_buckets"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        return normals(key, {f"axis_{axis}": (dims.num_heads, self.num_buckets) for axis in range(self.axes)})

    def bias(self, params: Params, geometry: Geometry) -> Array:
        def values(relative: Array) -> Array:
            read = functools.partial(read_buckets, max_distance=self.max_distance, bidirectional=True)
            parts = [read(params[f"axis_{axis}"], relative[..., axis]) for axis in range(self.axes)]
            return functools.reduce(jnp.add, parts)

        return by_distance(values, geometry)
