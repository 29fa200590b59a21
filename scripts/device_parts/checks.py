"""Is what the device computes right? Attention against the reference, bits that repeat, replicas, a killed run."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.jax_training import RandomTokens, prepared
from faults import Small

from device_parts.part import DETERMINISTIC, SHARED, Part, Row
from posenc_jax import Execution, Run, Training, Transformer, parse
from posenc_jax.attention import attend
from posenc_jax.encodings import Dims, Geometry, Sequence, init_slot, layer_params, token_terms

PATHS = ("dense", "kernel", "cudnn", "blockwise")
LIMITS = {"float32": 1e-4, "bfloat16": 2**-6}
"""Of the largest number. A float32 sum of a thousand products is off by some 1e-6; in bfloat16 weights, their
gradients and outputs are rounded once each, by 2^-9 at most."""
REPLICAS = 1e-5
"""A hundredth of a step of Adam at a learning rate of 1e-3."""


class Call(NamedTuple):
    """Causal attention of ``tokens`` with as many heads as ``heads`` over half as many keys and values."""

    spec: str
    dtype: str
    tokens: int = 1000  # no multiple of a tile
    head_dim: int = 64
    heads: int = 4
    packed: bool = False
    window: int | None = None

    def __str__(self) -> str:
        form = f"{', packed' if self.packed else ''}{', windowed' if self.window else ''}"
        return f"{self.spec}, {self.dtype}, heads of {self.head_dim}{form}"


def calls(miniature: bool) -> list[Call]:
    """Calls that are compared with the reference; float32 and bfloat16."""
    if miniature:
        return [Call("t5|rope", "float32", 20, 8), Call("fox", "bfloat16", 20, 8, packed=True)]
    forms = [{}, {"packed": True}, {"window": 300}, {"head_dim": 128}]
    found = [Call("t5|rope", dtype, **form) for form in forms for dtype in LIMITS]
    return found + [
        Call(spec, dtype) for spec in ("nope", "alibi(learned=True)", "kerple", "fox|rope") for dtype in LIMITS
    ]


def compared(call: Call) -> Row:
    """The largest difference of the output and of every gradient, by path, from the reference in float32 on the CPU."""
    encodings = parse(call.spec)
    dims = Dims(call.heads * call.head_dim, call.heads, call.heads // 2, call.head_dim, 1, call.tokens, 16)
    sequence = _sequence(call)
    geometry = Geometry.between(
        sequence, sequence, num_heads=call.heads, causal=True, contiguous=True, window=call.window
    )
    arguments = _arguments(call, dims, encodings)
    real = np.ones((1, 1, call.tokens, 1), np.float32)
    if sequence.segment_ids is not None:
        real = (sequence.segment_ids != 0).astype(np.float32)[:, None, :, None]
    functional = real * _noise(5, 1, call.heads, call.tokens, call.head_dim)

    def values(path: str, dtype: str) -> Any:
        def loss(a):
            terms = token_terms(encodings, a["params"], a["x"], sequence)
            out = attend(a["q"], a["k"], a["v"], encodings, a["params"], geometry, terms, path=path)
            out = jnp.where(real != 0, out.astype(jnp.float32), 0)
            return (out * functional).sum(), out

        typed = {name: a if name == "params" else a.astype(dtype) for name, a in arguments.items()}
        with jax.default_matmul_precision("highest"):
            (_, out), gradients = jax.jit(jax.value_and_grad(loss, has_aux=True))(typed)
        return {"out": out, **gradients}

    with jax.default_device(jax.devices("cpu")[0]):
        reference = values("dense", "float32")
    apart, refused = {}, {}
    for path in PATHS:
        try:
            found = values(path, call.dtype)
        except ValueError as error:
            if "cannot serve this call" not in str(error):
                raise
            refused[path] = str(error).partition(": ")[2].partition(";")[0]
        else:
            apart[path] = max(_apart(found[name], reference[name]) for name in reference)
    limit = LIMITS[call.dtype]
    return {"apart": apart, "refused": refused, "limit": limit, "well": bool(apart) and max(apart.values()) <= limit}


def _apart(found: Any, wanted: Any) -> float:
    """The largest difference of the arrays of an argument, of the largest number in them."""
    pairs = [
        (np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in zip(*map(jax.tree.leaves, (found, wanted)))
    ]
    size = max((np.abs(b).max(initial=0) for _, b in pairs), default=0)
    largest = max((float(np.abs(a - b).max(initial=0)) for a, b in pairs), default=0.0)
    return largest / float(size) if size else largest


def _sequence(call: Call) -> Sequence:
    places = np.arange(call.tokens, dtype=np.int32)[None]
    segments = None
    if call.packed:  # padding, two sequences, padding; positions run on
        ends = np.array([1, call.tokens // 2, call.tokens - 2])
        segments = (np.searchsorted(ends, places[0], side="right") % 3).astype(np.int32)[None]
    return Sequence(places, np.full((1,), call.tokens, np.int32), segment_ids=segments, places=places)


def _arguments(call: Call, dims: Dims, encodings: Any) -> dict[str, Any]:
    """Numbers that bfloat16 has too, so that only what is computed of them differs."""
    leaves, structure = jax.tree.flatten(layer_params(encodings, init_slot(jax.random.key(0), encodings, dims), 0))
    moved = [np.asarray(a + 0.3 * _noise(10 + i, *a.shape), np.float32) for i, a in enumerate(leaves)]
    keys = (call.heads // 2, call.tokens, call.head_dim)
    shapes = {"q": (call.heads, call.tokens, call.head_dim), "k": keys, "v": keys, "x": (call.tokens, dims.d_model)}
    arrays = {name: jnp.asarray(_noise(i, 1, *shape), call.dtype) for i, (name, shape) in enumerate(shapes.items())}
    return {name: a.astype(jnp.float32) for name, a in arrays.items()} | {
        "params": jax.tree.unflatten(structure, moved)
    }


def _noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def trained(miniature: bool, mode: str, steps: int, times: int = 1, replicas: int = 4) -> list[list[np.ndarray]]:
    """Parameters of a decoder in bfloat16 (in miniature: float32) after so many steps, each of several times from the
    same start by the same program.
    """
    model = Transformer(d_model=256, num_layers=4, num_heads=4, dtype="bfloat16")
    run = Run(
        task=RandomTokens(6 if miniature else 512),
        model=Transformer(d_model=8, num_layers=1, num_heads=2) if miniature else model,
        posenc=parse("rope" if miniature else "fox|t5|rope"),
        training=Training(steps=steps, steps_per_call=steps, log_every=steps, batch_size=2 if miniature else 16),
        execution=Execution(mode=mode, group_size=replicas),  # type: ignore[arg-type]
        seeds=tuple(range(replicas)),
    )
    program, state = prepared(run)
    found = []
    for _ in range(times):
        after, _ = program(jax.tree.map(jnp.copy, state), None)  # which it may overwrite
        found.append([np.asarray(leaf) for leaf in jax.tree.leaves(after["params"])])
    return found


def repeated(miniature: bool) -> Row:
    """Two trainings from the same start, as the command line sets the device up."""
    first, second = trained(miniature, "vmap", 2 if miniature else 50, times=2)
    return {"well": all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))}


def replicas(miniature: bool) -> Row:
    """Four replicas in one batch, and one after the other."""
    pairs = zip(*(trained(miniature, mode, 2)[0] for mode in ("vmap", "map")), strict=True)
    apart = max(float(np.abs(a - b).max(initial=0)) for a, b in pairs)
    return {"apart": {"vmap": apart}, "limit": REPLICAS, "well": apart <= REPLICAS}


def resumed(miniature: bool) -> Row:
    """An ablation that was killed in a save and started again, against one that ran undisturbed: the same bits.

    In miniature it is killed at once.
    """
    with tempfile.TemporaryDirectory() as folder:
        small = Small(Path(folder))
        process = small.start("killed")
        saves = functools.partial(Path(folder, "killed").glob, "*/group-000/checkpoints/*orbax-checkpoint-tmp*/*")
        while not miniature and process.poll() is None and not any(saves()):
            time.sleep(0.01)
        process.kill()
        process.communicate()
        if process.returncode >= 0:
            return {"failed": "the ablation ended before it could be killed"}
        differs = small.resumed("killed")
    return {"well": not differs, "differs": differs}


def cases(miniature: bool) -> Mapping[str, Callable[[], Row]]:
    """Attention in every form, then training."""
    return {str(call): functools.partial(compared, call) for call in calls(miniature)} | {
        "the same bits twice": functools.partial(repeated, miniature),
        "replicas by vmap and by map": functools.partial(replicas, miniature),
        "killed and resumed": functools.partial(resumed, miniature),
    }


def _numbers(row: Row) -> tuple[float | None, ...]:
    apart = row.get("apart", {})
    return float(row["well"]), *(apart.get(path) for path in (*PATHS, "vmap")), row.get("limit")


CHECKS = Part(
    "checks",
    "Is it right?",
    "1: it is. Of attention the largest difference from the reference in float32 on the CPU, of outputs and of all "
    "gradients, as a part of the largest number; of replicas the largest difference of parameters after two steps. "
    "`-`: the path does not serve the call, or there is nothing to measure",
    cases,
    dict.fromkeys(("well", *PATHS, "vmap", "limit"), "{:.1e}") | {"well": "{:.0f}"},
    _numbers,
    DETERMINISTIC | SHARED,
)
PARTS = (CHECKS,)
