"""Attention inside `jax.shard_map`, over rows and over heads: values and gradients of the whole, or a refusal."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import processes
import pytest
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from posenc_jax.encodings import FLOATER, KERPLE, ALiBi, Dims, Geometry, PositionalEncoding, attend, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.method import FAMILIES

# Heads that read each other, terms and parameters of key heads.
SAMPLE = ("kerple|dape", "carope")


def check(specs, *cases):
    """In float64: what reads a wrong head, or adds up a part of the rows, differs by 1e-3 and more."""
    code = f"import jax, split_attention; jax.config.update('jax_enable_x64', True); split_attention.main{specs, cases}"
    found = processes.python(code, devices=4, timeout=900)
    assert found.keys() == set(specs)
    worst = {(spec, case): max(errors) for spec, cases in found.items() for case, errors in cases.items()}
    assert {what: error for what, error in worst.items() if not error < 1e-10} == {}


def test_rows_and_heads_on_four_devices():
    check(SAMPLE, (2, 2, False, {}))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_of_the_catalogue(family):
    specs = tuple(dict.fromkeys(method.spec for method in CATALOGUE[family]))
    check(specs, (4, 1, False, {}), (2, 2, False, {}), (2, 2, True, {}))


@pytest.mark.slow
def test_where_a_shard_map_does_not_keep_track_of_what_varies():
    check(SAMPLE, (2, 2, True, {"check_vma": False}))


DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16)
Q, K, V = (np.ones((1, heads, 6, 8), np.float32) for heads in (4, 2, 2))
OF_ALL = Geometry.of_length(6, num_heads=4, causal=True)
SPLIT = dataclasses.replace(OF_ALL, head_axis="heads")


@dataclasses.dataclass(frozen=True)
class Slopes(PositionalEncoding):
    """One for each head of the model, whatever a device has."""

    name = "slopes"

    def bias(self, params, geometry):
        slopes = jnp.arange(geometry.num_heads, dtype=jnp.float32)[None, :, None, None]
        return -slopes * jnp.abs(geometry.relative)[:, None]


@dataclasses.dataclass(frozen=True)
class OwnSlopes(Slopes):
    """Those of a device's heads."""

    name = "own_slopes"

    def bias(self, params, geometry):
        return geometry.own_heads(super().bias(params, geometry), axis=1)


def called(encoding, geometry=SPLIT, q=Q, k=K, v=V, devices=2, split=(True, True), params=None):
    """Traced, on devices that need not be there."""
    mesh = AbstractMesh((devices,), ("heads",), axis_types=(AxisType.Auto,))
    whole = encoding.init(jax.random.key(0), DIMS) if params is None else params
    q_spec, k_spec = (P(None, "heads") if by_head else P() for by_head in split)

    def call(params, q, k, v):
        return attend(q, k, v, (encoding,), (params,), geometry)

    mapped = jax.shard_map(call, mesh=mesh, in_specs=(P(), q_spec, k_spec, k_spec), out_specs=P(None, "heads"))
    return jax.eval_shape(mapped, whole, q, k, v).shape


def test_what_is_split_has_the_shape_of_the_whole():
    for encoding in (ALiBi(), KERPLE(), OwnSlopes()):
        assert called(encoding) == Q.shape
    assert called(ALiBi(), devices=4, split=(True, False), k=K[:, :1], v=V[:, :1]) == Q.shape


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"encoding": ALiBi(), "geometry": OF_ALL}, r"q has 2 heads .* and the geometry 4: num_heads is .* head_axis"),
        ({"encoding": ALiBi(), "split": (True, False)}, "k has the same 2 heads on every device of the axis 'heads'"),
        (
            {"encoding": KERPLE(), "params": {"a": np.ones(2, np.float32), "p": np.ones(4, np.float32)}},
            r"KERPLE's parameters\['a'\] has the shape \[2\], .* num_heads = 4, .* it is \[4\]: .*P\(\) in in_specs",
        ),
        ({"encoding": FLOATER()}, "FLOATER's keys of 1 heads take the first entries"),
        ({"encoding": Slopes()}, "Slopes.bias returns 4 heads where there are 2: .*own_heads"),
    ],
)
def test_what_would_be_of_other_heads_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        called(**arguments)


def test_parameters_of_another_number_of_heads():
    """One head became four, in values and in the shape."""
    params = KERPLE().init(jax.random.key(0), DIMS)
    with pytest.raises(ValueError, match=r"'a'\] has the shape \[4\], .* it is \[1\]: pass what init_slot"):
        attend(Q[:, :1], K[:, :1], V[:, :1], (KERPLE(),), (params,), Geometry.of_length(6, num_heads=1))


def test_terms_are_of_all_heads():
    (fox,) = parse("fox")
    terms = np.ones((1, 6, 2), np.float32)

    def call(q, k):
        return attend(q, k, k, (fox,), (fox.init(jax.random.key(0), DIMS),), SPLIT, (terms,))

    with pytest.raises(ValueError, match=r"FoX's terms have 2 heads \(axis 2 .* there are 4"):
        jax.eval_shape(jax.vmap(call, 2, axis_name="heads"), *(np.ones((1, 2, 2, 6, 8), np.float32),) * 2)


def test_an_axis_that_is_not_there():
    with pytest.raises(ValueError, match="head_axis = 'heads' is no axis here"):
        attend(Q, K, V, (ALiBi(),), ({},), SPLIT)
