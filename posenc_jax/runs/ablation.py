"""An ablation: every cell run, and one record of their results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from posenc_jax.config import Ablation, Run, config_hash, difference, identity, to_json
from posenc_jax.data.score_kinds import headline
from posenc_jax.encodings import elements
from posenc_jax.runs.cell import Reporter, StoppedError, run
from posenc_jax.runs.directory import RefusedError, complete, locked, read_json, results
from posenc_jax.runs.environment import environment
from posenc_jax.runs.files import dumps, write_atomically
from posenc_jax.runs.preflight import check_run, check_writable


class FailedCellsError(Exception):
    """Some cells failed, the others are complete; the message lists them."""


def ablate(
    config: Ablation,
    directory: str | os.PathLike,
    *,
    reporter: Reporter | None = None,
    stop: Callable[[], int | None] = lambda: None,
) -> Path:
    """Runs every cell that has no result yet, then writes ``results.jsonl`` and ``ablation.json``.

    `posenc_jax.report.build` makes tables, figures and a page of them.

    Args:
      config: the comparison. directory: where its cells live, one folder each. The same command on the same directory
        resumes.
      reporter: hears progress. stop: asked at every call boundary; a signal number ends the ablation with its state
        saved.

    Returns:
      The directory.

    Raises:
      RefusedError: the directory holds an ablation in which a cell of the same name has another config (with the
      differences).
      FailedCellsError: some cells failed; the others are complete and in the results. StoppedError: ``stop`` asked for
      it.
    """
    reporter = reporter or Reporter()
    directory = Path(directory).expanduser().absolute()
    failures = []
    check_writable(directory)
    _refuse_other(directory, config)
    to_run = [cell for cell in config.runs if not complete(directory / cell.directory_name, cell)]
    for cell in to_run:
        check_run(cell)
    with locked(directory):
        _claim(directory, config)
        if not to_run:
            reporter.note(f"{directory} is already complete: nothing to do")
        for number, cell in enumerate(to_run):
            reporter.cell(f"{cell.table} {cell.label}", number, len(to_run))
            try:
                run(cell, directory / cell.directory_name, reporter=reporter, stop=stop)
            except StoppedError:
                raise
            except Exception as error:  # one broken cell must not cost the others
                failures.append(f"{cell.table} {cell.label}: {type(error).__name__}: {error}")
                reporter.note(f"cell failed, going on with the others. {failures[-1]}")
            write_results(directory, config)
        write_results(directory, config)
    if failures:
        raise FailedCellsError(
            f"{len(failures)} of {len(config.runs)} cells failed (run the same command again to repeat only them):\n  "
            + "\n  ".join(failures)
        )
    return directory


def write_results(directory: Path, config: Ablation) -> None:
    """``results.jsonl`` (one row per cell, seed, learning rate and length) and ``ablation.json`` (everything else a
    report needs) from the finished groups.
    """
    rows, cells, decoded = [], [], set()
    for cell in config.runs:
        found = results(directory / cell.directory_name, cell)
        if found and cell.evaluation.decoded_examples:
            decoded.add(cell.table)
        cells.append(_cell_record(cell, found))
        for result in found:
            rows += _rows(cell, result)
    _write_changed(directory / "results.jsonl", "".join(dumps(row) + "\n" for row in rows))
    record = {
        "name": config.name,
        "title": config.title or config.name,
        "description": config.description,
        "baseline": config.baseline,
        "seeds": sorted({seed for cell in config.runs for seed in cell.seeds}),
        "learning_rates": sorted({rate for cell in config.runs for rate in cell.learning_rates}),
        "cells": cells,
        "published": [
            {
                "task_label": p.table,
                **{k: getattr(p, k) for k in ("label", "value", "direction", "metric", "lengths", "source")},
            }
            for p in config.published
        ],
        "train_lengths": {
            cell.table: [min(cell.task.train_lengths), max(cell.task.train_lengths)] for cell in config.runs
        },
        "metric": {cell.table: headline(cell.task, cell.evaluation.decoded_examples) for cell in config.runs},
        "validation_metric": {cell.table: cell.task.validation_metric for cell in config.runs},
        "writes_text": {cell.table: cell.task.writes_text for cell in config.runs},
        "length_unit": {cell.table: cell.task.length_unit for cell in config.runs},
        "length_names": _length_names(config),
        "signatures": {cell.table: cell.task.signatures for cell in config.runs if cell.table in decoded},
        "task_notes": {cell.table: cell.task.note for cell in config.runs if cell.task.note},
        "chance": {cell.table: cell.task.chance for cell in config.runs},
        "task": {cell.table: to_json(cell.task) for cell in config.runs},
        "config": to_json(config),
        "environment": environment(),
        "size_note": config.size_note,
    }
    path = directory / "ablation.json"
    if path.exists():
        old = read_json(path)
        if {**old, "environment": None} == {**json.loads(json.dumps(record)), "environment": None}:
            return
    write_atomically(path, json.dumps(record, indent=1) + "\n")


def _write_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        write_atomically(path, text)


def all_missing(directory: Path, config: Ablation) -> bool:
    """True when no cell has a single result."""
    return not any(results(directory / cell.directory_name, cell) for cell in config.runs)


def _claim(directory: Path, config: Ablation) -> None:
    """Writes ``config.json``, unless the directory holds another ablation."""
    _refuse_other(directory, config)
    _write_changed(directory / "config.json", json.dumps(to_json(config), indent=1) + "\n")


def _refuse_other(directory: Path, config: Ablation) -> None:
    """Refuses when a cell of the same name has another config there; cells may be added or left out."""
    path = directory / "config.json"
    if path.exists():
        data = read_json(path)
        if data.get("type") != to_json(config)["type"]:
            raise RefusedError(f"{directory} is the directory of a single run: choose another one for an ablation")
        old = {(cell["table"], cell["label"]): cell for cell in data["runs"]}
        lines = []
        for cell in config.runs:
            before = old.get((cell.table, cell.label))
            if before is not None:
                lines += difference(identity(before), identity(to_json(cell)), f"[{cell.table} {cell.label}]")
        if lines:
            raise RefusedError(
                f"{directory} holds an ablation with other settings; choose another directory, or go back to them. "
                "Differences:\n  " + "\n  ".join(lines)
            )


def _cell_record(cell: Run, found: list[dict]) -> dict:
    slots = cell.slots
    used = dict.fromkeys(e for stack in (slots.encoder, slots.decoder, slots.cross) for e in elements(stack))
    return {
        "label": cell.label,
        "task_label": cell.table,
        "posenc": found[0]["posenc"] if found else None,
        "config_hash": config_hash(cell),
        "directory": cell.directory_name,
        "num_parameters": found[0]["num_parameters"] if found else None,
        "num_posenc_parameters": found[0]["num_posenc_parameters"] if found else None,
        "seeds": list(cell.seeds),
        "learning_rates": list(cell.learning_rates),
        "lengths": list(cell.evaluation.lengths),
        "citations": [e.citation for e in used] + [cell.task.citation],
        "note": cell.note or None,
        "bit_exact": all(result["bit_exact"] for result in found),
        "by_position": _by_position(cell, found),
    }


def _length_names(config: Ablation) -> dict[str, dict[str, str]]:
    """table -> length -> its name, where that is not the number."""
    names: dict[str, dict[str, str]] = {}
    for cell in config.runs:
        for length in cell.evaluation.lengths:
            if cell.task.length_name(length) != str(length):
                names.setdefault(cell.table, {})[str(length)] = cell.task.length_name(length)
    return names


def _by_position(cell: Run, found: list[dict]) -> list[dict]:
    """The perplexities by position, which have no place in rows: ``{seed, learning_rate, length, perplexity}``."""
    return [
        {
            "seed": replica["seed"],
            "learning_rate": replica["learning_rate"],
            "length": scores["length"],
            "perplexity": scores["perplexity_by_position"],
        }
        for result in found
        for replica in result["replicas"]
        if (replica["seed"], replica["learning_rate"]) in set(cell.replicas)
        for scores in replica["evaluation"]
        if "perplexity_by_position" in scores
    ]


def _rows(cell: Run, result: dict) -> list[dict]:
    asked = set(cell.replicas)
    trained = set(cell.task.train_lengths)
    return [
        {
            "task_label": cell.table,
            "label": cell.label,
            "posenc": result["posenc"],
            "config_hash": result["config_hash"],
            "seed": replica["seed"],
            "learning_rate": replica["learning_rate"],
            "length": scores["length"],
            "in_range": scores["length"] <= max(trained),
            **{name: value for name, value in scores.items() if name != "length" and not isinstance(value, list)},
            "validation": replica["validation"][cell.task.validation_metric],
            "diverged_at": replica["diverged_at"],
            **{name: result[name] for name in ("mode", "group_size", "device_kind", "device_count", "threads")},
        }
        for replica in result["replicas"]
        if (replica["seed"], replica["learning_rate"]) in asked
        for scores in replica["evaluation"]
    ]
