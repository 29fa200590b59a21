"""The run or file that a run starts from, and digests of its parameters, by which a change is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from posenc_jax.config import CELL, Run
from posenc_jax.environments import of_process
from posenc_jax.runs.beginnings import read_environments
from posenc_jax.runs.directory import finished_groups, groups_that_count, is_group, read_group, replicas_of, results
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.shapes import Json
from posenc_jax.user_paths import full

FILE = "start.json"


def start_of(config: Run, directory: Path | None) -> Path | None:
    """The directory or file that the run in ``directory`` starts from; None if there is none, or if it starts from a
    cell beside it and no directory is given.
    """
    if config.init_from is None:
        return None
    if not config.init_from.startswith(CELL):
        return full(config.init_from, "init_from").absolute()
    return None if directory is None else home_of(directory.absolute()).parent / config.init_from.removeprefix(CELL)


def home_of(directory: Path) -> Path:
    """The directory of the run that a group is of, or itself."""
    return directory.parent if is_group(directory) else directory


def keep_start(config: Run, directory: Path) -> None:
    """Keeps the digests of the parameters that the run in a directory starts from, for seeds that have no result yet;
    what is kept already stays.

    Raises:
      RefusedError: as `refuse_other_start`.
    """
    source = start_of(config, directory)
    if source is None:
        return
    refuse_other_start(config, directory)
    path = directory / FILE
    kept = read_json(path) if path.exists() else {}
    trained = {seed for result in results(directory) for seed, _ in replicas_of(result)}
    wanted = set(config.seeds) - trained
    own = {
        seed: digests for seed, digests in _digests(source).items() if (int(seed) in wanted if seed else not trained)
    }
    write_json(path, {**own, **kept})


def joined_starts(homes: Iterable[Path]) -> Json:
    """Digests of the parameters that several directories of one run began with; RefusedError if they differ."""
    found: Json = {}
    first: dict[str, Path] = {}
    for home in homes:
        kept = read_json(home / FILE) if (home / FILE).exists() else {}
        for seed, digests in kept.items():
            if found.setdefault(seed, digests) != digests:
                raise RefusedError(
                    f"{home} began with other parameters than {first[seed]} ({_words(seed)}): run one of them anew"
                )
            first.setdefault(seed, home)
    return found


def refuse_other_start(config: Run, directory: Path) -> None:
    """Refuses a run that began with parameters which its start does not have any more. Nothing can be said where the
    start is away or unfinished, or the run was begun before this was kept.
    """
    source, path = start_of(config, directory), directory / FILE
    if source is None or not path.exists() or not (source.is_file() or _is_finished(source)):
        return
    now = _digests(source)
    for seed, before in read_json(path).items():
        if not set(before) <= set(now.get(seed, ())):
            raise RefusedError(
                f"{directory} began with other parameters than {source} has now ({_words(seed)}: they were "
                f"{before[0][:8]}): it was trained anew since. Choose another directory, or remove this one to "
                "start from what is there now"
            )


def trained_in(source: Path | None, seeds: Iterable[int]) -> tuple[Path, list[Json]] | None:
    """The source of a run's first parameters, and the environments in which those of its seeds were trained; None for a
    file, whose origin is unknown.
    """
    if source is None or not source.is_dir():
        return None
    wanted, parts = set(seeds), []
    for group in groups_that_count(source):
        if wanted & {seed for seed, _ in read_group(group).replicas}:
            record = read_environments(group)
            parts += [of_process(own) for own in (record["began"], *record["resumed"], *record["start"])]
    return source, [own for number, own in enumerate(parts) if own not in parts[:number]]


def _digests(source: Path) -> dict[str, list[str]]:
    """Digests of the final parameters at every learning rate, by seed; of a file, the digest of its content."""
    if source.is_file():
        with source.open("rb") as file:
            return {"": [hashlib.file_digest(file, "sha256").hexdigest()]}
    found: dict[str, list[str]] = {}
    for result in finished_groups(source).values():
        for replica in result["replicas"]:
            if replica["diverged_at"] is None:
                found.setdefault(str(replica["seed"]), []).append(replica["parameters_sha256"])
    return {seed: sorted(digests) for seed, digests in sorted(found.items())}


def _is_finished(source: Path) -> bool:
    return source.is_dir() and all((group / "result.json").exists() for group in groups_that_count(source))


def _words(seed: str) -> str:
    return f"seed {seed}" if seed else "the file"
