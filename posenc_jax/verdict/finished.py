"""A card of a finished ablation: nothing is trained, its stored scores are judged."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from posenc_jax.attention import fused_paths
from posenc_jax.config.guessing import OF_GUESSES
from posenc_jax.config.stored import difference
from posenc_jax.encodings import parse
from posenc_jax.files.shapes import Json
from posenc_jax.refusals import did_you_mean
from posenc_jax.results.record import Record, read_record
from posenc_jax.results.summary import CellSummary, Summary, TaskSummary
from posenc_jax.results.summation import summarise
from posenc_jax.runs.directory import groups_that_count
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.verdict.card import Card, judged
from posenc_jax.verdict.cells import distinct, environments_of, judged_cell
from posenc_jax.verdict.measuring import RECORDED, Measured, times_of_steps, with_ties
from posenc_jax.verdict.question import KeptQuestion


def judge_ablation(
    directory: Path, labels: Sequence[str] = (), baselines: Sequence[str] = (), tables: Sequence[str] = ()
) -> Card:
    """The card of an ablation's arms, by the names that they have there.

    Args:
      labels: the arms that are judged; all others if there are none.
      baselines: the ablation's own if there are none, or its arm called rope.
      tables: those that are asked, all if there are none.

    Raises:
      RefusedError: an arm is missing on a table, or not finished; seeds are no pairs, or fewer than two; the results
        are of several codes; or guessing has no known score where one is needed.
      ValueError: there is no record, or it is damaged.
    """
    record = read_record(directory)
    summary = summarise(record)
    named = {task.task_label: task for task in summary.tasks}
    tasks = [named[_name(directory, "table", name, named)] for name in tables or named]
    arms = tuple(dict.fromkeys(cell.label for task in tasks for cell in task.cells))
    own = (str(record.info["baseline"]),) if record.info["baseline"] else ("rope",)
    theirs = tuple(_name(directory, "arm", word, arms) for word in baselines or own)
    ours = tuple(_name(directory, "arm", word, arms) for word in labels) or tuple(a for a in arms if a not in theirs)
    if not ours:
        raise RefusedError(f"{directory} has no arm beside {', '.join(theirs)}: name another baseline with --against")
    if len({*ours}) < len(labels) or len({*theirs}) < len(baselines):
        raise RefusedError(f"{directory}: {' '.join((*labels, *baselines))} names an arm twice: name each once")
    if both := [label for label in ours if label in theirs]:
        raise RefusedError(f"{directory}: {both[0]} is compared with itself: name other arms, or other baselines")
    if why := next(_refusals(directory, summary, tasks, (*ours, *theirs)), ""):
        raise RefusedError(f"{directory}: {why}")
    questions = {task.task_label: _question(task, summary) for task in tasks}
    cells = {
        label: {task.task_label: _measured(record, _cell(task, label), questions[task.task_label]) for task in tasks}
        for label in (*ours, *theirs)
    }
    every = [cell for by_table in cells.values() for cell in by_table.values()]
    card = judged(
        Card(
            labels=ours,
            baselines=theirs,
            tables=questions,
            measured=cells,
            seeds=_cell(tasks[0], ours[0]).asked,
            environments=distinct(environment for cell in every for environment in cell.environments),
            seconds=sum(cell.seconds or 0.0 for cell in every),
            elsewhere=tuple(map(str, summary.provenance.elsewhere)),
        )
    )
    return dataclasses.replace(card, unequal=tuple(_unequal(record, card)))


_OF_THE_ENCODING = ("posenc", "posenc_encoder", "posenc_cross", "label", "note", "published", "seeds")


def _unequal(record: Record, card: Card) -> Iterator[str]:
    paths = {
        (cell["task_label"], cell["label"]): record.directory / cell["directory"] / "config.json"
        for cell in record.info["cells"]
    }

    def config(table: str, label: str) -> Json:
        path = paths[table, label]
        kept = read_json(path)["config"] if path.exists() else {}
        return {name: value for name, value in kept.items() if name not in _OF_THE_ENCODING}

    for found in card.findings:
        first, second = config(found.table, found.baseline), config(found.table, found.label)
        if not (first and second):
            label = found.label if first else found.baseline
            yield (
                f"the config of {label} on {found.table} is missing, so whether {found.label} differs from "
                f"{found.baseline} in more than the encoding is not known"
            )
        elif lines := difference(first, second):
            yield (
                f"{found.label} differs from {found.baseline} on {found.table} in more than the encoding, so a "
                f"difference may be due to that: {'; '.join(lines)}"
            )


def _name(directory: Path, what: str, word: str, known: Iterable[str]) -> str:
    """The name that ``word`` means, ignoring case; RefusedError where there is none."""
    names = list(known)
    found = next((name for name in names if name.lower() == word.lower()), None)
    if found is None:
        hint = did_you_mean(word, names, f"choose among {', '.join(map(repr, names))}")
        raise RefusedError(f"{directory} has no {what} {word!r}: {hint}")
    return found


def _refusals(
    directory: Path, summary: Summary, tasks: Sequence[TaskSummary], labels: tuple[str, ...]
) -> Iterator[str]:
    """Reasons against a verdict, each with the way out."""
    for task in tasks:
        here = {cell.label: cell for cell in task.cells}
        name = task.task_label
        if missing := [label for label in labels if label not in here]:
            yield f"{', '.join(missing)} has no results on {name}: choose --tables, or among {', '.join(here)}"
            return
        cells = [here[label] for label in labels]
        for cell in cells:
            if cell.unfinished or cell.learning_rate is None:
                seeds = ", ".join(map(str, cell.unfinished or cell.asked))
                yield f"{cell.label} on {name} is not finished (seeds {seeds}): run the ablation again, which resumes"
        last = cells[-1]
        for cell in cells:
            if cell.asked != last.asked:
                yield (
                    f"{cell.label} on {name} has seeds {_seeds(cell)} and {last.label} {_seeds(last)}, so they are no "
                    "pairs: run the ablation with the same seeds for all"
                )
            if cell.draws != last.draws:
                yield (
                    f"{cell.label} on {name} drew other random numbers than {last.label} with the same seeds, so they "
                    "are no pairs: run one of them again, in the environment of the other"
                )
        if len(last.asked) < 2:
            yield f"{name} has one seed, and a verdict compares two at least: run the ablation with more"
        if task.metric in OF_GUESSES and task.chance is None:
            yield (
                f"nobody knows what guessing scores on {name}, whose score is {task.kind.title}: run the ablation "
                "again, which writes it down; a task of yours must say it first, as in `chance = 0.25`"
            )
    if summary.provenance.differing:
        own = (f"{name} {digest[:8]}" for name, of in summary.provenance.own.items() if len(of) > 1 for digest in of)
        codes = "; ".join(own if len(summary.provenance.codes) < 2 else summary.provenance.codes)
        yield f"its results are of several codes ({codes}), so that a difference may be theirs: run it anew elsewhere"


def _seeds(cell: CellSummary) -> str:
    return ", ".join(map(str, cell.asked))


def _cell(task: TaskSummary, label: str) -> CellSummary:
    return next(cell for cell in task.cells if cell.label == label)


def _question(task: TaskSummary, summary: Summary) -> KeptQuestion:
    return KeptQuestion(
        question=task.task_label,
        source=f"ablation {summary.info['name']}",
        metric=task.metric,
        chance=task.chance,
        trained_lengths=task.in_range_lengths,
        score_lengths=task.score_lengths,
        writes_text=task.writes_text,
        length_unit=task.length_unit,
        length_names=task.length_names,
        finished=True,
        floors=task.floors,
        shortcut=task.shortcut,
        shortcut_score=task.shortcut_score,
    )


def _measured(record: Record, cell: CellSummary, question: KeptQuestion) -> Measured:
    of, last = (judged_cell(record, cell, (question.metric,), last=own) for own in (False, True))
    groups = groups_that_count(record.directory / cell.info["directory"])
    more: dict[str, Any] = dict(
        seconds=of.seconds or 0.0,
        memory=_memory(of.spec),
        question=of.config,
        environments=environments_of(groups, RECORDED),
        untimed=() if cell.timing else (f"{cell.task_label} {cell.label}",),
        **times_of_steps(cell.timing),
    )
    one, other = (
        Measured(**{field.name: getattr(own, field.name) for field in dataclasses.fields(own)} | more)
        for own in (of, last)
    )
    return with_ties(question, one, other)


def _memory(spec: str) -> str:
    """The memory of attention with an encoding, where it is one of the package's."""
    try:
        return "O(T), fused" if fused_paths(parse(spec)) else "O(T), in blocks"
    except ValueError:
        return "-"
