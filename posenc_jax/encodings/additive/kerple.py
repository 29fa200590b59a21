"""KERPLE: biases from conditionally positive definite kernels of the distance (Chi et al. 2022)."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.additive.alibi import alibi_slopes
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.shared.distances import by_distance

SMALLEST = 0.01  # of a and p in the authors' code
LARGEST_POWER = 2.0  # above it the power is no kernel


def straight_through_clip(x: Array, low: float, high: float | None = None) -> Array:
    """``clip(x, low, high)`` with the gradient of the identity, so that a clipped parameter still moves."""
    return x + jax.lax.stop_gradient(jnp.clip(x, low, high) - x)


def power(distance: Array, exponent: Array) -> Array:
    """``distance ** exponent`` for distances of at least 0 and positive exponents, with gradient 0 at distance 0 (where
    the plain formula has 0 times log 0).
    """
    here = distance == 0
    return jnp.where(here, 0, jnp.where(here, 1, distance) ** exponent)


@dataclasses.dataclass(frozen=True)
class KERPLE(PositionalEncoding):
    """A penalty that grows with the logarithm or with a power of the distance, two learned numbers per head::

        kernel "log":    logits_ij += -p_h ln(1 + a_h |j - i|)
        kernel "power":  logits_ij += -a_h |j - i|^p_h,    p_h <= 2
        kernel "nemo":   logits_ij += -b_h ln(1 + a_h |j - i|^p_h)

    (Chi et al. 2022, section 4, and the authors' code.) Added after the 1/sqrt(D) scaling; one set per stack, as in the
    authors' code; symmetric where there is no causal mask. "nemo" is what NVIDIA's NeMo has under this name: b from
    ALiBi's slopes, a = p = 1 at the start, all learned, nothing constrained (so ``1 + a |j - i|^p`` may turn negative,
    and the bias NaN, where training drives a below 0).

    Attributes:
      kernel: "log", "power" or "nemo", as above.
      constraint: how a and p stay at 0.01 or more, and the power at 2 or less. The authors write the clipped values
        back into the parameters before every pass, which no pure function can. "clip" uses the clipped values and hands
        their gradient to the parameters unchanged: the same as theirs as long as nothing is out of range; a parameter
        beyond the range moves on with the optimizer instead of starting again at the edge. "softplus" learns other
        numbers r, of which ``0.01 + softplus(r)`` (for the power ``0.01 + 1.99 sigmoid(r)``) are a and p:
        differentiable everywhere, but steps shrink towards the edge, so training differs from the authors' at any
        value.

    Parameters: ``a`` and ``p`` ``[H]``, for "nemo" also ``b``; a from U(0, 1), p from U(0, 2) as in the authors' code
    (for "softplus" the numbers r that give such values).

    >>> params = {"a": jnp.array([1.0]), "p": jnp.array([2.0])}
    >>> bias = KERPLE("power").bias(params, Geometry.of_length(3, num_heads=1, causal=True))
    >>> bias[0, 0, 2].tolist()
    [-4.0, -1.0, -0.0]
    """

    kernel: Literal["log", "power", "nemo"] = "log"
    constraint: Literal["clip", "softplus"] = "clip"

    name = "kerple"
    paper = "arXiv:2205.09921"
    citation = """@inproceedings{chi2022kerple, author = {Chi, T.-C. and Fan, T.-H. and Ramadge, P. J. and Rudnicky,
        A. I.}, title = {{KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation}},
        booktitle = {NeurIPS}, year = {2022}, eprint = {2205.09921}}"""
    methods = (
        Method("additive", "KERPLE, logarithmic", "kerple", "Chi et al. 2022", use="s"),
        Method("additive", "KERPLE, power", "kerple(kernel='power')", "Chi et al. 2022"),
        Method("additive", "KERPLE, NeMo's form", "kerple(kernel='nemo')", "Chi et al. 2022", use="s"),
    )
    shift_invariant = True
    head_axes = (("a", 0), ("p", 0), ("b", 0))
    bias_of_distance = True
    unsigned = True

    def check_fields(self) -> None:
        if self.kernel == "nemo" and self.constraint != "clip":
            raise ValueError(
                f"KERPLE.constraint = {self.constraint!r} has no meaning for kernel 'nemo', which constrains nothing: "
                "leave it out, or choose kernel 'log' or 'power'"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        if self.kernel == "nemo":
            ones = jnp.ones((dims.num_heads,), jnp.float32)
            return {"a": ones, "p": ones, "b": jnp.asarray(alibi_slopes(dims.num_heads), jnp.float32)}
        a_key, p_key = jax.random.split(key)
        a = jax.random.uniform(a_key, (dims.num_heads,), jnp.float32)
        p = 2 * jax.random.uniform(p_key, (dims.num_heads,), jnp.float32)
        if self.constraint == "clip":
            return {"a": a, "p": p}
        # The inverse of what `constrained` does; draws at an edge come from a little inside it.
        a, p = (jnp.maximum(x - SMALLEST, 1e-3) for x in (a, p))
        if self.kernel == "log":
            return {"a": _inverse_softplus(a), "p": _inverse_softplus(p)}
        span = LARGEST_POWER - SMALLEST
        return {"a": _inverse_softplus(a), "p": jax.scipy.special.logit(jnp.minimum(p / span, 1 - 1e-3))}

    def constrained(self, params: Params) -> tuple[Array, Array]:
        """a and p ``[H]`` as they enter the kernel."""
        a, p = params["a"], params["p"]
        if self.kernel == "nemo":
            return a, p
        largest = LARGEST_POWER if self.kernel == "power" else None
        if self.constraint == "clip":
            return straight_through_clip(a, SMALLEST), straight_through_clip(p, SMALLEST, largest)
        a = SMALLEST + jax.nn.softplus(a)
        if largest is None:
            return a, SMALLEST + jax.nn.softplus(p)
        return a, SMALLEST + (largest - SMALLEST) * jax.nn.sigmoid(p)

    def bias(self, params: Params, geometry: Geometry) -> Array:
        params = {name: x.astype(at_least_float32(x)) for name, x in params.items()}
        a, p = (x[None, :, None] for x in self.constrained(params))

        def kernel(relative: Array) -> Array:
            distance = jnp.abs(jnp.asarray(relative)).astype(a.dtype)[:, None]
            if self.kernel == "log":
                return -p * jnp.log1p(a * distance)
            if self.kernel == "power":
                return -a * power(distance, p)
            return -params["b"][None, :, None] * jnp.log1p(a * power(distance, p))

        return by_distance(kernel, geometry)


def _inverse_softplus(x: Array) -> Array:
    return x + jnp.log(-jnp.expm1(-x))
