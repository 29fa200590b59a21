"""Scores of the cells of a table."""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from posenc_jax.files.shapes import Json
from posenc_jax.results.record import Record, ReplicaScores
from posenc_jax.results.summary import CellSummary
from posenc_jax.results.summation import draws_of
from posenc_jax.runs.identity import read_environments
from posenc_jax.statistics import select_by_seed

Scores = Mapping[str, Mapping[int, Mapping[int, float]]]  # metric -> length -> seed -> score


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgedCell:
    """One encoding on one table, every seed at the learning rate of its own validation.

    Attributes:
      spec: the encoding.
      config: digest of its config, seeds and learning rates apart.
      seeds: those asked for; one without scores diverged or has not finished.
      learning_rates: seed -> the one chosen for it (`posenc_jax.statistics.select_by_seed`), of those seeds that some
        rate trained.
      tried: learning rate -> seed -> validation score, None where it diverged; without the seeds whose score was not
        kept.
      losses: the same of the loss in validation, by which the choice is made among rates with the same score; only of
        runs that kept it.
      diverged: the seeds that did at every learning rate.
      by_metric: scores of the seeds, each at its rate; those that are not finite are left out.
      seconds: that all its runs took, in a verdict with compiling; None where its groups do not say, or what they said
        is damaged.
      draws: seed -> which random numbers it drew, as `posenc_jax.results.summary.CellSummary`; empty where all of the
        table drew the same.
    """

    table: str
    label: str
    spec: str
    config: str
    seeds: tuple[int, ...]
    learning_rates: Mapping[int, float]
    tried: Mapping[float, Mapping[int, float | None]]
    diverged: tuple[int, ...]
    by_metric: Scores
    num_parameters: int
    num_posenc_parameters: int
    seconds: float | None
    draws: Mapping[int, int] = dataclasses.field(default_factory=dict)
    losses: Mapping[float, Mapping[int, float]] = dataclasses.field(default_factory=dict)

    @property
    def tied(self) -> tuple[int, ...]:
        """The seeds whose best score in validation is that of several rates."""
        last = select_by_seed(self.tried, self.losses, last=True)
        return tuple(seed for seed, rate in select_by_seed(self.tried, self.losses).items() if last[seed] != rate)

    @classmethod
    def of(
        cls,
        replicas: Iterable[ReplicaScores],
        *,
        seeds: tuple[int, ...],
        rates: tuple[float, ...],
        metrics: Iterable[str],
        last: bool = False,
        **others: Any,
    ) -> Self:
        """The cell of such replicas, of which those of other seeds and rates are passed over; ``others``: fields that
        they do not tell; ``last``: of tied rates the one that is chosen last.
        """
        own = [replica for replica in replicas if replica.seed in seeds and replica.learning_rate in rates]
        tried: dict[float, dict[int, float | None]] = {rate: {} for rate in rates}
        losses: dict[float, dict[int, float]] = {}
        for replica in own:
            tried[replica.learning_rate][replica.seed] = replica.validation
            if replica.validation_loss is not None:
                losses.setdefault(replica.learning_rate, {})[replica.seed] = replica.validation_loss
        chosen = select_by_seed(tried, losses, last=last)
        if len(rates) == 1:  # no validation is needed
            chosen = {replica.seed: replica.learning_rate for replica in own if replica.diverged_at is None}
        chosen = {seed: chosen[seed] for seed in seeds if seed in chosen}
        by_metric: dict[str, dict[int, dict[int, float]]] = {metric: {} for metric in metrics}
        for replica in own:
            for metric, by_length in by_metric.items():
                if chosen.get(replica.seed) == replica.learning_rate:
                    for length, score in replica.every_score.get(metric, {}).items():
                        by_length.setdefault(length, {})[replica.seed] = score
        frozen = {replica.seed for replica in own if replica.diverged_at is not None}
        return cls(
            seeds=seeds,
            learning_rates=chosen,
            tried=tried,
            losses=losses,
            diverged=tuple(seed for seed in seeds if seed in frozen and seed not in chosen),
            by_metric=by_metric,
            **others,
        )


def judged_cell(record: Record, cell: CellSummary, metrics: tuple[str, ...], *, last: bool = False) -> JudgedCell:
    """A cell of a record, with its scores by these metrics; ``last``: of tied rates the one that is chosen last."""
    name = cell.task_label, cell.label
    info = next(own for own in record.info["cells"] if (own["task_label"], own["label"]) == name)
    found = JudgedCell.of(
        record.replicas[name],
        seeds=cell.asked,
        rates=tuple(tried.learning_rate for tried in cell.tried),
        metrics=metrics,
        last=last,
        table=cell.task_label,
        label=cell.label,
        spec=cell.info["posenc"] or "",
        config=cell.info["config_hash"],
        num_parameters=cell.info["num_parameters"] or 0,
        num_posenc_parameters=cell.info["num_posenc_parameters"] or 0,
        seconds=cell.timing and round(sum(phase.seconds for phase in cell.timing.measured.values()), 1),
    )
    drawn = {
        replica.seed: draws_of(record, info, replica.environment)
        for replica in record.replicas[name]
        if found.learning_rates.get(replica.seed) == replica.learning_rate
    }
    return dataclasses.replace(found, by_metric=_rounded(found.by_metric), draws=drawn if any(drawn.values()) else {})


def _rounded(by_metric: Scores) -> Scores:
    """Scores rounded to six digits, as files keep them."""
    return {
        metric: {n: {seed: float(f"{score:.6g}") for seed, score in own.items()} for n, own in by_length.items()}
        for metric, by_length in by_metric.items()
    }


def environments_of(groups: Iterable[Path], names: tuple[str, ...]) -> tuple[Json, ...]:
    """Environments in which groups began and went on, reduced to these names, each once, in order."""
    records = map(read_environments, groups)
    parts = (part for record in records for part in (record["began"], *record["resumed"]) if part)
    return distinct({name: part.get(name) for name in names} for part in parts)


def distinct(environments: Iterable[Json]) -> tuple[Json, ...]:
    """The different environments, in order."""
    return tuple({json.dumps(own, sort_keys=True): own for own in environments}.values())


def device(environment: Json) -> str:
    """Its devices, in words."""
    kind = environment["cpu"] if environment["platform"] == "cpu" else environment["device_kind"]
    return f"{environment['device_count']} x {kind}"


def numbered(value: Any) -> Any:
    """A value of JSON as it was written: names that are numbers are numbers again, and lists tuples."""
    if isinstance(value, dict):
        return {_number(name): numbered(member) for name, member in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _number(name: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(name)
    return name
