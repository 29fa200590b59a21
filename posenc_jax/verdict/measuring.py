"""One encoding on one table: every seed trained at every learning rate, and its best rate by its own validation."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from posenc_jax.attention import fused_paths
from posenc_jax.config import Run, config_hash
from posenc_jax.encodings import spec
from posenc_jax.encodings.slots import Slot
from posenc_jax.environments import history
from posenc_jax.results.timing import Timing, read_timing
from posenc_jax.runs.beginnings import read_environments
from posenc_jax.runs.cell import run
from posenc_jax.runs.claims import is_begun
from posenc_jax.runs.directory import cell_directory, complete, group_directories, read_group, results_by_group
from posenc_jax.runs.own_code import digests
from posenc_jax.runs.reporter import Reporter
from posenc_jax.shapes import Json
from posenc_jax.statistics import select_learning_rate
from posenc_jax.verdict.otherwise import Way, otherwise
from posenc_jax.verdict.tables import Table

RECORDED = ("version", "commit", "jax", "flax", "python", "platform", "device_kind", "device_count", "cpu")
"""What a card says of the environment of a run."""

Scored = Literal["final"] | Way


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the seeds of one encoding score on a table.

    Attributes:
      label: what the encoding is called. spec: the encoding.
      learning_rates: seed -> the one chosen for it, of those seeds that some rate trained.
      tried: learning rate -> validation score of each seed, None if diverged.
      by_length: length -> seed -> score. scores: seed -> mean over the table's ``score_lengths``. in_range: the same
        over the lengths of training. A seed that diverged, or whose score is not finite, is in neither.
      otherwise: way -> seed -> score of the same models by another way to score (`posenc_jax.verdict.otherwise`).
      diverged: the seeds that did at every learning rate.
      milliseconds_per_step: of training one model, compiling apart; None where its groups do not say.
      seconds: that all its runs took: compiling, training, evaluating, and scoring otherwise; untimed: why the times
        of its runs are not known, and the first three are not in it.
      num_parameters, num_posenc_parameters: of the model, and of the encoding in it. memory: of attention with the
        encoding on an accelerator, in words.
      config: digest of what was run: config, learning rates and own code; seeds apart.
      environments: in which its runs began and went on, each once: `RECORDED` of them.
    """

    label: str
    spec: str
    learning_rates: dict[int, float]
    tried: dict[float, dict[int, float | None]]
    by_length: dict[int, dict[int, float]]
    scores: dict[int, float]
    in_range: dict[int, float]
    otherwise: dict[Way, dict[int, float]]
    diverged: tuple[int, ...]
    milliseconds_per_step: float | None
    seconds: float
    num_parameters: int
    num_posenc_parameters: int
    memory: str
    environments: tuple[Json, ...] = ()
    untimed: tuple[str, ...] = ()
    config: str = ""

    def scored(self, way: Scored) -> dict[int, float]:
        """Seed -> score, after the last step or otherwise."""
        return self.scores if way == "final" else self.otherwise.get(way, {})


def refusal(table: Table, slot: Slot, label: str) -> str:
    """Why the table cannot take an encoding, such as one that reads two position axes where there is one; or ""."""
    try:
        table.cell(slot, label, table.run.seeds)
    except ValueError as error:
        return str(error)
    return ""


def measure(
    table: Table,
    slot: Slot,
    label: str,
    directory: Path,
    *,
    seeds: tuple[int, ...],
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Measured:
    """Runs what is not there yet, in a folder of ``directory`` by the config's hash: verdicts share it.

    Every seed is trained at every learning rate of the table's grid and has the one whose validation score within the
    training lengths is best for itself (`select_learning_rate`); the lengths beyond have no part in it. So seeds are
    independent repeats of "choose a rate, then train", and the interval over them holds the luck of the choice: with
    one rate for all seeds, chosen on a few, an encoding could come out better than itself.

    clock: in seconds, for what is timed here; without one it takes no time.
    """
    cell = table.cell(slot, label, seeds)
    place = cell_directory(_folder(directory, table, cell), cell)
    results = run(cell, place, reporter=reporter, stop=stop)
    found = _measured(table, cell, results)
    others, seconds = otherwise(
        table, cell, place, found.learning_rates, found.scores, reporter=reporter, stop=stop, clock=clock
    )
    groups = [group for group, _ in results_by_group(place, cell)]  # others are of seeds that nobody asks for here
    found = dataclasses.replace(found, otherwise=others, environments=_environments(groups), seconds=seconds)
    return _timed(found, *read_timing(place, config_hash(cell), [group.name for group in groups]))


def histories(
    table: Table, slot: Slot, label: str, directory: Path, seeds: tuple[int, ...]
) -> tuple[dict[str, Json], bool]:
    """In which environments the groups that are there were computed, by the group's directory, and whether they are
    all.
    """
    cell = table.cell(slot, label, seeds)
    place = cell_directory(_folder(directory, table, cell), cell)
    wanted = set(cell.replicas)
    groups = [group for group in group_directories(place) if wanted & set(read_group(group).replicas)]
    begun = {str(group): history(read_environments(group)) for group in groups if is_begun(group)}
    return begun, complete(place, cell)


def _folder(directory: Path, table: Table, cell: Run) -> Path:
    """Of a table; code of the user's own has one by its digest, so that a changed encoding is another one."""
    own = digests(cell)
    return directory / table.name / f"own-{_digest(own)}" if own else directory / table.name


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]


def validation_of(cell: Run, results: Iterable[Json]) -> dict[float, dict[int, float | None]]:
    """Learning rate -> seed -> validation score, None where the replica diverged."""
    found: dict[float, dict[int, float | None]] = {rate: dict.fromkeys(cell.seeds) for rate in cell.learning_rates}
    for replica in _replicas(cell, results):
        if replica["diverged_at"] is None:
            found[replica["learning_rate"]][replica["seed"]] = replica["validation"][cell.task.validation_metric]
    return found


def _measured(table: Table, cell: Run, results: list[Json]) -> Measured:
    tried = validation_of(cell, results)
    chosen = {
        seed: rate
        for seed in cell.seeds
        if (rate := select_learning_rate({rate: {seed: own[seed]} for rate, own in tried.items()})) is not None
    }
    by_length: dict[int, dict[int, float]] = {length: {} for length in cell.evaluation.lengths}
    for replica in _replicas(cell, results):
        if chosen.get(replica["seed"]) != replica["learning_rate"]:
            continue
        for row in replica["evaluation"]:
            score = row[table.metric]
            if score is not None and math.isfinite(score):
                by_length[row["length"]][replica["seed"]] = score
    within = tuple(n for n in cell.evaluation.lengths if cell.task.range_of(n) == "within")
    return Measured(
        label=cell.label,
        spec=spec(cell.posenc),
        learning_rates=chosen,
        tried=tried,
        by_length=by_length,
        scores=table.seed_means(by_length, table.score_lengths),
        in_range=table.seed_means(by_length, within),
        otherwise={},
        diverged=tuple(seed for seed in cell.seeds if seed not in chosen),
        milliseconds_per_step=None,
        seconds=0.0,
        num_parameters=results[0]["num_parameters"],
        num_posenc_parameters=results[0]["num_posenc_parameters"],
        memory="O(T), fused" if fused_paths(cell.posenc) else "O(T), in blocks",
        config=_digest([config_hash(cell), cell.learning_rates, digests(cell)]),
    )


def _environments(groups: Iterable[Path]) -> tuple[Json, ...]:
    """Those of groups of a run, in their order."""
    records = map(read_environments, groups)
    parts = (part for record in records for part in (record["began"], *record["resumed"]) if part)
    return distinct({name: part.get(name) for name in RECORDED} for part in parts)


def distinct(environments: Iterable[Json]) -> tuple[Json, ...]:
    """Each once, in order."""
    return tuple({json.dumps(own, sort_keys=True): own for own in environments}.values())


def _timed(measured: Measured, timing: Timing | None, problems: list[str]) -> Measured:
    """What its runs took, beside what they scored."""
    if timing is None:
        return dataclasses.replace(measured, untimed=tuple(problems))
    training = timing.measured.get("train")
    return dataclasses.replace(
        measured,
        milliseconds_per_step=1e3 * training.seconds / training.steps if training else None,
        seconds=measured.seconds + timing.compiling + sum(phase.seconds for phase in timing.measured.values()),
    )


def _replicas(cell: Run, results: Iterable[Json]) -> list[Json]:
    asked = set(cell.replicas)
    replicas = (replica for result in results for replica in result["replicas"])
    return [replica for replica in replicas if (replica["seed"], replica["learning_rate"]) in asked]
