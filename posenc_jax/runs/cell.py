"""One cell from config to result: plan the groups, train each to its last step, measure, write. Run again, it goes on
where it stopped.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run, config_hash
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.metric import with_metrics
from posenc_jax.data.text.base import TextData, TextTask, test_ids
from posenc_jax.encodings import spec
from posenc_jax.files import refuse_links, write_atomically
from posenc_jax.runs.alike import refuse_other_configs, refuse_other_environments, refuse_other_states
from posenc_jax.runs.beginnings import record_environment
from posenc_jax.runs.calls import Calls
from posenc_jax.runs.checkpoint import Checkpoints, digest
from posenc_jax.runs.claims import check_writable, refuse_other
from posenc_jax.runs.damage import refuse_lost_rows
from posenc_jax.runs.directory import Group, Replica, complete, results
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import CheckpointError, RefusedError, StoppedError
from posenc_jax.runs.files import Log, in_turn, locked, sealed_line
from posenc_jax.runs.groups import groups_of_missing, missing_replicas
from posenc_jax.runs.machine import devices_with_memory
from posenc_jax.runs.own_code import digests
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.preflight import check_run
from posenc_jax.runs.programs import Programs
from posenc_jax.runs.reporter import PrintingReporter, Reporter
from posenc_jax.runs.starts import keep_start, refuse_other_start, start_of, trained_in
from posenc_jax.runs.state import count_parameters, misfit, restore
from posenc_jax.runs.supply import Supply, load_data, refuse_other_tokenizers
from posenc_jax.runs.targets import target_here
from posenc_jax.runs.timing import Meter, Timings
from posenc_jax.runs.transplant import transplant
from posenc_jax.shapes import Json
from posenc_jax.training.averaging import measured
from posenc_jax.training.batches import buckets
from posenc_jax.training.generation import CHUNK
from posenc_jax.training.layout import in_one_memory
from posenc_jax.training.operations import of_chunk, of_length, of_validation
from posenc_jax.training.processes import agreed, first, first_alone, host, largest
from posenc_jax.training.replicas import devices_here, make_mesh, mode_of, put_state, stack
from posenc_jax.training.step import init_params, init_state
from posenc_jax.user_paths import full


def run(
    config: Run,
    directory: str | os.PathLike[str],
    *,
    accept_changed_code: bool = False,
    reporter: Reporter | None = None,
    stop: Callable[[], int | None] = lambda: None,
) -> list[Json]:
    """Trains and measures every replica of a cell that has no result yet.

    Args:
      config: the run. directory: its own directory (made if missing).
      accept_changed_code: whether to go on where an own encoding, task or metric has changed since.
      reporter: hears progress (default: printed on stderr; `Reporter()` is silent). stop: asked at every call boundary;
        a signal number ends the run with its state saved.

    Returns:
      The `result.json` of every group that has a replica of this config, in order.

    Raises:
      RefusedError: the directory holds another config (with a field-by-field diff) or results of other code of the
        user's, or another process works in it.
      CheckpointError: no checkpoint of a group is usable. StoppedError: ``stop`` asked for it.
    """
    reporter = (reporter or PrintingReporter()) if first() else Reporter()
    directory = full(directory).absolute()
    refuse_other_configs(config)
    refuse_other_environments()
    with contextlib.ExitStack() as holding:

        def begun() -> list[Replica]:
            fresh = not directory.exists()
            check_writable(directory)
            refuse_other(directory, config, accept_changed_code=accept_changed_code)
            if not complete(directory, config):
                check_run(config, directory=directory)
            holding.enter_context(locked(directory))
            if fresh and first():
                holding.enter_context(_nothing_left(directory))  # within the lock: what it takes away is its own
            return missing_replicas(config, directory, accept_changed_code=accept_changed_code, note=reporter.note)

        missing = agreed(begun)
        if not missing:
            agreed(lambda: refuse_other_tokenizers(config, directory))
            agreed(lambda: refuse_other_start(config, directory))
            reporter.note(f"{directory} is already complete: nothing to do")
            return agreed(lambda: results(directory, config))
        data = first_alone(lambda: load_data(config, directory, reporter.note))  # which writes what the others read
        first_alone(lambda: keep_start(config, directory))
        engine = Engine(config, reporter, stop, data)
        for group in agreed(lambda: groups_of_missing(config, directory, len(missing), devices_with_memory())):
            engine.run_group(group)
        return agreed(lambda: results(directory, config))


@contextlib.contextmanager
def _nothing_left(directory: Path) -> Iterator[None]:
    """Takes a new run's directory away again where the run is refused before anything is computed in it."""
    computed = ("metrics.jsonl", "result.json", "checkpoints/*")
    try:
        yield
    except (RefusedError, DataError, CheckpointError):
        if directory.exists() and not any(any(directory.glob(f"group-*/{name}")) for name in computed):
            shutil.rmtree(directory)
        raise


class Engine:
    """The compiled programs of one config, shared by its groups: trains and measures them."""

    def __init__(
        self, config: Run, reporter: Reporter, stop: Callable[[], int | None], data: TextData | None = None
    ) -> None:
        self.config = config
        self.reporter = reporter
        self.stop = stop
        self.data = data
        self.supply = Supply(config, data)
        self.plan = plan_of(config, target_here())
        self.programs = Programs(config, self.supply)

    def run_group(self, group: Group) -> None:
        """Trains a group to its last step, measures it and writes its result, from wherever it stopped; one that
        another process works on is waited for.

        Of the processes that compute together the first writes; the others do the same in a folder that goes away.
        """
        with contextlib.ExitStack() as holding:

            def begun() -> bool:
                refuse_links(group.directory.parent, group.directory / "checkpoints")
                holding.enter_context(in_turn(group.directory, self.reporter, self.stop))
                return not (group.directory / "result.json").exists()

            if agreed(begun):
                folder = group.directory if first() else Path(holding.enter_context(tempfile.TemporaryDirectory()))
                try:
                    self._run_group(dataclasses.replace(group, directory=folder), group.directory / "checkpoints")
                except StoppedError as error:  # of all, and the first knows the directory
                    raise StoppedError(error.signal, agreed(functools.partial(str, error))) from None

    def _run_group(self, group: Group, saved: Path) -> None:
        now = environment() | {
            "mode": mode_of(self.config.execution),
            "model_precision": self.config.model.product_precision,
            "own": digests(self.config),
        }
        if self.config.execution.split:
            now["sharding"] = [self.config.execution.data, self.config.execution.model]
        start = start_of(self.config, saved.parent)
        from_where = agreed(lambda: trained_in(start, (seed for seed, _ in group.replicas)))
        bit_exact = agreed(lambda: record_environment(group, now, self.reporter.note, from_where))
        timings = self._timings(group)
        timings.planned()
        with Checkpoints(saved, self.reporter.note, keep_every=self.config.training.keep_every) as checkpoints:
            try:
                with timings.phase("train") as meter:
                    state, log = self._train(group, start, checkpoints, meter)
            finally:
                self.supply.close()
        result = {**self._measure(group, state), "metrics_sha256": log.digest, "bit_exact": bit_exact}
        write_atomically(group.directory / "result.json", sealed_line(result))
        self.reporter.result(f"{self.config.table} {self.config.label}", result)

    def _timings(self, group: Group) -> Timings:
        mesh = make_mesh(self.config.execution, group.size)
        return Timings(group, self.plan, mesh.size)

    def _train(self, group: Group, start: Path | None, checkpoints: Checkpoints, meter: Meter) -> tuple[Any, Log]:
        config, training = self.config, self.config.training
        log = Log(group.directory / "metrics.jsonl")
        restored = restore(config, group.size, checkpoints, set_aside=True, misfit=functools.partial(misfit, group))
        step, state = restored or (
            0,
            stack([init_state(config, self._initial_params(start, seed), seed, rate) for seed, rate in group.filled]),
        )
        if restored is not None:
            agreed(lambda: refuse_lost_rows(group, log, checkpoints, step))
        else:
            refuse_other_states(state)
        log.cut_back(step)
        mesh, seeds = make_mesh(config.execution, group.size), [seed for seed, _ in group.filled]
        self.reporter.phase(f"{config.table} {config.label} {_seeds(group)}: train", training.steps, step)
        alive = bool((state["diverged_at"] < 0).any())
        if step < training.steps and alive:
            state, fed = put_state(state, mesh), self.supply.feed(seeds, step, mesh)
            self.programs.train(group, state, fed)
            self.reporter.advance(0)
        work = self.plan.step * (training.steps_at_once * len(group.replicas))
        calls = Calls(config, group, log, self.reporter, meter)
        while step < training.steps and alive:
            program = self.programs.train(group, state, fed)
            with meter.running(work, training.steps_at_once):
                with meter.waiting():  # a CPU may take a call only when it is done with the one before
                    state, metrics = program(state, self.supply.arrays(mesh), fed)
                step += training.steps_at_once
                calls.add(step, metrics)
                if step < training.steps:  # while the devices compute
                    fed = self.supply.feed(seeds, step, mesh)
                signal = largest(self.stop() or 0) or None  # of any process
                validates, saves = (n and step % n == 0 for n in (training.validate_every, training.checkpoint_every))
                pauses = step == training.steps or validates or saves or signal is not None
                calls.read(but=0 if pauses else 1)
                alive = calls.alive
            last = step == training.steps or not alive
            if validates and not last:
                calls.validated(self._validation(group, state))
            if last or saves or signal is not None:
                with meter.running():
                    calls.read()
                    checkpoints.save(step, state, log.digest, before=log.sync)
            if signal is not None:
                checkpoints.wait()
                raise StoppedError(signal, f"stopped at step {step} of {training.steps}, saved in {group.directory}")
        return state, log

    def _measure(self, group: Group, state: Any) -> Json:
        config = self.config
        whole = measured(config.training, host(state))
        state = put_state(whole, make_mesh(config.execution, group.size))
        validation = self._validation(group, state)
        evaluation, decoded = self.evaluate(group, state, config.evaluation.lengths)
        if decoded:
            write_texts(group.directory / "decoded.jsonl", decoded)
        replicas = []
        for i, (seed, rate) in enumerate(group.replicas):
            diverged_at = int(whole["diverged_at"][i])
            params = jax.tree.map(lambda leaf, i=i: leaf[i], whole["params"])
            replicas.append(
                {
                    "seed": seed,
                    "learning_rate": rate,
                    "diverged_at": None if diverged_at < 0 else diverged_at,
                    "validation": results_of(config, validation, i),
                    "evaluation": [{"length": n, **scores[i]} for n, scores in evaluation],
                    "parameters_sha256": digest(params),
                }
            )
        record = environment()
        return {
            "label": config.label,
            "table": config.table,
            "posenc": spec(config.posenc),
            "config_hash": group.config_hash or config_hash(config),
            "num_parameters": count_parameters(whole["params"]) // group.size,
            "num_posenc_parameters": count_parameters(whole["params"].get("posenc", {})) // group.size,
            "mode": mode_of(config.execution),
            "group_size": group.size,
            "device_kind": record["device_kind"],
            "device_count": record["device_count"],
            "threads": record["threads"],
            "replicas": replicas,
        }

    def evaluate(
        self, group: Group, state: Any, lengths: tuple[int, ...], *, again: bool = False
    ) -> tuple[list[tuple[int, list[Json]]], list[Json]]:
        """(length, the scores of every replica) of a placed group state, for each length; and what was decoded, a row
        for each example and replica (with `Evaluation.decoded_examples`). again: not for the run's own result.
        """
        timings, name = self._timings(group), " again" if again else ""
        with timings.phase(f"evaluate{name}") as meter, timings.phase(f"decode{name}") as writing:
            return self._evaluate(group, state, lengths, meter, writing)

    def _evaluate(
        self, group: Group, state: Any, lengths: tuple[int, ...], meter: Meter, writing: Meter
    ) -> tuple[list[tuple[int, list[Json]]], list[Json]]:
        config = self.config
        mesh = make_mesh(config.execution, group.size)
        _, at_once = in_one_memory(config.execution, group.size, devices_here())
        replicas = {"params": state["params"], "seed": state["seed"]}
        self.reporter.phase(f"{config.table} {config.label} {_seeds(group)}: evaluate", len(lengths), unit="lengths")
        found, lines = [], []
        for bucket in buckets(config, lengths, at_once):
            program = self.programs.evaluate(group, bucket, replicas)
            self.reporter.advance(0)
            for length in bucket.lengths:
                shared = (np.int32(length), self.supply.arrays(mesh))
                with meter.running(of_length(config, length, at_once) * len(group.replicas)):
                    sums = host(program(replicas, shared))
                scores = [results_of(config, sums, i) for i in range(len(group.replicas))]
                if config.evaluation.decoded_examples:
                    texts = self._decode(group, replicas, length, writing)
                    for own, (seed, rate), written in zip(scores, group.replicas, texts):
                        own |= text_scores(config, written)
                        lines += [{"length": length, "seed": seed, "learning_rate": rate, **row} for row in written]
                found.append((length, scores))
                self.reporter.advance(1, f"length {length}")
                signal = largest(self.stop() or 0) or None
                if signal is not None:
                    raise StoppedError(signal, f"stopped during evaluation, training is saved in {group.directory}")
        return found, lines

    def _decode(self, group: Group, replicas: Any, length: int, meter: Meter) -> list[list[Json]]:
        """For each replica the decoded test examples of one length: the example's text and ``output``."""
        assert self.data is not None
        config, mesh = self.config, make_mesh(self.config.execution, group.size)
        wanted = np.arange(config.evaluation.decoded_examples)
        ids = test_ids(self.data.arrays["test_lengths"], np.int32(length), wanted)
        there = [int(i) for i in np.asarray(ids) if i >= 0]
        written: list[list[Json]] = [[] for _ in group.replicas]
        for start in range(0, len(there), CHUNK):
            shared = (np.int32(start), self.supply.arrays(mesh))
            program = self.programs.decode(group, length, replicas)
            with meter.running(of_chunk(config, length) * len(group.replicas)):
                tokens = host(program(replicas, shared))
            for i, lines in enumerate(written):
                for row, number in enumerate(there[start : start + CHUNK]):
                    output = self.data.tokenizer.target.decode(tokens[i, row].tolist())
                    lines.append({**self.data.test_rows[number], "output": output})
        return written

    def _validation(self, group: Group, state: Any) -> dict[str, np.ndarray]:
        replicas = {"params": state["params"], "seed": state["seed"]}
        program = self.programs.validate(group, replicas)
        shared = self.supply.arrays(make_mesh(self.config.execution, group.size))
        work = of_validation(self.config) * len(group.replicas)
        with self._timings(group).phase("validate") as meter, meter.running(work):
            return host(program(replicas, shared))

    def _initial_params(self, start: Path | None, seed: int) -> Any:
        params = init_params(self.config, seed)
        return params if start is None else transplant(params, self.config, start, seed, self.reporter.note)


def results_of(config: Run, scores: dict[str, np.ndarray], replica: int) -> dict[str, Any]:
    """The scores of one replica as they stand in a result."""
    own = with_metrics(config.evaluation.metrics, {name: value[replica] for name, value in scores.items()})
    return config.task.results(own)


def write_texts(path: Path, rows: list[Json]) -> None:
    """Rows of JSON that people read: in UTF-8, letters as they are."""
    write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def text_scores(config: Run, written: list[Json]) -> dict[str, Any]:
    """Scores of decoded outputs, and how many there were."""
    task = config.task
    assert isinstance(task, TextTask)
    scores = task.text_scores([line["output"] for line in written], written) if written else {}
    return {**scores, "decoded": len(written)}


def _seeds(group: Group) -> str:
    return "seed " + ",".join(str(seed) for seed, _ in group.replicas)
