"""Golden values: what the encodings of the catalogue give for fixed inputs, for other implementations to test against.

`posenc_jax/golden/encodings-v1.json` holds them, in float64, with inputs and conventions; it is made here.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.invariance import Reveal
from posenc_jax.analysis.layer import Encodings, compiled
from posenc_jax.analysis.synthetic_attributes import attributes_for, attributes_of, pairs_of
from posenc_jax.encodings import (
    Dims,
    Slot,
    attend,
    embed,
    for_layer,
    geometries,
    init_slot,
    layer_params,
    map_slot,
    position_bias,
    token_terms,
)
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.attention import FUSABLE, encode
from posenc_jax.encodings.interface.base import Array, Geometry, Params, Sequence, Terms
from posenc_jax.encodings.interface.method import Method

FORMAT = "posenc golden 1"
DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=4, head_dim=8, num_layers=1, max_len=1024, vocab_size=16)
POSITIONS = (0, 1, 2, 3, 8, 21, 90, 300)
TOKENS = (3, 4, 11, 5, 12, 6, 2, 7)
TOKEN_TYPES = (0, 0, 0, 1, 1, 1, 2, 2)
LENGTH = POSITIONS[-1] + 1
ATTRIBUTES, PAIRS = 14, 8  # as many as any row reads, halves from 0 to MOST
MOST = 2

# Rows beside those of the catalogue: by the name of the method, what is at the edge of its formula, and settings there.
EDGES = (
    ("YaRN", "no plane between its ends", "rope(scaling=yarn(factor=8, original_length=6))"),
    ("YaRN", "ends that cross", "rope(base=100.0, scaling=yarn(factor=8, original_length=2, beta_slow=2))"),
    (
        "DeBERTa, version 2 and 3",
        "an odd number of buckets",
        "deberta(version='v2', max_distance=5, num_buckets=5)",
    ),
)

CONVENTIONS = {
    "arrays": "nested lists in C order; x [S, M]; q, k, v, outputs [H, S, D]; biases, logits and weights [H, Q, K]; "
    "one sequence, so no batch axis; null where a causal mask hides the key",
    "relative": "key position minus query position",
    "logits": "q . k / sqrt(D) + biases, with encoded q and k; biases are added after the division and not divided",
    "parameters": "number n (C order, from 0) of parameter array j of a row is ((37 n + 11 j) mod 101 - 50) / 100; "
    "j counts the arrays in the order in which the row names them, as element.word.parameter with their shapes",
    "rows": "what is added to the input embedding at each position",
    "embedded": "x with the encoding, where it is not simply added",
    "q, k": "q and k encoded, not divided by sqrt(D)",
    "bias": "what depends on positions only and is added to the logits, with no mask; bias_causal: under a causal mask",
    "logits, weights, output": "of attention without a mask; _causal: under a causal mask, the order being that of the "
    "list; x is what a layer's data-dependent terms are projected from, q, k and v are given; weights are there "
    "in place of logits where a method has another softmax or hides keys itself, the output where it is not weights "
    "times v",
    "positions_seen": "where positions are mapped or drawn: those that each element of the spec is given, after the "
    "elements before it; drawn ones are jax.random.key(0)'s, and a test takes them as given",
    "tokens, token_types": "read by methods whose positions follow from them",
    "attributes": "numbers of each token, [S, A], and of each pair of tokens, [Q, K, P] in pairs; read by methods for "
    "graphs, trees, tables, times and numbers, the first ones of as many as they need",
    "length": "the real length of the sequence, which the listed tokens are a part of",
}

Record = dict[str, Any]  # JSON


def document() -> Record:
    """The whole file."""
    with jax.enable_x64(True):
        rows = [
            {
                "family": family,
                "name": m.name,
                "spec": m.spec,
                "paper": m.paper,
                "link": m.link,
                **record(_parse(m.spec)),
            }
            for family, m in methods()
        ]
    shared = {name: array.tolist() for name, array in arrays().items()}
    positions = {"positions": POSITIONS, "length": LENGTH, "tokens": TOKENS, "token_types": TOKEN_TYPES}
    ids = np.array([TOKENS], np.int32)
    made = {"attributes": attributes_of(ids, ATTRIBUTES, MOST), "pairs": pairs_of(ids, ids, PAIRS, MOST)}
    shared |= {name: array[0].tolist() for name, array in made.items() if array is not None}
    dims = {name: getattr(DIMS, name) for name in ("d_model", "num_heads", "head_dim", "max_len", "vocab_size")}
    return {"format": FORMAT, "conventions": CONVENTIONS, "dims": dims, "inputs": positions | shared, "rows": rows}


def methods() -> list[tuple[str, Method]]:
    """The family and the method of each row."""
    found = [(family, m) for family, methods in CATALOGUE.items() for m in methods]
    known = {m.name: (family, m) for family, m in found}
    for name, edge, text in EDGES:
        family, own = known[name]
        found.append((family, dataclasses.replace(own, name=f"{name}: {edge}", spec=text)))
    return found


def _parse(text: str) -> Slot:
    from posenc_jax.encodings import parse

    return parse(text)


def arrays() -> dict[str, np.ndarray]:
    """x, q, k and v: decimals of three digits, which every language reads as the same float64."""
    heads = (DIMS.num_heads, len(POSITIONS), DIMS.head_dim)
    shapes = {"x": (len(POSITIONS), DIMS.d_model), "q": heads, "k": heads, "v": heads}
    return {
        name: np.round(np.sin(0.7 * np.arange(np.prod(shape)) + 1.3 * i) * 1.5, 3).reshape(shape)
        for i, (name, shape) in enumerate(shapes.items())
    }


def parameters(slot: Slot, dtype: Any) -> tuple[tuple[Params, ...], dict[str, list[int]]]:
    """The parameters of a slot by the formula of `CONVENTIONS`, and the name and shape of each array."""
    encodings = for_layer(slot, 0)
    initial = jax.eval_shape(lambda: layer_params(slot, init_slot(jax.random.key(0), slot, DIMS), 0))
    leaves, structure = jax.tree.flatten(initial)
    values = [((37 * np.arange(a.size) + 11 * j) % 101 - 50).reshape(a.shape) / 100 for j, a in enumerate(leaves)]
    names = []
    for (index, *rest), _ in jax.tree.leaves_with_path(initial):
        i = index.idx
        names.append(f"{i}.{encodings[i].name}.{jax.tree_util.keystr(tuple(rest), simple=True, separator='.')}")
    params = jax.tree.unflatten(structure, [jnp.asarray(a, dtype) for a in values])
    return params, {name: list(np.shape(a)) for name, a in zip(names, values, strict=True)}


def record(slot: Slot, dtype: Any = np.float64) -> Record:
    """Parameters, positions and outputs of one slot; in float64 under ``jax.enable_x64``."""
    encodings = for_layer(slot, 0)
    params, shapes = parameters(slot, dtype)
    found, positions = compiled(_outputs, static_argnums=(0, 2))(encodings, params, dtype)
    if "embedded" in found:
        x = arrays()["x"]
        added = np.abs(np.asarray(found["embedded"], np.float64) - x - found["rows"]).max() < 1e-5
        del found["embedded" if added else "rows"]
    for suffix in ("", "_causal"):
        if (logits := found.get(f"logits{suffix}")) is not None:
            hides = bool((logits == np.finfo(logits.dtype).min).any())
            del found[f"logits{suffix}" if hides else f"weights{suffix}"]
    outputs = {name: _listed(name, value) for name, value in found.items()}
    mapped = any("map_positions" in e.acts_on for e in encodings)
    seen = [np.asarray(a)[0].tolist() for a in positions] if mapped else None
    return {"parameters": shapes, "positions_seen": seen, "outputs": outputs}


def _sequence(encodings: Encodings) -> Sequence:
    axes = encodings[0].position_axes if encodings else None
    assert not isinstance(axes, int), f"{encodings[0]}: give the spec of a catalogue row plain positions, as by grid"
    positions, tokens, types = (np.array([a], np.int32) for a in (POSITIONS, TOKENS, TOKEN_TYPES))
    made = attributes_for(encodings, tokens, MOST)
    return Sequence(positions, np.array([LENGTH], np.int32), tokens, token_types=types, **made)


def _outputs(encodings: Encodings, params: tuple[Params, ...], dtype: Any) -> tuple[dict[str, Array], list[Array]]:
    tokens, key = _sequence(encodings), jax.random.key(0)
    x, q, k, v = (jnp.asarray(a, dtype)[None] for a in arrays().values())
    acts_on = frozenset().union(*(e.acts_on for e in encodings))
    found: dict[str, Array] = {}
    if "embed" in acts_on:
        inputs = {"embedded": x, "rows": jnp.zeros_like(x)}
        found |= {name: embed(encodings, params, a, tokens, key=key)[0] for name, a in inputs.items()}
    masks = {"_causal": True} | ({} if any(e.causal_only for e in encodings) else {"": False})
    for suffix, causal in masks.items():
        seen = geometries(encodings, tokens, tokens, num_heads=DIMS.num_heads, causal=causal, key=key)
        per_element = seen if isinstance(seen, tuple) else ()
        if acts_on & {"encode_queries", "encode_keys"} and "q" not in found:
            found |= {name: a[0] for name, a in zip("qk", encode(q, k, encodings, params, per_element))}
        if "bias" in acts_on:
            bias = position_bias(encodings, params, seen)
            assert bias is not None
            found[f"bias{suffix}"] = bias[0]
        if acts_on - FUSABLE - {"bias"} or "encode_values" in acts_on or not acts_on - {"map_positions"}:
            terms = token_terms(encodings, params, x, tokens)
            attention = _attention(encodings, params, (q, k, v), seen, terms)
            found |= {name + suffix: value[0] for name, value in attention.items()}
    return found, [s.positions for s in map_slot(encodings, tokens, key=key)]


def _attention(
    encodings: Encodings,
    params: tuple[Params, ...],
    heads: tuple[Array, Array, Array],
    seen: Geometry | tuple[Geometry, ...],
    terms: tuple[Terms, ...],
) -> dict[str, Array]:
    """Weights; logits, but where an encoding replaces the softmax; the output, where one acts on it or none acts."""

    def run(encodings: Encodings, params: Any, seen: Any, terms: Any) -> Any:
        q, k, v = heads
        return attend(q, k, v, encodings, params, seen, terms, return_weights=True)

    output, weights = run(encodings, params, seen, terms)
    found = {"weights": weights}
    own_softmax = any("normalize" in e.acts_on for e in encodings)
    if own_softmax or any(e.acts_on & {"value_term", "encode_values"} for e in encodings) or not encodings:
        found["output"] = output
    if not own_softmax:
        per_element = (*seen, seen[-1]) if isinstance(seen, tuple) else (seen,)
        found["logits"] = run((*encodings, Reveal()), (*params, {}), per_element, (*terms, None))[1]
    return found


def _listed(name: str, array: Array) -> Any:
    """Nested lists, None where a causal mask hides the key; ValueError for any other number that is not finite."""
    values = np.asarray(array)
    listed = values.astype(object)
    if name in ("bias_causal", "logits_causal", "weights_causal"):
        listed[..., ~np.tri(len(POSITIONS), dtype=bool)] = None
    if not np.isfinite(values[listed != None]).all():  # noqa: E711  (elementwise)
        raise ValueError(f"{name} is not finite for the parameters of the formula: choose another formula")
    return listed.tolist()
