"""Numbers that pages quote: from an ablation's directory into a file of its experiment, and from there into tables.

`results.json` of an experiment has what `posenc_jax.results.read_result` finds (means and paired differences with
their intervals), the score of every seed, and what computed it. A page asks for a table by a comment:

    <!-- results: experiments/NAME/results.json TABLE exact_match@beyond difference@beyond exact_match@16 seeds -->
    (the table, written by scripts/quote)
    <!-- end of results -->

Spaces in a table's name are written as underscores. A column is SCORE@WHERE; WHERE is ``within`` or ``beyond`` (the
mean over those lengths) or one length; ``difference@WHERE`` is the headline score's paired difference to the baseline,
``seeds`` that score of every seed, ``validation`` the score by which learning rates are chosen,
``validation_difference`` that one's difference, and ``published`` what was published.

What scripts/bench measured is kept in scripts/benchmarks/measured.json (scripts/bench --save); pages ask for it by

    <!-- bench: PART -->          (all tables of a part)
    <!-- bench: throughput, short -->     (its sizes side by side)
    <!-- bench: sentences -->     (ten, of several parts)
    <!-- end of bench -->

What the code of a page prints (`documenting.printed`) is written by running it: nothing is typed.

What the runs of all published tables took (experiments/tables/*/results.json) stands between

    <!-- hours of tables -->
    <!-- end of hours -->

A table that another page has, after the words that stand before it there, is copied between

    <!-- table of: experiments/NAME/README.md "written by recurrent.py" -->
    <!-- end of table -->
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.quoted import all_tables, numbered, side_by_side
from documenting import printed

from experiments.tables.folders import RESULTS, folders
from experiments.tables.results import read_results
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.files.checksums import unseal
from posenc_jax.results import read_record, read_result, summarise
from posenc_jax.results.averages import alike, difference_of
from posenc_jax.results.provenance import code_words
from posenc_jax.results.record import Record
from posenc_jax.results.report.entries import published_text
from posenc_jax.results.summary import TaskSummary

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- results: (\S+) (\S+) ([^>]*?) -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
BENCH = re.compile(r"(<!-- bench: (\w+)(, short)? -->\n)(.*?)(<!-- end of bench -->)", re.DOTALL)
HOURS = re.compile(r"(<!-- hours of tables -->\n)(.*?)(<!-- end of hours -->)", re.DOTALL)
COPIED = re.compile(r'(<!-- table of: (\S+) "(.*?)" -->\n)(.*?)(<!-- end of table -->)', re.DOTALL)
MARKER = re.compile(r"^ *<!-- (end of )?(results|bench|hours|table)\b", re.MULTILINE)
MEASURED = ROOT / "scripts" / "benchmarks" / "measured.json"
_WHERE = {"within": "training lengths", "beyond": "unseen lengths"}

Json = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Writes what differs."""
    parser = argparse.ArgumentParser(prog="scripts/quote", description=__doc__.partition("\n\n")[0])
    parser.add_argument("ablation", nargs="?", type=Path, help="the directory of a finished ablation")
    parser.add_argument(
        "folder", nargs="?", type=Path, help="the experiment's folder, which gets results.json; or a file there"
    )
    given = parser.parse_args(arguments)
    if given.ablation and not given.folder:
        parser.error(f"{given.ablation}: say which folder gets its results.json, such as experiments/own_encoding")
    if given.ablation:
        try:
            found = quoted(given.ablation)
        except (ValueError, OSError) as error:
            parser.error(str(error))
        _write(given.folder if given.folder.suffix == ".json" else given.folder / "results.json", as_text(found))
    for page in pages():
        try:
            text = printed.refilled(filled(page.read_text()))
        except ValueError as error:
            parser.error(f"{page.relative_to(ROOT)}: {error}")
        _write(page, text)
    return 0


def quoted(ablation: Path) -> Json:
    """All that pages may quote of an ablation; ValueError where something is missing or not of one code."""
    record, result = read_record(ablation), read_result(ablation)
    summary = summarise(record)
    missing = [*summary.skipped]
    missing += [f"{c.task_label}/{c.label}: {c.unfinished}" for t in summary.tasks for c in t.cells if c.unfinished]
    if missing:
        raise ValueError(f"{ablation} is not finished: {'; '.join(missing)}; run its ablation to the end")
    environments = [unseal(path.read_bytes())["began"] for path in sorted(ablation.glob("*/*/environment.json"))]
    return {
        "name": summary.info["name"],
        "computed by": sorted({code_words(code) for cell in summary.info["cells"] for code in cell["code"]}),
        "bit_exact": all(cell.info["bit_exact"] for task in summary.tasks for cell in task.cells),
        "environment": _common(environments),
        "tables": {
            task.task_label: {
                "metric": task.metric,
                "writes_text": task.writes_text,
                "baseline": task.baseline,
                "within": [task.length_name(length) for length in task.in_range_lengths],
                "beyond": [task.length_name(length) for length in task.unseen_lengths],
                "cells": [cell.label for cell in task.cells],
                "seeds": {cell.label: cell.scores for cell in task.cells},
                "validation metric": task.validation_kind.title,
                "validation": {
                    cell.label: [one.validation.mean, one.validation.low, one.validation.high, one.validation.deviation]
                    for cell in task.cells
                    for one in cell.tried
                    if one.learning_rate == cell.learning_rate
                },
                "validation differences": _validation_differences(record, task),
                "diverged": {cell.label: cell.diverged for cell in task.cells if cell.diverged},
                "published": {
                    cell.label: "; ".join(published_text(task, value) for value in cell.published)
                    for cell in task.cells
                    if cell.published
                },
            }
            for task in summary.tasks
        },
        "means": result.means,
        "differences": result.differences,
    }


def _validation_differences(record: Record, task: TaskSummary) -> dict[str, list[float | None]]:
    """Label -> mean, bounds and deviation of the paired differences to the baseline, by what learning rates are chosen
    by.
    """
    found = {
        cell.label: {
            replica.seed: replica.validation
            for replica in record.replicas[task.task_label, cell.label]
            if replica.learning_rate == cell.learning_rate
        }
        for cell in task.cells
    }
    draws = {cell.label: cell.draws for cell in task.cells}
    compared = {
        label: difference_of(
            alike(scores, draws[label], draws[task.baseline]), found[task.baseline], task.validation_kind
        ).interval
        for label, scores in found.items()
        if task.baseline and label != task.baseline
    }
    return {label: [own.mean, own.low, own.high, own.deviation] for label, own in compared.items()}


def _common(environments: list[Json]) -> Json:
    """The environment that all groups share."""
    names = ("jax", "jaxlib", "flax", "numpy", "python", "device_kind", "device_count", "threads", "cpu", "mode")
    return {
        name: values[0]
        for name in names
        if (values := [environment.get(name) for environment in environments])
        and all(value == values[0] for value in values)
    }


def as_text(found: Json) -> str:
    """JSON with a row a line; numbers to six significant digits."""

    def short(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.6g}")
        if isinstance(value, dict):
            return {str(key): short(item) for key, item in value.items()}
        return [short(item) for item in value] if isinstance(value, list | tuple) else value

    head = {name: value for name, value in found.items() if name not in ("means", "differences")}
    text = json.dumps(short(head), indent=1, ensure_ascii=False).removesuffix("\n}")
    for name in ("means", "differences"):
        rows = ",\n".join("  " + json.dumps(short(row), ensure_ascii=False) for row in found[name])
        text += f',\n "{name}": [\n{rows}\n ]'
    return text + "\n}\n"


def pages() -> list[Path]:
    """The pages of the project that ask for tables."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = [ROOT / name for name in listed.stdout.split()]
    return [page for page in found if MARKER.search(page.read_text()) or printed.is_printed(page.read_text())]


def filled(text: str) -> str:
    """A page with its tables as the files of results have them."""

    def table_of(match: re.Match[str]) -> str:
        begin, file, name, columns, _, end = match.groups()
        return f"{begin}{table(json.loads((ROOT / file).read_text()), name, columns.split())}{end}"

    def measured(match: re.Match[str]) -> str:
        begin, part, short, _, end = match.groups()
        parts = json.loads(MEASURED.read_text())["parts"]
        if part == "sentences":
            return f"{begin}{numbered(parts)}{end}"
        shown = side_by_side if short else all_tables
        return begin + "\n".join(shown(kept, part) for kept in parts[part].values()) + end

    def hours(match: re.Match[str]) -> str:
        return f"{match[1]}{hours_of_tables(ROOT / 'experiments' / 'tables')}\n{match[3]}"

    def copied(match: re.Match[str]) -> str:
        begin, page, words, _, end = match.groups()
        rest = (ROOT / page).read_text().partition(words)[2]
        return begin + "".join(re.findall(r"^\|.*\n(?:\|.*\n)*", rest, re.MULTILINE)[:1]) + end

    _check_markers(text)
    text = COPIED.sub(copied, text)
    return HOURS.sub(hours, BENCH.sub(measured, BLOCK.sub(table_of, text)))


def _check_markers(text: str) -> None:
    """ValueError where a comment that begins or ends a block is misspelt: a block would reach too far, or stay."""
    for what, block, begins in (
        ("results", BLOCK, "results:"),
        ("bench", BENCH, "bench:"),
        ("hours", HOURS, "hours of"),
        ("table", COPIED, "table of:"),
    ):
        found = [match.group(0) for match in block.finditer(text)]
        lines = [line.strip() for line in text.splitlines()]
        begun = sum(line.startswith(f"<!-- {begins}") for line in lines)
        ended = sum(line.startswith(f"<!-- end of {what}") for line in lines)
        whole = all(own.count("<!-- ") == 2 for own in found)
        if not begun == ended == len(found) or not whole:
            raise ValueError(
                f"{begun} comments begin a block of {what}, {ended} end one and {len(found)} blocks are whole: correct "
                "what is misspelt"
            )


def hours_of_tables(root: Path) -> str:
    """The time of the runs behind all results of published tables, in a sentence; open questions apart."""
    found = {name: read_results(root / name / RESULTS) for name in folders(root)}
    missing = ", ".join(name for name, ours in found.items() if ours is None)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for name, ours in found.items():
        if ours is not None:
            source = tomllib.loads((root / name / "published.toml").read_text())["source"]
            seconds[source.startswith("nobody")].append(ours.seconds)
    parts = [
        f"the {len(of)} {what} took {sum(of) / 3600:.2f} hours"
        for of, what in ((seconds[False], "that were published"), (seconds[True], "open questions"))
        if of
    ]
    sentence = f"Excluding compilation, the runs of {' and '.join(parts)}"
    return f"{sentence}; without results: {missing}." if missing else f"{sentence}."


def table(found: Json, name: str, columns: list[str]) -> str:
    """One table in Markdown."""
    name = next(one for one in found["tables"] if one.replace(" ", "_") == name)
    task = found["tables"][name]
    titles = ["encoding", *(_title(task, column) for column in columns)]
    lines = [[label, *(_entry(found, name, label, column) for column in columns)] for label in task["cells"]]
    rows = [titles, ["---"] * len(titles), *lines]
    return "".join(f"| {' | '.join(entry.replace('|', chr(92) + '|') for entry in row)} |\n" for row in rows)


def _title(task: Json, column: str) -> str:
    score, _, where = column.partition("@")
    place = _WHERE.get(where, where)
    if where in _WHERE and task[where]:
        first, last = task[where][0], task[where][-1]
        place += f" {first}" if first == last else f" {first} to {last}"
    if score == "seeds":
        return "every seed"
    if score == "published":
        return "published (lengths)"
    if score == "validation":
        return f"{task['validation metric']}, validation"
    if score == "validation_difference":
        return f"minus {task['baseline']}, paired, validation"
    if score == "difference":
        divided = kind_of(task["metric"]).logarithmic
        return f"{'divided by' if divided else 'minus'} {task['baseline']}, paired, {place}"
    return f"{kind_of(score, task['writes_text']).title}, {place}"


def _entry(found: Json, name: str, label: str, column: str) -> str:
    task, (score, _, where) = found["tables"][name], column.partition("@")
    kind = kind_of(task["metric"] if score in ("seeds", "difference", "validation", "validation_difference") else score)
    gone = task.get("diverged", {}).get(label, {})
    if score == "seeds":
        scores = {int(seed): kind.show(value) for seed, value in task["seeds"][label].items()}
        scores |= {int(seed): "diverged" for seed in gone}
        return ", ".join(scores[seed] for seed in sorted(scores))
    if score == "published":
        return task["published"].get(label, "")
    if score == "validation":
        return _interval(kind.show, *task["validation"][label])
    if score in ("difference", "validation_difference") and label == task["baseline"]:
        return "baseline"
    if score == "validation_difference":
        said = _interval(kind.show_difference, *task["validation differences"][label])
        return said.replace("all seeds", "all pairs")
    asked = {"table": name, "label": label, "score": task["metric"] if score == "difference" else score}
    asked |= {"range": where, "length": None} if where in _WHERE else {"length": int(where)}
    rows = found["differences" if score == "difference" else "means"]
    matching = [row for row in rows if all(row[key] == value for key, value in asked.items())]
    if len(matching) != 1:
        raise ValueError(f"{column}: {len(matching)} rows of {label} in {name}; see the means in its results.json")
    (row,) = matching
    show = kind.show_difference if score == "difference" else kind.show
    said = _interval(show, row["mean"], row["low"], row["high"], row["deviation"])
    said += f" ({row['seeds']} of {row['seeds'] + len(gone)} seeds)" if gone and row["mean"] is not None else ""
    return said.replace("all seeds", "all pairs") if score == "difference" else said


def _interval(show: Any, mean: float | None, low: float | None, high: float | None, deviation: float | None) -> str:
    if mean is None:
        return "-"
    if deviation == 0:
        return f"{show(mean)} (all seeds equal)"
    return show(mean) if low is None else f"{show(mean)} [{show(low)}, {show(high)}]"


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(f"{path}: written", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
