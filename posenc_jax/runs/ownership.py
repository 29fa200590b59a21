"""Ownership of a run's directory: claimed for a config and its code, refused to others."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from posenc_jax.config import Run, to_json
from posenc_jax.files.atomic import unusable
from posenc_jax.files.shapes import Json
from posenc_jax.runs import own_code
from posenc_jax.runs.directory import FORMAT, Stored, differences_from, groups_of, read_stored
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import locked, write_json

Found = TypeVar("Found")


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


def refuse_other(
    stored: Stored,
    config: Any,
    *,
    accept_changed_code: bool = False,
    claimed: bool = False,
    cells: Iterable[Stored] = (),
) -> None:
    """Refuses a directory that holds another config, or results of other code of the user's.

    Args:
      claimed: whether others have claimed it, so that their code counts before anything is computed.
      cells: those of an ablation, as far as they are read.
    """
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
        refuse_changed_code(directory, changed_code(stored, own_code.digests(config), claimed=claimed, cells=cells))


def changed_code(
    stored: Stored, code: own_code.Digests, *, claimed: bool = False, cells: Iterable[Stored] = ()
) -> list[str]:
    """The user's classes that differ in ``code`` from those by which a run, or a group of it, computed something, or
    (``claimed``) will.
    """
    found: list[str] = []
    known = {own.directory: own for own in (stored, *stored.groups, *cells)}
    for own in (stored, *stored.groups):
        was = own.code
        if was.keys() & code.keys():
            users = [own.directory] if claimed else _begun_in(own.directory)
            used = {name for user in users for name in (known.get(user) or read_stored(user)).code}
            found += own_code.changes({name: digest for name, digest in was.items() if name in used}, code)
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
