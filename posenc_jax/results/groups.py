"""The groups in a cell's directory, and their files of rows: those of the cell itself and whole, the others by name.

Pages show more of a cell than its record has: the losses and the time of its training, in files that are found by the
names of folders. So a group's ``config.json`` names its config, its ``result.json`` the metrics that it had, and every
row carries a checksum. Files that are damaged, missing or another cell's are left out as a whole.
"""

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from posenc_jax.files.checksums import DamagedError, read_lines, unseal
from posenc_jax.files.shapes import Json, problem

_GROUP = {"config_hash": str, "replicas": [[float]]}
_LOSS = {"step": int, "seed": int, "learning_rate": float, "loss?": float}
_NAME = re.compile(r"group-\d{3,}")

Losses = Mapping[tuple[int, float], Mapping[int, float]]
"""(seed, learning rate) -> step -> mean training loss in nats since the row before; only finite ones."""


def own_groups(
    cell: Path, config_hash: str | None, names: Collection[str] | None = None
) -> tuple[list[Path], list[str]]:
    """The groups of a cell, each replica once, and a line for every other that lies there.

    Args:
      config_hash: of the cell; None where the caller has compared them.
      names: of the groups that are asked for.
    """
    found: list[Path] = []
    problems: list[str] = []
    taken: dict[tuple[float, ...], str] = {}
    groups = (path for path in cell.glob("group-*") if _NAME.fullmatch(path.name) and path.is_dir())
    for group in sorted(groups, key=lambda path: int(path.name[6:])):
        if names is not None and group.name not in names:
            continue
        if group.is_symlink():
            problems.append(f"{_called(group)} is a link, which is not followed")
            continue
        if config_hash is None or not any(group.iterdir()):  # whose maker was killed
            found.append(group)
            continue
        try:
            data = _read(group / "config.json")
            wrong = problem(data, _GROUP)
        except (OSError, DamagedError) as error:
            data, wrong = {}, _why(error)
        replicas = [tuple(map(float, replica)) for replica in data.get("replicas", ())] if not wrong else []
        twice = [taken[replica] for replica in replicas if replica in taken]
        if wrong:
            problems.append(f"{_called(group)}: its config.json is damaged ({wrong}), so it may be of another run")
        elif (own := data["config_hash"]) != config_hash:
            problems.append(f"{_called(group)} is of another run: its config is {own}, not {config_hash}")
        elif twice:
            problems.append(f"{_called(group)} has replicas that {twice[0]} has too")
        else:
            found.append(group)
            taken |= dict.fromkeys(replicas, group.name)
    return found, problems


def whole_rows(group: Path, name: str, wrong: Callable[[Json], str]) -> tuple[list[Json], str]:
    """The rows of a file of a group, or what is wrong with it, which then has no rows; nothing of both where it has not
    been written yet. wrong: what is wrong with a row, or "".
    """
    path = group / name
    if path.is_symlink():
        return [], f"{_called(path)} is a link, which is not followed"
    if not path.exists():
        return [], f"{_called(path)} is missing" if (group / "result.json").exists() else ""
    try:
        content = _content(path)
    except OSError as error:
        return [], f"{_called(path)} cannot be read ({_why(error)})"
    rows: list[Json] = []
    for line in read_lines(content):
        if line.row is None or (why := wrong(line.row)):
            return [], f"{_called(path)} is damaged (line {line.number}: {line.problem or why})"
        rows.append(line.row)
    return rows, ""


def read_losses(cell_directory: Path, config_hash: str | None = None) -> tuple[Losses, list[str]]:
    """Losses of the groups of a cell, empty without any; and a line for each group that is left out because its file is
    damaged or belongs to another cell.
    """
    found: dict[tuple[int, float], dict[int, float]] = {}
    groups, problems = own_groups(cell_directory, config_hash)
    for group in groups:
        if _never_had_metrics(group):
            continue
        rows, wrong = whole_rows(group, "metrics.jsonl", lambda row: problem(row, _LOSS))
        if wrong := wrong or _other_metrics(group):
            problems.append(wrong)
            continue
        for row in rows:
            if math.isfinite(row.get("loss", math.nan) or math.nan):
                found.setdefault((row["seed"], float(row["learning_rate"])), {})[row["step"]] = float(row["loss"])
    return found, problems


def _never_had_metrics(group: Path) -> bool:
    """True if the training of a finished group was shorter than the steps between two rows."""
    try:
        written = _read(group / "result.json")["metrics_sha256"]
    except (OSError, DamagedError, KeyError):
        return False
    return written == hashlib.sha256(b"").hexdigest() and not (group / "metrics.jsonl").exists()


def _other_metrics(group: Path) -> str:
    """Why ``metrics.jsonl`` of a finished group is not what it was when that was finished, or ""."""
    path = group / "result.json"
    if not path.exists():
        return ""
    try:
        written = _read(path)["metrics_sha256"]
        content = _content(group / "metrics.jsonl")
    except (OSError, DamagedError, KeyError) as error:
        return f"{_called(path)} is damaged ({_why(error)}), which says what its metrics were"
    if written == hashlib.sha256(content).hexdigest():
        return ""
    return f"{_called(group / 'metrics.jsonl')} is damaged (its rows are not those that were written)"


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # a pipe never ends
        raise OSError(0, "it is no file")
    return path.read_bytes()


def _read(path: Path) -> Json:
    return unseal(_content(path))


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _called(path: Path) -> str:
    """CELL/GROUP/FILE, as far as there are such."""
    parts = path.parts[-3:] if path.parent.name.startswith("group-") else path.parts[-2:]
    return "/".join(parts)
