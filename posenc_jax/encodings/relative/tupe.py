"""TUPE: positions correlate by themselves, apart from the words (Ke, He and Liu 2021)."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.absolute.learned import known_outside, padding_inside, read_rows
from posenc_jax.encodings.additive.t5 import T5Bias
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.relative.deberta import layer_norm


@dataclasses.dataclass(frozen=True)
class TUPE(PositionalEncoding):
    """Words attend to words and positions to positions; with ``untie_cls`` the class token is untied from positions::

        logits_ij = q_i . k_j / sqrt(2 D) + (LN(p_i) U_Q) . (LN(p_j) U_K) / sqrt(2 D)  [+ b_h(j - i)]

    (Ke et al. 2021, sections 3.1 and 3.2, in the form of the authors' code; q_i . k_j comes from `attend`, divided here
    by sqrt(2) through the queries.) Without the last term this is TUPE-A, with it (``relative``) TUPE-R: T5's buckets
    of both directions (`t5_buckets`), with a causal mask too, and not divided. All layers share one set of parameters,
    and the bias is computed once for all.

    The class token, at position 0 of every sequence, is special: the position terms of its row are one learned number
    per head, those of all other queries towards it another. As in the authors' code these are the correlations of two
    rows of the table with themselves, and in TUPE-R two further buckets.

    Attributes:
      relative: True is TUPE-R, False TUPE-A.
      untie_cls: False treats position 0 like any other (the paper's ablation).
      num_buckets, max_distance: those of the buckets, as in `T5Bias`.
      max_len: positions 0 .. max_len - 1 have rows; None for the model's ``dims.max_len``.
      beyond: what becomes of other positions. "error": `check` refuses a model with more, known positions raise and
        traced ones give NaN. "clamp": they read the nearest row.

    Fractional positions blend the rows around them. Tokens of segment 0 (padding) are clamped instead of NaN.

    Parameters: ``table`` ``[max_len + 1, d_model]``: row 0 gives the class token's number, row p + 1 is position p, and
    row 1, of position 0, gives the number of the others towards it; ``norm_scale`` and ``norm_offset`` ``[d_model]``;
    ``projections`` (U_Q, U_K) ``[2, H, D, d_model]`` with ``offsets`` ``[2, H, D]``, which the authors' code has and
    the paper leaves out; for TUPE-R ``buckets`` ``[H, num_buckets + 1]``: bucket num_buckets // 2, which T5 never
    reads, is the class token's, the last one that of others towards it. Normal with std 0.02, offsets 0, as there.
    """

    relative: bool = False
    untie_cls: bool = True
    num_buckets: int = 32
    max_distance: int = 128
    max_len: int | None = None
    beyond: Literal["error", "clamp"] = "error"

    name = "tupe"
    paper = "arXiv:2006.15595"
    citation = """@inproceedings{ke2021rethinking, author = {Ke, G. and He, D. and Liu, T.-Y.}, title = {{Rethinking
        Positional Encoding in Language Pre-training}}, booktitle = {ICLR}, year = {2021}, eprint = {2006.15595}}"""
    methods = (
        Method("relative", "TUPE-A", "tupe", "Ke et al. 2020", use="s"),
        Method("relative", "TUPE-R", "tupe(relative=True)", "Ke et al. 2020", use="s"),
    )
    extrapolates = False
    head_axes = (("projections", 1), ("offsets", 1), ("buckets", 0))
    limits = limited(max_len=at_least(1, ", or None for the model's own"))

    def check_fields(self) -> None:
        if self.relative:
            try:
                T5Bias(self.num_buckets, self.max_distance)
            except ValueError as problem:
                raise ValueError(f"TUPE: {problem}") from None

    def check(self, dims: Dims) -> None:
        if self.beyond == "error" and self.max_len is not None and dims.max_len > self.max_len:
            raise ValueError(
                f"TUPE.max_len = {self.max_len}, but {dims.max_len} positions occur: raise max_len to {dims.max_len}, "
                "or name beyond='clamp'"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        rows = 1 + (dims.max_len if self.max_len is None else self.max_len)
        heads = (dims.num_heads, dims.head_dim)

        def normal(index: int, *shape: int) -> Array:
            return 0.02 * jax.random.normal(jax.random.fold_in(key, index), shape, jnp.float32)

        params = {
            "table": normal(0, rows, dims.d_model),
            "norm_scale": jnp.ones(dims.d_model, jnp.float32),
            "norm_offset": jnp.zeros(dims.d_model, jnp.float32),
            "projections": normal(1, 2, *heads, dims.d_model),
            "offsets": jnp.zeros((2, *heads), jnp.float32),
        }
        if self.relative:
            params["buckets"] = normal(2, dims.num_heads, self.num_buckets + 1)
        return params

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return (q.astype(at_least_float32(q)) * 2**-0.5).astype(q.dtype)

    def bias(self, params: Params, geometry: Geometry) -> Array:
        queries = self._project(params, 0, self._rows(params, geometry.q_positions, geometry.q_segments))
        keys = self._project(params, 1, self._rows(params, geometry.k_positions, geometry.k_segments))
        scale = (2 * params["projections"].shape[2]) ** -0.5
        bias = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) * scale
        if self.relative:
            t5 = T5Bias(self.num_buckets, self.max_distance)
            table = {"table": params["buckets"][:, : self.num_buckets]}
            bias = bias + t5.bias(table, dataclasses.replace(geometry, causal=False))
        if not self.untie_cls:
            return bias
        ends = params["table"][:2]
        of_cls, to_cls = (
            jnp.einsum("shd,shd->sh", self._project(params, 0, ends), self._project(params, 1, ends)) * scale
        )
        if self.relative:
            of_cls = of_cls + params["buckets"][:, self.num_buckets // 2]
            to_cls = to_cls + params["buckets"][:, self.num_buckets]
        bias = jnp.where((geometry.k_positions == 0)[:, None, None, :], to_cls[None, :, None, None], bias)
        return jnp.where((geometry.q_positions == 0)[:, None, :, None], of_cls[None, :, None, None], bias)

    def _rows(self, params: Params, positions: Array, segments: Array | None) -> Array:
        last = params["table"].shape[0] - 2
        if self.beyond == "clamp":
            positions = positions.clip(0, last)
        else:
            positions = padding_inside(positions, segments, last)
            if (outside := known_outside(positions, last)).size:
                raise ValueError(
                    f"position {outside.flat[0]} is outside TUPE's table of positions 0 .. {last}: raise max_len, or "
                    "name beyond='clamp'"
                )
        return read_rows(params["table"][1:], positions)

    @staticmethod
    def _project(params: Params, role: int, rows: Array) -> Array:
        """``[..., H, D]``: the normalised ``rows [..., M]`` as queries (0) or keys (1)."""
        shape = rows.shape[:-1]
        rows = rows.reshape(-1, rows.shape[-1]).astype(at_least_float32(rows))
        rows = layer_norm(rows, params["norm_scale"], params["norm_offset"], 1e-5)
        projected = jnp.einsum("rm,hdm->rhd", rows, params["projections"][role]) + params["offsets"][role][None]
        return projected.reshape(*shape, *projected.shape[1:])
