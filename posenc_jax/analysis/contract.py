"""The contract that every encoding keeps, checked by running it: clauses that compare calls which must agree."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.fused import fused
from posenc_jax.analysis.layer import CALL, DIMS, AttentionLayer, Encodings, LayerCache, compiled, noise, seen_by
from posenc_jax.analysis.outcome import ClauseOutcome, Clauses, ContractError, Findings, NotApplicable, way_out
from posenc_jax.analysis.usable import UnusableError, hooks, raising_hook, unusable_hook
from posenc_jax.encodings import REGISTERED, RoPE, parse, spec
from posenc_jax.encodings.interface.base import Array, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.value import Value
from posenc_jax.refusals import exits_as_errors

TOLERANCE = 1e-9  # in float64; whatever reads a wrong position or a wrong key differs by 1e-3 and more
TOLERANCE_BFLOAT16 = 0.05

TOKENS = 6
X = noise(2, TOKENS, DIMS.d_model)
ORDER = np.broadcast_to(np.arange(TOKENS, dtype=np.int32), (2, TOKENS))
LENGTH = np.array([TOKENS, TOKENS - 2], np.int32)
REAL = (LENGTH[:, None] > ORDER).astype(np.int32)  # the second row has padding on the right


def check_contract(encodings: PositionalEncoding | Encodings, *, only: tuple[str, ...] | None = None) -> Clauses:
    """`contract_clauses`, as a check.

    >>> print(check_contract(RoPE(), only=("value", "dtype")))
    clause  outcome  largest error
    ------  -------  -------------
    value   passed
    dtype   passed

    Raises:
      ContractError: naming the encodings and every clause that failed, with its error and the way out.
    """
    clauses = contract_clauses(encodings, only=only)
    failed = [f"{clause}\n    {way_out(clause.name)}" for clause in clauses if clause.status == "failed"]
    if failed:
        named = " | ".join(map(str, encodings)) if isinstance(encodings, tuple) else encodings
        raise ContractError(f"{named} breaks its contract:\n  " + "\n  ".join(failed))
    return clauses


def contract_clauses(encodings: PositionalEncoding | Encodings, *, only: tuple[str, ...] | None = None) -> Clauses:
    """Checks one encoding, or a tuple of them as a slot holds it, against every clause, or ``only`` those named:

    - ``value``: equal settings are equal and hash alike; ``parse(spec(e)) == e`` (for registered classes).
    - ``parameters``: float32, finite, a function of the key; `frozen` names exist.
    - ``dtype``: embeddings, queries and keys keep bfloat16, float32 and float64; what is added to the logits or the
      output is at least float32, and float64 where inputs and parameters are.
    - ``precision``: in bfloat16, at positions up to 1023, the layer stays within 0.05 of float64. Positions rounded to
      bfloat16 do not.
    - ``jit``: a program with traced positions, padding and a cache gives what one without gives, from contiguous
      positions known on the host.
    - ``recompile``: an equal encoding, other lengths and other values run the program that is there.
    - ``vmap``: mapped over its rows, the layer gives the batch.
    - ``cached_decoding``: every way to cut 6 tokens into chunks gives what one call gives.
    - ``causality``: under a causal mask no later token changes a row.
    - ``padding``: on the left, on the right or none: the same.
    - ``packing``: two sequences in one row, each of its own length, give what they give apart; where positions are
      drawn, apart in rows of the same number.
    - ``shift``: where all elements are `shift_invariant`, moving all positions changes nothing.
    - ``blocks``: bias, score, content bias and value term of blocks make up those of the whole. Attention in blocks
      of keys and beams that share a cache (`PositionalEncoding.by_pairs`) rest on it.
    - ``fused``: what fused attention reads in place of `bias`, the biases of distances alone (`bias_of_distance`) and
      `factors`, is what the element adds.
    - ``gradients``: finite for parameters and inputs, at distance 0 and in rows that see no key too.

    In float64 to 1e-9, with a causal mask and without (`causal_only`: with), with 8 queries and 10 keys, or 6 and 6 in
    the reference of ``jit``. Encodings that only map positions are followed by ``RoPE()``. A clause that an element
    names in `breaks` passes if it fails. Any error of an encoding is a failure of the clause, except the ValueError
    of a `check` that refuses the layer's small dimensions, which is passed on. Where an array of `init` or of a hook
    cannot be used at all, its type, its shape or what is not finite in it is the one failure; where a hook of the
    user's own file raises in any call, that line of the file is.
    """
    group = encodings if isinstance(encodings, tuple) else (encodings,)
    if not group:
        raise ValueError("no encodings, no contract: give one, or a tuple of them")
    if all(e.acts_on <= {"map_positions"} for e in group):
        group = (*group, RoPE())
    names = tuple(CLAUSES) if only is None else only
    unknown = {*names, *(name for e in group for name in e.breaks)} - CLAUSES.keys()
    if unknown:
        raise ValueError(f"no clause of the contract: {', '.join(sorted(unknown))}; there are {', '.join(CLAUSES)}")
    with jax.enable_x64(True):
        try:
            layer = AttentionLayer(group)
        except UnusableError as problem:
            return _for_one_reason(ClauseOutcome("parameters", "failed", None, str(problem)), names, ())
        judged = [_judge(name, layer) for name in names]
        if any(raised for _, raised in judged) and (cause := raising_hook(layer)) is not None:
            return _for_one_reason(cause, names, tuple(clause for clause, raised in judged if not raised))
        found = [clause for clause, _ in judged]
        failed = tuple(clause.name for clause in found if clause.status == "failed")
        cause = unusable_hook(layer, layer.arguments(X, ORDER, REAL, length=LENGTH)[:2]) if failed else None
        if cause is not None and cause.name in names:
            passed = tuple(clause for clause in found if clause.name not in failed)
            return _for_one_reason(cause, names, passed)
        return Clauses(found)


def _for_one_reason(cause: ClauseOutcome, names: tuple[str, ...], passed: tuple[ClauseOutcome, ...]) -> Clauses:
    """One failure; what fails for that alone is left out, as it says nothing more."""
    others = {clause.name: clause for clause in passed}
    skipped = [others.get(name, ClauseOutcome(name, "skipped", None, f"see {cause.name}")) for name in names]
    return Clauses([cause, *(clause for clause in skipped if clause.name != cause.name)])


def _judge(name: str, layer: AttentionLayer) -> tuple[ClauseOutcome, bool]:
    """The outcome, and whether it is that something raised."""
    limit = TOLERANCE_BFLOAT16 if name == "precision" else TOLERANCE
    error: float | None
    raised = False
    try:
        with exits_as_errors():
            findings = [(math.inf if math.isnan(error) else error, what) for error, what in CLAUSES[name](layer)]
        error, what = max(findings, default=(None, ""), key=lambda finding: finding[0])
        failed = error is not None and error > limit
    except NotApplicable as reason:
        return ClauseOutcome(name, "skipped", None, str(reason)), False
    except Exception as problem:
        error, what, failed, raised = None, f"{type(problem).__name__}: {problem}", True, True
    if any(name in e.breaks for e in layer.encodings):
        if failed:
            return ClauseOutcome(name, "passed", error, "fails, as `breaks` says"), raised
        return ClauseOutcome(
            name, "failed", error, "it holds, although `breaks` names it: take it out of `breaks`"
        ), False
    return (ClauseOutcome(name, "failed", error, what) if failed else ClauseOutcome(name, "passed", error)), raised


def _full(layer: AttentionLayer, causal: bool) -> np.ndarray:
    """All tokens in one call: ``[2, TOKENS, H*D]``."""
    return layer.run(causal, X, ORDER, REAL, length=LENGTH)[0]


def _apart(a: Array, b: Array, real: np.ndarray = REAL) -> float:
    """The largest difference over real tokens."""
    difference = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))[real != 0]
    return float(difference.max())


def _mask(causal: bool) -> str:
    return "causal" if causal else "without a mask"


def value(layer: AttentionLayer) -> Findings:
    """Equality, hash, string."""
    for e in layer.encodings:
        copy = dataclasses.replace(e)  # type: ignore[type-var]
        if e != copy or hash(e) != hash(copy):
            yield math.inf, f"{e} is not equal to its copy, or hashes differently"
        if _has_words(e) and parse(spec(e)) != (e,):
            yield math.inf, f"{spec(e)!r} reads back as {parse(spec(e))}"


def _has_words(value: Any) -> bool:
    """True if a string can name a value and all values in it, since all are in the registry."""
    if isinstance(value, tuple):
        return all(map(_has_words, value))
    if not isinstance(value, Value):
        return True
    fields = dataclasses.fields(value)  # type: ignore[arg-type]
    return type(value) in REGISTERED and all(_has_words(getattr(value, field.name)) for field in fields)


def parameters(layer: AttentionLayer) -> Findings:
    """float32, finite, a function of the key."""
    for e, params, again in zip(layer.encodings, layer.initial, layer.init()):
        if not e.frozen <= set(params):
            yield math.inf, f"{e}: `frozen` names {sorted(e.frozen - set(params))}, which are no parameters"
        for (path, a), (_, b) in zip(jax.tree.leaves_with_path(params), jax.tree.leaves_with_path(again)):
            name = f"{type(e).__name__}.init's array {jax.tree_util.keystr(path)}, {a.dtype}{list(a.shape)},"
            if a.dtype != jnp.float32:
                yield math.inf, f"{name} is not float32"
            elif not np.isfinite(a).all():
                yield math.inf, f"{name} is not finite"
            elif not np.array_equal(a, b):
                yield math.inf, f"{name} is not the same for the same key"


def dtype(layer: AttentionLayer) -> Findings:
    """Dtypes of every hook's result for inputs of three dtypes, at known and traced positions; nothing is computed."""
    _, queries, _, _ = layer.arguments(X, ORDER, REAL, length=LENGTH)
    for kind in (jnp.bfloat16, jnp.float32, jnp.float64):
        least = at_least_float32(kind)
        params = jax.tree.map(lambda a, least=least: a.astype(least), layer.params)
        x = np.zeros((2, CALL, DIMS.d_model), kind)
        known = jax.eval_shape(functools.partial(hooks, layer, queries), params, x, layer.key)
        traced = jax.eval_shape(functools.partial(hooks, layer), queries, params, x, layer.key)
        for hook, result in (*known.items(), *traced.items()):
            added_later = not hook.endswith("embed") and ".encode_" not in hook
            wanted = at_least_float32(result.dtype, least) if added_later else kind
            if result.dtype != wanted:
                rule = f"for inputs of {jnp.dtype(kind)} {hook} returns {jnp.dtype(wanted)}"
                yield math.inf, f"{rule}, and here an array of {result.dtype}{list(result.shape)}"


def precision(layer: AttentionLayer) -> Findings:
    """bfloat16 against float64, at the largest positions."""
    positions, length = ORDER + np.int32(DIMS.max_len - TOKENS), np.full(2, DIMS.max_len, np.int32)
    x, params = X.astype(jnp.bfloat16), jax.tree.map(lambda a: a.astype(np.float32), layer.params)
    want, _ = layer.run(True, x.astype(np.float64), positions, REAL, length=length)
    if not np.isfinite(want).all() and not all(e.extrapolates for e in layer.encodings):
        raise NotApplicable(f"not defined up to position {DIMS.max_len - 1}")
    got, _ = layer.run(True, x, positions, REAL, length=length, params=params)
    yield _apart(got, want), "bfloat16 against float64"


def jit(layer: AttentionLayer) -> Findings:
    """The program against one without a cache that knows the positions."""
    known = layer.sequence(X, ORDER[:1], REAL, LENGTH)
    for causal in layer.masks:
        out = compiled(functools.partial(layer.plain, causal, tokens=known))(layer.params, X, layer.key)
        yield _apart(out, _full(layer, causal)), _mask(causal)


def recompile(layer: AttentionLayer) -> Findings:
    """An equal encoding with other arrays."""
    copies = tuple(dataclasses.replace(e) for e in layer.encodings)  # type: ignore[type-var]
    for causal in layer.masks:
        _full(layer, causal)
        before = layer.traces
        layer.run(causal, 2 * X, ORDER + np.int32(1), 1 - REAL, length=LENGTH[::-1], first_place=1, encodings=copies)
        if layer.traces > before:
            yield math.inf, f"an equal encoding with other lengths and values was traced again, {_mask(causal)}"


def vmap(layer: AttentionLayer) -> Findings:
    """Mapped over rows."""
    causal = layer.masks[-1]

    def one(params: tuple[Params, ...], key: Key, row: Any) -> Array:
        x, queries, places, cache = jax.tree.map(lambda a: a[None], row)
        return layer.call(layer.encodings, causal, params, x, queries, places, cache, key)[0][0]

    rows = layer.arguments(X, ORDER, REAL, length=LENGTH)
    out = compiled(jax.vmap(one, (None, None, 0)))(layer.params, layer.key, rows)
    yield _apart(out[:, :TOKENS], _full(layer, causal)), _mask(causal)


def cached_decoding(layer: AttentionLayer) -> Findings:
    """Every way to cut the tokens into chunks, as a tree: from each cache on, chunks of every size."""
    full = _full(layer, True)

    def chunks(cache: LayerCache | None, cuts: tuple[int, ...]) -> Findings:
        for stop in range(cuts[-1] + 1, TOKENS + 1):
            part = np.s_[:, cuts[-1] : stop]
            tokens = X[part], ORDER[part], REAL[part]
            out, after = layer.run(True, *tokens, length=LENGTH, first_place=cuts[-1], cache=cache)
            if REAL[part].any():
                yield _apart(out, full[part], REAL[part]), f"cut at {(*cuts, stop)}"
            yield from chunks(after, (*cuts, stop))

    yield from chunks(None, (0,))


def causality(layer: AttentionLayer) -> Findings:
    """Other tokens from some index on."""
    full = _full(layer, True)
    for index in range(1, TOKENS):
        x = np.where(ORDER[..., None] < index, X, noise(*X.shape, seed=index))
        out, _ = layer.run(True, x, ORDER, REAL, length=LENGTH)
        yield _apart(out[:, :index], full[:, :index], REAL[:, :index]), f"tokens from {index} on changed"


def padding(layer: AttentionLayer) -> Findings:
    """Two more tokens of segment 0, with any content, on either side."""
    extra = CALL - TOKENS
    content, zeros = 3 * noise(2, extra, DIMS.d_model), np.zeros((2, extra), np.int32)
    after = np.broadcast_to(np.arange(TOKENS, CALL, dtype=np.int32), (2, extra))
    for causal in layer.masks:
        full = _full(layer, causal)
        left = (np.concatenate(pair, axis=1) for pair in ((content, X), (zeros, ORDER), (zeros, REAL)))
        yield _apart(layer.run(causal, *left, length=LENGTH)[0][:, extra:], full), f"on the left, {_mask(causal)}"
        right = (np.concatenate(pair, axis=1) for pair in ((X, content), (ORDER, after), (REAL, zeros)))
        yield _apart(layer.run(causal, *right, length=LENGTH)[0][:, :TOKENS], full), f"on the right, {_mask(causal)}"


def packing(layer: AttentionLayer) -> Findings:
    """Row 0 packs 4 and 2 tokens, row 1 packs 3 and 3."""
    segment_ids = np.array([[1, 1, 1, 1, 2, 2], [1, 1, 1, 2, 2, 2]], np.int32)
    positions = np.array([[0, 1, 2, 3, 0, 1], [0, 1, 2, 0, 1, 2]], np.int32)
    own = (segment_ids[:, :, None] == segment_ids[:, None]).sum(axis=2, dtype=np.int32)
    for causal in layer.masks:
        packed, _ = layer.run(causal, X, positions, segment_ids, length=own)
        for segment in (1, 2):
            members = [np.flatnonzero(row == segment) for row in segment_ids]
            width = max(map(len, members))
            real = np.array([[i < len(m) for i in range(width)] for m in members], np.int32)
            x, together = (np.stack([row[np.resize(m, width)] for row, m in zip(a, members)]) for a in (X, packed))
            alone, _ = layer.run(causal, x, ORDER[:, :width], real, length=real.sum(axis=1, dtype=np.int32))
            yield _apart(alone, together, real), f"sequence {segment} of the row, {_mask(causal)}"


def shift(layer: AttentionLayer) -> Findings:
    """All positions moved."""
    if not all(e.shift_invariant for e in layer.encodings):
        raise NotApplicable("not claimed")
    for causal in layer.masks:
        for offset in (1, 1000):
            out, _ = layer.run(causal, X, ORDER + np.int32(offset), REAL, length=LENGTH)
            yield _apart(out, _full(layer, causal)), f"by {offset}, {_mask(causal)}"


def blocks(layer: AttentionLayer) -> Findings:
    """Blocks of 2 queries and 3 keys, contiguous where positions are, against the whole, not declared contiguous."""
    added = ("bias", "score", "content_bias", "value_term")
    if not any(e.acts_on & set(added) for e in layer.encodings):
        raise NotApplicable("no bias, score, content bias or value term")
    tokens = layer.sequence(X[:1], ORDER[:1], REAL[:1], LENGTH[:1])
    seen = seen_by(layer.encodings, tokens, tokens, layer.masks[-1], layer.key, contiguous=True)
    q, k = noise(2, 1, DIMS.num_heads, TOKENS, DIMS.head_dim)
    weights = np.abs(noise(1, DIMS.num_heads, TOKENS, TOKENS))

    @compiled
    def terms(params: Any, q: Any, k: Any, of_keys: Any, weights: Any, geometry: Any) -> Any:
        return [
            (
                e.bias(p, g),
                e.score(p, q, k, g, t) if "score" in e.acts_on else None,
                e.content_bias(p, q, k, g, t),
                e.value_term(p, weights, g),
            )
            for e, p, g, t in zip(layer.encodings, params, geometry, of_keys)
        ]

    of_tokens = layer.terms(layer.encodings, layer.params, X[:1], tokens)
    apart = tuple(dataclasses.replace(g, contiguous=False) for g in seen)
    whole = terms(layer.params, q, k, of_tokens, weights, apart)
    total = jax.tree.map(np.zeros_like, whole)
    for i in range(0, TOKENS, 2):
        for j in range(0, TOKENS, 3):
            rows, columns = slice(i, i + 2), slice(j, j + 3)
            block = tuple(g.block(rows, columns) for g in seen)
            of_keys = jax.tree.map(lambda a, columns=columns: a[:, columns], of_tokens)
            found = terms(layer.params, q[:, :, rows], k[:, :, columns], of_keys, weights[:, :, rows, columns], block)
            for sums, parts in zip(total, found):
                for hook, a, part in zip(added, sums, parts):
                    if part is not None:
                        a[:, :, rows, slice(None) if hook == "value_term" else columns] += part
    for e, wanted, sums in zip(layer.encodings, whole, total):
        for hook, a, b in zip(added, wanted, sums):
            if a is not None:
                yield float(np.abs(a - b).max()), f"{type(e).__name__}.{hook}"


def gradients(layer: AttentionLayer) -> Findings:
    """Gradients of a random functional are finite, with padding on the left, whose rows see no key."""
    extra = CALL - TOKENS
    x = np.concatenate([noise(2, extra, DIMS.d_model), X], axis=1)
    positions, segment_ids = (np.pad(a, ((0, 0), (extra, 0))) for a in (ORDER, REAL))
    x, queries, places, cache = layer.arguments(x, positions, segment_ids, length=LENGTH)
    causal = layer.masks[-1]
    functional = noise(2, CALL, DIMS.num_heads * DIMS.head_dim)

    def loss(params: Any, x: Any, queries: Any, places: Any, cache: Any, key: Any) -> Array:
        out, _ = layer.call(layer.encodings, causal, params, x, queries, places, cache, key, train=True)
        return (out * functional).sum()

    gradients = compiled(jax.grad(loss, (0, 1)))(layer.params, x, queries, places, cache, layer.key)
    for path, gradient in jax.tree.leaves_with_path(gradients):
        if not np.isfinite(gradient).all():
            where = jax.tree_util.keystr(path[1:]) or "the inputs"
            yield math.inf, f"not finite for {where}"


_ALL = (value, parameters, dtype, precision, jit, recompile, vmap, cached_decoding, causality, padding, packing, shift)
CLAUSES: dict[str, Callable[[AttentionLayer], Findings]] = {
    clause.__name__: clause for clause in (*_ALL, blocks, fused, gradients)
}
