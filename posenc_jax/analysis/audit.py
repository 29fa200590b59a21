"""The audit: what an encoding does, measured, in one record that can be kept, compared and put into a table."""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax

from posenc_jax.analysis import cost, distinctness, invariance
from posenc_jax.analysis.contract import CLAUSES, contract_clauses
from posenc_jax.analysis.layer import DIMS, AttentionLayer, Encodings
from posenc_jax.analysis.outcome import OWN_CODE, ClauseOutcome, Clauses
from posenc_jax.encodings import (
    Dims,
    PositionalEncoding,
    RoPE,
    Slot,
    check_slot,
    elements,
    init_slot,
    is_pattern,
    layer_params,
)
from posenc_jax.encodings.catalogue import CATALOGUE, Method
from posenc_jax.encodings.interface.slots import check_hooks, different_layers
from posenc_jax.files.shapes import Json
from posenc_jax.refusals import exits_as_errors

FORMAT = "posenc audit 1"
# The model whose positions are told apart and whose parameters and attention are counted; encodings made for another
# head_dim are measured in the contract's smaller one.
MODEL = Dims(d_model=128, num_heads=4, num_kv_heads=4, head_dim=32, num_layers=4, max_len=1024, vocab_size=16)

PARITY = ("causality", "cached_decoding", "packing", "padding", "precision")


def settings() -> Json:
    """The settings that all records of an audit share."""
    return {
        "format": FORMAT,
        "contract": f"{len(CLAUSES)} clauses in float64: d_model {DIMS.d_model}, {DIMS.num_heads} heads of "
        f"{DIMS.head_dim}, {DIMS.num_kv_heads} key heads, max_len {DIMS.max_len}, parameters perturbed; shifts and "
        "positions beyond max_len in the same model",
        "model": f"d_model {MODEL.d_model}, {MODEL.num_heads} heads of {MODEL.head_dim}, {MODEL.num_layers} layers, "
        f"max_len {MODEL.max_len}, vocabulary of {MODEL.vocab_size}",
        "attention": f"batch {cost.BATCH}, {cost.LENGTH} tokens, float32, causal, of the model",
        "head_dim": MODEL.head_dim,
        "positions": distinctness.POSITIONS,
        "shifts": list(invariance.SHIFTS),
        "max_len": DIMS.max_len,
    }


def rows() -> list[tuple[str, Method]]:
    """Family and method of every row of the catalogue."""
    return [(family, method) for family, methods in CATALOGUE.items() for method in methods]


def measured(slot: Slot) -> Encodings:
    """The encodings of a slot whose numbers an audit shows: of a pattern those of the first layer that has any.

    Raises:
      ValueError: those of a layer cannot serve a model of `DIMS`.
    """
    return next(iter(measured_layers(slot)), ())


def measured_layers(slot: Slot) -> tuple[Encodings, ...]:
    """The encodings of all layers that have any, each once; `RoPE` after encodings that only map positions.

    Raises:
      ValueError: those of a layer cannot serve a model of `DIMS`.
    """
    return tuple(map(_runnable, different_layers(slot)))


def _runnable(encodings: Encodings) -> Encodings:
    for element in encodings:
        check_hooks(element)
    if all(e.acts_on <= {"map_positions"} for e in encodings):
        encodings = (*encodings, RoPE())
    check_slot(encodings, DIMS)
    return encodings


def audit(slot: Slot, *, baseline: cost.CompiledCall | None = None, clock: Callable[[], float] | None = None) -> Json:
    """The measurements of one slot; None is what cannot be said of it, or what raised, which "problems" tells. Of a
    pattern all layers keep the contract, or it fails; what else is measured is of the first layer that has encodings.

    Args:
      slot: as `parse` gives it.
      baseline: `plain_attention`, made once for many audits.
      clock: seconds, as `time.perf_counter`; None leaves the time out.

    Raises:
      ValueError: the encodings cannot serve a model of `DIMS`.
    """
    layers = measured_layers(slot)
    if not layers:
        return _empty()
    encodings = layers[0]
    problems: list[str] = []

    def attempt(what: str, measure: Callable[[], Any]) -> Any:
        if OWN_CODE in by_name:  # which says all
            return None
        try:
            with exits_as_errors():
                return measure()
        except Exception as problem:  # whatever an encoding does wrong is a finding
            problems.append(f"{what}: {type(problem).__name__}: {problem}".splitlines()[0])
            return None

    clauses = _worst([contract_clauses(layer) for layer in layers])
    by_name = {clause.name: clause for clause in clauses}
    with jax.enable_x64(True):  # as the contract does, so that nothing is compiled for it
        layer = AttentionLayer(encodings)
    program = invariance.LayerProgram(layer)
    dims = model_for(encodings)
    init = functools.partial(init_slot, jax.random.key(0), encodings, dims)
    shapes = jax.eval_shape(init)
    random = any(e.random for e in encodings)
    vectors = attempt("distinctness", lambda: distinctness.distinctness(layer, dims, init))
    call = attempt("attention", lambda: cost.attention_call(layer, dims, layer_params(encodings, shapes, 0)))
    if baseline is None or dims != MODEL:
        baseline = plain_attention(dims)
    learned, frozen = cost.num_parameters(encodings, shapes)
    stated = elements(slot) if is_pattern(slot) else encodings  # what classes say, of all layers
    record = {
        "acts_on": [hook for hook in PositionalEncoding.HOOKS if any(hook in e.acts_on for e in stated)],
        "extrapolates": all(e.extrapolates for e in stated),
        "shift_invariant": all(e.shift_invariant for e in stated),
        "head_dim": dims.head_dim,
        "parameters": {"learned": learned, "frozen": frozen},
        "shift": None if random else attempt("shift", lambda: invariance.shift_errors(program)),
        "beyond": "drawn" if random else attempt("beyond", lambda: invariance.beyond(program)),
        "distance": vectors and vectors.distance,
        "closest": vectors and {name: pair and list(pair) for name, pair in vectors.pair.items()},
        "norm_drift": vectors and vectors.norm_drift,
        "alias": vectors and vectors.alias and dict(zip(("offset", "cosine"), vectors.alias)),
        **{name: by_name[name].error for name in PARITY},
        "temporaries": call and call.temporaries - baseline.temporaries,
        "clauses": {clause.name: {"status": clause.status, "detail": _detail(clause)} for clause in clauses},
        "verdict": verdict(clauses, tuple(itertools.chain.from_iterable(layers))),
        "problems": problems,
    }
    if clock is not None and call is not None:
        ratio, seconds = cost.time_ratio(call, baseline, clock)
        record["timing"] = {"ratio": ratio, "seconds": seconds}
    return _plain(record)


def _worst(of_layers: list[Clauses]) -> Clauses:
    """The outcome of each clause in the layer where it is worst: failed, then passed by the largest error."""
    order = ("skipped", "passed", "failed")
    found: dict[str, ClauseOutcome] = {}
    for clause in itertools.chain.from_iterable(of_layers):
        other = found.setdefault(clause.name, clause)
        found[clause.name] = max(other, clause, key=lambda one: (order.index(one.status), one.error or 0.0))
    return Clauses(found.values())


def plain_attention(dims: Dims = MODEL) -> cost.CompiledCall:
    """Attention without encodings, which others are compared with."""
    return cost.attention_call(None, dims, ())


def verdict(clauses: tuple[ClauseOutcome, ...], encodings: Encodings) -> str:
    """The outcome of the contract in one phrase, from the clauses that apply to the encodings."""
    failed = [clause.name for clause in clauses if clause.status == "failed"]
    if failed:
        return f"fails {', '.join(failed)}"
    by_nature = sorted({name for e in encodings for name in e.breaks})
    applicable = [c for c in clauses if c.status == "passed" and c.name not in by_nature]
    kept = f"kept ({len(applicable)}/{len(applicable)})"
    return f"{kept}, breaks {', '.join(by_nature)} by nature" if by_nature else kept


def model_for(encodings: Encodings) -> Dims:
    """`MODEL`, or the contract's `DIMS` for encodings whose fields fit its head_dim only."""
    try:
        check_slot(encodings, MODEL)
    except ValueError:
        return DIMS
    return MODEL


def _detail(clause: ClauseOutcome) -> str:
    return clause.seen if clause.status == "failed" else clause.detail


def _empty() -> Json:
    """NoPE: attention alone, in which nothing acts."""
    nothing = ("shift", "beyond", "distance", "closest", "norm_drift", "alias", *PARITY)
    return {
        "acts_on": [],
        "extrapolates": True,
        "shift_invariant": True,
        "head_dim": MODEL.head_dim,
        "parameters": {"learned": 0, "frozen": 0},
        **dict.fromkeys(nothing),
        "temporaries": 0,
        "clauses": {},
        "verdict": "nothing to keep",
        "problems": [],
    }


def _plain(value: Any) -> Any:
    """JSON without numbers that it does not know ("nan", "inf"), floats to three digits."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.3g}") if math.isfinite(value) else str(value)
    return value
