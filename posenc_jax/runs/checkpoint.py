"""Checkpoints: Orbax behind one small adapter that verifies what it reads and falls back to the newest good step.

Loss of power: Orbax gives a step its name when its files are written, not when they are on disk. So a step is saved
under another name, all of it is waited for, then it gets its own, which is waited for too; only then older steps are
removed. Whatever has a step's name is whole, and of what was saved there is always a step.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import functools
import gc
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.files.atomic import make_directory, sync, sync_tree
from posenc_jax.files.checksums import sha256_of
from posenc_jax.refusals import WAYS_OUT, of_the_system
from posenc_jax.runs.errors import CheckpointError, RefusedError, SaveError
from posenc_jax.runs.files import numbered, put_aside
from posenc_jax.training.leaf_names import flat
from posenc_jax.training.processes import agreed, count, everyone, first, host, lost

KEPT = 2
_UNFINISHED = ".unfinished"


def kept(steps: Sequence[int], keep_every: int) -> set[int]:
    """The saved steps, of those ascending, that stay: the newest `KEPT`, and multiples of ``keep_every`` (0: none)."""
    return {*steps[-KEPT:], *(step for step in steps if keep_every and step % keep_every == 0)}


def leaf_digest(array: np.ndarray) -> str:
    """SHA-256 of an array with its dtype and shape."""
    array = np.ascontiguousarray(array)
    total = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
    total.update(array.reshape(-1).view(np.uint8).data)  # no copy
    return total.hexdigest()


def digest(tree: Any) -> str:
    """One SHA-256 over all leaves and their names: equal exactly when the trees are equal to the bit."""
    return joined({name: leaf_digest(np.asarray(leaf)) for name, leaf in flat(tree).items()})


def joined(digests: Mapping[str, str]) -> str:
    """`digest` of a tree, from those of its leaves in its order."""
    return hashlib.sha256("".join(f"{name}:{found};" for name, found in digests.items()).encode()).hexdigest()


class DamagedCheckpointError(Exception):
    """A checkpoint is not what was written: a checksum does not match, a file is missing or malformed."""


class Checkpoints:
    """The checkpoints of one group, ``directory/<step>``. Use as a context manager: leaving it waits for the save under
    way.

    A step gets its name when it is whole and on disk, so a killed process leaves whole steps and unfinished ones only.
    Orbax does not see flipped bits: a record with dtype, shape and SHA-256 of every leaf, itself under a SHA-256, goes
    into each step's metadata and is checked on reading.
    """

    def __init__(
        self, directory: Path, note: Callable[[str], None] = lambda text: None, *, keep_every: int = 0
    ) -> None:
        """``keep_every``: steps whose multiples stay when newer ones are saved (0: the newest two only)."""
        self._keep_every = keep_every
        self._directory = directory.absolute()
        self._note = note
        self._writer = concurrent.futures.ThreadPoolExecutor(1)
        self._pending: concurrent.futures.Future[Any] | None = None
        self._size = 0

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.wait()
        finally:
            self._writer.shutdown()

    def steps(self) -> list[int]:
        """Committed steps, ascending."""
        return numbered(self._directory)

    def at(self, step: int) -> Path:
        """The path of a step."""
        return self._directory / str(step)

    def save(
        self, step: int, state: Any, rows: str | None = None, *, before: Callable[[], None] = lambda: None
    ) -> None:
        """Starts to save a state (host or device arrays); waits for the one before. Kept are the newest steps, and the
        multiples of ``keep_every``.

        Returns as soon as devices are told to copy the state where it lies: it is fetched, checksums and files are made
        while training goes on, which may give the state itself away.

        Args:
          rows: the digest of the rows that were written up to this step, see `rows_at`.
          before: called before the step gets its name, while training goes on: waits for what belongs to the step.
        """
        self.wait()
        leaves = flat(state) if count() > 1 else _copied(flat(state))
        self._size = sum(leaf.nbytes for leaf in leaves.values())
        metadata = {"step": step, **({} if rows is None else {"rows": rows})}
        if count() > 1:  # what Orbax's processes tell each other must not overtake what training's do
            self._saved(lambda: self._write(metadata, leaves, before))
            self._remove_old()
            return
        self._pending = self._writer.submit(self._write, metadata, leaves, before)

    def wait(self) -> None:
        """Returns when the pending save is on disk; raises what went wrong with it."""
        pending, self._pending = self._pending, None
        if pending is not None:
            self._saved(pending.result)
            self._remove_old()

    def _saved(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Exception as error:  # OSError, and what TensorStore makes of it
            if lost(error):
                raise
            raise self._not_saved(error) from error

    def _remove_old(self) -> None:
        if first():
            steps = self.steps()
            for step in set(steps) - kept(steps, self._keep_every):
                shutil.rmtree(self.at(step))

    def restore(
        self,
        like: Any,
        *,
        set_aside: bool,
        misfit: Callable[[int, Any], str] = lambda step, state: "",
        also: tuple[Any, Callable[[Any], Any]] | None = None,
        only: int | None = None,
    ) -> tuple[int, Any] | None:
        """The newest good step and its state as NumPy arrays in the structure of ``like`` (arrays or shapes); None when
        there is no step at all.

        A damaged step is reported through ``note``, and the one before is tried. What cannot be read for another reason
        (no permission, too many open files, an I/O error, a missing module) is an error, and stays as it is.

        Args:
          set_aside: whether a damaged step is renamed ``<step>.bad``. Only who holds the directory's lock, and goes on
            from the step before, may ask for it.
          misfit: why a state that is whole is not one of its step, or ""; it counts as damaged then.
          also: another structure in which such a state may be stored, and what makes of it one like ``like``.
          only: the one step that will do.

        Raises:
          CheckpointError: all steps are damaged, or the newest good one belongs to another model.
          RefusedError: a step cannot be read here.
        """
        problems = []
        for step in agreed(lambda: [n for n in self.steps()[::-1] if only in (None, n)]):
            path, state, problem = self.at(step), None, ""
            try:
                state = self._read(step, like, also)
                problem = misfit(step, state)
            except DamagedCheckpointError as error:
                problem = str(error)
            problem = next(filter(None, everyone(problem)), "")
            if not problem:
                return step, state
            problem = f"checkpoint {path} is damaged ({problem})"
            problems.append(problem)
            if set_aside:
                problem += f"; kept as {agreed(functools.partial(put_aside, path)).name}"
            self._note(f"{problem}, trying the one before")
            gc.collect()  # of Orbax's tasks that failed: they complain when they go, and that should be here
        damaged = agreed(lambda: any(self._directory.glob("*.bad*")))
        if problems or damaged:
            detail = "; ".join(problems) or "only damaged steps (*.bad) are left"
            raise CheckpointError(
                f"no valid checkpoint in {self._directory}: {detail}. To start this group over, move "
                f"{self._directory.parent} away"
            )
        return None

    def rows_at(self, step: int) -> str | None:
        """The digest of the rows that a step was saved with; None for a step that was saved without, or is damaged."""
        try:
            return self._record(step).get("rows")
        except DamagedCheckpointError:
            return None

    def _write(self, about: dict[str, Any], copies: dict[str, Any], before: Callable[[], None]) -> None:
        from orbax.checkpoint import v1 as ocp

        before()
        leaves = {name: np.asarray(leaf, order="C") for name, leaf in copies.items()} if count() == 1 else copies
        metadata = {"leaves": _sums(leaves), **about}
        path = self.at(about["step"])
        unfinished = path.with_name(f"{path.name}{_UNFINISHED}")

        def begun() -> None:
            make_directory(self._directory)
            self._remove_unfinished()

        def ended() -> None:
            sync_tree(unfinished)
            unfinished.rename(path)
            sync(self._directory)

        agreed(begun)
        ocp.save(unfinished, leaves, custom_metadata={**metadata, "sha256": sha256_of(metadata)})
        agreed(ended)

    def _remove_unfinished(self) -> None:
        for stale in (*self._directory.glob(f"*{_UNFINISHED}"), *self._directory.glob("*.orbax-checkpoint-tmp*")):
            shutil.rmtree(stale, ignore_errors=True)

    def _not_saved(self, error: Exception) -> SaveError:
        self._remove_unfinished()  # on a full disk it would keep it full
        there = next(path for path in (self._directory, *self._directory.parents) if path.is_dir())
        free = shutil.disk_usage(there).free
        missing = f", {self._size - free:,} are missing" if self._size > free else ""
        refused = of_the_system(error)
        way_out = WAYS_OUT.get((refused and refused.errno) or 0, "make room" if missing else "mend that")
        return SaveError(
            f"could not save a checkpoint in {self._directory} ({_first_line(error)}; it needs at least {self._size:,} "
            f"bytes, {free:,} are free{missing}): {way_out}, then run the same command again to go on from the "
            "checkpoint before"
        )

    def _record(self, step: int) -> dict[str, Any]:
        """The record of a step: the kind and the checksum of every leaf, its number, the digest of its rows.

        Raises:
          DamagedCheckpointError: it is not what was written, or of another step than its name.
          RefusedError: it cannot be read.
        """
        from orbax.checkpoint import v1 as ocp

        path = self.at(step)
        try:
            with _alone():
                metadata = dict(ocp.metadata(path).custom_metadata)
            digest = metadata.pop("sha256")
        except Exception as error:
            raise _reason(error, path) from error
        if digest != sha256_of(metadata):
            raise DamagedCheckpointError("its record of checksums does not match its own")
        if metadata["step"] != step:
            raise DamagedCheckpointError(f"it is step {metadata['step']} under another name")
        return metadata

    def _read(self, step: int, like: Any, also: tuple[Any, Callable[[Any], Any]] | None) -> Any:
        from orbax.checkpoint import v1 as ocp

        path, record = self.at(step), self._record(step)["leaves"]
        if also is not None and set(flat(also[0])) == set(record):
            other, arranged = also
            return arranged(self._read(step, other, None))
        expected = {name: _kind(leaf) for name, leaf in flat(like).items()}
        stored = {name: tuple(kind) for name, (*kind, _) in record.items()}
        for name in sorted(set(expected) | set(stored)):
            if expected.get(name) != stored.get(name):
                raise CheckpointError(
                    f"checkpoint {path} is of another model: {name} is {_describe(stored.get(name))} there and "
                    f"{_describe(expected.get(name))} in this config; use the config that wrote it, or another "
                    "directory"
                )
        try:
            with _alone():
                arrays = ocp.load(path, {name: np.zeros(shape, dtype) for name, (dtype, shape) in expected.items()})
        except Exception as error:
            raise _reason(error, path) from error
        for name, array in arrays.items():
            if leaf_digest(array) != record[name][-1]:
                raise DamagedCheckpointError(f"checksum of {name} does not match")
        leaves = [arrays[name] for name in flat(like)]
        return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _alone() -> Any:
    """Orbax waits for no other process while this one reads.

    Several processes that compute together all read, each for itself: Orbax counts what a process does in the names of
    its barriers, and one that had read more often than another would wait for it for ever when next they save.
    """
    from orbax.checkpoint import v1 as ocp

    if count() == 1:
        return contextlib.nullcontext()
    context = ocp.Context()
    context.multiprocessing.primary_host = jax.process_index()
    context.multiprocessing.active_processes = {jax.process_index()}
    context.multiprocessing.barrier_sync_key_prefix = f"process-{jax.process_index()}"
    return context


# What Orbax and TensorStore say of files that are not what was written; "OS error" is the system's.
_DAMAGED = (json.JSONDecodeError, UnicodeDecodeError, FileNotFoundError, KeyError, EOFError)
_DAMAGE = re.compile(
    "DATA_LOSS|NOT_FOUND|FAILED_PRECONDITION|OUT_OF_RANGE|Error decoding|Error parsing|does not exist|No valid PyTree"
    "|NoneType"
)
_OS_ERROR = re.compile(r"OS error (\d+)|errno[ =:]*(\d+)", re.IGNORECASE)


def _reason(error: Exception, path: Path) -> Exception:
    """Damage, or why the files cannot be read here and now."""
    links = _chain(error)
    numbers = [int(a or b) for link in links for a, b in _OS_ERROR.findall(str(link))]
    numbers += [link.errno for link in links if isinstance(link, OSError) and link.errno]
    here = [n for n in numbers if n not in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)]
    if not here and any(isinstance(link, _DAMAGED) or _DAMAGE.search(str(link)) for link in links):
        return DamagedCheckpointError(_first_line(error))
    return RefusedError(
        f"checkpoint {path} cannot be read here ({os.strerror(here[0]) if here else _first_line(error)}); nothing was "
        "changed: mend that, then run the same command again"
    )


def _chain(error: BaseException | None) -> list[BaseException]:
    links: list[BaseException] = []
    while error is not None and error not in links:
        links.append(error)
        error = error.__cause__ or error.__context__
    return links


def _copied(leaves: dict[str, Any]) -> dict[str, Any]:
    """Copies of arrays, each where it lies; returns before devices have made theirs."""
    on_devices = {name: leaf for name, leaf in leaves.items() if isinstance(leaf, jax.Array)}
    found = {name: np.array(leaf, order="C") for name, leaf in leaves.items() if name not in on_devices}
    return found | (_copied_by_devices(on_devices) if on_devices else {})


_copied_by_devices = jax.jit(lambda leaves: jax.tree.map(jnp.copy, leaves))


def _sums(leaves: dict[str, Any]) -> dict[str, list[Any]]:
    """The kind and the SHA-256 of each leaf. What several processes hold in parts is put together leaf by leaf, so that
    none needs room for all.
    """
    if count() > 1:
        return {name: [*_kind(leaf), leaf_digest(host(leaf))] for name, leaf in leaves.items()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing lets go of the interpreter's lock
        sums = pool.map(leaf_digest, leaves.values())
        return {name: [*_kind(leaf), found] for (name, leaf), found in zip(leaves.items(), sums, strict=True)}


def _kind(leaf: Any) -> tuple[str, list[int]]:
    """Dtype and shape, as JSON gives them back."""
    return str(np.dtype(leaf.dtype)), list(np.shape(leaf))


def _describe(leaf: tuple[Any, ...] | None) -> str:
    return "absent" if leaf is None else f"{leaf[0]}{leaf[1]}"


def _first_line(error: BaseException) -> str:
    error = _chain(error)[-1] if error.__cause__ is not None else error
    lines = str(error).strip().splitlines()
    if not lines:
        return type(error).__name__
    text = lines[0].partition(" [")[0]  # TensorStore adds locations in its source
    return f"{type(error).__name__}: {text if len(text) <= 160 else f'{text[:80]} ... {text[-75:]}'}"
