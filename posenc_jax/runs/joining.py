"""Ablations that were run apart, joined: the finished groups of all in one directory, nothing computed anew."""

import dataclasses
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from posenc_jax.config import Ablation, Run, difference, identity, to_json
from posenc_jax.data.text import words
from posenc_jax.files.atomic import LinkError, new_folder, not_new
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.runs import own_code
from posenc_jax.runs.ablation_record import write_results
from posenc_jax.runs.directory import (
    Replica,
    listed,
    load_stored,
    read_stored,
    replicas_of,
    results_by_group,
)
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.groups import refuse_damaged_metrics
from posenc_jax.runs.identity import claim
from posenc_jax.runs.supply import refuse_other_corpora


def join(
    sources: Sequence[str | os.PathLike[str]], directory: str | os.PathLike[str], note: Callable[[str], None]
) -> None:
    """Joins the cells and seeds of ablations in a new directory, which appears when it is whole; the sources are only
    read. A replica that several have is kept once; what is not finished is left out, and ``note`` hears of it.

    Raises:
      RefusedError: the sources differ where they overlap (in a cell's config, own code, data or a replica's results),
        one of them is no ablation or is damaged, or the new directory is there.
    """
    directory = full(directory).absolute()
    if reason := not_new(directory):
        raise RefusedError(reason)
    configs = {folder: _read(folder) for folder in (full(source).absolute() for source in sources)}
    first = next(iter(configs))
    for folder in configs:
        if lines := own_code.changes(read_stored(first).code, read_stored(folder).code):
            raise RefusedError(f"{folder} was run with other code than {first}: {'; '.join(lines)}")
    config = joined(configs)
    homes = {
        cell: [folder / own.directory_name for folder, each in configs.items() for own in each.runs if _same(own, cell)]
        for cell in config.runs
    }
    refuse_other_corpora({cell: found[0] for cell, found in homes.items()})
    with new_folder(directory) as folder:
        claim(folder, config)
        for cell, found in homes.items():
            _write_cell(folder / cell.directory_name, cell, found, note)
        write_results(folder, config)


def joined(configs: dict[Path, Ablation]) -> Ablation:
    """The first ablation with the cells of all, each with the seeds and learning rates of all; RefusedError where a
    cell has another config.
    """
    runs: dict[tuple[str, str], Run] = {}
    for folder, config in configs.items():
        for cell in config.runs:
            before = runs.setdefault((cell.table, cell.label), cell)
            if lines := difference(identity(to_json(before)), identity(to_json(cell))):
                raise RefusedError(
                    f"{folder} has another cell {cell.table} {cell.label} than those before it: relabel one of them, "
                    "and run it. Differences:\n  " + "\n  ".join(lines)
                )
            seeds = tuple(dict.fromkeys((*before.seeds, *cell.seeds)))
            rates = tuple(dict.fromkeys((*before.learning_rates, *cell.learning_rates)))
            runs[cell.table, cell.label] = dataclasses.replace(before, seeds=seeds, learning_rates=rates)
    published = dict.fromkeys(one for config in configs.values() for one in config.published)
    return dataclasses.replace(next(iter(configs.values())), runs=tuple(runs.values()), published=tuple(published))


def _same(own: Run, cell: Run) -> bool:
    return (own.table, own.label) == (cell.table, cell.label)


def _read(folder: Path) -> Ablation:
    config = load_stored(folder)
    if not isinstance(config, Ablation):
        raise RefusedError(f"{folder} holds a single run, and ablations are joined: name the directory of an ablation")
    return config


def _write_cell(home: Path, cell: Run, sources: list[Path], note: Callable[[str], None]) -> None:
    home.mkdir()
    claim(home, cell)
    taken: dict[Replica, tuple[Path, Json]] = {}
    for source in sources:
        for name in ("data.json", "tokenizer.model", words.FILE):
            if (source / name).exists() and not (home / name).exists():
                shutil.copyfile(source / name, home / name)
        if (source / "data.json").exists() and (
            lines := difference(read_json(home / "data.json"), read_json(source / "data.json"))
        ):
            raise RefusedError(f"{source} was trained on other data than {sources[0]}: {'; '.join(lines)}")
        for path, result in results_by_group(read_stored(source), cell):
            refuse_damaged_metrics(path, result)
            records = dict(zip(replicas_of(result), result["replicas"]))
            for replica in taken.keys() & records.keys():
                if lines := difference(taken[replica][1], records[replica]):
                    other = f"{taken[replica][0]} and {path} have different results of {listed((replica,))}"
                    raise RefusedError(f"{other} ({lines[0]}): move one of the groups away")
            if records.keys() <= taken.keys():
                continue
            if twice := tuple(taken.keys() & records.keys()):
                raise RefusedError(
                    f"{path} has {listed(twice)}, which {taken[twice[0]][0]} has too, beside others, and a group "
                    "cannot be divided: move it away"
                )
            _copy(path, home / f"group-{len({own for own, _ in taken.values()}):03d}")
            taken |= {replica: (path, record) for replica, record in records.items()}
    if missing := tuple(replica for replica in cell.replicas if replica not in taken):
        note(f"{cell.table} {cell.label} has no result of {listed(missing)}")


def _copy(group: Path, copy: Path) -> None:
    for path in (group, *group.rglob("*")):
        if path.is_symlink():
            raise LinkError(path)
    shutil.copytree(group, copy, ignore=shutil.ignore_patterns("lock", "holder", "*.unfinished", "*.bad*"))
