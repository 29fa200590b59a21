"""Trackers: metrics as they are written, sent on to what people watch runs with.

The truth stays in a run's files. A tracker hears of rows and scores after they are written there, and what it makes of
them lies in ``tracking/``, which nothing reads: no result, name or hash depends on it. Where it fails, the run goes on
without it. What is trained again after an interruption is heard again, under the same steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from posenc_jax import extras
from posenc_jax.files.atomic import make_directory
from posenc_jax.files.names import file_name
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.refusals import exits_as_errors
from posenc_jax.runs.files import dumps
from posenc_jax.runs.reporter import Reporter

TrackerName = Literal["tensorboard", "wandb"]
FOLDER = "tracking"

_PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb"}


class Tracked(Reporter):
    """Another reporter, and trackers beside it. Use as a context manager: leaving it closes them.

    Args:
      directory: of the run or the ablation; trackers write in its folder ``tracking``.
      part: which of its groups, where each is run by a process of its own: W&B has one writer for each of its runs.

    Raises:
      MissingExtraError: a tracker's package is missing.
    """

    def __init__(
        self, reporter: Reporter, directory: Path, names: Sequence[TrackerName], part: str | None = None
    ) -> None:
        for name in names:
            extras.check("tracking", _PACKAGES[name], f"--track {name}")
        self._folder, self._part = full(directory).absolute() / FOLDER, part
        self._trackers: dict[TrackerName, Any] = dict.fromkeys(names)  # None: not opened yet
        for event in ("note", "cell", "phase", "advance", "recorded"):  # go on to the other reporter
            setattr(self, event, getattr(reporter, event))

    def __enter__(self) -> Tracked:
        return self

    def __exit__(self, *error: object) -> None:
        for name, tracker in list(self._trackers.items()):
            if tracker is not None:
                self._guarded(name, tracker.close)

    def rows(self, cell: str, rows: list[Json]) -> None:
        """Rows of metrics, by step."""
        for row in json.loads(dumps(rows)):
            self._scalars(cell, row, "step", row["step"], row)

    def result(self, cell: str, result: Json) -> None:
        """Scores of a group, by length."""
        for replica in json.loads(dumps(result["replicas"])):
            for scores in replica["evaluation"]:
                self._scalars(cell, replica, "length", scores["length"], scores)

    def _scalars(self, cell: str, replica: Json, axis: str, at: int, found: Json) -> None:
        series = f"{cell}/seed {replica['seed']}, rate {replica['learning_rate']:g}"
        known = {"seed", "learning_rate", axis}
        values = {k: float(v) for k, v in found.items() if k not in known and type(v) in (int, float)}
        for name in list(self._trackers):
            self._guarded(name, lambda name=name: self._opened(name).scalars(series, axis, at, values))

    def _opened(self, name: TrackerName) -> Any:
        """Opened when it first hears something, so that a run that is refused leaves nothing."""
        if self._trackers[name] is None:
            make_directory(self._folder / name)
            kind = _TensorBoard if name == "tensorboard" else _WeightsAndBiases
            self._trackers[name] = kind(self._folder / name, self._part)
        return self._trackers[name]

    def _guarded(self, name: TrackerName, work: Any) -> None:
        try:
            with exits_as_errors():
                work()
        except Exception as error:  # whatever it is, it must not end the run
            del self._trackers[name]
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            self.note(f"--track {name} failed and hears no more, the run goes on: {said}")


class _TensorBoard:
    """Event files, a folder for each replica; ``tensorboard --logdir`` shows them."""

    def __init__(self, folder: Path, part: str | None) -> None:
        self._folder, self._writers = folder, dict[str, Any]()

    def scalars(self, series: str, axis: str, at: int, values: dict[str, float]) -> None:
        from tensorboardX import SummaryWriter

        if series not in self._writers:
            # What an interrupted run wrote of this step and later ones is hidden.
            folder = self._folder / file_name(series)
            self._writers[series] = SummaryWriter(str(folder), purge_step=at if axis == "step" else None)
        for name, value in values.items():
            self._writers[series].add_scalar(f"{'training' if axis == 'step' else 'by_length'}/{name}", value, at)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


class _WeightsAndBiases:
    """One run for the directory (or its part), a metric for each replica and score; ``WANDB_MODE=offline`` keeps it on
    this disk.
    """

    def __init__(self, folder: Path, part: str | None) -> None:
        import wandb

        name = " ".join(filter(None, (folder.parent.parent.name, part)))
        own = hashlib.sha256("\n".join(filter(None, (str(folder), part))).encode()).hexdigest()[:16]
        self._run: Any = wandb.init(project="posenc_jax", name=name, id=own, resume="allow", dir=str(folder))
        for axis in ("step", "length"):
            self._run.define_metric(axis, hidden=True)
            self._run.define_metric(f"by_{axis}/*", step_metric=axis)

    def scalars(self, series: str, axis: str, at: int, values: dict[str, float]) -> None:
        self._run.log({axis: at, **{f"by_{axis}/{series}/{name}": value for name, value in values.items()}})

    def close(self) -> None:
        self._run.finish()
