"""Calls of the training program: what they say is read and written while the next one computes."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc_jax.config import Run
from posenc_jax.data.tasks.base import Task
from posenc_jax.files.shapes import Json
from posenc_jax.runs.directory import Group
from posenc_jax.runs.files import Log
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.timing import Timings
from posenc_jax.training.processes import host

_LOGGED = ("loss", "accuracy", "exact_match", "gradient_norm")
_VALIDATED = ("loss", "accuracy", "exact_match")


class Calls:
    """The calls of a group whose metrics are not read yet, and the log of those that are.

    Devices have the next call before anybody waits for the metrics of the one before, so they never wait for the host.

    Attributes:
      alive: whether a replica goes on, as far as is read.
    """

    def __init__(
        self, config: Run, group: Group, log: Log, reporter: Reporter, timings: Timings, *, alive: bool = True
    ) -> None:
        self.alive = alive
        self._config, self._group, self._log, self._reporter, self._timings = config, group, log, reporter, timings
        self._unread: deque[tuple[int, Any]] = deque()
        self._newest: tuple[int, Any] = (0, None)

    def add(self, step: int, metrics: Any) -> None:
        """A call that ends with ``step`` was given to the devices."""
        self._unread.append((step, metrics))

    def read(self, but: int = 0) -> None:
        """Waits for all calls but the newest so many, and writes their rows.

        Raises:
          ValueError: as `refuse_foreign_tokens`.
        """
        while len(self._unread) > but:
            step, metrics = self._unread.popleft()
            with self._timings.waiting():
                found = host(metrics)
            refuse_foreign_tokens(self._config.task, found)
            self.alive = bool((found["diverged_at"] < 0).any())
            self._newest = step, found
            if step % self._config.training.log_every == 0:
                self._write({name: found[name] for name in _LOGGED})
            self._reporter.advance(self._config.training.steps_at_once, f"loss {float(np.mean(found['loss'])):.4f}")

    def validated(self, scores: Mapping[str, np.ndarray]) -> None:
        """Writes the scores of a validation after the newest call, which has been read."""
        self._write({f"validation_{name}": scores[name] for name in _VALIDATED})

    def _write(self, values: Mapping[str, np.ndarray]) -> None:
        step, metrics = self._newest
        since = step - self._config.training.steps_at_once
        rows: list[Json] = [
            {"step": step, "seed": seed, "learning_rate": rate, **{name: value[i] for name, value in values.items()}}
            for i, (seed, rate) in enumerate(self._group.replicas)
            if metrics["diverged_at"][i] < 0 or metrics["diverged_at"][i] >= since
        ]
        if rows:
            self._log.append(rows)
            self._reporter.rows(f"{self._config.table} {self._config.label}", rows)


def refuse_foreign_tokens(task: Task, metrics: dict[str, np.ndarray]) -> None:
    """ValueError when training saw a token or target beyond those that its task declares."""
    for name, limit in (("largest_token", task.vocab_size), ("largest_target", task.num_classes)):
        value = int(metrics[name].max())
        if value >= limit:
            raise ValueError(
                f"task {task.name!r} made {name.replace('_', ' ')} {value}, beyond the {limit} that it declares: "
                f"tokens run from 0 to {limit - 1}; raise its "
                f"{'vocab_size' if name == 'largest_token' else 'num_classes'}"
            )
