"""One cell from config to result: plan the groups, train each to its last step, measure, write. Run again, it goes on
where it stopped.
"""

import contextlib
import dataclasses
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run, without_effect
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.metric import with_metrics
from posenc_jax.data.text.base import TextData
from posenc_jax.files.atomic import refuse_links, write_atomically
from posenc_jax.files.fields import value_text
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.runs.checkpoint import Checkpoints, digest
from posenc_jax.runs.directory import Group, Stored, number_of, replicas_of, result_of
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import CheckpointError, RefusedError, StoppedError
from posenc_jax.runs.files import Log, in_turn, sealed_line
from posenc_jax.runs.groups import Begun, groups_of_missing, read_begun, refuse_lost_rows, result_record, take_over
from posenc_jax.runs.identity import (
    is_begun,
    keep_start,
    owned,
    record_environment,
    refuse_other_processes,
    refuse_other_start,
    refuse_other_states,
    start_of,
    trained_in,
)
from posenc_jax.runs.own_code import digests
from posenc_jax.runs.plan import Plan, plan_of
from posenc_jax.runs.preflight import check_run
from posenc_jax.runs.programs import Calls, KnownPrograms, Programs, decoded_texts, text_scores, write_texts
from posenc_jax.runs.reporter import SILENT, Reporter
from posenc_jax.runs.state import misfit, restore
from posenc_jax.runs.supply import Supply, load_data, refuse_other_tokenizers
from posenc_jax.runs.targets import devices_with_memory, target_here
from posenc_jax.runs.transplant import transplant
from posenc_jax.training.batches import buckets
from posenc_jax.training.layout import in_one_memory
from posenc_jax.training.leaf_names import flat
from posenc_jax.training.operations import of_length, of_validation
from posenc_jax.training.optimizer import measured
from posenc_jax.training.processes import agreed, first, first_alone, host, largest
from posenc_jax.training.replicas import devices_here, mode_of, put_state, stack
from posenc_jax.training.step import init_params, init_state


def run(
    config: Run,
    directory: str | os.PathLike[str],
    *,
    accept_changed_code: bool = False,
    reporter: Reporter = SILENT,
    stop: Callable[[], int | None] = lambda: None,
    known: KnownPrograms | None = None,
    planned: Callable[[Plan], None] = lambda plan: None,
) -> list[Json]:
    """Trains and measures every replica of a cell that has no result yet.

    Args:
      config: the run.
      directory: its own directory (made if missing).
      accept_changed_code: whether to go on where an own encoding, task or metric has changed since.
      reporter: hears progress (default: nobody).
      stop: asked at every call boundary; a signal number ends the run with its state saved.
      known: compiled programs of runs before, for those that share some.
      planned: hears what the whole run costs, before anything is computed.

    Returns:
      The `result.json` of every group that has a replica of this config, in order.

    Raises:
      RefusedError: the directory holds another config (with a field-by-field diff) or results of other code of the
        user's, or another process works in it.
      CheckpointError: no checkpoint of a group is usable.
      StoppedError: ``stop`` asked for it.
    """
    directory = full(directory).absolute()
    refuse_other_processes(config)
    heard = reporter if first() else SILENT
    with contextlib.ExitStack() as holding:

        def taken() -> Begun:
            begun = holding.enter_context(_held(directory, config, accept_changed_code=accept_changed_code))
            take_over(begun, config)
            return begun

        begun = agreed(taken)
        found = begun.results
        if not begun.missing:
            agreed(lambda: refuse_other_tokenizers(config, directory))
            agreed(lambda: refuse_other_start(config, directory))
            heard.note(f"{directory} is already complete: nothing to do")
            return _asked(config, found)
        for line in without_effect([config]) if known is None else ():  # an ablation says them once
            heard.note(line)
        data = first_alone(lambda: load_data(config, directory, heard.note))  # which writes what the others read
        first_alone(lambda: keep_start(config, directory))
        engine = Engine(config, heard, stop, data, known)
        planned(engine.plan)
        groups = agreed(lambda: groups_of_missing(config, begun, devices_with_memory()))
        for group in groups:
            engine.run_group(group)
        return _asked(config, found | agreed(lambda: {group.directory: result_of(group) for group in groups}))


def _asked(config: Run, found: dict[Path, Json]) -> list[Json]:
    """The results with a replica of a config, in the order of their groups."""
    in_order = (found[group] for group in sorted(found, key=number_of))
    return [result for result in in_order if not set(config.replicas).isdisjoint(replicas_of(result))]


@contextlib.contextmanager
def _held(directory: Path, config: Run, *, accept_changed_code: bool) -> Iterator[Begun]:
    """Holds the directory of a run; a new one is removed again if the run is refused before it computes anything."""

    def checked(stored: Stored) -> Begun:
        begun = read_begun(stored, config, accept_changed_code=accept_changed_code)
        if begun.missing:
            check_run(config, directory=directory)
        return begun

    fresh = not directory.exists()
    with owned(directory, checked) as (_, begun):
        try:
            yield begun
        except (RefusedError, DataError, CheckpointError):  # within the lock: what it takes away is its own
            if fresh and directory.exists() and not any(map(is_begun, directory.glob("group-*"))):
                shutil.rmtree(directory)
            raise


Evaluated = tuple[list[tuple[int, list[Json]]], list[Json]]


class Engine:
    """Trains and measures the groups of one config, which share its compiled programs."""

    def __init__(
        self,
        config: Run,
        reporter: Reporter,
        stop: Callable[[], int | None],
        data: TextData | None = None,
        known: KnownPrograms | None = None,
    ) -> None:
        self.config = config
        self.reporter = reporter
        self.stop = stop
        self.data = data
        self.supply = Supply(config, data)
        self.plan = plan_of(config, target_here())
        self._known = known or KnownPrograms()

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
        start = start_of(self.config, saved.parent)
        seeds = [seed for seed, _ in group.replicas]
        now, note = self._environment(), self.reporter.note
        bit_exact = agreed(lambda: record_environment(group, now, note, trained_in(start, seeds)))
        programs = self._programs(group)
        programs.timings.planned()
        with Checkpoints(saved, self.reporter.note, keep_every=self.config.training.keep_every) as checkpoints:
            try:
                state, log = self._train(group, start, checkpoints, programs)
            finally:
                self.supply.close()
        result = {**self._measure(group, state, programs), "metrics_sha256": log.digest, "bit_exact": bit_exact}
        write_atomically(group.directory / "result.json", sealed_line(result))
        self.reporter.result(self._name, result)

    def _train(self, group: Group, start: Path | None, checkpoints: Checkpoints, programs: Programs) -> tuple[Any, Log]:
        training, timings = self.config.training, programs.timings
        log = Log(group.directory / "metrics.jsonl")
        step, state = self._begun(group, start, checkpoints, log)
        self._phase(group, "train", training.steps, step)
        alive = bool((state["diverged_at"] < 0).any())
        calls = Calls(self.config, group, log, self.reporter, alive=alive)
        work = self.plan.step * (training.steps_at_once * len(group.replicas))
        seeds = [seed for seed, _ in group.filled]
        if step < training.steps and alive:
            state, fed = put_state(state, programs.mesh), self.supply.feed(seeds, step, programs.mesh)
        with timings.phase("train") as meter:
            while step < training.steps and calls.alive:
                state, metrics = programs.train(state, fed)
                meter.add(work, training.steps_at_once, alone=not self._known.under_way)
                step += training.steps_at_once
                calls.add(step, metrics)
                if step < training.steps:  # while the devices compute
                    fed = self.supply.feed(seeds, step, programs.mesh)
                signal = self._signal()
                validates, saves = (n and step % n == 0 for n in (training.validate_every, training.checkpoint_every))
                pauses = step == training.steps or validates or saves or signal is not None
                calls.read(but=0 if pauses else 1)
                last = step == training.steps or not calls.alive
                if validates and not last:
                    calls.validated(self._validation(group, programs.replicas(state), programs))
                if last or saves or signal is not None:
                    calls.read()
                    checkpoints.save(step, state, log.digest, before=log.sync)
                if signal is not None:
                    checkpoints.wait()
                    where = f"stopped at step {step} of {training.steps}, saved in {group.directory}"
                    raise StoppedError(signal, where)
        return state, log

    def _begun(self, group: Group, start: Path | None, checkpoints: Checkpoints, log: Log) -> tuple[int, Any]:
        """The step and the state (on the host) that training goes on from, with the log cut back to there."""
        fits = functools.partial(misfit, group)
        restored = restore(self.config, group.size, checkpoints, set_aside=True, misfit=fits)
        if restored is not None:
            step, _ = restored
            agreed(lambda: refuse_lost_rows(group, log, checkpoints, step))
        else:
            replicas = [(self._initial_params(start, seed), seed, rate) for seed, rate in group.filled]
            restored = 0, stack([init_state(self.config, *replica) for replica in replicas])
            refuse_other_states(restored[1])
        log.cut_back(restored[0])
        return restored

    def _initial_params(self, start: Path | None, seed: int) -> Any:
        if start is None:
            return init_params(self.config, seed)
        return transplant(self.config, start, seed, self.reporter.note)

    def _measure(self, group: Group, state: Any, programs: Programs) -> Json:
        config, whole = self.config, measured(self.config.training, host(state))
        replicas = programs.replicas(whole)
        validation = self._validation(group, replicas, programs)
        evaluation, decoded = self._evaluate(group, replicas, config.evaluation.lengths, programs)
        if decoded:
            write_texts(group.directory / "decoded.jsonl", decoded)
        found = []
        for i, (seed, rate) in enumerate(group.replicas):
            diverged_at = int(whole["diverged_at"][i])
            params = jax.tree.map(lambda leaf, i=i: leaf[i], whole["params"])
            found.append(
                {
                    "seed": seed,
                    "learning_rate": rate,
                    "diverged_at": None if diverged_at < 0 else diverged_at,
                    "validation": results_of(config, validation, i),
                    "evaluation": [{"length": n, **scores[i]} for n, scores in evaluation],
                    "parameters_sha256": digest(params),
                }
            )
        sizes = {name: leaf[0].size for name, leaf in flat(whole["params"]).items()}
        return result_record(config, group, sizes, mode_of(config.execution), found)

    def _validation(self, group: Group, replicas: Any, programs: Programs) -> dict[str, np.ndarray]:
        with programs.timings.phase("validate") as meter:
            found = programs.validate(replicas)
            meter.add(of_validation(self.config) * len(group.replicas))
        return found

    def evaluate(self, group: Group, state: Any, lengths: tuple[int, ...]) -> Evaluated:
        """(length, the scores of every replica) for each length of a group's state, not for the run's own result; and
        what was decoded, a row for each example and replica (with `Evaluation.decoded_examples`).
        """
        programs = self._programs(group)
        return self._evaluate(group, programs.replicas(state), lengths, programs, " again")

    def _evaluate(
        self, group: Group, replicas: Any, lengths: tuple[int, ...], programs: Programs, again: str = ""
    ) -> Evaluated:
        config = self.config
        devices = devices_here()
        _, at_once = in_one_memory(config.execution, group.size, devices)
        self._phase(group, "evaluate", len(lengths), unit="lengths")
        sums: dict[int, dict[str, np.ndarray]] = {}
        with programs.timings.phase(f"evaluate{again}") as meter:
            for bucket in buckets(config, lengths, at_once, devices.backend):
                for length in bucket.lengths:
                    sums[length] = programs.evaluate(bucket, length, replicas, functools.partial(self._heed, group))
                    meter.add(of_length(config, length, at_once, devices.backend) * len(group.replicas))
                    self._done(group, length)
        found = [
            (length, [results_of(config, scores, i) for i in range(len(group.replicas))])
            for length, scores in sums.items()
        ]
        lines: list[Json] = []
        if config.evaluation.decoded_examples:
            assert self.data is not None
            self._phase(group, "decode", len(lengths), unit="lengths")
            texts = []
            with programs.timings.phase(f"decode{again}") as meter:
                for length in sums:
                    count = len(group.replicas)
                    texts.append(decoded_texts(config, self.data, count, replicas, length, programs, meter))
                    self._done(group, length)
            for (length, scores), rows in zip(found, texts, strict=True):
                for own, (seed, rate), written in zip(scores, group.replicas, rows, strict=True):
                    own |= text_scores(config, written)
                    lines += [{"length": length, "seed": seed, "learning_rate": rate, **row} for row in written]
        return found, lines

    def _environment(self) -> Json:
        """The environment of now, as far as results of this config depend on it."""
        execution = self.config.execution
        return {
            **environment(),
            "mode": mode_of(execution),
            "model_precision": self.config.model.product_precision,
            "own": digests(self.config),
            **({"sharding": [execution.data, execution.model]} if execution.split else {}),
        }

    def _programs(self, group: Group) -> Programs:
        return Programs(self.config, self.supply, self.plan, group, self._known, self.reporter)

    def _signal(self) -> int | None:
        """The signal by which any of the processes is asked to stop."""
        return largest(self.stop() or 0) or None

    def _done(self, group: Group, length: int) -> None:
        """Tells that a length is measured; otherwise as `_heed`."""
        self.reporter.advance(1, f"length {length}")
        self._heed(group)

    def _heed(self, group: Group) -> None:
        """StoppedError where a signal asks for it."""
        if (signal := self._signal()) is not None:
            raise StoppedError(signal, f"stopped during evaluation, training is saved in {group.directory}")

    @property
    def _name(self) -> str:
        return f"{self.config.table} {self.config.label}"

    def _phase(self, group: Group, what: str, total: int, done: int = 0, unit: str = "steps") -> None:
        seeds, rates = (",".join(dict.fromkeys(map(value_text, own))) for own in zip(*group.replicas))
        told = f"learning rate {rates} seed {seeds}" if len(self.config.learning_rates) > 1 else f"seed {seeds}"
        self.reporter.phase(f"{self._name} {told}: {what}", total, done, unit)


def results_of(config: Run, scores: dict[str, np.ndarray], replica: int) -> dict[str, Any]:
    """The scores of one replica as they stand in a result."""
    own = with_metrics(config.evaluation.metrics, {name: value[replica] for name, value in scores.items()})
    return config.task.results(own)
