"""Identity of runs: if a directory holds the run that is asked for, it goes on; else it is told why not.

The questions, in the order in which they are asked. The first reason is told, and nothing is written before the fifth:

1. Do the processes that train together have one config, and draw the same random numbers? (`refuse_other_processes`)
2. Can the directory be made or written in? (`owned`, which holds it from then on)
3. Does it hold this config, and do its groups? Has the user's code computed what is there? (`refuse_other`)
4. Can this machine run what is missing? (`preflight`); where nothing is missing: are the tokenizer and the start those
   that it began with? (`supply`, `refuse_other_start`)
5. Are files what was written? (`groups`)
6. Is the text, and is the start, what it began with? (`supply`, `keep_start`)
7. Is the environment the one that it began in? That is never refused: results are marked (`record_environment`).
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from posenc_jax.config import CELL, Run, difference, to_json
from posenc_jax.environments import OF_PROCESS, compared, of_process
from posenc_jax.files.atomic import unusable
from posenc_jax.files.checksums import sha256_of_files
from posenc_jax.files.shapes import Json, problem
from posenc_jax.files.user_paths import full
from posenc_jax.runs import own_code
from posenc_jax.runs.checkpoint import digest
from posenc_jax.runs.directory import (
    FORMAT,
    IMPORTED,
    Group,
    Stored,
    checkpoint_steps,
    differences_from,
    finished_groups,
    group_directories,
    groups_of,
    groups_that_count,
    home_of,
    read_group,
    read_stored,
)
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import DamagedFileError, RefusedError
from posenc_jax.runs.files import locked, read_json, write_json
from posenc_jax.training.processes import agreed, count, everyone

START = "start.json"

Environment = dict[str, Any]
"""That of `environment`, with ``mode`` and ``own``, the digests of the user's classes."""

Found = TypeVar("Found")


def refuse_other_processes(config: Run) -> None:
    """Refuses processes that were given different configs, or draw different random numbers."""
    if count() > 1:
        own, here = to_json(config), of_process(environment())
        other = "; ".join(difference(agreed(lambda: own), own))
        _refuse_one(other, "have different configs: start all with the same command")
        other = "; ".join(compared(agreed(lambda: here), here, OF_PROCESS).draws)
        _refuse_one(other, "draw different random numbers: start all with the same settings and versions")


def refuse_other_states(state: Any) -> None:
    """Refuses processes that do not begin with the same state ``[R, ...]``, bit for bit."""
    if count() > 1:
        own = digest(state)
        other = "" if own == agreed(lambda: own) else "the values of its parameters"
        _refuse_one(other, "begin with other parameters: start all on machines of one kind, with the same versions")


def _refuse_one(differs: str, what: str) -> None:
    """RefusedError in all processes where one ``differs`` from the first."""
    for index, lines in enumerate(everyone(differs)):
        if lines:
            raise RefusedError(
                f"the {count()} processes of this run {what}. Process {index} differs from the first in {lines}"
            )


def check_writable(directory: Path) -> None:
    """Refuses a directory that cannot be made or written in."""
    if reason := unusable(directory):
        raise RefusedError(reason)


def claim(directory: Path, config: Any) -> None:
    """Takes a directory as `take`, or refuses as `refuse_other`."""
    stored = read_stored(directory)
    refuse_other(stored, config)
    take(stored, config)


def take(stored: Stored, config: Any) -> None:
    """Writes ``config.json`` and copies of the user's own code."""
    own_code.save(config, stored.directory)
    if json.dumps(record := config_record(config)) != json.dumps(stored.config):
        write_json(stored.path, record)


@contextlib.contextmanager
def owned(directory: Path, check: Callable[[Stored], Found]) -> Iterator[tuple[Stored, Found]]:
    """Holds a directory that may not be there yet, and gives what it has and what ``check`` tells of that, which may
    refuse it.

    What is there is read once it is held. In a directory that nobody has held yet, which may be somebody else's,
    ``check`` comes before anything is made.
    """

    def checked() -> tuple[Stored, Found]:
        stored = read_stored(directory)
        return stored, check(stored)

    check_writable(directory)
    found = None if (directory / "lock").exists() else checked()
    with locked(directory):
        holds_configs = (directory / "config.json").exists() or any(directory.glob("*/config.json"))
        yield checked() if found is None or holds_configs else found


def refuse_other(stored: Stored, config: Any, *, accept_changed_code: bool = False) -> None:
    """Refuses a directory that holds another config, or results of other code of the user's."""
    directory = stored.directory
    if lines := differences_from(stored, config):
        holds = "a run" if isinstance(config, Run) else "an ablation"
        empty = "" if _begun_in(directory) else " (nothing is computed in it yet: it can be removed)"
        raise RefusedError(
            f"{directory} holds {holds} with other settings{empty}; choose another directory, or go back to them. "
            "Differences:\n  " + "\n  ".join(lines)
        )
    if isinstance(config, Run):
        groups_of(stored, config)
    if not accept_changed_code:
        refuse_changed_code(directory, changed_code(stored, own_code.digests(config)))


def changed_code(stored: Stored, code: own_code.Digests) -> list[str]:
    """The user's classes that differ in ``code`` from those by which a run, or a group of it, computed something."""
    found: list[str] = []
    for own in (stored, *stored.groups):
        if own.code.keys() & code.keys():
            used = {name for user in _begun_in(own.directory) for name in read_stored(user).code}
            found += own_code.changes({name: digest for name, digest in own.code.items() if name in used}, code)
    return list(dict.fromkeys(found))


def _begun_in(directory: Path) -> list[Path]:
    """The runs in a directory, which may be one, that have computed anything; of a group itself."""
    inner = [path.parent for path in directory.glob("*/config.json")]
    if any(map(is_begun, [directory, *inner])):
        return [directory]
    return [path for cell in inner for path in _begun_in(cell)]


def is_begun(group: Path) -> bool:
    """True if a group has computed anything: a result, a checkpoint or the loss of a step."""
    log, checkpoints = group / "metrics.jsonl", group / "checkpoints"
    return (
        any(group.glob("result.json*"))
        or (log.exists() and log.stat().st_size > 0)
        or (checkpoints.is_dir() and any(checkpoints.iterdir()))
    )


def refuse_changed_code(directory: Path, changes: list[str]) -> None:
    """RefusedError if there are any."""
    if changes:
        raise RefusedError(
            f"{directory} has results of other code: {'; '.join(changes)}; go back to that code, choose another "
            "directory, or accept the change (accept_changed_code), which marks what other code computed"
        )


def config_record(config: Any) -> Json:
    """The content of ``config.json`` for a run or an ablation."""
    return {"format": FORMAT, "config": to_json(config), "code": own_code.digests(config)}


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
    return compared(old, new).lines + own_code.changes(old.get("own", {}), new.get("own", {}))


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


def keep_start(config: Run, directory: Path) -> None:
    """Keeps the digests of the parameters that the run in a directory starts from; what is kept already stays.

    Raises:
      RefusedError: as `refuse_other_start`.
    """
    source = start_of(config, directory)
    if source is None:
        return
    refuse_other_start(config, directory)
    path = directory / START
    kept = read_json(path) if path.exists() else {}
    own = {seed: found for seed, found in _digests(source).items() if not seed or int(seed) in config.seeds}
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
            of = f"seed {seed}" if seed else "the file"
            raise RefusedError(
                f"{directory} began with other parameters than {source} has now ({of}: they were {before[0][:8]}): it "
                "was trained anew since. Choose another directory, or remove this one to start from what is there now"
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
