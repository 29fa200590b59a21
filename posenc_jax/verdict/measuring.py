"""One encoding on one table: every seed trained at every learning rate, and its best rate by its own validation."""

import dataclasses
import functools
import math
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from posenc_jax.attention import fused_paths
from posenc_jax.config import Run, config_hash
from posenc_jax.encodings import spec
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.environments import history
from posenc_jax.files.checksums import sha256_of
from posenc_jax.files.shapes import Json
from posenc_jax.results.averages import seed_means
from posenc_jax.results.record import ReplicaScores
from posenc_jax.results.timing import Timing, read_timing
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import complete, groups_with, read_stored, results_by_group
from posenc_jax.runs.identity import is_begun, read_environments
from posenc_jax.runs.own_code import digests
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict.cells import JudgedCell, environments_of
from posenc_jax.verdict.finding import TIED, Scored
from posenc_jax.verdict.other_scores import other_scores
from posenc_jax.verdict.question import KeptQuestion
from posenc_jax.verdict.tables import Table

RECORDED = ("version", "commit", "jax", "flax", "python", "platform", "device_kind", "device_count", "cpu")
"""What a card says of the environment of a run."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured(JudgedCell):
    """A cell of a verdict.

    Attributes:
      by_metric: of the table's own metric.
      scores: seed -> mean over the table's ``score_lengths``.
      in_range: the same over the lengths of training. A seed that diverged, or whose score is not finite, is in
        neither.
      otherwise: way -> seed -> score of the same models by another way to score (`posenc_jax.verdict.other_scores`),
        and of the models at the last of the learning rates that tie in validation.
      milliseconds_per_step: of training one model, excluding compilation, the median of its groups: processor time on
        CPUs; None where its groups do not say.
      time_spread: that of its slowest group, divided by that of its fastest; None of fewer than two.
      seconds: compiling, training, evaluating, and scoring otherwise; untimed: why the times of its runs are not known,
        and the first three are not in it.
      memory: of attention with the encoding on an accelerator, in words.
      question: digest of what was run: config, learning rates and own code; seeds apart.
      environments: in which its runs began and went on, each once: `RECORDED` of them.
    """

    seconds: float
    memory: str
    question: str
    scores: Mapping[int, float] = dataclasses.field(default_factory=dict)
    in_range: Mapping[int, float] = dataclasses.field(default_factory=dict)
    otherwise: Mapping[Scored, Mapping[int, float]] = dataclasses.field(default_factory=dict)
    milliseconds_per_step: float | None = None
    time_spread: float | None = None
    environments: tuple[Json, ...] = ()
    untimed: tuple[str, ...] = ()

    @property
    def by_length(self) -> Mapping[int, Mapping[int, float]]:
        """Length -> seed -> score."""
        (found,) = self.by_metric.values()
        return found

    def scored(self, way: Scored) -> Mapping[int, float]:
        """Seed -> score, after the last step or otherwise; the same where no rates tie."""
        return self.otherwise.get(way, self.scores if way in ("final", TIED) else {})


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
    otherwise: bool = True,
) -> Measured:
    """Runs what is not there yet, in a folder of ``directory`` by the config's hash: verdicts share it.

    Every seed is trained at every learning rate of the table's grid and has the one whose validation score within the
    training lengths is best for itself (`posenc_jax.statistics.select_by_seed`); the lengths beyond have no part in it.

    Args:
      clock: in seconds, for what is timed here; without one it takes no time.
      otherwise: whether it is scored by other ways too.
    """
    cell = table.cell(slot, label, seeds)
    home = _folder(directory, table, cell) / cell.directory_name
    results = run(cell, home, reporter=reporter, stop=stop)
    found = _measured(table, cell, results)
    others = dict(found.otherwise)
    seconds = 0.0
    if otherwise and table.published:
        ways, seconds = other_scores(
            table, cell, home, found.learning_rates, found.scores, reporter=reporter, stop=stop, clock=clock
        )
        others.update(ways.items())
    # Other groups are of seeds that nobody asks for here.
    groups = [group for group, _ in results_by_group(read_stored(home), cell)]
    environments = environments_of(groups, RECORDED)
    found = dataclasses.replace(found, otherwise=others, environments=environments, seconds=seconds)
    return _timed(found, *read_timing(home, config_hash(cell), [group.name for group in groups]))


def histories(
    table: Table, slot: Slot, label: str, directory: Path, seeds: tuple[int, ...]
) -> tuple[dict[str, Json], bool]:
    """Environments of the existing groups, by the group's directory, and True if no group is missing."""
    cell = table.cell(slot, label, seeds)
    home = _folder(directory, table, cell) / cell.directory_name
    groups = [group.directory for group in groups_with(home, cell.replicas)]
    begun = {str(group): history(read_environments(group)) for group in groups if is_begun(group)}
    return begun, complete(home, cell)


def _folder(directory: Path, table: Table, cell: Run) -> Path:
    """Folder of a table's runs. Own code gets a subfolder named by its digest, so that changed code is run anew."""
    own = digests(cell)
    return directory / table.name / f"own-{sha256_of(own)[:8]}" if own else directory / table.name


def _measured(table: Table, cell: Run, results: list[Json]) -> Measured:
    metric = table.asked.metric
    replicas = [_replica(cell, metric, replica) for result in results for replica in result["replicas"]]
    of = functools.partial(
        Measured.of,
        replicas,
        seeds=cell.seeds,
        rates=cell.learning_rates,
        metrics=(metric,),
        table=table.name,
        label=cell.label,
        spec=spec(cell.posenc),
        config=config_hash(cell),
        num_parameters=results[0]["num_parameters"],
        num_posenc_parameters=results[0]["num_posenc_parameters"],
        seconds=0.0,
        memory="O(T), fused" if fused_paths(cell.posenc) else "O(T), in blocks",
        question=sha256_of([config_hash(cell), cell.learning_rates, digests(cell)])[:8],
    )
    return with_ties(table.asked, of(), of(last=True))


def with_ties(asked: KeptQuestion, found: Measured, last: Measured) -> Measured:
    """A cell with the means of every seed, and, where rates tie in validation, those at the rates chosen last."""
    found = of_lengths(asked, found)
    return dataclasses.replace(found, otherwise={TIED: of_lengths(asked, last).scores}) if found.tied else found


def of_lengths(asked: KeptQuestion, measured: Measured) -> Measured:
    """A cell with the means of every seed that its scores by length give."""
    lengths = asked.score_lengths, asked.trained_lengths
    scores, in_range = (seed_means(measured.by_length, own, asked.kind) for own in lengths)
    return dataclasses.replace(measured, scores=scores, in_range=in_range)


def _replica(cell: Run, metric: str, found: Json) -> ReplicaScores:
    diverged = found["diverged_at"]
    scores = {row["length"]: row[metric] for row in found["evaluation"]}
    return ReplicaScores(
        seed=found["seed"],
        learning_rate=found["learning_rate"],
        validation=found["validation"][cell.task.validation_metric] if diverged is None else None,
        validation_loss=found["validation"].get("loss") if diverged is None else None,
        finished=diverged is None,
        every_score={metric: {n: score for n, score in scores.items() if score is not None and math.isfinite(score)}},
        diverged_at=diverged,
    )


def _timed(measured: Measured, timing: Timing | None, problems: list[str]) -> Measured:
    if timing is None:
        return dataclasses.replace(measured, untimed=tuple(problems))
    seconds = measured.seconds + timing.compiling + sum(phase.seconds for phase in timing.measured.values())
    return dataclasses.replace(measured, seconds=seconds, **times_of_steps(timing))


def times_of_steps(timing: Timing | None) -> dict[str, Any]:
    """``milliseconds_per_step`` and ``time_spread`` of a cell."""
    training = timing and timing.measured.get("train")
    each = training.per_step if training else ()
    return {
        "milliseconds_per_step": 1e3 * statistics.median(each) if each else None,
        "time_spread": max(each) / min(each) if len(each) > 1 else None,
    }
