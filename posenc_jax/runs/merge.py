"""Ablations that were run apart, joined: the finished groups of all in one directory, nothing computed anew."""

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from posenc_jax.config import Ablation, Published, Run, difference, identity, to_json
from posenc_jax.data.text import words
from posenc_jax.files.atomic import LinkError, new_folder, write_atomically
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full, real
from posenc_jax.runs import own_code
from posenc_jax.runs.ablation_record import write_results
from posenc_jax.runs.directory import (
    Replica,
    code_in,
    groups_of,
    listed,
    load_stored,
    read_group,
    read_stored,
    replicas_of,
    results_by_group,
)
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json, sealed_line, write_json
from posenc_jax.runs.groups import refuse_damaged_metrics
from posenc_jax.runs.origins import START, joined_starts, other_beginnings, read_environments
from posenc_jax.runs.ownership import check_writable, claim
from posenc_jax.runs.supply import refuse_other_corpora

Member = TypeVar("Member")
_SAID_ONCE = ("title", "description", "size_note")
_OF_THE_DATA = ("data.json", "tokenizer.model", words.FILE)
_SHOWN = 5  # differences of one replica: there may be hundreds


def merge(
    sources: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    *,
    note: Callable[[str], None] = lambda text: None,
) -> Ablation:
    """Joins ablations into a new directory, which appears when it is whole; the sources are only read.

    A replica that several have must be the same in all, to the bit; it is kept once. Groups that are not finished are
    left out, and ``note`` hears of them.

    Args:
      sources: directories of ablations, at least two.
      directory: the new one, missing or empty.
      note: hears what is left out, and what is marked as not bit-exact since it was made elsewhere than the rest of its
        cell.

    Returns:
      The ablation that the new directory holds.

    Raises:
      RefusedError: the sources differ where they overlap (in a cell's config, own code, data or a replica's results),
        one of them is no ablation or is damaged, or the new directory holds something.
    """
    folders = [full(source).absolute() for source in sources]
    directory = full(directory).absolute()
    if len({real(folder) for folder in folders}) < 2:
        raise RefusedError(f"merge joins at least two ablations, and got {', '.join(map(str, folders)) or 'none'}")
    if directory.is_dir() and any(directory.iterdir()):
        raise RefusedError(f"{directory} is not empty, and a merge begins a directory: choose another")
    check_writable(directory)
    configs = {folder: _read(folder) for folder in folders}
    _refuse_other_code(folders)
    config = joined(configs)
    chosen = {cell: _chosen(cell, configs, note) for cell in config.runs}
    refuse_other_corpora({cell: groups[0][0].parent for cell, groups in chosen.items() if groups})
    with new_folder(directory) as folder:
        claim(folder, config)
        for cell, groups in chosen.items():
            home = folder / cell.directory_name
            home.mkdir()
            _write_cell(home, cell, groups, note)
        write_results(folder, config)
    return config


def joined(configs: dict[Path, Ablation]) -> Ablation:
    """One ablation with the cells of all, each with the seeds and learning rates of all.

    Its name is that of the first; title, description and note on sizes are of the first that has one.

    Raises:
      RefusedError: a cell has another config, or the ablations have different baselines.
    """
    runs: dict[tuple[str, str], tuple[Path, Run]] = {}
    baselines: dict[str, Path] = {}
    for folder, config in configs.items():
        if config.baseline:
            baselines.setdefault(config.baseline, folder)
        for cell in config.runs:
            first, before = runs.setdefault((cell.table, cell.label), (folder, cell))
            if lines := difference(identity(to_json(before)), identity(to_json(cell))):
                raise RefusedError(
                    f"{folder} has another cell {cell.table} {cell.label} than {first}: relabel one of them, "
                    "and run it. Differences:\n  " + "\n  ".join(lines)
                )
            seeds = _union(before.seeds, cell.seeds)
            rates = _union(before.learning_rates, cell.learning_rates)
            runs[cell.table, cell.label] = first, dataclasses.replace(before, seeds=seeds, learning_rates=rates)
    if len(baselines) > 1:
        said = ", ".join(f"{baseline!r} in {folder}" for baseline, folder in baselines.items())
        raise RefusedError(f"the ablations have different baselines ({said}): run one of them with the other's")
    every = list(configs.values())
    once = {field: next(filter(None, (getattr(config, field) for config in every)), "") for field in _SAID_ONCE}
    published: tuple[Published, ...] = ()
    for config in every:
        published = _union(published, config.published)
    cells = tuple(cell for _, cell in runs.values())
    return dataclasses.replace(every[0], runs=cells, baseline=next(iter(baselines), ""), published=published, **once)


def _union(before: tuple[Member, ...], more: tuple[Member, ...]) -> tuple[Member, ...]:
    return tuple(dict.fromkeys((*before, *more)))


def _read(folder: Path) -> Ablation:
    config = load_stored(folder)
    if not isinstance(config, Ablation):
        raise RefusedError(f"{folder} holds a single run, and ablations are merged: name the directory of an ablation")
    return config


def _refuse_other_code(folders: list[Path]) -> None:
    first = folders[0]
    for folder in folders[1:]:
        if lines := own_code.changes(code_in(first / "config.json"), code_in(folder / "config.json")):
            raise RefusedError(
                f"{folder} was run with other code than {first}: {'; '.join(lines)}; run one of them anew"
            )


def _chosen(cell: Run, configs: dict[Path, Ablation], note: Callable[[str], None]) -> list[tuple[Path, Json]]:
    """The finished groups of a cell, in the order of the sources, without those whose replicas others have too."""
    found = [group for folder, config in configs.items() for group in _finished(cell, folder, config, note)]
    _refuse_other_data([path.parent for path, _ in found])
    taken: dict[Replica, tuple[Path, Json]] = {}
    kept = []
    for number, (path, result) in sorted(enumerate(found), key=lambda one: -len(one[1][1]["replicas"])):
        records = dict(zip(replicas_of(result), result["replicas"]))
        there = [replica for replica in records if replica in taken]
        for replica in there:
            _refuse_other_result(replica, taken[replica], (path, records[replica]))
        if not there:
            kept.append((number, path, result))
        elif rest := tuple(replica for replica in records if replica not in taken):
            other = taken[there[0]][0]
            raise RefusedError(
                f"{path} has {listed(tuple(there))}, which {other} has too, and {listed(rest)}, which is in no other, "
                f"and a group cannot be divided: move {path} away, merge, and train the rest in the merged directory"
            )
        taken |= {replica: (path, record) for replica, record in records.items() if replica not in taken}
    if missing := tuple(replica for replica in cell.replicas if replica not in taken):
        note(f"{cell.table} {cell.label} has no result of {listed(missing)}")
    return [(path, result) for _, path, result in sorted(kept, key=lambda one: one[0])]


def _finished(cell: Run, folder: Path, config: Ablation, note: Callable[[str], None]) -> Iterator[tuple[Path, Json]]:
    """The finished groups of one source that have a replica of its config."""
    own = next((run for run in config.runs if (run.table, run.label) == (cell.table, cell.label)), None)
    if own is None:
        return
    home = folder / own.directory_name
    stored = read_stored(home)
    finished = results_by_group(stored, own)
    for path, result in finished:
        refuse_damaged_metrics(path, result)
        yield path, result
    for group in groups_of(stored, own):
        if group.directory not in {path for path, _ in finished} and set(group.replicas) & set(own.replicas):
            note(f"{group.directory} is not finished and is left out: {listed(group.replicas)}")


def _refuse_other_data(homes: list[Path]) -> None:
    records = {home: read_json(home / "data.json") for home in homes if (home / "data.json").exists()}
    for home, record in records.items():
        first = next(iter(records))
        if lines := difference(records[first], record):
            raise RefusedError(
                f"{home} was trained on other data than {first}: run one of them anew. Differences:\n  "
                + "\n  ".join(lines)
            )


def _refuse_other_result(replica: Replica, first: tuple[Path, Json], second: tuple[Path, Json]) -> None:
    if lines := difference(first[1], second[1]):
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        raise RefusedError(
            f"{first[0]} and {second[0]} have different results of {listed((replica,))}: move one of the groups away "
            "and merge again. Differences:\n  " + "\n  ".join([*lines[:_SHOWN], *more])
        )


def _write_cell(home: Path, cell: Run, groups: list[tuple[Path, Json]], note: Callable[[str], None]) -> None:
    claim(home, cell)
    for name in _OF_THE_DATA:
        source = next((path.parent / name for path, _ in groups if (path.parent / name).exists()), None)
        if source is not None:
            shutil.copyfile(source, home / name)
    if began := joined_starts(dict.fromkeys(path.parent for path, _ in groups)):
        write_json(home / START, began)
    for number, (path, result) in enumerate(groups):
        copy = home / f"group-{number:03d}"
        _copy(path, copy)
        elsewhere = other_beginnings(read_group(copy), read_environments(copy)["began"])[1]
        if elsewhere and result["bit_exact"]:
            note(f"{path} was made elsewhere than the groups before it, and is marked bit_exact=false: {elsewhere[0]}")
            write_atomically(copy / "result.json", sealed_line({**result, "bit_exact": False}))


def _copy(group: Path, copy: Path) -> None:
    for path in (group, *group.rglob("*")):
        if path.is_symlink():
            raise LinkError(path)
    shutil.copytree(group, copy, ignore=shutil.ignore_patterns("lock", "holder", "*.unfinished", "*.bad*"))
