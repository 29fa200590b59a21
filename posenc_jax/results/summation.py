"""Sums up a record: scores, intervals, paired differences and what is missing, for every task of an ablation.

The learning rate of a cell is chosen by in-range validation (`posenc_jax.statistics.select_learning_rate`), never by
its scores at the evaluated lengths.
"""

import dataclasses
import typing
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import KINDS, ScoreKind, kind_of
from posenc_jax.files.names import file_name
from posenc_jax.results.ablation_info import AblationInfo, CellInfo, PublishedInfo
from posenc_jax.results.averages import interval_of, seed_means
from posenc_jax.results.provenance import read_provenance
from posenc_jax.results.record import COUNTS, RANGES, Range, Record, ReplicaScores
from posenc_jax.results.summary import (
    CellSummary,
    EveryScore,
    Point,
    PositionRange,
    Summary,
    TaskSummary,
    Tried,
    compact,
)
from posenc_jax.statistics import Interval, select_learning_rate


def summarise(record: Record) -> Summary:
    """Scores, intervals, paired differences and what is missing, for every task of the ablation."""
    info = record.info
    task_labels = list(dict.fromkeys(cell["task_label"] for cell in info["cells"]))
    return Summary(
        labels=tuple(dict.fromkeys(cell["label"] for cell in info["cells"])),
        tasks=tuple(_summarise_task(record, task) for task in task_labels),
        skipped=tuple(record.skipped),
        provenance=read_provenance(record),
        commands=record.commands,
        info=info,
    )


def _summarise_task(record: Record, task_label: str) -> TaskSummary:
    info = record.info
    metric = info["metric"][task_label]
    cells = [own for own in info["cells"] if own["task_label"] == task_label]
    ranges: dict[int, Range] = {}
    for own in cells:
        ranges |= record.ranges[task_label, own["label"]]
    shared, notes = _shared_lengths(record, task_label)
    by_range = {name: tuple(n for n in sorted(shared) if ranges[n] == name) for name in RANGES}

    writes_text = info["writes_text"][task_label]
    length_names = info["length_names"].get(task_label, {})
    kind = kind_of(metric, writes_text)
    position_length = max((row["length"] for cell in cells for row in cell["by_position"]), default=None)
    chosen_by = kind_of(info["validation_metric"][task_label], writes_text)
    measured = [_measure(record, cell, kind, by_range, position_length, chosen_by) for cell in cells]
    baseline = next((cell for cell in measured if cell.label == info["baseline"]), None)
    summaries = []
    for cell in measured:
        if baseline is not None and cell is not baseline:
            cell = dataclasses.replace(
                cell, difference=cell.difference_to(baseline, cell.scores, baseline.scores, kind)
            )
        summaries.append(dataclasses.replace(cell, is_baseline=cell.label == info["baseline"]))

    if by_range["mixed"]:
        names = [length_names.get(str(n), str(n)) for n in by_range["mixed"]]
        notes.append(
            f"{', '.join(names)}: examples of both trained and unseen lengths, so excluded from the means over lengths."
        )
    notes += [note for cell in summaries for note in _cell_notes(cell, length_names)]
    if baseline is not None and not baseline.scores:
        notes.append(f"The baseline {baseline.label} has no finished seed, so there are no differences from it.")
    notes += _published_notes(summaries)
    if note := info["task_notes"].get(task_label, ""):
        notes.append(note)
    trained = info["train_lengths"][task_label]
    return TaskSummary(
        task_label=task_label,
        slug=file_name(task_label),
        asks=info.get("asks", {}).get(task_label, ""),
        metric=metric,
        chance=info["chance"][task_label],
        floors={int(length): floor for length, floor in info.get("floors", {}).get(task_label, {}).items()},
        shortcut=info.get("shortcut", {}).get(task_label, ""),
        shortcut_score=info.get("shortcut_score", {}).get(task_label),
        train_lengths=(min(trained), max(trained)),
        unseen_lengths=by_range["beyond"],
        in_range_lengths=by_range["within"],
        mixed_lengths=by_range["mixed"],
        ranges=ranges,
        baseline=baseline.label if baseline is not None else "",
        cells=tuple(summaries),
        notes=tuple(notes),
        kind=kind,
        validation_kind=chosen_by,
        writes_text=writes_text,
        length_unit=info["length_unit"][task_label],
        length_names={int(length): name for length, name in length_names.items()},
        signatures=info["signatures"].get(task_label, {}),
        position_length=position_length,
    )


def _shared_lengths(record: Record, task_label: str) -> tuple[set[int], list[str]]:
    """The lengths that all cells with results have: scores over different lengths would not be comparable."""
    per_cell = {
        cell[1]: set(record.ranges[cell])
        for cell, replicas in record.replicas.items()
        if cell[0] == task_label and any(replica.finished for replica in replicas)
    }
    if not per_cell:
        return set(), []
    shared = set.intersection(*per_cell.values())
    notes = [
        f"{label} was also measured at lengths {compact(lengths - shared)}; scores use the lengths that all cells have."
        for label, lengths in per_cell.items()
        if lengths != shared
    ]
    return shared, notes


def _measure(
    record: Record,
    cell: CellInfo,
    kind: ScoreKind,
    by_range: dict[Range, tuple[int, ...]],
    position_length: int | None,
    validation_kind: ScoreKind,
) -> CellSummary:
    replicas = record.replicas[cell["task_label"], cell["label"]]
    asked, rates = tuple(cell["seeds"]), sorted(cell["learning_rates"])
    chosen = _choose(replicas, rates, asked)
    at_chosen = {replica.seed: replica for replica in replicas if replica.learning_rate == chosen}
    finished = _finished(at_chosen)
    diverged = {s: r.diverged_at for s, r in sorted(at_chosen.items()) if r.diverged_at is not None}
    within, beyond = by_range["within"], by_range["beyond"]
    tried = tuple(
        _tried(replicas, rate, asked, rate == chosen, beyond or within, kind, validation_kind) for rate in rates
    )
    values = _by_length(finished)
    scores, trained = (seed_means(values, lengths, kind) for lengths in (beyond or within, within))
    lengths = tuple(sorted(record.ranges[cell["task_label"], cell["label"]]))
    return CellSummary(
        task_label=cell["task_label"],
        label=cell["label"],
        info=cell,
        is_baseline=False,
        learning_rate=chosen,
        tried=tried,
        asked=asked,
        diverged=diverged,
        unfinished=tuple(seed for seed in asked if seed not in finished and seed not in diverged),
        scores=scores,
        score=interval_of(map(scores.get, asked), kind),
        not_finite={seed: replica.not_finite for seed, replica in finished.items() if replica.not_finite},
        in_range_scores=trained,
        in_range=interval_of(map(trained.get, asked), kind),
        difference=None,
        draws={seed: draws_of(record, cell, replica.environment) for seed, replica in at_chosen.items()},
        curve=tuple(
            Point(length, values[length], interval_of(map(values[length].get, asked), kind))
            for length in lengths
            if length in values
        ),
        published=_published(record.info, cell["task_label"], cell["label"]),
        every_score=_every_score(
            {seed: replica.every_score for seed, replica in finished.items()}, asked, within, beyond, lengths
        ),
        positions=_position_ranges(cell, chosen, position_length, asked, set(finished)),
        timing=record.timings.get((cell["task_label"], cell["label"])),
        losses={
            seed: steps
            for (seed, rate), steps in sorted(record.losses.get((cell["task_label"], cell["label"]), {}).items())
            if rate == chosen and seed in asked
        },
    )


def draws_of(record: Record, cell: CellInfo, environment: str) -> int:
    """A number for what a cell drew in an environment; where that changed on the way it is the cell's own."""
    drawn = record.draws.get(environment, 0)
    return -1 - record.info["cells"].index(cell) if drawn is None else drawn


def _by_length(replicas: dict[int, ReplicaScores]) -> dict[int, dict[int, float]]:
    """Length -> seed -> score."""
    found: dict[int, dict[int, float]] = {}
    for seed, replica in replicas.items():
        for length, score in replica.scores.items():
            found.setdefault(length, {})[seed] = score
    return found


def _choose(replicas: list[ReplicaScores], rates: list[float], asked: tuple[int, ...]) -> float | None:
    """The learning rate that is reported; a single one needs no validation score.

    By validation scores alone: whatever became of a replica at the test lengths, its validation score counts.
    """
    if len(rates) == 1:
        return rates[0]
    validation: dict[float, dict[int, float | None]] = {rate: dict.fromkeys(asked) for rate in rates}
    losses: dict[float, dict[int, float | None]] = {rate: {} for rate in rates}
    for replica in replicas:
        validation[replica.learning_rate][replica.seed] = replica.validation
        losses[replica.learning_rate][replica.seed] = replica.validation_loss
    chosen = select_learning_rate(validation, losses)
    if chosen is None and replicas:  # nothing to choose by: the rate at which most did not diverge, then the smallest
        alive = {rate: sum(r.diverged_at is None for r in replicas if r.learning_rate == rate) for rate in rates}
        return min(rates, key=lambda rate: (-alive[rate], rate))
    return chosen


def _tried(
    replicas: list[ReplicaScores],
    rate: float,
    asked: tuple[int, ...],
    chosen: bool,
    lengths: tuple[int, ...],
    kind: ScoreKind,
    validation_kind: ScoreKind,
) -> Tried:
    here = {replica.seed: replica for replica in replicas if replica.learning_rate == rate}
    by_seed = {seed: here[seed].validation if seed in here else None for seed in asked}
    diverged = tuple(seed for seed, replica in sorted(here.items()) if replica.diverged_at is not None)
    scores = seed_means(_by_length(_finished(here)), lengths, kind)
    score = interval_of(map(scores.get, asked), kind)
    return Tried(rate, by_seed, interval_of(by_seed.values(), validation_kind), diverged, chosen, scores, score)


def _finished(replicas: dict[int, ReplicaScores]) -> dict[int, ReplicaScores]:
    return {seed: replica for seed, replica in sorted(replicas.items()) if replica.finished}


def _published(info: AblationInfo, task_label: str, label: str) -> tuple[PublishedInfo, ...]:
    return tuple(
        row
        for row in info["published"]
        if (row["task_label"], row["label"]) == (task_label, label) and (row["value"] is not None or row["direction"])
    )


def _position_ranges(
    cell: CellInfo, learning_rate: float | None, length: int | None, asked: tuple[int, ...], finished: set[int]
) -> tuple[PositionRange, ...]:
    """Perplexities of a cell of ``ablation.json`` by position, in windows of ``length``, at the chosen rate."""
    if length is None:
        return ()
    found: dict[tuple[int, int], dict[int, float]] = {}
    for row in cell["by_position"]:
        if row["length"] == length and row["learning_rate"] == learning_rate and row["seed"] in finished:
            for first, last, perplexity in typing.cast(list[tuple[int, int, float | None]], row["perplexity"]):
                if perplexity is not None:
                    found.setdefault((first, min(last, length - 1)), {})[row["seed"]] = perplexity
    return tuple(
        PositionRange(first, last, scores, interval_of((scores.get(seed) for seed in asked), KINDS["perplexity"]))
        for (first, last), scores in sorted(found.items())
    )


def _cell_notes(cell: CellSummary, length_names: dict[str, str]) -> list[str]:
    """Notes on a cell: missing seeds and scores, a rate that nothing chose, the config's note."""
    notes = []
    n, asked = len(cell.asked) - len(cell.diverged) - len(cell.unfinished), len(cell.asked)
    if n < asked:
        why = [f"seed {seed} diverged at step {step}" for seed, step in cell.diverged.items()]
        if cell.unfinished:
            word = "seed" if len(cell.unfinished) == 1 else "seeds"
            why.append(f"{word} {', '.join(map(str, cell.unfinished))} not finished")
        notes.append(f"{cell.label}: {n} of {asked} seeds ({'; '.join(why)}); means are over the others.")
        if n == 0:
            notes[-1] = f"{cell.label}: no result, 0 of {asked} seeds ({'; '.join(why)})."
    for seed, lengths in cell.not_finite.items():
        names = ", ".join(length_names.get(str(length), str(length)) for length in lengths)
        notes.append(
            f"{cell.label}: the score of seed {seed} is not finite at {names}; it is missing there and in the means "
            "over these lengths."
        )
    chosen = next((tried for tried in cell.tried if tried.chosen), None)
    if len(cell.tried) > 1 and n > 0 and (chosen is None or chosen.validation.mean is None):
        notes.append(f"{cell.label}: no validation scores to choose a learning rate by; shown: {cell.learning_rate:g}.")
    if note := cell.info["note"]:
        notes.append(f"{cell.label}: {note}")
    return notes


def _published_notes(cells: Iterable[CellSummary]) -> list[str]:
    """Sources of the published column, each once."""
    notes = []
    sources: dict[str, list[str]] = {}
    published = [(cell.label, row) for cell in cells for row in cell.published]
    for label, row in published:
        named = row["source"] + f" ({row['metric']})" * bool(row["metric"])
        sources.setdefault(named.strip(), []).append(label)
    for source, cited in sources.items():
        whose = "" if len(sources) == 1 else f" for {', '.join(dict.fromkeys(cited))}"
        notes.append(f"Published{whose}: {source}.")
    if any(row["value"] is None for _, row in published):
        notes.append("Where the published column has words, only the direction is verified, not a number.")
    return notes


def _every_score(
    replicas: Mapping[int, Mapping[str, Mapping[int, float]]],
    asked: tuple[int, ...],
    training: tuple[int, ...],
    unseen: tuple[int, ...],
    lengths: tuple[int, ...],
) -> EveryScore:
    """All scores of a cell from seed -> name -> length -> value of its finished seeds; ``lengths``: all, with mixed
    ones.
    """
    values: dict[str, dict[int, dict[int, float]]] = {}  # score -> length -> seed -> value
    for seed, own in replicas.items():
        for name, by_length in own.items():
            for length, value in by_length.items():
                values.setdefault(name, {}).setdefault(length, {})[seed] = value
    names = sorted(values.keys() - {*COUNTS}, key=lambda name: ((*KINDS, name).index(name), name))

    def means(*over: int) -> dict[str, Interval]:
        """Over seeds of the means over lengths; a seed that lacks a length is missing."""
        found = {name: seed_means(values[name], over, kind_of(name)) for name in names}
        return {name: interval_of(map(own.get, asked), kind_of(name)) for name, own in found.items()}

    first: Mapping[str, Mapping[int, float]] = next(iter(replicas.values()), {})
    return EveryScore(
        training=means(*training),
        unseen=means(*unseen),
        at_length={length: means(length) for length in lengths},
        counts={
            length: (round(first["count"][length]), round(first.get("decoded", {}).get(length, 0)))
            for length in lengths
            if length in first.get("count", {})
        },
        columns={name: tuple(v for n in lengths for v in values[name].get(n, {}).values()) for name in names},
    )
