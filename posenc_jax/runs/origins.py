"""Origins of a run's parameters: the environments that its groups trained in, which decide if results are bit-exact;
and the run or file that it starts from, with digests by which a change is noticed.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from posenc_jax.config import CELL, Run
from posenc_jax.environments import OF_PROCESS, compared, of_process
from posenc_jax.files.checksums import sha256_of_files
from posenc_jax.files.shapes import Json, problem
from posenc_jax.files.user_paths import full
from posenc_jax.runs.directory import (
    IMPORTED,
    Group,
    checkpoint_steps,
    finished_groups,
    group_directories,
    groups_that_count,
    home_of,
    read_group,
    replicas_of,
)
from posenc_jax.runs.errors import DamagedFileError, RefusedError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.own_code import changes

START = "start.json"

Environment = dict[str, Any]
"""That of `environment`, with ``mode`` and ``own``, the digests of the user's classes."""


def record_environment(
    group: Group, now: Environment, note: Callable[[str], None], start: tuple[Path, list[Environment]] | None = None
) -> bool:
    """Writes what a group began on, or goes on from now, into its ``environment.json``.

    Args:
      start: where its first parameters are from, and in which environments they were trained.

    Returns:
      False when that has changed since it began to something that gives other bits, when another group of the run
      began on such, when its start was trained in such, or when nobody knows.

    Raises:
      DamagedFileError: a group's record is not what was written.
    """
    path = group.directory / "environment.json"
    if not path.exists():
        lost = bool(checkpoint_steps(group.directory))
        trained_in = {"start": start[1]} if start else {}
        write_json(path, {"began": {} if lost else now, "resumed": [now] if lost else [], **trained_in})
    record = read_environments(group.directory)
    began, resumed = record["began"], record["resumed"]
    lines = _differences(began, now)
    if lines and now not in resumed:
        resumed.append(now)
        write_json(path, record)
    elsewhere = other_beginnings(group, began)
    trained = [line for own in record["start"] for line in compared(own, now, OF_PROCESS).lines] if start else []
    source = f"{start[0]}, which {group.directory.name} starts from, was trained" if start else ""
    for what, found in ((f"{group.directory.name} began", lines), elsewhere, (source, list(dict.fromkeys(trained)))):
        if found:
            note(f"{what} elsewhere, its result will be marked bit_exact=false: {'; '.join(found)}")
    return not resumed and not elsewhere[1] and not trained


def read_environments(group: Path) -> dict[str, Any]:
    """``began``, empty where nobody knows, ``resumed``, in which environments that differ a group went on, and
    ``start``, in which what it started from was trained.
    """
    path = group / "environment.json"
    if not path.exists():
        return {"began": {}, "resumed": [], "start": []}
    way_out = (
        f"restore it, or move it away: what {group.name} began on is then unknown, and what is trained from there on "
        "is not called bit-exact"
    )
    record = read_json(path, way_out)
    if wrong := problem(record, _RECORD):
        raise DamagedFileError(path, wrong, way_out)
    return {"began": record.get("began", {}), **{name: record.get(name) or [] for name in ("resumed", "start")}}


_RECORD = {"began?": {"own?": {str: str}}, "resumed?": [{"own?": {str: str}}], "start?": [{}]}


def is_imported(group: Path) -> bool:
    """True where a group's parameters are a checkpoint of others."""
    return (group / IMPORTED).exists()


def _differences(old: Environment, new: Environment) -> list[str]:
    if not old:
        return ["what it began on is not recorded"]
    return compared(old, new).lines + changes(old.get("own", {}), new.get("own", {}))


def other_beginnings(group: Group, began: Environment) -> tuple[str, list[str]]:
    """The first group of the run that began on something else, in words, and what differs."""
    for directory in group_directories(group.directory.parent):
        if directory != group.directory and (other := read_environments(directory)["began"]):
            lines = _differences(other, began) if began else []
            if lines:
                return f"{directory.name}, beside {group.directory.name}, began", lines
    return "", []


def start_of(config: Run, directory: Path | None) -> Path | None:
    """The directory or file that the run in ``directory`` starts from; None if there is none, or if it starts from a
    cell beside it and no directory is given.
    """
    if config.init_from is None:
        return None
    if not config.init_from.startswith(CELL):
        return full(config.init_from, "init_from").absolute()
    return None if directory is None else home_of(directory.absolute()).parent / config.init_from.removeprefix(CELL)


def keep_start(config: Run, directory: Path, found: Iterable[Json]) -> None:
    """Keeps the digests of the parameters that the run in a directory starts from, for seeds that have no result yet;
    what is kept already stays.

    Args:
      found: the results that are there.

    Raises:
      RefusedError: as `refuse_other_start`.
    """
    source = start_of(config, directory)
    if source is None:
        return
    refuse_other_start(config, directory)
    path = directory / START
    kept = read_json(path) if path.exists() else {}
    trained = {seed for result in found for seed, _ in replicas_of(result)}
    wanted = set(config.seeds) - trained
    own = {
        seed: digests for seed, digests in _digests(source).items() if (int(seed) in wanted if seed else not trained)
    }
    write_json(path, {**own, **kept})


def refuse_other_start(config: Run, directory: Path) -> None:
    """Refuses a run that began with parameters which its start does not have any more. Nothing can be said where the
    start is away or unfinished, or the run was begun before this was kept.
    """
    source, path = start_of(config, directory), directory / START
    if source is None or not path.exists() or not source.exists():
        return
    if source.is_dir() and not all((group / "result.json").exists() for group in groups_that_count(source)):
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
    file and an imported run, which were trained nobody knows where.
    """
    if source is None or not source.is_dir() or any(map(is_imported, groups_that_count(source))):
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
        return {"": [sha256_of_files(source)]}
    found: dict[str, list[str]] = {}
    for result in finished_groups(source).values():
        for replica in result["replicas"]:
            if replica["diverged_at"] is None:
                found.setdefault(str(replica["seed"]), []).append(replica["parameters_sha256"])
    return {seed: sorted(digests) for seed, digests in sorted(found.items())}


def _words(seed: str) -> str:
    return f"seed {seed}" if seed else "the file"
