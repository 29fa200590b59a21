"""The programs of a config on one group, compiled at their first call or ahead of it, timed, and what they give."""

import dataclasses
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.config import Run, identity, to_json
from posenc_jax.data.tasks.base import Task
from posenc_jax.data.text.base import TextData, TextTask, test_ids
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.shapes import Json
from posenc_jax.runs.directory import Group
from posenc_jax.runs.files import Log
from posenc_jax.runs.plan import Plan
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.supply import Supply
from posenc_jax.runs.timing import Meter, Timings
from posenc_jax.training.batches import Bucket
from posenc_jax.training.generation import CHUNK, decode_chunk
from posenc_jax.training.operations import chunks_at_once, of_chunk
from posenc_jax.training.processes import host
from posenc_jax.training.replicas import Program, make_mesh, put_state
from posenc_jax.training.step import evaluate_length, sums_of_chunks, total, train_call, validate

_LOGGED = ("loss", "accuracy", "exact_match", "gradient_norm")
_VALIDATED = ("loss", "accuracy", "exact_match")


@dataclasses.dataclass(frozen=True)
class Uncompiled:
    """A program that is not compiled yet: its key, its title, and the function that compiles it."""

    key: Any
    title: str
    make: Callable[[], Program]


@dataclasses.dataclass(frozen=True)
class KnownPrograms:
    """The compiled programs that runs share, also those made ahead of their run; safe to use from several threads.

    Attributes:
      programs: by the run without its names, replicas and start, by their own name, and by the size of the group.
      executables: of `Program`, for runs whose programs differ in tables; None where there are no others.
      seconds: those of compiling a program, until a group records them.
      under_way: what is being compiled, of all runs in this process.
    """

    programs: dict[Any, Future[Program]] = dataclasses.field(default_factory=dict)
    executables: dict[Any, Any] | None = None
    seconds: dict[Any, float] = dataclasses.field(default_factory=dict)
    under_way: set[Any] = dataclasses.field(default_factory=set)

    def make(self, part: Uncompiled) -> bool:
        """Compiles a program unless another thread has or is about to; True if it was compiled here.

        After an error the next caller compiles it.
        """
        own: Future[Program] = Future()
        if self.programs.setdefault(part.key, own) is not own:
            return False
        begun = time.perf_counter()
        self.under_way.add(part.key)
        try:
            program = part.make()
        except BaseException as error:
            del self.programs[part.key]  # first, so that nobody who has waited finds it
            own.set_exception(error)
            raise
        finally:
            self.under_way.discard(part.key)
        self.seconds[part.key] = time.perf_counter() - begun
        own.set_result(program)
        return True


class UncompiledPrograms:
    """The programs of a config on groups of one size, before they are compiled."""

    def __init__(self, config: Run, supply: Supply, size: int, known: KnownPrograms) -> None:
        self._config, self._supply, self._size, self._known = config, supply, size, known
        self._nameless = _nameless(config)
        self.mesh = make_mesh(config.execution, size)
        self._split = self.mesh if config.execution.split else None

    @property
    def arrays(self) -> Any:
        """The data on the devices."""
        return self._supply.arrays(self.mesh)

    def chunks_at_once(self, bucket: Bucket) -> int:
        """Number of chunks in a call of `evaluate`."""
        return chunks_at_once(self._config, bucket, jax.default_backend())

    def train(self, state: Any, fed: Any) -> Uncompiled:
        """`train_call`; of ``state``, here and below, shapes are enough."""
        name = "train" if fed is None else f"train@{jax.tree.leaves(fed)[0].shape[2]}"

        def call(state: Any, fed: Any, data: Any) -> Any:
            return train_call(self._config, self._split, state, fed, data)

        return self._part(name, name, call, state, self.arrays, fed=fed, donate=True)

    def validate(self, replicas: Any) -> Uncompiled:
        """`validate`."""

        def scores(replica: Any, _: None, data: Any) -> Any:
            return validate(self._config, replica["params"], replica["seed"], data, self._split)

        return self._part("validate", "validate", scores, replicas, self.arrays)

    def evaluate(self, bucket: Bucket, replicas: Any) -> Uncompiled:
        """`evaluate_length` at any length of a bucket; `sums_of_chunks` where it takes several calls."""
        count = self.chunks_at_once(bucket)

        def scores(replica: Any, _: None, shared: tuple[Any, Any, Any]) -> Any:
            length, first, data = shared
            given = self._config, bucket, replica["params"], replica["seed"], length
            if count == bucket.chunks:
                return evaluate_length(*given, data, self._split)
            return sums_of_chunks(*given, first + jnp.arange(count), data, self._split)

        title, shared = f"evaluate@{bucket.max_length}", (np.int32(0), np.int32(0), self.arrays)
        return self._part(bucket, title, scores, replicas, shared)

    def decode(self, length: int, replicas: Any) -> Uncompiled:
        """`decode_chunk` of any chunk of a length."""

        def outputs(replica: Any, _: None, shared: tuple[Any, Any]) -> Any:
            return decode_chunk(self._config, length, replica["params"], replica["seed"], shared, self._split)

        title = f"decode@{length}"
        return self._part(title, title, outputs, replicas, (np.int32(0), self.arrays))

    def _part(
        self, name: Any, title: str, fn: Callable[..., Any], replicas: Any, shared: Any, **given: Any
    ) -> Uncompiled:
        def make() -> Program:
            more: dict[str, Any] = {"executables": self._known.executables, **given}
            return Program(title, fn, self._config.execution, self.mesh, replicas, shared, **more)

        return Uncompiled((self._nameless, name, self._size), title, make)


class Programs:
    """The programs of a group.

    Args:
      known: the programs compiled so far; new ones are added.
      reporter: told when a program is compiled.
    """

    def __init__(
        self,
        config: Run,
        supply: Supply,
        plan: Plan,
        group: Group,
        known: KnownPrograms,
        reporter: Reporter,
    ) -> None:
        self._known, self._reporter = known, reporter
        self._parts = UncompiledPrograms(config, supply, group.size, known)
        self.mesh = self._parts.mesh
        self.timings = Timings(group, plan, self.mesh.size)

    def replicas(self, state: Any) -> Any:
        """Parameters and seeds of a state of the group, wherever it lies, for `validate`, `evaluate` and `decode`."""
        return put_state(replicas_of(state), self.mesh)

    def train(self, state: Any, fed: Any) -> tuple[Any, Any]:
        """Gives the devices a call of training: the state after it, in the place of ``state``, and its metrics."""
        program = self._program(self._parts.train(state, fed))
        found: tuple[Any, Any] = program(state, self._parts.arrays, fed)
        return found

    def validate(self, replicas: Any) -> dict[str, np.ndarray]:
        """The scores of a validation."""
        return self._run(self._parts.validate(replicas), replicas, self._parts.arrays)

    def evaluate(
        self, bucket: Bucket, length: int, replicas: Any, pause: Callable[[], None] = lambda: None
    ) -> dict[str, np.ndarray]:
        """The scores at a length of a bucket; ``pause`` is called between calls, where it takes several."""
        part = self._parts.evaluate(bucket, replicas)
        found: list[dict[str, np.ndarray]] = []
        for first in range(0, bucket.chunks, self._parts.chunks_at_once(bucket)):
            if found:
                pause()
            found.append(self._run(part, replicas, (np.int32(length), np.int32(first), self._parts.arrays)))
        return found[0] if len(found) == 1 else _total(found, bucket.chunks)

    def decode(self, length: int, first: int, replicas: Any) -> np.ndarray:
        """``[R, CHUNK, T]`` the outputs for a chunk of test examples of one length."""
        shared = (np.int32(first), self._parts.arrays)
        return self._run(self._parts.decode(length, replicas), replicas, shared)

    def _run(self, part: Uncompiled, replicas: Any, shared: Any) -> Any:
        return host(self._program(part)(replicas, shared))

    def _program(self, part: Uncompiled) -> Program:
        known = self._known
        while (found := known.programs.get(part.key)) is None or not found.done():
            with self.timings.aside():
                if not known.make(part) and found is not None:  # another thread is about it
                    wait((found,))
            self._reporter.advance(0)
        if (seconds := known.seconds.pop(part.key, None)) is not None:
            with self.timings.aside():
                self.timings.compiled(part.title, seconds)
        return found.result()


def _total(calls: list[dict[str, np.ndarray]], chunks: int) -> dict[str, np.ndarray]:
    """The scores of every replica, to the bit those of one call; the last one may go beyond the last chunk."""
    sums = {name: np.concatenate([call[name] for call in calls], axis=1)[:, :chunks] for name in calls[0]}
    replicas = range(len(next(iter(sums.values()))))
    found = [jax.jit(total)({name: own[replica] for name, own in sums.items()}) for replica in replicas]
    return {name: np.stack([np.asarray(own[name]) for own in found]) for name in found[0]}


class Calls:
    """The calls of a group whose metrics are not read yet, and the log of those that are.

    Devices have the next call before anybody waits for the metrics of the one before, so they never wait for the host.

    Attributes:
      alive: whether a replica goes on, as far as is read.
    """

    def __init__(self, config: Run, group: Group, log: Log, reporter: Reporter, *, alive: bool = True) -> None:
        self.alive = alive
        self._config, self._group, self._log, self._reporter = config, group, log, reporter
        self._unread: deque[tuple[int, Any]] = deque()
        self._newest: tuple[int, Any] = (0, None)

    def add(self, step: int, metrics: Any) -> None:
        """A call that ends with ``step`` was given to the devices."""
        self._unread.append((step, metrics))

    def read(self, but: int = 0) -> None:
        """Waits for all calls but the newest so many, and writes their rows.

        Raises:
          ValueError: as `refuse_foreign_tokens`.
        """
        while len(self._unread) > but:
            step, metrics = self._unread.popleft()
            found = host(metrics)
            refuse_foreign_tokens(self._config.task, found)
            self.alive = bool((found["diverged_at"] < 0).any())
            self._newest = step, found
            if step % self._config.training.log_every == 0:
                self._write({name: found[name] for name in _LOGGED})
            self._reporter.advance(self._config.training.steps_at_once, f"loss {float(np.mean(found['loss'])):.4f}")

    def validated(self, scores: Mapping[str, np.ndarray]) -> None:
        """Writes the scores of a validation after the newest call, which has been read."""
        self._write({f"validation_{name}": scores[name] for name in _VALIDATED})

    def _write(self, values: Mapping[str, np.ndarray]) -> None:
        step, metrics = self._newest
        since = step - self._config.training.steps_at_once
        rows: list[Json] = [
            {"step": step, "seed": seed, "learning_rate": rate, **{name: value[i] for name, value in values.items()}}
            for i, (seed, rate) in enumerate(self._group.replicas)
            if metrics["diverged_at"][i] < 0 or metrics["diverged_at"][i] >= since
        ]
        if rows:
            self._log.append(rows)
            self._reporter.rows(f"{self._config.table} {self._config.label}", rows)


def refuse_foreign_tokens(task: Task, metrics: dict[str, np.ndarray]) -> None:
    """ValueError when training saw a token or target beyond those that its task declares."""
    for what, field in (("token", "vocab_size"), ("target", "num_classes")):
        value, limit = int(metrics[f"largest_{what}"].max()), getattr(task, field)
        if value >= limit:
            raise ValueError(
                f"task {task.name!r} made largest {what} {value}, beyond the {limit} that it declares: raise its "
                f"{field}"
            )


def decoded_texts(
    config: Run, data: TextData, count: int, replicas: Any, length: int, programs: Programs, meter: Meter
) -> list[list[Json]]:
    """The decoded test examples of one length for each of ``count`` replicas: the example's text and ``output``."""
    ids = test_ids(data.arrays["test_lengths"], np.int32(length), np.arange(config.evaluation.decoded_examples))
    there = [int(i) for i in np.asarray(ids) if i >= 0]
    written: list[list[Json]] = [[] for _ in range(count)]
    for start in range(0, len(there), CHUNK):
        tokens = programs.decode(length, start, replicas)
        meter.add(of_chunk(config, length) * count)
        for i, lines in enumerate(written):
            for row, number in enumerate(there[start : start + CHUNK]):
                output = data.tokenizer.target.decode(tokens[i, row].tolist())
                lines.append({**data.test_rows[number], "output": output})
    return written


def text_scores(config: Run, written: list[Json]) -> dict[str, Any]:
    """The scores of decoded outputs, and their number."""
    task = config.task
    assert isinstance(task, TextTask)
    scores = task.text_scores([line["output"] for line in written], written) if written else {}
    return {**scores, "decoded": len(written)}


def write_texts(path: Path, rows: list[Json]) -> None:
    """Writes rows as lines of JSON in UTF-8, without escaped letters."""
    write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def replicas_of(state: Any) -> Any:
    """The parameters and seeds of a state, which measuring needs."""
    return {"params": state["params"], "seed": state["seed"]}


def _nameless(run: Run) -> Run:
    """The run without the fields that no program depends on."""
    run = dataclasses.replace(run, label="a run", table="any", note="", init_from=None)
    return dataclasses.replace(run, seeds=(0,), learning_rates=(1.0,))


def likeness(run: Run) -> str:
    """A string that runs have in common if they may share programs: the config without its fractions."""
    return json.dumps(_whole(identity(to_json(dataclasses.replace(run, init_from=None)))))


def _whole(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _whole(value) for name, value in data.items()}
    return list(map(_whole, data)) if isinstance(data, list) else None if isinstance(data, float) else data
