"""Memory of one attention call, with all its gradients, by length: the kernel, blocks, and the dense reference."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp

from compiling.programs import compiled, devices_of, traced_for
from posenc_jax.attention import attend
from posenc_jax.encodings import Dims, Geometry, init_slot, layer_params, parse
from posenc_jax.runs.targets import Target

PATHS = ("kernel", "blockwise", "dense")
LENGTHS = (1024, 2048, 4096, 8192, 16384)
HEADS, HEAD_DIM, ENCODING, DTYPE = 8, 64, "t5", "bfloat16"

HEAD = f"""\
## Memory of attention by length

One causal call of {HEADS} heads of {HEAD_DIM} in {DTYPE} with the learned bias of T5, one sequence, and the
gradients of queries, keys, values and bias: what XLA's compiler plans of one device besides the arguments. Written by
`scripts/compile_check --curves`. "kernel" and "blockwise" grow with the length, "dense" with its square. What lies in
a TPU's memory on the chip (128 MiB on a v5e) is in no column: the shorter the sequence the more of it does, so
blockwise grows faster there than what is taken. Largest are the tiles of biases and what they are made from, 2 KiB a
token and head in float32 each, some of them at a time.
"""


def points() -> list[str]:
    """``kernel@1024`` and so on, the long ones last."""
    return [f"{path}@{length}" for length in LENGTHS for path in PATHS]


def lowered_point(target: Target, point: str) -> Any:
    """The program of one point: a `jax.stages.Lowered`."""
    path, _, length = point.partition("@")
    return lowered_attention(target, path, int(length))


def measured(program: Any) -> dict[str, Any]:
    """XLA's facts about a point's program; ``problem`` where it cannot be compiled."""
    try:
        said = compiled(program)
    except (ValueError, jax.errors.JaxRuntimeError) as error:
        return {"temporaries": None, "problem": _reason(error)}
    return {"seconds": said.seconds, "temporaries": said.temporaries, "calls": said.custom_calls, "problem": ""}


def lowered_attention(target: Target, path: Any, length: int) -> Any:
    """The program of value and gradients for a device of the target: a `jax.stages.Lowered`."""
    sharding = jax.sharding.SingleDeviceSharding(devices_of(target)[0])
    dims = Dims(HEADS * HEAD_DIM, num_heads=HEADS, num_kv_heads=HEADS, head_dim=HEAD_DIM, num_layers=1, max_len=length)
    encodings, geometry = parse(ENCODING), Geometry.of_length(length, num_heads=HEADS, causal=True)

    def loss(q: Any, k: Any, v: Any, params: Any) -> Any:
        out: Any = attend(q, k, v, encodings, params, geometry, path=path)
        return out.astype(jnp.float32).sum()

    params = jax.eval_shape(lambda: layer_params(encodings, init_slot(jax.random.key(0), encodings, dims), 0))
    side = jax.ShapeDtypeStruct((1, HEADS, length, HEAD_DIM), DTYPE)
    arguments = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), (side, side, side, params)
    )
    with traced_for(target.chip.platform, *target.chip.device_kinds[:1]):
        return jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3))).lower(*arguments)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    needed = re.search(r"Used ([\d.]+[KMG]) of ([\d.]+[KMG]) hbm", text)
    if needed is None and (needed := re.search(r"HLO temporaries \(([\d.]+[KMG])\) exceeds", text)):
        return f"needs {needed[1]}"
    return f"needs {needed[1]} of {needed[2]}" if needed else text[:120]


def section(rows: list[dict[str, Any]]) -> str:
    """Markdown: a table for each target, a line for each length."""
    parts = [HEAD] if rows else []
    for target in dict.fromkeys(row["target"] for row in rows):
        own = {row["point"]: row for row in rows if row["target"] == target}
        versions = sorted({", ".join(f"{k} {v}" for k, v in row["versions"].items()) for row in own.values()})
        lines = [f"### {target}\n\n{'; '.join(versions)}.\n", f"| T | {' | '.join(PATHS)} |", "|--:|--:|--:|--:|"]
        for length in LENGTHS:
            entries = [_entry(own.get(f"{path}@{length}")) for path in PATHS]
            lines.append(f"| {length:,} | {' | '.join(entries)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _entry(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return row["problem"] or f"{row['temporaries'] / 2**20:,.1f} MiB"
