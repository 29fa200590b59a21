"""Attention split over devices by `jax.shard_map`, rows and heads, against attention as a whole; for a process of its
own, which has several devices.
"""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from posenc_jax.analysis.synthetic_attributes import attributes_for
from posenc_jax.encodings import (
    Dims,
    RoPE,
    Sequence,
    attend,
    elements,
    embed,
    for_layer,
    init_slot,
    layer_inputs,
    parse,
)
from posenc_jax.encodings.interface.slots import position_axes

ROWS, HEADS, TOKENS = 4, 4, 6
DIMS = Dims(d_model=32, num_heads=HEADS, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16, vocab_size=16)
SEGMENTS = np.array([[1] * 6, [1] * 3 + [2] * 3, [1] * 5 + [0], [0] + [1] * 5], np.int32)
LENGTHS = np.array([6, 3, 5, 5], np.int32)


def noise(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


class Split:
    """One layer with a slot: q, k and v of given projections, positions known on the host or given with each row."""

    def __init__(self, spec):
        slot = for_layer(parse(spec), 0)
        self.slot = (*slot, RoPE()) if all(e.acts_on <= {"map_positions"} for e in elements(slot)) else slot
        # FLOATER's key heads are the first of the query heads: no device has them.
        self.key_heads = HEADS if "floater" in spec else DIMS.num_kv_heads
        dims = dataclasses.replace(DIMS, num_kv_heads=self.key_heads)
        with jax.enable_x64(False):
            leaves, structure = jax.tree.flatten(init_slot(jax.random.key(0), self.slot, dims))
        moved = [np.asarray(a, np.float64) + 0.3 * noise(*a.shape, seed=i) for i, a in enumerate(leaves)]
        self.params = jax.tree.unflatten(structure, moved)
        self.x = noise(ROWS, TOKENS, DIMS.d_model)
        shapes = [(DIMS.d_model, heads, DIMS.head_dim) for heads in (HEADS, self.key_heads, self.key_heads)]
        self.projections = [noise(*shape, seed=i) / DIMS.d_model**0.5 for i, shape in enumerate(shapes)]
        axes = position_axes(self.slot)
        places = np.arange(TOKENS, dtype=np.int32)
        self.positions = places if axes is None else np.stack([(a + 1) * places + a for a in range(axes)], axis=-1)
        rng = np.random.default_rng(0)
        self.of_rows = {
            "tokens": rng.integers(1, 16, (ROWS, TOKENS), np.int32),
            "token_types": rng.integers(0, 3, (ROWS, TOKENS), np.int32),
            "example_ids": np.arange(ROWS, dtype=np.int32),
        }
        made = attributes_for(self.slot, self.of_rows["tokens"])
        self.of_rows |= {name: made[name] for name in ("attributes", "pairs") if name in made}
        self.traced = {
            "positions": np.broadcast_to(self.positions[None], (ROWS, *self.positions.shape)),
            "length": LENGTHS,
            "segment_ids": SEGMENTS,
        }

    def layer(self, params, projections, x, of_rows, head_axis=None):
        known = {"positions": self.positions[None], "length": np.array([TOKENS], np.int32)}
        if "pairs" in of_rows and "segment_ids" not in of_rows:
            known["segment_ids"] = np.ones((1, TOKENS), np.int32)
        sequence = Sequence(**(known | of_rows))
        x = embed(self.slot, params, x, sequence, key=jax.random.key(3))
        q, k, v = (jnp.einsum("bsm,mhd->bhsd", x, w) for w in projections)
        call = {"num_heads": HEADS, "causal": True, "key": jax.random.key(3), "head_axis": head_axis}
        return attend(q, k, v, *layer_inputs(self.slot, params, x, sequence, embedded=True, **call))

    def on_devices(self, rows, heads, **options):
        mesh = jax.make_mesh((rows, heads), ("rows", "heads"), axis_types=(AxisType.Auto,) * 2)
        layer = functools.partial(self.layer, head_axis="heads") if heads > 1 else self.layer
        by_head = "heads" if heads > 1 else None
        given = (P(), P(None, by_head), P("rows"), P("rows"))
        return jax.shard_map(layer, mesh=mesh, in_specs=given, out_specs=P("rows", by_head), **options)

    def compared(self, call, traced):
        """The largest difference of values, and of gradients as parts of the largest of all."""
        of_rows = self.of_rows | (self.traced if traced else {})
        towards = noise(ROWS, HEADS, TOKENS, DIMS.head_dim, seed=9)

        def run(call):
            def loss(params, projections, x):
                out = call(params, projections, x, of_rows)
                return jnp.sum(out * towards), out

            run = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True))
            (_, out), gradients = run(self.params, self.projections, self.x)
            return np.asarray(out), [np.asarray(g) for g in jax.tree.leaves(gradients)]

        (out, gradients), (whole, of_whole) = run(call), run(self.layer)
        largest = max(np.abs(g).max(initial=0) for g in of_whole)
        worst = max(np.abs(a - b).max(initial=0) for a, b in zip(gradients, of_whole, strict=True))
        return float(np.abs(out - whole).max()), float(worst / largest)


def main(specs, cases):
    """Prints {spec: {case: differences}}; a case is (devices for rows, devices for heads, traced, options)."""
    found = {}
    for spec in specs:
        split, found[spec] = Split(spec), {}
        for case in cases:
            rows, heads, traced, options = case
            found[spec][repr(case)] = split.compared(split.on_devices(rows, heads, **options), traced)
        jax.clear_caches()
    print(json.dumps(found))
