"""The groups in a cell's directory, and their files of rows: those of the cell itself and whole, the others by name.

Pages show more of a cell than its record has: the losses and the time of its training, in files that are found by the
names of folders. So a group's ``config.json`` names its config, its ``result.json`` the metrics that it had, and every
row carries a checksum. Files that are damaged, missing or another cell's are left out as a whole.
"""

import hashlib
import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from posenc_jax.files.checksums import DamagedError, read_lines, unseal
from posenc_jax.files.shapes import Json

_NAME = re.compile(r"group-\d{3,}")

Losses = Mapping[tuple[int, float], Mapping[int, float]]
"""(seed, learning rate) -> step -> mean training loss in nats since the row before; only finite ones."""


def own_groups(
    cell: Path, config_hash: str | None, names: Collection[str] | None = None
) -> tuple[list[Path], list[str]]:
    """The groups of a cell, and a line for every other that lies there.

    Args:
      config_hash: of the cell; None where the caller has compared them.
      names: of the groups that are asked for.
    """
    found: list[Path] = []
    problems: list[str] = []
    groups = (path for path in cell.glob("group-*") if _NAME.fullmatch(path.name) and path.is_dir())
    for group in sorted(groups, key=lambda path: int(path.name[6:])):
        if group.is_symlink() or (names is not None and group.name not in names):
            continue
        if config_hash is None or not any(group.iterdir()):  # whose maker was killed
            found.append(group)
            continue
        own, wrong = _member(group / "config.json", "config_hash")
        if wrong:
            problems.append(f"{_called(group)}: its config.json is damaged ({wrong}), so it may be of another run")
        elif own != config_hash:
            problems.append(f"{_called(group)} is of another run: its config is {own}, not {config_hash}")
        else:
            found.append(group)
    return found, problems


def whole_rows(group: Path, name: str, config_hash: str | None = None) -> tuple[list[Json], str]:
    """The rows of a file of a group, or what is wrong with it, which then has no rows; nothing of both where it has not
    been written yet.

    Args:
      config_hash: of the cell; a row that names another is wrong.
    """
    path = group / name
    if path.is_symlink() or not path.exists():
        return [], f"{_called(path)} is missing" if (group / "result.json").exists() else ""
    rows: list[Json] = []
    for line in read_lines(path.read_bytes()):
        if line.row is None:
            return [], f"{_called(path)} is damaged (line {line.number}: {line.problem})"
        if None not in (config_hash, of := line.row.get("config_hash")) and of != config_hash:
            return [], f"{_called(path)} is damaged (line {line.number}: it is of config {of}, not {config_hash})"
        rows.append(line.row)
    return rows, ""


def read_losses(cell_directory: Path, config_hash: str | None = None) -> tuple[Losses, list[str]]:
    """Losses of the groups of a cell, empty without any; and a line for each group that is left out because its file is
    damaged or belongs to another cell.
    """
    found: dict[tuple[int, float], dict[int, float]] = {}
    groups, problems = own_groups(cell_directory, config_hash)
    for group in groups:
        rows, wrong = whole_rows(group, "metrics.jsonl")
        if (group / "result.json").exists():
            rows, wrong = _as_finished(group, rows, wrong)
        problems += [wrong] * bool(wrong)
        for row in rows:
            if math.isfinite(row.get("loss", math.nan) or math.nan):
                found.setdefault((row["seed"], float(row["learning_rate"])), {})[row["step"]] = float(row["loss"])
    return found, problems


def _as_finished(group: Path, rows: list[Json], wrong: str) -> tuple[list[Json], str]:
    """The metrics of a finished group, if they are those that its ``result.json`` had; training that was shorter than
    the steps between two rows wrote none.
    """
    path = group / "metrics.jsonl"
    written, damaged = _member(group / "result.json", "metrics_sha256")
    if damaged:
        said = f"{_called(group / 'result.json')} is damaged ({damaged}), which says what its metrics were"
        return [], wrong or said
    content = path.read_bytes() if path.exists() else b""
    if written == hashlib.sha256(content).hexdigest():
        return rows, ""
    return [], wrong or f"{_called(path)} is damaged (its rows are not those that were written)"


def _member(path: Path, name: str) -> tuple[str, str]:
    """A member of a file, or why it cannot be read."""
    try:
        return str(unseal(path.read_bytes())[name]), ""
    except (OSError, DamagedError, KeyError) as error:
        return "", (isinstance(error, OSError) and error.strerror) or str(error)


def _called(path: Path) -> str:
    """CELL/GROUP/FILE, as far as there are such."""
    parts = path.parts[-3:] if path.parent.name.startswith("group-") else path.parts[-2:]
    return "/".join(parts)
