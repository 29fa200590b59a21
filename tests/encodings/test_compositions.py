"""Every mapping of positions before every encoding: it works, or one message says why it cannot."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.analysis.synthetic_attributes import attributes_for
from posenc_jax.encodings import Dims, Sequence, attend, embed, geometries, init_slot, layer_params, parse, token_terms
from posenc_jax.encodings.catalogue import CATALOGUE

TOKENS = 5
DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=4, head_dim=8, num_layers=1, max_len=16, vocab_size=16)
WRAPPERS = {
    "randomized(16)": np.integer,
    "randomized(16, per='example')": np.integer,
    "shape(4)": np.integer,
    "pose(16)": np.integer,
    "cape": np.floating,
    "interpolated(4)": np.floating,
}
ROWS = [
    method.spec
    for family, methods in CATALOGUE.items()
    for method in methods
    if family not in ("none", "positions", "layers") and not method.spec.startswith("grid")
    if not any(element.needs_attributes for element in parse(method.spec))  # in place of positions
]


def run(slot):
    """A training pass of one attention layer, without compiling it as a whole."""
    tokens = np.arange(2 * TOKENS, dtype=np.int32).reshape(2, TOKENS)
    made = attributes_for(slot, tokens)
    sequence = Sequence.of_length(TOKENS, tokens=tokens, token_types=np.zeros((1, TOKENS), int), **made)
    params = layer_params(slot, init_slot(jax.random.key(0), slot, DIMS), 0)
    key = jax.random.key(1)
    x = embed(slot, params, jnp.ones((2, TOKENS, DIMS.d_model)), sequence, key=key, train=True)
    seen = geometries(slot, sequence, sequence, num_heads=4, causal=True, key=key, train=True)
    q = x.reshape(2, TOKENS, 4, 8).swapaxes(1, 2)
    return attend(q, q, q, slot, params, seen, token_terms(slot, params, x, sequence)), seen[-1].q_positions


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_mappings_stand_before_every_encoding(wrapper):
    refused = []
    for row in ROWS:
        slot = parse(f"{wrapper}|{row}")
        try:
            out, positions = run(slot)
        except ValueError as error:
            refused.append((row, str(error)))
            continue
        # CAPE's positions leave 0 .. L-1, where tables that end there say NaN, as is their stated policy.
        outside = wrapper == "cape" and not all(element.extrapolates for element in parse(row))
        assert np.isfinite(out).all() != outside, f"{wrapper}|{row}"
        if not jnp.issubdtype(positions.dtype, WRAPPERS[wrapper]):  # a row may make fractions of whole positions
            assert jnp.issubdtype(run(parse(row))[1].dtype, np.floating), f"{wrapper}|{row}"
    assert len(refused) < len(ROWS) / 2
    for row, message in refused:
        fractions = WRAPPERS[wrapper] is np.floating and any(element.integer_positions for element in parse(row))
        assert fractions or "axes" in message, f"{wrapper}|{row}: {message}"
