"""Checkpoints: Orbax behind one small adapter that verifies what it reads and falls back to the newest good step."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import jax
import numpy as np

from posenc_jax.training.sharding import path_string

KEPT = 2


class CheckpointError(ValueError):
    """No checkpoint in a directory can be used; the message says why and what to do."""


class SaveError(Exception):
    """A checkpoint could not be written; those before it are whole. The message says where and what to do."""


class Checkpoints:
    """The checkpoints of one group, ``directory/<step>``. Use as a context manager: leaving it waits for the save under
    way.

    Orbax commits a step by renaming its directory, so a killed process leaves whole steps and temporary ones only.
    Orbax
    does not see flipped bits: a record with dtype, shape and SHA-256 of every leaf, itself under a SHA-256, goes into
      each step's metadata and is checked on reading.
    """

    def __init__(self, directory: Path, note: Callable[[str], None] = lambda text: None) -> None:
        self._directory = directory.absolute()
        self._note = note
        self._pending: Any = None

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait()

    def steps(self) -> list[int]:
        """Committed steps, ascending."""
        if not self._directory.is_dir():
            return []
        return sorted(int(p.name) for p in self._directory.iterdir() if p.name.isdigit() and p.is_dir())

    def save(self, step: int, state: Any) -> None:
        """Starts to save a state (host or device arrays); waits for the one before. Only the newest steps are kept."""
        from orbax.checkpoint import v1 as ocp

        self.wait()
        leaves = {name: np.asarray(leaf) for name, leaf in _named(state).items()}
        record = {name: [*_kind(leaf), _digest(leaf)] for name, leaf in leaves.items()}
        metadata = {"leaves": record, "sha256": _record_digest(record)}
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._remove_unfinished()
            self._pending = ocp.save_async(self._directory / str(step), leaves, custom_metadata=metadata)
        except Exception as error:  # OSError, and what TensorStore makes of it
            raise self._not_saved(error) from error

    def wait(self) -> None:
        """Returns when the pending save is committed; raises what went wrong with it."""
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        try:
            pending.result()
        except Exception as error:
            raise self._not_saved(error) from error
        for step in self.steps()[:-KEPT]:
            shutil.rmtree(self._directory / str(step))

    def restore(self, like: Any) -> tuple[int, Any] | None:
        """The newest good step and its state as NumPy arrays in the structure of ``like`` (arrays or shapes); None when
        there is no step at all.

        A damaged step is renamed ``<step>.bad``, reported through ``note``, and the one before is tried.

        Raises:
          CheckpointError: all steps are damaged, or the newest good one belongs to another model.
        """
        problems = []
        for step in reversed(self.steps()):
            try:
                return step, self._read(step, like)
            except (CheckpointError, MemoryError, PermissionError):
                raise
            except Exception as error:  # TensorStore, Orbax and JSON raise many kinds for damaged files
                problem = f"checkpoint {self._directory / str(step)} is damaged ({_first_line(error)})"
                problems.append(problem)
                bad = self._unused_name(f"{step}.bad")
                (self._directory / str(step)).rename(bad)
                self._note(f"{problem}; kept as {bad.name}, trying the one before")
        if problems or any(self._directory.glob("*.bad*")):
            detail = "; ".join(problems) or "only damaged steps (*.bad) are left"
            raise CheckpointError(
                f"no valid checkpoint in {self._directory}: {detail}. To start this group over, move "
                f"{self._directory.parent} away"
            )
        return None

    def _remove_unfinished(self) -> None:
        for stale in self._directory.glob("*.orbax-checkpoint-tmp*"):
            shutil.rmtree(stale, ignore_errors=True)

    def _not_saved(self, error: Exception) -> SaveError:
        self._remove_unfinished()  # on a full disk it would keep it full
        there = next(path for path in (self._directory, *self._directory.parents) if path.is_dir())
        free = shutil.disk_usage(there).free / 1e6
        return SaveError(
            f"could not save a checkpoint in {self._directory} ({_first_line(error)}; {free:.0f} MB free there): "
            "make room, then run the same command again to go on from the checkpoint before"
        )

    def _unused_name(self, name: str) -> Path:
        names = itertools.chain([name], (f"{name}{n}" for n in itertools.count(2)))
        return next(path for path in (self._directory / n for n in names) if not path.exists())

    def _read(self, step: int, like: Any) -> Any:
        from orbax.checkpoint import v1 as ocp

        path = self._directory / str(step)
        expected = {name: _kind(leaf) for name, leaf in _named(like).items()}
        metadata = ocp.metadata(path).custom_metadata
        record = metadata["leaves"]
        if _record_digest(record) != metadata["sha256"]:
            raise ValueError("its record of checksums is damaged")
        stored = {name: tuple(kind) for name, (*kind, _) in record.items()}
        for name in sorted(set(expected) | set(stored)):
            if expected.get(name) != stored.get(name):
                raise CheckpointError(
                    f"checkpoint {path} is of another model: {name} is {_describe(stored.get(name))} there and "
                    f"{_describe(expected.get(name))} in this config; use the config that wrote it, or another "
                    "directory"
                )
        arrays = ocp.load(path, {name: np.zeros(shape, dtype) for name, (dtype, shape) in expected.items()})
        for name, array in arrays.items():
            if _digest(array) != record[name][-1]:
                raise ValueError(f"checksum of {name} does not match")
        leaves = [arrays[name] for name in _named(like)]
        return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _named(tree: Any) -> dict[str, Any]:
    return {path_string(path)[1:].replace("/", "."): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _kind(leaf: Any) -> tuple[str, list[int]]:
    """Dtype and shape, as JSON gives them back."""
    return str(np.dtype(leaf.dtype)), list(np.shape(leaf))


def _record_digest(record: dict) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _digest(array: np.ndarray) -> str:
    array = np.ascontiguousarray(array)
    return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()


def digest(tree: Any) -> str:
    """One SHA-256 over all leaves and their names: equal exactly when the trees are equal to the bit."""
    total = hashlib.sha256()
    for name, leaf in _named(tree).items():
        total.update(f"{name}:{_digest(np.asarray(leaf))};".encode())
    return total.hexdigest()


def _describe(leaf: tuple | None) -> str:
    return "absent" if leaf is None else f"{leaf[0]}{leaf[1]}"


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    if not lines:
        return type(error).__name__
    text = lines[0].partition(" [")[0]  # TensorStore adds places in its source
    return f"{type(error).__name__}: {text if len(text) <= 160 else f'{text[:80]} ... {text[-75:]}'}"
