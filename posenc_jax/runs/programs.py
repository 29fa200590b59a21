"""The programs of a config on one group: compiled when they are first called, and timed."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run, identity, to_json
from posenc_jax.runs.directory import Group
from posenc_jax.runs.plan import Plan
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.supply import Supply
from posenc_jax.runs.timing import Timings
from posenc_jax.training.batches import Bucket
from posenc_jax.training.generation import decode_chunk
from posenc_jax.training.processes import host
from posenc_jax.training.replicas import Program, make_mesh, put_state
from posenc_jax.training.step import evaluate_length, train_call, validate


@dataclasses.dataclass(frozen=True)
class KnownPrograms:
    """Programs of runs before, which others take over.

    Attributes:
      programs: by their run but for its names, replicas and start, their name, and the size of the group.
      executables: of `Program`, for runs whose programs differ in tables; None where there are no others.
    """

    programs: dict[Any, Program] = dataclasses.field(default_factory=dict)
    executables: dict[Any, Any] | None = None


class Programs:
    """The programs of a group.

    Args:
      known: those before it; new ones are added.
      reporter: hears when a program is compiled.
    """

    def __init__(
        self,
        config: Run,
        supply: Supply,
        plan: Plan,
        group: Group,
        known: KnownPrograms,
        reporter: Reporter,
    ) -> None:
        self._config, self._supply, self._group, self._known = config, supply, group, known
        self._reporter, self._nameless = reporter, _nameless(config)
        self.mesh = make_mesh(config.execution, group.size)
        self.timings = Timings(group, plan, self.mesh.size)
        self._split = self.mesh if config.execution.split else None

    def replicas(self, state: Any) -> Any:
        """Parameters and seeds of a state of the group, wherever it lies, for `validate`, `evaluate` and `decode`."""
        return put_state({"params": state["params"], "seed": state["seed"]}, self.mesh)

    def train(self, state: Any, fed: Any) -> tuple[Any, Any]:
        """Gives the devices a call of training: the state after it, in the place of ``state``, and its metrics."""
        name = "train" if fed is None else f"train@{jax.tree.leaves(fed)[0].shape[2]}"

        def call(state: Any, fed: Any, data: Any) -> Any:
            return train_call(self._config, self._split, state, fed, data)

        data = self._arrays
        program = self._program(name, name, call, state, data, fed=fed, donate=True)
        with self.timings.waiting():  # a CPU may take a call only when it is done with the one before
            found: tuple[Any, Any] = program(state, data, fed)
        return found

    def validate(self, replicas: Any) -> dict[str, np.ndarray]:
        """The scores of a validation."""

        def scores(replica: Any, _: None, data: Any) -> Any:
            return validate(self._config, replica["params"], replica["seed"], data, self._split)

        found: dict[str, np.ndarray] = self._run("validate", "validate", scores, replicas, self._arrays)
        return found

    def evaluate(self, bucket: Bucket, length: int, replicas: Any) -> dict[str, np.ndarray]:
        """The scores at a length of a bucket."""

        def scores(replica: Any, _: None, shared: tuple[Any, Any]) -> Any:
            length, data = shared
            return evaluate_length(self._config, bucket, replica["params"], replica["seed"], length, data, self._split)

        title, shared = f"evaluate@{bucket.max_length}", (np.int32(length), self._arrays)
        found: dict[str, np.ndarray] = self._run(bucket, title, scores, replicas, shared)
        return found

    def decode(self, length: int, first: int, replicas: Any) -> np.ndarray:
        """``[R, CHUNK, T]`` the outputs for a chunk of test examples of one length."""

        def outputs(replica: Any, _: None, shared: tuple[Any, Any]) -> Any:
            return decode_chunk(self._config, length, replica["params"], replica["seed"], shared, self._split)

        title = f"decode@{length}"
        found: np.ndarray = self._run(title, title, outputs, replicas, (np.int32(first), self._arrays))
        return found

    @property
    def _arrays(self) -> Any:
        return self._supply.arrays(self.mesh)

    def _run(self, name: Any, title: str, fn: Callable[..., Any], replicas: Any, shared: Any) -> Any:
        return host(self._program(name, title, fn, replicas, shared)(replicas, shared))

    def _program(
        self, name: Any, title: str, fn: Callable[..., Any], replicas: Any, shared: Any, **given: Any
    ) -> Program:
        known = self._known
        key = (self._nameless, name, self._group.size)
        if key not in known.programs:
            with self.timings.compiling(title):
                execution = self._config.execution
                known.programs[key] = Program(
                    title, fn, execution, self.mesh, replicas, shared, executables=known.executables, **given
                )
            self._reporter.advance(0)
        return known.programs[key]


def _nameless(run: Run) -> Run:
    """The run without what no program depends on."""
    run = dataclasses.replace(run, label="a run", table="any", note="", init_from=None)
    return dataclasses.replace(run, seeds=(0,), learning_rates=(1.0,))


def likeness(run: Run) -> str:
    """A word that runs share whose programs may: their config but for fractions, which mostly make tables."""
    return json.dumps(_whole(identity(to_json(dataclasses.replace(run, init_from=None)))))


def _whole(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _whole(value) for name, value in data.items()}
    return list(map(_whole, data)) if isinstance(data, list) else None if isinstance(data, float) else data
