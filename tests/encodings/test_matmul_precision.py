"""What a phase or a sum along the sequence is made of is multiplied in full precision, on accelerators too: there a
plain product of float32 is rounded to bfloat16 or TF32, and the error grows with the length.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Literal, jaxprs_in_params
from registry_slots import fourth_of_registry, slots_of_registry

from posenc_jax.analysis.synthetic_attributes import attributes_for
from posenc_jax.encodings import Dims, Sequence, attend, for_layer, geometries, init_slot, layer_params, token_terms
from posenc_jax.encodings.interface.slots import position_axes

DIMS = Dims(d_model=16, num_heads=2, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16, vocab_size=20)


# What is added up, or turned into an angle: an error in it grows with the length.
SENSITIVE = {"sin", "cos", "tan", "cumsum", "cumprod", "cumlogsumexp", "cummax"}


def lost(jaxpr, inputs: list[frozenset[str]]) -> tuple[list[frozenset[str]], list[str]]:
    """Which products of float32 that a device may round each result of a program stands on, given those of its inputs,
    and what is wrong: such a product, or bfloat16, in what is sensitive, and whole numbers that become bfloat16.
    """
    known, problems = dict(zip(jaxpr.invars, inputs, strict=True)), []
    for equation in jaxpr.eqns:
        of_inputs = [_of(known, x) for x in equation.invars]
        together, name = frozenset().union(*of_inputs), equation.primitive.name
        dtypes = [str(x.aval.dtype) for x in equation.invars if hasattr(x.aval, "dtype")]
        outs = [together] * len(equation.outvars)
        if name == "dot_general" and "float32" in dtypes and "HIGHEST" not in str(equation.params["precision"]):
            outs = [together | {str(equation.source_info.name_stack) or "a product"}]
        if name in SENSITIVE and (together or "bfloat16" in dtypes):
            problems.append(f"{name} of {dtypes[0]}, made by {sorted(together)}")
        if name == "convert_element_type" and "int" in dtypes[0] and str(equation.params["new_dtype"]) == "bfloat16":
            problems.append(f"{dtypes[0]} {equation.invars[0].aval.shape} in bfloat16")
        for inner in jaxprs_in_params(equation.params):
            same = len(inner.invars) == len(of_inputs)
            found, wrong = lost(inner, of_inputs if same else [together] * len(inner.invars))
            problems += wrong
            known_outs = found if len(found) == len(outs) else [frozenset().union(*found)] * len(outs)
            outs = [a | b for a, b in zip(outs, known_outs, strict=True)] if name in ("scan", "while") else known_outs
        known.update(zip(equation.outvars, outs, strict=True))
    results = [_of(known, x) for x in jaxpr.outvars]
    return results, problems


def _of(known, x) -> frozenset[str]:
    return frozenset() if isinstance(x, Literal) else known.get(x, frozenset())


def problems_of(slot) -> list[str]:
    """Of one layer of attention of a model in bfloat16, causal, with what its encodings read of the tokens."""
    encodings = for_layer(slot, 0)
    params = layer_params(slot, init_slot(jax.random.key(0), slot, DIMS), 0)
    tokens = np.arange(1, 9, dtype=np.int32)[None].repeat(2, 0)
    made = attributes_for(encodings, tokens)
    side = Sequence.of_length(8, tokens=tokens, token_types=np.ones((1, 8), np.int32), **made)
    axes = position_axes(slot)
    if axes is not None:
        side = dataclasses.replace(side, positions=np.repeat(side.positions[:, :, None], axes, axis=2))
    call = dict(num_heads=2, key=jax.random.key(1), train=True, layer=0, causal=True)

    def layer(params, x, q, v):
        of_each = geometries(encodings, side, side, **call)
        terms = token_terms(encodings, params, x, side)
        return attend(q, q, v, encodings, params, of_each, terms)

    x = jax.ShapeDtypeStruct((2, 8, 16), "bfloat16")
    q = jax.ShapeDtypeStruct((2, 2, 8, 8), "bfloat16")
    jaxpr = jax.make_jaxpr(layer)(params, x, q, q).jaxpr
    return lost(jaxpr, [frozenset()] * len(jaxpr.invars))[1]


@pytest.mark.parametrize("name", fourth_of_registry())
def test_positions_phases_and_sums_of_gates_are_exact_and_at_least_float32(name):
    assert problems_of(slots_of_registry()[name]) == []


def test_what_is_not_would_be_noticed():
    weight = np.ones((16, 8), np.float32)

    def bad(x, places):
        gates = jnp.cumsum(x.astype(jnp.float32) @ weight, axis=0)
        return gates, jnp.sin(places.astype(jnp.bfloat16))

    jaxpr = jax.make_jaxpr(bad)(jnp.ones((5, 16), jnp.bfloat16), jnp.arange(5)).jaxpr
    found = lost(jaxpr, [frozenset()] * 2)[1]
    assert [problem.partition(" ")[0] for problem in found] == ["cumsum", "int32", "sin"]
