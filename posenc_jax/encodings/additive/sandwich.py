"""Sandwich: the inner products of sinusoidal positions as a bias (Chi et al. 2022)."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Params, PositionalEncoding, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited, of_field
from posenc_jax.encodings.shared.distances import by_distance
from posenc_jax.encodings.shared.phase import sincos


@dataclasses.dataclass(frozen=True)
class Sandwich(PositionalEncoding):
    """The inner product of sinusoidal positions as a bias of the logits, without their other terms::

        logits_ij += (sum_(m=1)^(D/2) cos((i - j) base^(-2m/D)) - D/2) / (8h/H),    h = 1 .. H

    (Chi et al. 2022, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis".) Added
    after the 1/sqrt(D) scaling; no parameters; symmetric where there is no causal mask; for any head count.
    The authors published no code: that m starts at 1 (the sinusoid's frequencies start at m = 0), the -D/2 that makes
    the bias 0 at distance 0 (a constant that no softmax sees), and the slopes by head are those of NVIDIA's NeMo.

    Positions known before the program runs, and contiguous ones, need the sum once for each distance that occurs.
    For traced ones it is the inner product of two vectors of sines and cosines, one for each token, so that no array
    over pairs and frequencies exists. Phases are exact at integer positions.

    Attributes:
      width: D, 128 for all models in the paper; NeMo has the model's head_dim.
      base: that of the frequencies.

    >>> bias = Sandwich().bias({}, Geometry.of_length(101, num_heads=8))
    >>> [f"{bias[0, 0, 0, distance]:.4f}" for distance in (1, 10, 100)]
    ['-1.4466', '-19.3409', '-33.3189']
    """

    width: int = 128
    base: float = 10000.0

    name = "sandwich"
    paper = "arXiv:2212.10356"
    citation = """@inproceedings{chi2023dissecting, author = {Chi, T.-C. and Fan, T.-H. and Rudnicky, A. I. and
        Ramadge, P. J.}, title = {{Dissecting Transformer Length Extrapolation via the Lens of Receptive Field
        Analysis}}, booktitle = {ACL}, year = {2023}, eprint = {2212.10356}}"""
    methods = (Method("additive", "Sandwich", "sandwich", "Chi et al. 2022", use="s"),)
    shift_invariant = True
    bias_of_distance = True
    unsigned = True
    num_factors = of_field("width")
    limits = limited(base=above(0, ": the paper has 10000.0"))

    def check_fields(self) -> None:
        if self.width < 2 or self.width % 2:
            raise ValueError(
                f"Sandwich.width = {self.width} must be even and at least 2, since sines and cosines come in pairs: "
                "the paper has 128"
            )

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[width/2]``, whatever the model."""
        return self._frequencies()

    def _frequencies(self) -> np.ndarray:
        return self.base ** (-2.0 / self.width * np.arange(1, self.width // 2 + 1))

    def bias(self, params: Params, geometry: Geometry) -> Array:
        dtype = jnp.result_type(float)
        frequencies = self._frequencies()
        sides = geometry.q_positions, geometry.k_positions
        if geometry.contiguous or all(isinstance(positions, np.ndarray) for positions in sides):

            def values(relative: Array) -> Array:
                return jnp.asarray((sincos(relative, frequencies, dtype)[1] - 1).sum(axis=-1))[:, None]

            total = by_distance(values, geometry, width=self.width // 2)
        else:
            q, k = (jnp.concatenate(sincos(positions, frequencies, dtype), axis=-1) for positions in sides)
            total = (jnp.einsum("bqm,bkm->bqk", q, k, precision="highest") - self.width / 2)[:, None]
        return total / self._heads(geometry, dtype)

    @property
    def fixed_factors(self) -> bool:
        """Sines and cosines of positions."""
        return True

    def factors(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> tuple[Array, Array]:
        """The sines and cosines of both positions, the query's over the head's number."""
        dtype = jnp.result_type(float)
        of_queries, of_keys = (
            jnp.concatenate(sincos(positions, self._frequencies(), dtype), axis=-1)[:, None]
            for positions in (geometry.q_positions, geometry.k_positions)
        )
        return of_queries / self._heads(geometry, dtype), of_keys

    @staticmethod
    def _heads(geometry: Geometry, dtype: Any) -> Array:
        heads = np.arange(1, geometry.num_heads + 1) * (8 / geometry.num_heads)
        return geometry.own_heads(jnp.asarray(heads, dtype))[None, :, None, None]
