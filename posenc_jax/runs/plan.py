"""The costs of a run, before anything is rented, compiled or written: a pure function of its config and devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from posenc_jax.config import Run
from posenc_jax.runs.checkpoint import kept
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.preflight import shortage
from posenc_jax.runs.targets import Target
from posenc_jax.training.attention_choice import choices
from posenc_jax.training.batches import training_batch
from posenc_jax.training.layout import Layout, check_mesh, in_one_memory, layout_of, memory_in_group
from posenc_jax.training.memory import Memory, encoding_parameters_of, parameters_of, state_size
from posenc_jax.training.operations import Work, of_decoding, of_length, of_step, of_validation

UTILISATION = 0.3
"""Of the peak, where nothing else is said: what matrices of a few hundred rows reach on CPUs; small models reach less
on accelerators.
"""

PHASES = ("train", "validate", "evaluate", "decode")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The costs of a run on a target.

    Attributes:
      layout: its groups. parameters, encoding_parameters: of one replica.
      step: one training step of one replica. work: phase -> that of one replica in the whole run.
      attention: the ways in which it is computed in training, each with its reason.
      memory: of one device (on CPU of the machine), by the formula of `memory_of`. compiled: what the compiled
        program of training takes of it, None where it is not compiled.
      checkpoint: bytes of one checkpoint of a group. checkpoints: bytes of all that stay on disk.
      utilisation: the part of the peak that hours are told by.
      shortage: what does not fit and which field makes it fit, or None.
    """

    run: Run
    target: Target
    layout: Layout
    parameters: int
    encoding_parameters: int
    step: Work
    work: dict[str, Work]
    attention: tuple[str, ...]
    memory: Memory
    checkpoint: int
    checkpoints: int
    utilisation: float
    shortage: str | None
    compiled: int | None = None

    @property
    def peak(self) -> float | None:
        """Operations a second of one device in the dtype of the model; None where nobody knows."""
        return self.target.chip.peak.get(self.run.model.dtype)

    @property
    def operations(self) -> int:
        """Operations of all replicas that are wanted."""
        return sum(work.operations for work in self.work.values()) * self.layout.replicas

    def seconds(self, phase: str) -> float | None:
        """Seconds of a phase of all groups: a row of devices does one replica after the other."""
        if self.peak is None:
            return None
        execution = self.run.execution
        speed = self.peak * self.utilisation * execution.data * execution.model
        return self.layout.groups * self.layout.on_each * self.work[phase].operations / speed

    @property
    def hours(self) -> float | None:
        """Hours of all phases."""
        found = [self.seconds(phase) for phase in PHASES]
        return None if None in found else sum(s for s in found if s is not None) / 3600


def plan_of(
    run: Run, target: Target, utilisation: float = UTILISATION, compiled: Callable[[Run, Target], int] | None = None
) -> Plan:
    """The plan of a run on a target.

    compiled: gives the bytes that training takes of one device (of the machine on CPU) by its compiled program; what
    does not fit, and what would, is then told by the formula times what it is wrong by.

    Raises:
      RefusedError: ``execution.data`` and ``execution.model`` do not fit the devices of the target, or
        ``model.attention`` names a way that cannot serve the run there.
    """
    devices, training = target.devices, run.training
    rows = training.batch_size // training.microbatches // run.execution.data
    try:
        check_mesh(run.execution, devices)
        ways = choices(run, training_batch(run, rows), devices.backend)
    except ValueError as error:
        raise RefusedError(f"{target.name}: {error}") from None
    layout = layout_of(run, len(run.replicas), devices)
    _, at_once = in_one_memory(run.execution, layout.size, devices)
    lengths, step = run.evaluation.lengths, of_step(run)
    # The last step is always validated.
    validations = -(-training.steps // training.validate_every) if training.validate_every else 1
    every = training.checkpoint_every or training.steps
    saved = sorted({*range(every, training.steps, every), training.steps})
    parameters, encoding = parameters_of(run), encoding_parameters_of(run)
    checkpoint = state_size(run) * layout.size
    memory_of_group, found = memory_in_group(run, layout.size, devices), None
    correction = 1.0
    if compiled is not None:
        found = compiled(run, target)
        correction = found / (memory_of_group.state + memory_of_group.step)
    on_cpu, memory = devices.on_cpu, devices.memory
    return Plan(
        run,
        target,
        layout,
        parameters,
        encoding,
        step,
        {
            "train": step * training.steps,
            "validate": of_validation(run) * validations,
            "evaluate": sum((of_length(run, length, at_once) for length in lengths), Work()),
            "decode": sum((of_decoding(run, length) for length in lengths), Work()),
        },
        tuple(dict.fromkeys(str(choice) for of_stack in ways.values() for choice in of_stack)),
        memory_of_group,
        checkpoint,
        layout.groups * len(kept(saved, training.keep_every)) * checkpoint,
        utilisation,
        shortage(
            run,
            devices,
            host=memory if on_cpu else None,
            device=None if on_cpu else memory,
            correction=correction,
        ),
        found,
    )


def in_record(plan: Plan) -> dict[str, Any]:
    """The plan as JSON, to stand beside what is measured."""
    return {
        "target": plan.target.chip.title,
        "devices": plan.target.count,
        "utilisation": plan.utilisation,
        "peak_per_device": plan.peak,
        "operations_per_step": plan.step.operations,
        "places_per_step": plan.step.tokens,
        "operations": plan.operations,
        "attention": list(plan.attention),
        "memory_bytes": plan.memory.peak,
        "seconds": {phase: plan.seconds(phase) for phase in PHASES},
    }
