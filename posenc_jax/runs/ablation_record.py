"""The record of an ablation, ``ablation.json`` and ``results.jsonl``, made of its finished cells."""

import contextlib
import dataclasses
import json
import typing
from pathlib import Path
from typing import Any

from posenc_jax.config import Ablation, Published, Run, config_hash, identity, to_json
from posenc_jax.config.guessing import chance_of
from posenc_jax.data.score_kinds import headline
from posenc_jax.data.tasks.floors import floors
from posenc_jax.encodings import Value, elements, spec
from posenc_jax.environments import between, history
from posenc_jax.files.atomic import write_changed
from posenc_jax.files.checksums import sha256_of
from posenc_jax.files.fields import SLOTS, flat
from posenc_jax.files.shapes import Json
from posenc_jax.results.ablation_info import AblationInfo, ByPosition, CellInfo, Code, PublishedInfo
from posenc_jax.runs.directory import Stored, has_all, read_stored, results_by_group
from posenc_jax.runs.environment import code_of, environment
from posenc_jax.runs.errors import DamagedFileError
from posenc_jax.runs.files import read_json, sealed_line, write_json
from posenc_jax.runs.identity import read_environments
from posenc_jax.runs.own_code import digests


@dataclasses.dataclass(frozen=True)
class StoredCell:
    """The stored part of a cell of an ablation.

    Attributes:
      varying: its fields in which the cells differ.
      groups: those that are finished, with their results; ran: in which environments each did.
      environments: those of the groups, by the digest that a result names.
      complete: whether every replica is finished.
    """

    config: Run
    home: Path
    varying: dict[str, Any]
    groups: list[tuple[Path, Json]]
    ran: list[Json]
    environments: dict[str, Json]
    complete: bool


def stored_cells(config: Ablation, homes: list[Stored]) -> list[StoredCell]:
    """The stored part of each cell of an ablation."""
    fields = zip(config.runs, homes, varying_fields(config), strict=True)
    return [stored_cell(cell, home, varying) for cell, home, varying in fields]


def stored_cell(cell: Run, home: Stored, varying: dict[str, Any]) -> StoredCell:
    """The stored part of one cell."""
    groups, ran, environments = [], [], {}
    for path, result in results_by_group(home, cell):
        ran.append(read_environments(path))
        own = history(ran[-1])
        name = sha256_of(own)[:8]
        groups.append((path, {**result, "environment": name}))
        environments[name] = own
    whole = has_all([result for _, result in groups], cell)
    return StoredCell(cell, home.directory, varying, groups, ran, environments, whole)


def write_results(directory: Path, config: Ablation) -> None:
    """`write_record` of what is stored."""
    write_record(directory, config, stored_cells(config, read_homes(directory, config)))


def read_homes(directory: Path, config: Ablation) -> list[Stored]:
    """The directories of the cells of an ablation."""
    return [read_stored(directory / cell.directory_name) for cell in config.runs]


def write_record(directory: Path, config: Ablation, cells: list[StoredCell]) -> None:
    """``results.jsonl`` (one row per cell, seed, learning rate and length) and ``ablation.json`` (everything else a
    report needs) from the finished groups.
    """
    cells = list(cells)
    environments = {name: own for cell in cells for name, own in cell.environments.items()}
    first = next(iter(environments.values()), {})
    # Bit-exact are only results of the bits of the first group.
    exact = {name: not between(first, own).lines for name, own in environments.items()}
    for number, cell in enumerate(cells):
        groups = [
            (path, {**one, "bit_exact": one["bit_exact"] and exact[one["environment"]]}) for path, one in cell.groups
        ]
        cells[number] = dataclasses.replace(cell, groups=groups)
    rows = (sealed_line(row) for cell in cells for _, result in cell.groups for row in _rows(cell, result))
    decoded = {cell.config.table for cell in cells if cell.groups and cell.config.evaluation.decoded_examples}
    write_changed(directory / "results.jsonl", "".join(rows))
    record: AblationInfo = {
        "name": config.name,
        "title": config.title or config.name,
        "description": config.description,
        "baseline": config.baseline,
        "seeds": sorted({seed for cell in config.runs for seed in cell.seeds}),
        "learning_rates": sorted({rate for cell in config.runs for rate in cell.learning_rates}),
        "cells": [_cell_record(cell) for cell in cells],
        "published": [_published(one) for one in config.published],
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
        "chance": {cell.table: chance_of(cell.task) for cell in config.runs},
        "task": {cell.table: to_json(cell.task) for cell in config.runs},
        "asks": {cell.table: cell.task.asks for cell in config.runs},
        "config": to_json(config),
        "environment": _environment([group for cell in cells for group in cell.groups]),
        "environments": environments,
        "size_note": config.size_note,
    }
    if any((own := _own_metrics(config)).values()):
        record["own_metrics"] = own
    path, old = directory / "ablation.json", {}
    with contextlib.suppress(DamagedFileError):
        old = read_json(path) if path.exists() else {}
    if all(cell.complete for cell in cells):
        same = old.get("config") == record["config"] and "floors" in old
        record["floors"] = old["floors"] if same else _floors(config)
        for run in config.runs:
            lengths = run.task.score_lengths(run.evaluation.lengths)
            record.setdefault("shortcut", {})[run.table] = run.task.shortcut
            record.setdefault("shortcut_score", {})[run.table] = run.task.shortcut_score(lengths)
    if old | {"environment": None} != json.loads(json.dumps(record)) | {"environment": None}:
        write_json(path, dict(record))


def _floors(config: Ablation) -> dict[str, dict[str, float]]:
    """Table -> length -> `floors`, where it is not chance."""
    found: dict[str, dict[str, float]] = {}
    for cell in config.runs:
        own, chance = found.setdefault(cell.table, {}), chance_of(cell.task)
        lacking = [n for n in cell.evaluation.lengths if str(n) not in own]
        own |= {str(n): floor for n, floor in floors(cell.task, lacking).items() if floor != (chance or 0.0)}
    return found


def _published(one: Published) -> PublishedInfo:
    fields = ("label", "value", "direction", "metric", "lengths", "source")
    return typing.cast(PublishedInfo, {"task_label": one.table, **{name: getattr(one, name) for name in fields}})


def _environment(groups: list[tuple[Path, Json]]) -> Json:
    """The environment in which the first group began, perhaps on another machine; that of this process if unknown."""
    began = read_environments(groups[0][0])["began"] if groups else {}
    return {name: value for name, value in began.items() if name not in ("mode", "own")} or environment()


def varying_fields(config: Ablation) -> list[dict[str, Any]]:
    """The fields, for each cell, in which the cells of the ablation differ: ``{"model.d_model": 64, ...}``.

    Slots are written as strings; a field that a cell does not have is None. Names of cells, seeds and learning rates
    have columns of their own, and execution is recorded with the results.
    """
    fields = [
        dict(flat(identity(to_json(cell))))
        | {name: None if (slot := getattr(cell, name)) is None else spec(slot) for name in SLOTS}
        for cell in config.runs
    ]
    names = list(dict.fromkeys(name for own in fields for name in own))
    varying = [name for name in names if len({json.dumps(own.get(name)) for own in fields}) > 1]
    return [{name: own.get(name) for name in varying} for own in fields]


def _cell_record(stored: StoredCell) -> CellInfo:
    cell, found = stored.config, [result for _, result in stored.groups]
    slots, code = cell.slots, _code_of(stored.groups, stored.ran)
    own = digests(cell)
    used = dict.fromkeys(e for stack in (slots.encoder, slots.decoder, slots.cross) for e in elements(stack))
    return {
        "label": cell.label,
        "task_label": cell.table,
        "posenc": found[0]["posenc"] if found else None,
        "config_hash": config_hash(cell),
        "directory": stored.home.name,
        "num_parameters": found[0]["num_parameters"] if found else None,
        "num_posenc_parameters": found[0]["num_posenc_parameters"] if found else None,
        "seeds": list(cell.seeds),
        "learning_rates": list(cell.learning_rates),
        "lengths": list(cell.evaluation.lengths),
        "citations": list(dict.fromkeys(text for value in (*used, cell.task) for text in _citations(value))),
        "note": cell.note or None,
        "bit_exact": all(result["bit_exact"] for result in found),
        "code": code,
        "changed_code": any((part["own"] or own) != own for part in code),
        "by_position": _by_position(cell, found),
    }


def _citations(value: Value) -> list[str]:
    """Citations of a value and, after it, of the values in its fields, such as RoPE's scaling."""
    inner = [text for field in vars(value).values() if isinstance(field, Value) for text in _citations(field)]
    return [*filter(None, [getattr(value, "citation", "")]), *inner]


def _code_of(groups: list[tuple[Path, Json]], ran: list[Json]) -> list[Code]:
    """Every code that computed a part of a cell, each with the seeds whose groups it had a part in."""
    found: dict[str, Code] = {}
    for (_, result), record in zip(groups, ran, strict=True):
        for part in (record["began"], *record["resumed"]):
            code = found.setdefault(
                json.dumps(code_of(part), sort_keys=True), typing.cast(Code, {**code_of(part), "seeds": []})
            )
            code["seeds"] = sorted({*code["seeds"], *(replica["seed"] for replica in result["replicas"])})
    return list(found.values())


def _length_names(config: Ablation) -> dict[str, dict[str, str]]:
    """table -> length -> its name, where that is not the number."""
    names: dict[str, dict[str, str]] = {}
    for cell in config.runs:
        for length in cell.evaluation.lengths:
            if cell.task.length_name(length) != str(length):
                names.setdefault(cell.table, {})[str(length)] = cell.task.length_name(length)
    return names


def _by_position(cell: Run, found: list[Json]) -> list[ByPosition]:
    """The perplexities by position, which rows do not hold: ``{seed, learning_rate, length, perplexity}``."""
    asked = set(cell.replicas)
    return [
        {
            "seed": replica["seed"],
            "learning_rate": replica["learning_rate"],
            "length": scores["length"],
            "perplexity": scores["perplexity_by_position"],
        }
        for result in found
        for replica in result["replicas"]
        if (replica["seed"], replica["learning_rate"]) in asked
        for scores in replica["evaluation"]
        if "perplexity_by_position" in scores
    ]


def _own_metrics(config: Ablation) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for cell in config.runs:
        names = found.setdefault(cell.table, [])
        names += [name for name in map(spec, cell.evaluation.metrics) if name not in names]
    return found


def _rows(stored: StoredCell, result: Json) -> list[Json]:
    cell, varying = stored.config, stored.varying
    asked, hashed = set(cell.replicas), config_hash(cell)
    return [
        {
            "task_label": cell.table,
            "label": cell.label,
            "posenc": result["posenc"],
            "config_hash": hashed,
            "seed": replica["seed"],
            "learning_rate": replica["learning_rate"],
            "length": scores["length"],
            "range": cell.task.range_of(scores["length"]),
            **{name: value for name, value in scores.items() if name != "length" and not isinstance(value, list)},
            "validation": replica["validation"][cell.task.validation_metric],
            "validation_loss": replica["validation"].get("loss"),
            "diverged_at": replica["diverged_at"],
            "bit_exact": result["bit_exact"],
            "environment": result["environment"],
            **{name: result[name] for name in ("mode", "group_size", "device_kind", "device_count", "threads")},
            **{name: value for name, value in varying.items() if name != "posenc"},
        }
        for replica in result["replicas"]
        if (replica["seed"], replica["learning_rate"]) in asked
        for scores in replica["evaluation"]
    ]
