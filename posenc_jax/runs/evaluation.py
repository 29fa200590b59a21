"""Measures a finished run again: at other lengths, or with other positions at test time."""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jax

from posenc_jax.config import Run, to_json
from posenc_jax.data.metric import Metric
from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.loading import load
from posenc_jax.encodings import RoPE, elements, spec
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.environments import OF_PROCESS, Compared, compared, of_process
from posenc_jax.files.atomic import make_directory, refuse_links, write_atomically
from posenc_jax.files.checksums import sha256_of
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.refusals import refuse_twice
from posenc_jax.runs.cell import Engine
from posenc_jax.runs.directory import (
    Group,
    Stored,
    checkpoint_steps,
    counting,
    finished_in,
    groups_of,
    read_stored,
    run_in,
)
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.estimate import foretell
from posenc_jax.runs.files import read_json, sealed_line
from posenc_jax.runs.identity import check_writable, is_imported, read_environments
from posenc_jax.runs.own_code import Digests, digests
from posenc_jax.runs.preflight import check_memory, refuse_several_processes
from posenc_jax.runs.programs import write_texts
from posenc_jax.runs.reporter import SILENT, Reporter
from posenc_jax.runs.state import final_state, state_at
from posenc_jax.runs.supply import read_tokenizer, refuse_rebuilt_corpus
from posenc_jax.runs.transplant import partners
from posenc_jax.training.operations import Work
from posenc_jax.training.step import init_encodings_of


def evaluate(
    directory: str | os.PathLike[str],
    lengths: tuple[int, ...] | None = None,
    posenc: Slot | None = None,
    *,
    metrics: tuple[Metric, ...] | None = None,
    data: str | None = None,
    shuffle_words: bool = False,
    steps: tuple[int, ...] | None = None,
    reporter: Reporter = SILENT,
    stop: Callable[[], int | None] = lambda: None,
) -> tuple[Path, list[Json]]:
    """Scores every replica of a finished run at ``lengths``, optionally with another slot ``posenc`` instead of
    the trained one, and for tasks on text on another corpus ``data`` or with the words of every input shuffled.

    The new slot keeps the trained parameters: each of its elements takes those of its `partners` in the trained slot,
    so it may change what has no parameters (``rope`` for ``rope(base=5e5)``, ``()`` for ``alibi``) and what keeps
    their shapes. Another corpus is read with the run's own tokenizer; of it the test split is needed only.

    The user's own classes are those that the run was trained with, as the copy that it keeps (`own_code.trust`).

    ``metrics`` replace those of the run's config. ``steps``: the checkpoints to measure, which the run kept
    (`Training.keep_every`), instead of what its result is of.

    Where there are fewer devices than a sharded run was trained on, it is measured without sharding.

    Returns:
      The file written in ``directory/evaluations`` and its rows: seed, learning_rate, length, accuracy, exact_match,
      loss, count, and the task's own scores; with ``steps`` step too.

    Raises:
      RefusedError: the run is not finished, has no checkpoint of a step, the new slot needs parameters that were not
        trained, or code has changed.
      ValueError: a length or slot that the run cannot serve.
    """
    directory = full(directory).absolute()
    refuse_twice("steps", steps or ())
    stored = read_stored(directory)
    config = run_in(stored)
    lengths = config.evaluation.lengths if lengths is None else tuple(sorted({*lengths}))
    posenc = config.posenc if posenc is None else posenc
    changed = changed_config(config, lengths, posenc, data, shuffle_words, metrics)
    groups_of(stored, config)
    folder = directory / "evaluations"
    check_writable(folder)
    refuse_links(directory, folder)
    groups = finished_in(stored)
    here = of_process(environment())
    homes = [group.directory for group, _ in groups]
    began = (read_environments(home)["began"] for home in homes if not is_imported(home))
    found = sum((compared(own, here, OF_PROCESS) for own in began), Compared())
    if found.lines:
        reporter.note(
            f"measured in another environment than the run was trained in ({found.word}): {'; '.join(found.lines)}"
        )
    changed = _for_these_devices(changed, reporter.note)
    refuse_several_processes("an evaluation")
    check_memory(changed, trained=True)
    task, loaded = changed.task, None
    if isinstance(task, TextTask):
        loaded = load(task, reporter.note, read_tokenizer(directory), ("test",))
        if data is None:
            refuse_rebuilt_corpus(directory, loaded.identity)
    states = states_of(config, groups, steps, None, reporter.note)
    engine = Engine(changed, reporter, stop, loaded)
    work = sum(engine.plan.measuring(lengths).values(), Work()) * len(steps or (None,))
    foretell(reporter.note, engine.plan.seconds_of(work), "fewer or shorter lengths")
    rows, decoded = measure(config, engine, states, lengths)
    measured = to_json(changed.evaluation)
    question: dict[str, Any] = {"lengths": lengths, "posenc": spec(changed.posenc), "evaluation": measured}
    brought = {name: digest for name, digest in digests(changed).items() if name not in stored.code}
    # The user's code that came with the question is kept with it, not with the run.
    more = {"steps": steps, "changed_code": _other_code(stored), "code": brought, "other_draws": found.draws}
    question |= {name: value for name, value in more.items() if value}
    if loaded is not None:
        assert isinstance(task, TextTask)
        question |= {"shuffle_words": task.data.shuffle_words != "never", "data": loaded.identity}
    name = sha256_of(question)[:8]
    path = folder / f"{name}.json"
    make_directory(folder)
    if decoded:
        write_texts(path.with_name(f"{name}-decoded.jsonl"), decoded)
    write_atomically(path, sealed_line({**question, "environment": here, "rows": rows}))
    return path, read_json(path)["rows"]


def measure(
    config: Run, engine: Engine, states: Iterable[tuple[int | None, Group, Any]], lengths: tuple[int, ...]
) -> tuple[list[Json], list[Json]]:
    """The rows of `evaluate`, and what was decoded.

    Args:
      config: what the states were trained with.
      engine: of what they are measured with.
      states: see `states_of`.
    """
    rows: list[Json] = []
    decoded: list[Json] = []
    for step, group, state in states:
        params = {**state["params"], "posenc": fitted(config, engine.config, state["params"]["posenc"])}
        found, lines = engine.evaluate(group, {"params": params, "seed": state["seed"]}, lengths)
        of_step = {} if step is None else {"step": step}
        decoded += [{**of_step, **line} for line in lines]
        for length, scores in found:
            for i, (seed, rate) in enumerate(group.replicas):
                row = {**of_step, "seed": seed, "learning_rate": rate, "length": length, **scores[i]}
                diverged_at = int(state["diverged_at"][i])
                rows.append(row if diverged_at < 0 else {**row, "diverged_at": diverged_at})
    rows.sort(key=lambda row: (row.get("step", 0), row["learning_rate"], row["seed"], row["length"]))
    return rows, decoded


def states_of(
    config: Run,
    groups: list[tuple[Group, Json]],
    steps: tuple[int, ...] | None,
    seeds: tuple[int, ...] | None,
    note: Callable[[str], None],
) -> Iterator[tuple[int | None, Group, Any]]:
    """(step, group, state) of the groups that hold one of the seeds (None: of all): of each of the steps, or with None
    of what the group's result is of, where the step is None too.
    """
    for group, result in groups:
        if seeds is not None and not any(seed in seeds for seed, _ in group.replicas):
            continue
        if steps is None:
            yield None, group, final_state(config, group, result, note)
            continue
        ends = [replica["diverged_at"] for replica in result["replicas"]]
        for step in steps:
            gone = all(end is not None and end < step for end in ends)
            if gone and step not in checkpoint_steps(group.directory):
                note(f"{group.directory} has no step {step}: all of its replicas diverged before it")
            else:
                yield step, group, state_at(config, group, step, note)


def _other_code(stored: Stored) -> Digests:
    """The digests of the user's classes that trained a group before or after a change that was accepted."""
    parts = [group.code for group in counting(stored)]
    return {name: own for part in parts for name, own in part.items() if stored.code.get(name, own) != own}


def _for_these_devices(config: Run, note: Callable[[str], None]) -> Run:
    """The run, unsharded where there are not the devices for it."""
    execution = config.execution
    if execution.data * execution.model <= len(jax.devices()):
        return config
    note(
        f"trained on {execution.data * execution.model} devices for each replica, measured on one: equal up to rounding"
    )
    return dataclasses.replace(config, execution=dataclasses.replace(execution, data=1, model=1))


def changed_config(
    config: Run,
    lengths: tuple[int, ...],
    posenc: Slot,
    data: str | None = None,
    shuffle_words: bool = False,
    metrics: tuple[Metric, ...] | None = None,
) -> Run:
    """The run with other slot, test data and metrics, ``lengths`` among its evaluated ones; ValueError if they misfit.

    The run's own lengths stay: tables of positions are as long as they were trained.
    """
    for before, after in itertools.pairwise(lengths):
        if after <= before:
            raise ValueError(f"lengths {before}, {after} are out of order: write each once, ascending")
    _refuse_other_planes(config.posenc, posenc)
    all_lengths = tuple(sorted({*config.evaluation.lengths, *lengths}))
    measured = config.evaluation.metrics if metrics is None else metrics
    evaluation, task = dataclasses.replace(config.evaluation, lengths=all_lengths, metrics=measured), config.task
    if data is not None or shuffle_words:
        if not isinstance(task, TextTask):
            raise ValueError(f"task {task.name!r} is generated: it has no text to exchange or words to shuffle")
        shuffled = "test" if shuffle_words else task.data.shuffle_words
        text = dataclasses.replace(task.data, name=data or task.data.name, shuffle_words=shuffled)
        task = dataclasses.replace(task, data=text)
    return dataclasses.replace(config, evaluation=evaluation, posenc=posenc, task=task, label=spec(posenc))


def _refuse_other_planes(trained: Slot, slot: Slot) -> None:
    before, after = sorted(_layouts(trained)), _layouts(slot)
    if before and (other := sorted(after.difference(before))):
        raise ValueError(
            f"{spec(slot)} has RoPE with layout={other[0]!r}, and the run was trained with {before[0]!r}: write "
            f"layout={before[0]!r} among the arguments of its RoPE"
        )


def _layouts(slot: Slot) -> set[str]:
    """The layouts of the RoPEs in a slot, those within other encodings too."""
    ropes = (rope for element in elements(slot) for rope in (element, getattr(element, "rope", None)))
    return {rope.layout for rope in ropes if isinstance(rope, RoPE)}


def fitted(old: Run, new: Run, params: Any) -> Any:
    """The trained encodings' parameters (leading replica axis) arranged for the new slots."""
    shapes = jax.eval_shape(lambda: init_encodings_of(new, 0))

    def of_stack(stack: str) -> Iterator[Any]:
        before, after = getattr(old.slots, stack), getattr(new.slots, stack)
        for element, shape, partner in zip(elements(after), shapes[stack], partners(before, after), strict=True):
            if not jax.tree.leaves(shape):
                yield shape
                continue
            if partner is None:
                raise RefusedError(
                    f"{spec(element)} has parameters, and the run was trained with {spec(old.posenc)}: choose an "
                    "encoding without parameters"
                )
            trained = params[stack][partner]
            got = jax.tree.map(lambda leaf: tuple(leaf.shape[1:]), trained)
            need = jax.tree.map(lambda leaf: tuple(leaf.shape), shape)
            if got != need:
                raise RefusedError(
                    f"{spec(element)} needs parameters of shape {need} here, the trained ones of "
                    f"{spec(elements(before)[partner])} are {got}: choose lengths and settings that keep the shapes"
                )
            yield trained

    return {stack: tuple(of_stack(stack)) for stack in shapes}
