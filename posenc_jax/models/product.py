"""The product of a linear layer, whose gradient XLA computes fast on a CPU too."""

import functools
from typing import Any

import jax

from posenc_jax.attention.choice import backend
from posenc_jax.encodings.interface.base import Array


def product(
    x: Array,
    kernel: Array,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    **unused: Any,
) -> jax.Array:
    """``x [..., M]`` times ``kernel [M, N]``, with the arguments that `flax.nnx.Linear` gives its ``dot_general``
    (``dimension_numbers`` are always those of this product).

    The gradient of the kernel is ``x^T g``, a sum over the rows of both. XLA:CPU has a fast program for products whose
    left side is read along its rows, and half as fast a one for this. So on a CPU the smaller of x and g is transposed
    first: a copy of rows x min(M, N) numbers, which costs far less than it saves (`scripts/benchmarks/README.md`).
    Other devices read either side as fast and keep JAX's own gradient.

    Raises:
      ValueError: if the kernel is no matrix.
    """
    if kernel.ndim != 2:
        raise ValueError(f"a kernel of shape {kernel.shape} is no matrix [inputs, outputs]")
    if backend() == "cpu":
        return _transposing(x, kernel, precision, preferred_element_type)
    return _plain(x, kernel, precision, preferred_element_type)


def _plain(x: Array, kernel: Array, precision: Any, dtype: Any) -> jax.Array:
    return jax.lax.dot_general(x, kernel, (((x.ndim - 1,), (0,)), ((), ())), precision, dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _transposing(x: Array, kernel: Array, precision: Any, dtype: Any) -> jax.Array:
    return _plain(x, kernel, precision, dtype)


@_transposing.defjvp
def _transposing_jvp(precision: Any, dtype: Any, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    """The change of the kernel is multiplied in an order whose transpose, which is what training computes, has the
    copy. Barriers keep XLA from taking the copy back.
    """
    (x, kernel), (dx, change) = primals, tangents
    rows = x.reshape(-1, x.shape[-1])
    over = functools.partial(jax.lax.dot_general, precision=precision, preferred_element_type=dtype)
    inputs, outputs = kernel.shape
    if inputs <= outputs:  # transposed: x^T [M, rows] g [rows, N]
        of_kernel = over(_copied(rows.T), change, (((0,), (0,)), ((), ())))
    else:  # transposed: (g^T [N, rows] x [rows, M])^T
        of_kernel = _copied(over(_copied(change.T), rows, (((1,), (1,)), ((), ())))).T
    of_x = _plain(dx, kernel, precision, dtype)
    return _plain(x, kernel, precision, dtype), of_x + of_kernel.reshape(of_x.shape)


def _copied(x: Any) -> Any:
    return jax.lax.optimization_barrier(x)
