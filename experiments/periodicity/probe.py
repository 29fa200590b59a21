"""Can a linear probe tell position 5 from position 68 by the activations of a trained model, at every layer?

    python -m experiments.periodicity.probe runs/periodicity

Give an ablation or a single run, finished, of a generated task whose inputs reach position 69. Every cell and seed
reads new random contents; the probe is fitted on some of them and asked about the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.probes import (
    Naming,
    Separation,
    examples_needed,
    layer_activations,
    name_positions,
    separate,
)
from posenc_jax.cli.session import prepare_jax
from posenc_jax.config import Run
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.text import TextTask
from posenc_jax.drawing.markdown import grid
from posenc_jax.models import Streams
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.state import replica_params, surviving_seeds
from posenc_jax.statistics import mean_interval
from posenc_jax.training.step import model_of

HOME, ALIAS = 5, 68
PAIRS = (ALIAS, 67, 69, 6, 40)
OFFSETS = (1, 6, 62, 63, 64)
BATCH, MOST = 64, 4096


def cells(directory: Path) -> list[tuple[str, Path]]:
    """(label, directory) of every cell of an ablation, or of the one run."""
    path = directory / "ablation.json"
    if not path.exists():
        return [(load_config(directory).label, directory)]
    found = read_json(path)["cells"]
    several = len({cell["task_label"] for cell in found}) > 1
    return [
        (f"{cell['task_label']}: {cell['label']}" if several else cell["label"], directory / cell["directory"])
        for cell in found
    ]


def guarded(work: Callable[[], None]) -> None:
    """Runs ``work``; what it refuses is one line on stderr and exit code 2."""
    try:
        work()
    except (RefusedError, DataError, ValueError) as error:
        print(f"posenc: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return grid(head, "l" * len(head), rows)


def stack_of(config: Run) -> str:
    """The stack whose activations are asked: the one that reads the inputs."""
    return "decoder" if config.task.model_kind == "decoder_only" else "encoder"


def contents(config: Run, count: int, seed: int) -> Example:
    """``count`` examples of the longest evaluated length, which no training has seen but by chance."""
    task, length = config.task, max((*config.task.train_lengths, *config.evaluation.lengths))
    if isinstance(task, TextTask):
        raise RefusedError(f"task {task.name!r} is about text, whose words follow one another: give a generated task")
    key = jax.random.fold_in(jax.random.key(20_568), seed)
    found = task.test_batch(None, key, np.int32(length), jnp.arange(count), length)
    return jax.tree.map(np.asarray, found)


def check_positions(config: Run, example: Example, positions: tuple[int, ...]) -> None:
    """Refuses examples of which one does not reach the positions."""
    reach = int(example.length.min())
    if reach <= max(positions):
        raise RefusedError(
            f"{config.label}: the inputs end at position {reach - 1}, and the probe asks about {max(positions)}: train "
            "or evaluate at longer lengths"
        )


def activations(config: Run, params: Any, example: Example, positions: tuple[int, ...]) -> dict[str, np.ndarray]:
    """``[N, P, M]`` by layer; first "token", one-hot: what the content alone tells of the position."""
    check_positions(config, example, positions)
    at = np.array(positions)
    kind, size = config.task.model_kind, len(example.inputs)

    def call(params: Any, part: Example) -> Any:
        model = model_of(config, params)
        given: dict[str, Any] = {
            "segment_ids": part.segment_ids,
            "length": part.length,
            "streams": Streams(positions=jax.random.key(0)),
            "capture": True,
        }
        if kind == "encoder_decoder":
            _, captured = model(
                part.inputs,
                part.decoder_inputs,
                decoder_segment_ids=part.decoder_segment_ids,
                decoder_length=part.decoder_length,
                **given,
            )
        else:
            _, captured = model(part.inputs, token_types=part.token_types, **given)
        return [x[:, at] for x in layer_activations(captured[stack_of(config)]).values()]

    jitted = jax.jit(call)
    parts = []
    for first in range(0, size, BATCH):
        rows = np.minimum(np.arange(first, first + BATCH), size - 1)
        found = jitted(params, jax.tree.map(lambda leaf, rows=rows: leaf[rows], example))
        parts.append([np.asarray(x)[: size - first] for x in found])
    tokens = np.asarray(example.inputs)[:, at]
    layers = {"token": (tokens[..., None] == np.unique(tokens)).astype(np.float32)}
    for number, x in enumerate(zip(*parts, strict=True)):
        layers[f"block {number}" if number else "embedding"] = np.concatenate(x)
    return layers


def separations(found: dict[str, np.ndarray]) -> dict[str, list[Separation]]:
    """By layer, of `HOME` against each of `PAIRS`; ``found`` are activations at ``(HOME, *PAIRS)``."""
    return {name: [separate(x[:, 0], x[:, 1 + i]) for i in range(len(PAIRS))] for name, x in found.items()}


def over_seeds(values: list[float], digits: int = 3) -> str:
    """The mean over the seeds with its interval; unclipped."""
    found = mean_interval(values)
    shown = f"{found.mean:.{digits}f}"
    return shown if found.low is None else f"{shown} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def excess(pairs: list[Separation]) -> float:
    """The error at the alias minus the mean error at its two neighbours."""
    wrong = {other: 1 - one.accuracy for other, one in zip(PAIRS, pairs, strict=True)}
    return wrong[ALIAS] - (wrong[ALIAS - 1] + wrong[ALIAS + 1]) / 2


def rows(label: str, by_seed: list[dict[str, list[Separation]]]) -> list[list[str]]:
    """A row for each layer: accuracy and margin of every pair, over the seeds (one seed: the Wilson interval)."""
    table = []
    for layer in by_seed[0]:
        row = [label, layer]
        for i in range(len(PAIRS)):
            seeds = [separated[layer][i] for separated in by_seed]
            shown = over_seeds([one.accuracy for one in seeds])
            if len(seeds) == 1:
                shown += f" [{seeds[0].low:.3f}, {seeds[0].high:.3f}]"
            row.append(f"{shown}; {np.mean([one.margin for one in seeds]):.2f}")
        table.append([*row, over_seeds([excess(separated[layer]) for separated in by_seed])])
    return table


def naming_rows(label: str, by_seed: list[dict[str, Naming]]) -> list[list[str]]:
    """A row for each layer: how often the position is named, and how often another one so far off is."""
    table = []
    for layer in by_seed[0]:
        named = [found[layer] for found in by_seed]
        row = [label, layer, over_seeds([one.accuracy for one in named])]
        row += [over_seeds([(one.at_offset(k) + one.at_offset(-k)) / 2 for one in named], 4) for k in OFFSETS]
        table.append(row)
    return table


def counts(width: int) -> tuple[int, int]:
    """Contents for the pairs and for naming: what a margin of 1 needs, within bounds of time and memory."""
    count = min(max(2048, -(-4 * examples_needed(width) // 3)), MOST)
    return count, min(count, 1024)


def probed(label: str, directory: Path) -> tuple[str, list[list[str]], list[list[str]]]:
    """What was read of a finished cell, and its rows of both tables."""
    config = load_config(directory)
    width = config.model.d_model
    count, fewer = counts(width)
    pairs, names = [], []
    for seed in sorted(surviving_seeds(directory)):
        params = replica_params(directory, seed, lambda text: None)
        read = contents(config, count, seed)
        pairs.append(separations(activations(config, params, read, (HOME, *PAIRS))))
        everywhere = tuple(range(1, getattr(config.task, "length", int(read.length.min()))))
        found = activations(config, params, jax.tree.map(lambda leaf: leaf[:fewer], read), everywhere)
        names.append({layer: name_positions(x) for layer, x in found.items()})
    if not pairs:
        raise RefusedError(f"{directory}: every replica diverged: nothing to probe")
    line = (
        f"{label}: {len(pairs)} seeds; {count} contents each for pairs, {fewer} for naming 1 of {len(everywhere)} "
        f"positions, 3/4 of them to fit (95 % of d' = 1 in {width} dimensions need {examples_needed(width)} to fit)"
    )
    return line, rows(label, pairs), naming_rows(label, names)


def main(arguments: list[str] | None = None) -> None:
    """Prints two Markdown tables; cells of an ablation that cannot be probed are named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.probe", description=__doc__)
    parser.add_argument("directory", type=Path, help="a finished ablation or run of a generated task")
    given = parser.parse_args(arguments)
    prepare_jax()
    separated, named = [], []
    every = cells(given.directory)
    for label, directory in every:
        try:
            line, *tables = probed(label, directory)
        except RefusedError as error:
            if len(every) == 1:
                raise
            print(f"posenc: left out: {error}", file=sys.stderr)
            continue
        print(f"- {line}", flush=True)
        separated += tables[0]
        named += tables[1]
    pairs_head = [f"{HOME} or {other}: accuracy [95 %]; d'" for other in PAIRS]
    print("\n" + markdown(["encoding", "layer", *pairs_head, "alias excess"], separated))
    print("\n" + markdown(["encoding", "layer", "position named", *(f"{k} off" for k in OFFSETS)], named))


if __name__ == "__main__":
    guarded(main)
