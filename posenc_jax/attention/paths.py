"""`attend`, computed in whichever way serves the call."""

from posenc_jax.attention.blockwise import blockwise, keys_of_block
from posenc_jax.attention.choice import (
    Asked,
    AttentionPath,
    Call,
    choose,
    in_columns,
    in_dimensions,
    in_factors,
    in_table,
)
from posenc_jax.attention.cudnn import cudnn
from posenc_jax.attention.distance import by_distance
from posenc_jax.attention.factors import columns, with_factors
from posenc_jax.attention.kernel import ON_GPU, Backend
from posenc_jax.encodings.attention import Prepared, dense, outputs, prepare
from posenc_jax.encodings.base import Array, Geometry, Params, PositionalEncoding, Terms


def attend(
    q: Array,
    k: Array,
    v: Array,
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometry: Geometry | tuple[Geometry, ...],
    terms: tuple[Terms, ...] | None = None,
    *,
    path: Asked = "auto",
    return_weights: bool = False,
    shared_bias: Array | None = None,
    cap: float | None = None,
) -> Array | tuple[Array, Array]:
    """`posenc_jax.encodings.attend`, the reference, in the way that `choose` finds, or in the one that ``path`` names.

    All agree in values and in all gradients, but for rounding, at every query that sees a key. ``shared_bias`` is used
    where the logits are an array, and left alone elsewhere.

    Raises:
      ValueError: as the reference, and if ``path`` cannot serve the call.
    """
    call = prepare(q, k, v, encodings, params, geometry, terms, cap)
    facts = Call.of(call, return_weights=return_weights)
    chosen = choose(encodings, facts, path).path
    if chosen == "dense":
        return dense(call, return_weights=return_weights, shared_bias=shared_bias)
    return along(chosen, call, facts)


def along(path: AttentionPath, call: Prepared, facts: Call) -> Array:
    """``[B, H, Q, D]`` of a call that `choose` found ``path`` to serve."""
    if path == "blockwise":
        return blockwise(call, of_keys=keys_of_block(facts.backend))
    encodings, is_kernel = call.encodings, path == "kernel"
    of_table = in_table(encodings, facts) if is_kernel else ()
    of_columns = in_columns(encodings, facts) if is_kernel else ()
    factored = in_dimensions(encodings, facts) if is_kernel else in_factors(encodings, facts)
    longer = with_factors(call, factored) if factored else call
    if path == "cudnn":
        return outputs(call, cudnn(longer))
    backends: dict[str, Backend] = {"tpu": "tpu", "gpu": ON_GPU, "cpu": "triton"}
    backend = backends[facts.backend]
    out = by_distance(longer, of_table, columns(call, of_columns), backend, interpret=facts.backend == "cpu")
    return outputs(call, out)
