"""Programs of a run compiled by XLA for devices that need not be here, which says what fits and which kernels it
chooses. Only times need the device itself.
"""

import contextlib
import dataclasses
import re
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractDevice, AbstractMesh, Mesh, use_abstract_mesh

from posenc_jax.attention.choice import backend
from posenc_jax.config import Run
from posenc_jax.data.text.base import TextTask
from posenc_jax.encodings.interface.base import Params
from posenc_jax.models import Greedy, Streams, decode
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.state import abstract_state
from posenc_jax.runs.targets import Target, chips
from posenc_jax.training.batches import buckets
from posenc_jax.training.layout import check_mesh, layout_of
from posenc_jax.training.precision import at_precision
from posenc_jax.training.replicas import lowered, mesh_of
from posenc_jax.training.step import evaluate_length, model_of, train_call

_NEW_TOKENS = 4
# What fused attention calls; exported programs with them are only read.
_FMHA = ("Softmax", "SoftmaxBackward", "ScaleBiasSoftmax", "ScaleBiasSoftmaxBackward")
KERNELS = ("tpu_custom_call", "__gpu$xla.gpu.triton", "mosaic_gpu_v2", *(f"__cudnn$fmha{name}" for name in _FMHA))


@dataclasses.dataclass(frozen=True)
class Compiled:
    """XLA's facts about one program on one device.

    Attributes:
      seconds: of compiling.
      arguments, temporaries, peak: bytes of one device.
      custom_calls: kernel -> how often it is called.
    """

    seconds: float
    arguments: int
    temporaries: int
    peak: int
    custom_calls: dict[str, int]


def functions(run: Run, mesh: Mesh | None = None) -> dict[str, Callable[[Any], Any]]:
    """The programs "train", "evaluate" and (of decoders) "decode" of one replica, as functions of its state.

    Args:
      mesh: that of an execution whose batches or matrices are split.
    """
    if isinstance(run.task, TextTask):
        raise RefusedError(f"{run.table} {run.label}: programs of a task on text are compiled with its corpus only")

    def evaluate(state: Any) -> Any:
        (bucket,) = buckets(run, run.evaluation.lengths[-1:], backend=backend())
        return evaluate_length(run, bucket, state["params"], state["seed"], jnp.int32(bucket.max_length), None, mesh)

    found: dict[str, Callable[[Any], Any]] = {"train": lambda state: train_call(run, mesh, state)}
    if run.evaluation.lengths:
        found["evaluate"] = evaluate
    if run.task.model_kind == "decoder_only":
        found["decode"] = lambda state: _decoded(run, state["params"])
    return found


@at_precision
def _decoded(run: Run, params: Params) -> Any:
    prompt, ids = jnp.ones((2, 3), jnp.int32), jnp.arange(2)
    streams = Streams(positions=jax.random.key(0))
    call: dict[str, Any] = dict(max_new_tokens=_NEW_TOKENS, eos=1, pad=0, example_ids=ids, streams=streams)
    return decode(model_of(run, params), prompt, Greedy(), **call).tokens


def lowered_for(run: Run, target: Target, name: str) -> Any:
    """One program of a group of the run, laid on a target as its plan has it: a `jax.stages.Lowered`.

    Raises:
      RefusedError: the target has too few devices, or there is no compiler for it here.
    """
    try:
        check_mesh(run.execution, target.devices)
    except ValueError as error:
        raise RefusedError(f"{target.name}: {error}") from None
    layout = layout_of(run, len(run.replicas), target.devices)
    run = dataclasses.replace(run, execution=dataclasses.replace(run.execution, mode=layout.mode))
    mesh = mesh_of(devices_of(target), run.execution, layout.rows)
    program, state = functions(run, mesh if run.execution.split else None)[name], abstract_state(run, layout.size)
    with traced_for(target.chip.platform, *target.chip.device_kinds[:1]):
        found, *_ = lowered(lambda s, _, __: program(s), run.execution, mesh, state, None, donate=name == "train")
    return found


def compiled(program: Any) -> Compiled:
    """Compiles a program of `lowered_for` and returns XLA's facts about it."""
    begun = time.perf_counter()
    executable = program.compile()
    memory = executable.memory_analysis()
    calls = re.findall(r'custom_call_target="([^"]+)"', executable.as_text() or "")
    arguments, temporaries = int(memory.argument_size_in_bytes), int(memory.temp_size_in_bytes)
    return Compiled(
        round(time.perf_counter() - begun, 1),
        arguments,
        temporaries,
        arguments + temporaries + int(memory.output_size_in_bytes) - int(memory.alias_size_in_bytes),
        {call: calls.count(call) for call in sorted(set(calls))},
    )


@dataclasses.dataclass(frozen=True)
class _Described(AbstractDevice):
    """A device that is not here: with what Mosaic GPU asks of one, and by default takes for that of an H100."""

    compute_capability: str | None = None


def traced_for(platform: str, kind: str = "") -> contextlib.AbstractContextManager[Any]:
    """Inside, a program is traced for a kind of device ("": the first one of `chips`), by which it is chosen how
    attention is computed, and which kernels for GPUs ask for. That is a mesh without axes, of which only the device is
    read.
    """
    kind = kind or next((chip.device_kinds[0] for chip in chips().values() if chip.platform == platform), platform)
    of_kind = (chip.compiler.get("cuda_compute_capability") for chip in chips().values() if kind in chip.device_kinds)
    capability = next(of_kind, None)
    device = _Described(
        device_kind=kind,
        num_cores=None,
        platform="gpu" if platform == "cuda" else platform,
        compute_capability=f"{capability['major']}.{capability.get('minor', 0)}" if capability else None,
    )
    return use_abstract_mesh(AbstractMesh((), (), abstract_device=device))


def devices_of(target: Target) -> list[Any]:
    """Devices as XLA's compiler for them sees them."""
    from jax.experimental import topologies

    chip = target.chip
    if chip.name == "here":
        return list(jax.devices()[: target.count])
    try:
        if chip.platform == "tpu":  # a single chip is one of a machine
            shape = target.shape if target.count > 1 else "2x2"
            return list(topologies.get_topology_desc(f"{chip.name}:{shape}", platform="tpu").devices)
        described = topologies.get_topology_desc(
            "", platform="cuda", target_config=_gpu(target), topology=f"1x{target.count}x1"
        )
        return list(described.devices)
    except Exception as error:
        package = "libtpu" if chip.platform == "tpu" else "jax[cuda12]"
        raise RefusedError(
            f"{target.name} cannot be compiled for here ({' '.join(str(error).split())[:200]}): install {package}, or "
            "use scripts/compile_check, which does"
        ) from error


def _gpu(target: Target) -> str:
    """A GpuTargetConfigProto as text: what is the same for all chips, and the entry of this one."""
    chip = target.chip
    common = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "threads_per_core_limit": 2048,
        "shared_memory_per_block": 49152,
        "registers_per_core_limit": 65536,
        "registers_per_block_limit": 65536,
        "block_dim_limit_x": 2147483647,
        "block_dim_limit_y": 65535,
        "block_dim_limit_z": 65535,
        "device_memory_size": chip.memory,
    }
    return (
        f'gpu_device_info {{ {_proto(common | chip.compiler)} }} platform_name: "CUDA" '
        f'dnn_version_info {{ major: 9 minor: 8 }} device_description_str: "{chip.device_kinds[0]}"'
    )


def _proto(fields: dict[str, Any]) -> str:
    return " ".join(f"{k} {{ {_proto(v)} }}" if isinstance(v, dict) else f"{k}: {v}" for k, v in fields.items())
