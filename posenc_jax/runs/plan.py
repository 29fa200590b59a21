"""The costs of a run, before anything is rented, compiled or written: a pure function of its config and devices."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from posenc_jax.config import Run
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.preflight import shortage
from posenc_jax.runs.targets import Target
from posenc_jax.training.batches import training_batch
from posenc_jax.training.layout import GroupLayout, check_mesh, in_one_memory, layout_of, memory_in_group
from posenc_jax.training.memory import MemoryUse, choices, parameters_of
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
      attention: the ways in which it is computed in training, each with its reason.
      utilisation: the part of the peak that hours are told by.
    """

    run: Run
    target: Target
    attention: tuple[str, ...]
    utilisation: float

    @functools.cached_property
    def layout(self) -> GroupLayout:
        """Its groups."""
        return layout_of(self.run, len(self.run.replicas), self.target.devices)

    @property
    def used(self) -> int:
        """Devices of the target that compute."""
        return self.layout.rows * self.run.execution.data * self.run.execution.model

    @functools.cached_property
    def parameters(self) -> int:
        """Parameters of one replica, the encodings' included."""
        return parameters_of(self.run)

    @functools.cached_property
    def memory(self) -> MemoryUse:
        """The memory of one device (on CPU of the machine), by the formula of `memory_of`."""
        return memory_in_group(self.run, self.layout.size, self.target.devices)

    @functools.cached_property
    def shortage(self) -> str | None:
        """A line about what does not fit."""
        return shortage(self.run, self.target.devices)

    @functools.cached_property
    def step(self) -> Work:
        """A training step of one replica."""
        return of_step(self.run)

    @functools.cached_property
    def work(self) -> dict[str, Work]:
        """Phase -> its work for one replica in the whole run."""
        run, training = self.run, self.run.training
        # The last step is always validated.
        validations = -(-training.steps // training.validate_every) if training.validate_every else 1
        return {
            "train": self.step * training.steps,
            "validate": of_validation(run) * validations,
            **self.measuring(run.evaluation.lengths),
        }

    def measuring(self, lengths: Sequence[int]) -> dict[str, Work]:
        """The phases of measuring one replica at these lengths."""
        run, devices = self.run, self.target.devices
        _, at_once = in_one_memory(run.execution, self.layout.size, devices)
        return {
            "evaluate": sum((of_length(run, length, at_once, devices.backend) for length in lengths), Work()),
            "decode": sum((of_decoding(run, length) for length in lengths), Work()),
        }

    @property
    def peak(self) -> float | None:
        """Operations a second of one device in the dtype of the model; None where nobody knows."""
        return self.target.chip.peak.get(self.run.model.dtype)

    @property
    def operations(self) -> int:
        """Operations of all replicas that are wanted."""
        return sum(work.operations for work in self.work.values()) * self.layout.replicas

    def seconds(self, phase: str) -> float | None:
        """Seconds of a phase of all groups."""
        return self.seconds_of(self.work[phase])

    def seconds_of(self, work: Work) -> float | None:
        """Seconds of work that every replica does, of all groups: a row of devices does one replica after the other."""
        if self.peak is None:
            return None
        speed = self.peak * self.utilisation * self.run.execution.data * self.run.execution.model
        return self.layout.groups * self.layout.on_each * work.operations / speed

    @property
    def hours(self) -> float | None:
        """Hours of all phases."""
        found = [self.seconds(phase) for phase in PHASES]
        return None if None in found else sum(s for s in found if s is not None) / 3600


def plan_of(run: Run, target: Target, utilisation: float = UTILISATION) -> Plan:
    """The plan of a run on a target.

    Raises:
      RefusedError: ``execution.data`` and ``execution.model`` do not fit the devices of the target, or
        ``model.attention`` names a way that cannot serve the run there.
    """
    rows = run.training.batch_size // run.training.microbatches // run.execution.data
    try:
        check_mesh(run.execution, target.devices)
        ways = choices(run, training_batch(run, rows), target.devices.backend)
    except ValueError as error:
        raise RefusedError(f"{target.name}: {error}") from None
    attention = tuple(dict.fromkeys(str(choice) for of_stack in ways.values() for choice in of_stack))
    return Plan(run, target, attention, utilisation)


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
