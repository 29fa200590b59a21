"""What a phase or a sum along the sequence is made of is multiplied in full precision, on accelerators too: there a
plain product of float32 is rounded to bfloat16 or TF32, and the error grows with the length.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params
from registry_slots import slots_of_registry

from posenc_jax.encodings import Dims, Sequence, elements, parse
from posenc_jax.encodings.base import Geometry

DIMS = Dims(d_model=16, num_heads=2, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16, vocab_size=20)
GATED = sorted(
    {e for slot in slots_of_registry().values() for e in elements(slot) if "token_terms" in e.acts_on}, key=repr
)


def precisions(jaxpr) -> list[str]:
    """Of every matrix product."""
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            found.append(str(equation.params["precision"]))
        for inner in jaxprs_in_params(equation.params):
            found += precisions(inner)
    return found


@pytest.mark.parametrize("element", GATED, ids=lambda element: element.name)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_token_terms_are_exact_and_at_least_float32(element, dtype):
    params = element.init(jax.random.key(0), DIMS)
    x = jax.ShapeDtypeStruct((2, 5, 16), dtype)
    sequence = Sequence.of_length(5, tokens=np.ones((2, 5), np.int32))
    found = jax.make_jaxpr(lambda x: element.token_terms(params, x, sequence))(x)
    assert {str(aval.dtype) for aval in found.out_avals} <= {"float32", "int32", "bool"}
    assert precisions(found.jaxpr) != []
    assert set(precisions(found.jaxpr)) == {"(Precision.HIGHEST, Precision.HIGHEST)"}


def test_positions_of_cope_are_exact():
    (cope,) = parse("cope")
    side = Sequence.of_length(5)
    geometry = Geometry.between(side, side, num_heads=2, causal=True)
    params, q = cope.init(jax.random.key(0), DIMS), jax.ShapeDtypeStruct((2, 2, 5, 8), "bfloat16")
    found = precisions(jax.make_jaxpr(lambda q, k: cope.content_bias(params, q, k, geometry, None))(q, q).jaxpr)
    assert found[0] == "(Precision.HIGHEST, Precision.HIGHEST)"
