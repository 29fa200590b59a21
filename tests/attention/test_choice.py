import dataclasses

import jax.numpy as jnp
import pytest

from posenc_jax.attention import Call, choose
from posenc_jax.encodings import parse

CALL = Call(batch=2, num_heads=8, num_kv_heads=4, queries=1024, keys=1024, head_dim=64, causal=True)


def chosen(spec="rope", asked="auto", **changes):
    return choose(parse(spec), dataclasses.replace(CALL, **changes), asked)


def test_on_a_cpu_it_is_the_reference():
    for spec in ("nope", "rope", "t5", "cope"):
        for dtype in (jnp.float32, jnp.bfloat16, jnp.float64):
            choice = chosen(spec, dtype=dtype, queries=2**20, keys=2**20)
            assert str(choice) == "dense: the fastest on a CPU"


@pytest.mark.parametrize("backend", ["gpu", "tpu"])
def test_elsewhere_large_calls_are_computed_in_blocks(backend):
    assert str(chosen("cope", backend=backend)) == "dense: only 64 MiB of logits"
    assert str(chosen("cope", backend=backend, queries=4096, keys=4096)) == "blockwise: 1024 MiB of logits"
    assert chosen("cope", backend=backend, queries=4096, keys=4096, return_weights=True).path == "dense"


def test_what_is_asked_for_is_chosen_or_refused():
    assert str(chosen("cope", "blockwise")) == "blockwise: asked for"
    assert chosen("cope", "dense", backend="gpu", queries=2**20).path == "dense"
    with pytest.raises(ValueError, match=r"attention = 'blockwise' keeps no weights to return: use 'dense'"):
        chosen("rope", "blockwise", return_weights=True)
