"""A published table from nothing to our results beside theirs, as the marked section of its README."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from experiments.tables.folders import README, RESULTS, Column, Folder
from experiments.tables.judging import CheckedDirection, check_directions, held
from experiments.tables.results import Results, Selection, collect, read_results, save_results
from posenc_jax.config import Ablation, Published
from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.markdown import refilled
from posenc_jax.drawing.quantities import NONE, difference, duration, p_value
from posenc_jax.drawing.text_table import TextTable, markdown_table
from posenc_jax.files.atomic import write_changed
from posenc_jax.files.shapes import Json
from posenc_jax.results.averages import hint, interval_of
from posenc_jax.results.provenance import code_words
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.errors import FailedCellsError, StoppedError
from posenc_jax.runs.reporter import Reporter
from posenc_jax.statistics import Interval
from posenc_jax.verdict.cells import device
from posenc_jax.verdict.finding import listed
from posenc_jax.verdict.headline import share, shares
from posenc_jax.verdict.rule import solving

BEGIN, END = "<!-- written by experiments.tables: from here -->", "<!-- to here -->"

_PER_CENT = 0.01  # the scale of a column that was published in per cent

_MOVES_NOTHING = 1e-12  # the learning rate of arms that are only evaluated: a run takes one step at least

_OF_INTERVALS = (
    "Each interval is an uncorrected 95 % interval, whereas p is corrected for all rows: an interval without {equal} "
    "may stand beside no difference seen."
)
_ALIKE = (
    "like: held if no difference is seen, which does not mean that there is none: the interval says how large it may "
    "be."
)


def check(folder: Folder, config: Ablation) -> None:
    """ValueError for a direction between arms that the ablation does not have, which could never be judged, and for a
    README without the marks for results.
    """
    _readme(folder, "")
    arms = {(run.table, run.label) for run in config.runs}
    for direction in folder.directions:
        table, where = direction.selection.table, direction.selection.where
        for label in (direction.better, direction.worse):
            if (table, label) not in arms:
                raise ValueError(
                    f"{folder.name}: a direction names {label!r} in table {table!r}, and its ablation has no such "
                    f"cell; it has {', '.join(sorted(f'{of} {own}' for of, own in arms))}"
                )
        lengths = {n for run in config.runs if run.table == table for n in run.evaluation.lengths}
        if isinstance(where, int) and where not in lengths:
            raise ValueError(
                f"{folder.name}: a direction is about length {where} of table {table!r}, which is measured at "
                f"{', '.join(map(str, sorted(lengths)))} only"
            )


def run_table(
    folder: Folder,
    config: Ablation,
    directory: Path,
    *,
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
) -> Results:
    """Runs what is not there yet in ``directory``, then writes ``results.json`` and the README's section in the table's
    folder. The same call resumes.

    Raises:
      FailedCellsError: some cells failed.
      StoppedError: ``stop`` asked for it. What is finished is written even so, unless the folder has results of more.
    """
    check(folder, config)
    try:
        ablate(with_published(folder, config), directory, reporter=reporter, stop=stop)
    except (FailedCellsError, StoppedError):
        with contextlib.suppress(ValueError):  # nothing is finished yet
            found = collect(directory, _selections(folder))
            before = read_results(folder.path / RESULTS)
            if before is None or _replicas(before) <= _replicas(found):
                _write(folder, found)
        raise
    results = collect(directory, _selections(folder))
    _write(folder, results)
    return results


def _replicas(results: Results) -> set[tuple[str, str, int]]:
    return {
        (cell.table, cell.label, seed)
        for cell in results.cells
        for seed in {
            *cell.diverged,
            *(s for by_length in cell.by_metric.values() for own in by_length.values() for s in own),
        }
    }


def _write(folder: Folder, results: Results) -> None:
    save_results(results, folder.path / RESULTS)
    write_changed(folder.path / README, _readme(folder, section(folder, results)))


def with_published(folder: Folder, config: Ablation) -> Ablation:
    """The ablation with their numbers, so that its report shows them too."""
    metric = {run.table: run.task.metric for run in config.runs}
    shown = tuple(
        Published(
            column.selection.table,
            label,
            folder.source,
            metric=column.theirs,
            value=value * column.scale,
            lengths="those of training" if column.selection.where == "within" else "",
        )
        for column in folder.columns
        if column.selection.table in metric and column.selection.metric in ("", metric[column.selection.table])
        for label, value in column.values.items()
        if value is not None and not isinstance(column.selection.where, int)
    )
    return dataclasses.replace(config, published=shown)


def _selections(folder: Folder) -> Iterator[Selection]:
    yield from (column.selection for column in folder.columns)
    yield from (direction.selection for direction in folder.directions)


def text_tables(folder: Folder, results: Results) -> tuple[TextTable, ...]:
    """Scores and directions."""
    return _scores(folder, results), _directions(folder, check_directions(folder, results))


def section(folder: Folder, results: Results) -> str:
    """The text between the marks of the README."""
    return "\n" + "\n\n".join(map(markdown_table, text_tables(folder, results))) + "\n"


def _readme(folder: Folder, section: str) -> str:
    """The README with another section; ValueError where it has no marks for one."""
    path = folder.path / README
    try:
        return refilled(path.read_text(), BEGIN, section, END)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


_SOLVED = (
    "solved by: if every seed either solves the task or fails, an interval of the mean says nothing; instead, the "
    "number of seeds that solve it is given, with Wilson's interval of their share."
)


def _scores(folder: Folder, results: Results) -> TextTable:
    entries: list[tuple[str, ...]] = []
    shown: list[Column] = []
    left_out: list[Column] = []
    for column in folder.columns:
        run = any(results.scores(column.selection, label) for label in column.values)
        (shown if run else left_out).append(column)
        if results.lengths(column.selection):
            others = [cell.label for cell in results.cells if cell.table == column.selection.table]
            entries += [_line(column, label, results) for label in dict.fromkeys([*column.values, *others])]
    return TextTable(
        title="Our results beside theirs",
        columns=("", "encoding", "theirs", "ours", "95 %", "seeds"),
        align="llrrrr",
        entries=tuple(entries),
        notes=(
            f"Theirs: {folder.source}. {folder.setting}",
            *dict.fromkeys(f"{column.name}: {column.theirs}." for column in folder.columns),
            *_of_ours(folder.columns, results),
            *_shares(shown),
            *([_SOLVED] if any("solved by" in interval for *_, interval, _ in entries) else []),
            *((f"Not run here: {', '.join(dict.fromkeys(own.name for own in left_out))}.",) if left_out else ()),
            *_provenance(results),
        ),
    )


def _of_ours(columns: tuple[Column, ...], results: Results) -> tuple[str, ...]:
    """Notes on our scores beside each published column, and on the sizes of our models."""
    names: dict[str, list[str]] = {}
    for column in columns:
        if lengths := results.lengths(column.selection):
            sizes = [cell.num_parameters for cell in results.cells if cell.table == column.selection.table]
            where = _RANGES[results.tasks[column.selection.table].ranges[lengths[0]]]  # all of one kind
            said = f"{results.kind(column.selection).title}, {_at(lengths)}, {where}; {_from_to(sizes)} parameters"
            names.setdefault(said, []).append(column.name)
    return tuple(f"Ours beside {', '.join(dict.fromkeys(own))}: {said}." for said, own in names.items())


_RANGES = {"within": "trained", "beyond": "never trained", "mixed": "partly beyond those of training"}


def _at(lengths: tuple[int, ...]) -> str:
    if len(lengths) == 1:
        return f"length {lengths[0]}"
    return f"mean over lengths {listed([*map(str, lengths)])}"


def _from_to(sizes: list[int]) -> str:
    first, last = min(sizes), max(sizes)
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _shares(columns: list[Column]) -> tuple[str, ...]:
    """A note on columns that were published in per cent, if any were."""
    names = tuple(dict.fromkeys(column.name for column in columns if column.scale == _PER_CENT))
    if not names:
        return ()
    which = "" if all(column.scale == _PER_CENT for column in columns) else f" of {', '.join(names)}"
    return (f"Both columns{which} are shares from 0 to 1 here; published, and quoted below, in per cent.",)


def _line(column: Column, label: str, results: Results) -> tuple[str, ...]:
    scores, kind = results.scores(column.selection, label), results.kind(column.selection)
    cell = results.cell(column.selection.table, label)
    asked = cell.seeds if cell is not None else ()
    found = interval_of((scores.get(seed) for seed in asked), kind)
    seeds = str(found.n) if found.n == len(asked) else f"{found.n} of {len(asked)}"
    mean = NONE if found.mean is None else kind.show(found.mean)
    there = column.selection.table in results.tasks
    solved = solving(kind, results.question(column.selection).beyond if there else None, scores.values())
    interval = _interval(found, kind) if solved is None else f"solved by {share(solved)}"
    return column.name, label, _theirs(column, label), mean, interval, seeds if asked else NONE


def _theirs(column: Column, label: str) -> str:
    value = column.values.get(label)
    return "" if value is None else f"{value * column.scale:.4g}"


def _interval(found: Interval, kind: ScoreKind) -> str:
    if found.low is None or found.high is None:
        return NONE
    return f"[{kind.show(found.low)}, {kind.show(found.high)}]"


def _directions(folder: Folder, checked: tuple[CheckedDirection, ...]) -> TextTable:
    some = any(map(folder.tests, folder.directions))
    marked = [own for own in checked if some and not folder.tests(own.direction)]
    run = [(own.judged.comparison, own.kind) for own in checked if own.judged is not None and own.kind is not None]
    few = hint(found.pairs for found, _ in run)
    ratios = sorted({kind.logarithmic for found, kind in run if found.low is not None})
    equal = " or ".join("×1" if ratio else "0" for ratio in ratios)
    return TextTable(
        title=f"What was expected: {f'{held(checked)} held' if run else 'not run'}{folder.tested}",
        columns=("", "expected", "published", "difference [95 %]", "p", "result"),
        align="lllrrl",
        entries=tuple(_direction(own, " (not a test at this size)" * (own in marked)) for own in checked),
        notes=(
            "Written down and committed before the runs. held and opposite: paired by seed, two-sided, p at most 0.05 "
            "after Holm's correction for all of them. no difference seen: with this many seeds, the difference is not "
            "significant. cannot be told: with this many seeds and this spread of the other arm, not even a perfect "
            "arm would have held; the number of seeds that would be enough is in brackets. not measurable here: both "
            "arms are at chance, or score no more than an answer that does not look at the input, or are near the best "
            "score.",
            *([_OF_INTERVALS.format(equal=equal)] if equal else []),
            *([few] if few else []),
            *([_ALIKE] if any(own.direction.alike for own in checked) else []),
        ),
    )


def _direction(own: CheckedDirection, mark: str) -> tuple[str, ...]:
    said, p = NONE, NONE
    if own.judged is not None and own.kind is not None:
        found = own.judged.comparison
        said = shares(found, own.kind, own.solved) if own.solved else difference(found, own.kind)
        p = NONE if own.judged.p is None else p_value(own.judged.p)
    return _where(own.direction.selection), str(own.direction), own.direction.published, said, p, own.said + mark


def _where(selection: Selection) -> str:
    words = {None: "", "beyond": "unseen lengths", "within": "training lengths"}
    where = words[selection.where] if not isinstance(selection.where, int) else f"at {selection.where}"
    return ", ".join(filter(None, (selection.table, selection.metric.replace("_", " "), where)))


def _provenance(results: Results) -> tuple[str, ...]:
    machines = "; ".join(map(_machine, (results.machine, *results.machine.get("others", ()))))
    rates = sorted({rate for cell in results.cells for rate in cell.tried})
    diverged = [f"{c.table} {c.label} ({', '.join(map(str, c.diverged))})" for c in results.cells if c.diverged]
    but = f" (without that of {', '.join(results.untimed)}, which is unknown)" if results.untimed else ""
    lines = [
        f"Ours: {duration(results.seconds)} of runs in all{but}, excluding compilation, on {machines}; learning rates "
        f"{', '.join(f'{rate:g}' for rate in rates)}. Digests of every config are in {RESULTS}.",
        f"Code: {'; '.join(map(code_words, results.code))}.",
    ]
    lines += [*results.notes, *_rates(results)]
    return (*lines, f"Diverged: {'; '.join(diverged)}.") if diverged else tuple(lines)


def _machine(machine: Json) -> str:
    if not machine:
        return "an unknown machine"
    versions = f"jax {machine['jax']}, flax {machine['flax']}, Python {machine['python']}"
    return f"{device(machine)}; {versions}"


def _rates(results: Results) -> list[str]:
    """A note on the choice of learning rates, and on arms that were all trained at the same one."""
    trained = [rates for cell in results.cells if (rates := tuple(cell.tried)) != (_MOVES_NOTHING,)]
    if any(len(rates) > 1 for rates in trained):
        return ["Every seed has the learning rate that is best in its own validation at the trained lengths."]
    if len(trained) < 2 or len(set(trained)) > 1:
        return []
    return [
        f"Every arm was trained at the one learning rate {trained[0][0]:g}, which was not tuned for each: an arm that "
        "wants another is at a disadvantage."
    ]
