"""Reads an ablation directory: which replicas finished, which diverged, and which rows could not be used.

A *replica* is one seed of one cell at one learning rate, a *row* one line of ``results.jsonl``: a replica at one
length. What is not used is named, so that a table can say what it leaves out.
"""

import collections
import dataclasses
import math
import typing
from pathlib import Path
from typing import Any, Literal

from posenc_jax.data.score_kinds import KINDS, kind_of
from posenc_jax.environments import draw_classes
from posenc_jax.files.checksums import DamagedError, read_lines, unseal
from posenc_jax.files.shapes import Json
from posenc_jax.results.ablation_info import AblationInfo, CellInfo
from posenc_jax.results.groups import Losses, read_losses
from posenc_jax.results.timing import Timing, read_commands, read_timing

Cell = tuple[str, str]  # (task_label, label)
COUNTS = ("count", "decoded")
"""Columns of rows that count test examples: all that were scored, and those whose output was decoded."""
Range = Literal["within", "beyond", "mixed"]
RANGES: tuple[Range, ...] = ("within", "beyond", "mixed")
"""Where the examples of an evaluated length lie: all within the training lengths, all beyond them, or (a length that
stands for several) some here and some there; means over trained and over unseen lengths leave "mixed" out.
"""


@dataclasses.dataclass(frozen=True)
class ReplicaScores:
    """Scores in the rows of one replica.

    Attributes:
      validation: the in-range validation score from which the learning rate is chosen, or None. It does not depend on
        the test lengths: a replica that is not finished has one too.
      validation_loss: the loss on the examples of that score, for a choice among tied rates; or None.
      finished: whether it has a row for every length of its cell.
      scores: length -> headline metric, where that is finite; empty unless finished.
      not_finite: the lengths at which it is not, ascending.
      every_score: name -> length -> every score and count of its rows, the headline metric included.
      environment: the name of the one that it was computed in, among those of ``ablation.json``; "" where none is
        recorded.
      diverged_at: the step at which it froze, or None. A diverged replica has no scores here, whatever its rows say.
    """

    seed: int
    learning_rate: float
    validation: float | None
    finished: bool = False
    scores: dict[int, float] = dataclasses.field(default_factory=dict)
    not_finite: tuple[int, ...] = ()
    every_score: dict[str, dict[int, float]] = dataclasses.field(default_factory=dict)
    environment: str = ""
    diverged_at: int | None = None
    validation_loss: float | None = None


@dataclasses.dataclass(frozen=True)
class Record:
    """An ablation directory as read.

    Attributes:
      info: ``ablation.json``.
      rows: every row of ``results.jsonl``, in order, those of unused replicas included.
      replicas: cell -> its replicas that have rows. Every cell of ``ablation.json`` has an entry.
      ranges: cell -> length -> one of `RANGES`.
      skipped: one line for everything that was not used, by name; of groups and their files too.
      draws: of each environment of ``ablation.json`` which random numbers it draws (`draw_classes`).
      timings: cell -> what it took, where that was written down.
      losses: cell -> those of its training, likewise.
      commands: those that computed it, as far as they were written down.
    """

    directory: Path
    info: AblationInfo
    rows: list[dict[str, Any]]
    replicas: dict[Cell, list[ReplicaScores]]
    ranges: dict[Cell, dict[int, Range]]
    skipped: list[str]
    draws: dict[str, int | None]
    timings: dict[Cell, Timing]
    losses: dict[Cell, Losses]
    commands: tuple[str, ...]


def read_record(directory: Path | str) -> Record:
    """Reads ``ablation.json`` and ``results.jsonl``; a ValueError says what is damaged, or missing when nothing is to
    report.
    """
    directory = Path(directory)
    info = _read_info(directory)
    rows = _read_rows(directory / "results.jsonl")
    cells = {(cell["task_label"], cell["label"]): cell for cell in info["cells"]}
    replicas: dict[Cell, list[ReplicaScores]] = {cell: [] for cell in cells}
    ranges: dict[Cell, dict[int, Range]] = {cell: {} for cell in cells}

    grouped: dict[Cell, dict[tuple[int, float], list[Json]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    empty: dict[Cell, set[int]] = collections.defaultdict(set)
    unused: collections.Counter[str] = collections.Counter()
    for row in rows:
        cell = (row["task_label"], row["label"])
        reason = _why_not(row, cells.get(cell))
        if reason:
            unused[f"{_name(cell)}: {reason}"] += 1
            continue
        if row.get("count") == 0:  # the task has no example of this length
            empty[cell].add(row["length"])
            continue
        grouped[cell][row["seed"], row["learning_rate"]].append(row)
        ranges[cell].setdefault(row["length"], row["range"])
    skipped = [f"{reason} ({count} row{'s' * (count > 1)})" for reason, count in sorted(unused.items())]

    for cell, members in grouped.items():
        metric, writes_text = info["metric"][cell[0]], info["writes_text"][cell[0]]
        own_metrics = tuple((info.get("own_metrics") or {}).get(cell[0], ()))
        expected = set(cells[cell]["lengths"]) - empty[cell]
        for (seed, rate), own in sorted(members.items()):
            replica, unfinished = _read_replica(seed, rate, own, expected, metric, own_metrics, writes_text)
            replicas[cell].append(replica)
            if unfinished:
                skipped.append(f"{_name(cell)}, seed {seed}, learning rate {rate:g}: {unfinished}")
    if not any(replica.finished or replica.diverged_at is not None for own in replicas.values() for replica in own):
        detail = f"; not used: {'; '.join(skipped)}" if skipped else ""
        raise ValueError(
            f"{directory} has no results to report: no run in results.jsonl is finished{detail}. "
            "Run the ablation (again) on this directory; it resumes."
        )
    timings: dict[Cell, Timing] = {}
    losses: dict[Cell, Losses] = {}
    commands, problems = read_commands(directory)
    for cell, known in cells.items():
        name, digest = known["directory"], known["config_hash"]
        if Path(name).name != name:  # it does not lie in this one
            continue
        path = directory / name
        (timing, no_time), (found, no_losses) = read_timing(path, digest), read_losses(path, digest)
        if timing is not None:
            timings[cell] = timing
        if found:
            losses[cell] = found
        problems += dict.fromkeys([*no_time, *no_losses])
    skipped += problems
    draws = draw_classes(info["environments"])
    return Record(directory, info, rows, replicas, ranges, skipped, draws, timings, losses, commands)


def _read_info(directory: Path) -> AblationInfo:
    path = directory / "ablation.json"
    if not path.is_file():
        if any(directory.glob("group-*")):
            raise ValueError(f"{directory} holds a run, no ablation: `posenc evaluate {directory}` prints its scores")
        lacks = "has no ablation.json, so it is no ablation directory" if directory.exists() else "does not exist"
        raise ValueError(f"{directory} {lacks}: name the directory of an ablation")
    try:
        info = unseal(path.read_bytes())
    except DamagedError as error:
        raise ValueError(f"{path} is damaged ({error}): run the ablation again, it writes the file") from error
    if missing := AblationInfo.__required_keys__ - info.keys():
        lacks = ", ".join(sorted(missing))
        raise ValueError(f"{path} is no record of an ablation (it lacks {lacks}): run the ablation again, it writes it")
    return typing.cast(AblationInfo, info)


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """All rows; ValueError for a damaged one."""
    if not path.is_file():
        raise ValueError(f"{path.parent} has no results to report: results.jsonl is missing. Run the ablation first.")
    rows = []
    for line in read_lines(path.read_bytes()):
        if line.row is None:
            raise ValueError(
                f"{path} is damaged (line {line.number}: {line.problem}): run the ablation again, it writes the file "
                "from the results of its groups; or remove the line, and its replica is left out"
            )
        rows.append(line.row)
    return rows


def _why_not(row: Json, cell: CellInfo | None) -> str | None:
    """Why a row has no part in the report, or None."""
    if cell is None:
        return "not a cell of ablation.json"
    if row.get("config_hash") != cell["config_hash"]:
        return f"rows of config {row.get('config_hash')}, but ablation.json has {cell['config_hash']}"
    if row["seed"] not in cell["seeds"]:
        return f"seed {row['seed']} is not asked for in ablation.json"
    if row["learning_rate"] not in cell["learning_rates"]:
        return f"learning rate {row['learning_rate']:g} is not asked for in ablation.json"
    return None


def _read_replica(
    seed: int,
    rate: float,
    rows: list[Json],
    expected: set[int],
    metric: str,
    own: tuple[str, ...],
    writes_text: bool,
) -> tuple[ReplicaScores, str]:
    """The replica, and why its scores cannot be used ("" if they can, or if it diverged)."""
    environment = rows[0].get("environment") or ""
    diverged = [row["diverged_at"] for row in rows if row.get("diverged_at") is not None]
    if diverged:
        return ReplicaScores(seed, rate, None, environment=environment, diverged_at=min(diverged)), ""
    said = {_number(row.get("validation")) for row in rows}
    unfinished = ReplicaScores(
        *(seed, rate, said.pop() if len(said) == 1 else None),
        environment=environment,
        validation_loss=_number(rows[0].get("validation_loss")),
    )
    scores: dict[int, float | None] = {}
    for row in rows:
        score = _score(metric, row.get(metric))
        if scores.setdefault(row["length"], score) != score:
            return unfinished, f"two different rows for length {row['length']}"
    if set(scores) != expected:
        return unfinished, f"not finished, {len(scores)} of {len(expected)} lengths"
    finished = dataclasses.replace(
        unfinished,
        finished=True,
        scores={length: score for length, score in scores.items() if score is not None},
        not_finite=tuple(sorted(length for length, score in scores.items() if score is None)),
        every_score=_read_every_score(rows, metric, own, writes_text),
    )
    return finished, ""


def _read_every_score(
    rows: list[Json], metric: str, own: tuple[str, ...], writes_text: bool
) -> dict[str, dict[int, float]]:
    """Name -> length -> value. Where outputs are texts, the loss of single tokens is told as a perplexity."""
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        for name in dict.fromkeys((metric, *KINDS, *own, *COUNTS)):
            value = _score(name, row.get(name))
            if name == "perplexity" and writes_text and value is None:
                loss = _number(row.get("loss"))
                value = None if loss is None else KINDS[name].outer(loss)
            if value is not None:
                found.setdefault(name, {})[row["length"]] = value
    return found


def _score(name: str, value: Any) -> float | None:
    """A finite value in which means of this score make sense, or None."""
    number = _number(value)
    return None if number is not None and number <= 0 and kind_of(name).logarithmic else number


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _name(cell: Cell) -> str:
    return f"{cell[0]} / {cell[1]}"
