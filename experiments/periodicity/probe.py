"""Can a linear probe tell position 5 from position 68 by the activations of a trained model, at every layer?

    python -m experiments.periodicity.probe runs/periodicity-small
    python -m experiments.periodicity.probe runs/periodicity-small --write    # probe.json and the tables of probe.md

Give an ablation or a single run, finished, of a generated task whose inputs reach position 69. Every cell and seed
reads new random contents; the probe is fitted on some of them and asked about the others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.periodicity.probes import (
    Naming,
    Separation,
    examples_needed,
    layer_activations,
    name_positions,
    separate,
)
from experiments.records import short
from posenc_jax.cli.session import prepare_jax
from posenc_jax.config import Run, config_hash
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.text import TextTask
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.files.atomic import write_atomically
from posenc_jax.models import Streams
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.state import replica_params, surviving_seeds
from posenc_jax.statistics import mean_interval, wilson
from posenc_jax.training.step import model_of

HOME, ALIAS = 5, 68
PAIRS = (ALIAS, 67, 69, 6, 40)
OFFSETS = (1, 6, 62, 63, 64)
BATCH, MOST = 64, 4096
HERE = Path(__file__).parent
FILE, PAGE = HERE / "probe.json", HERE / "probe.md"
BEGIN, END = "<!-- probe: {} -->", "<!-- end of probe -->"
SHOWN = {
    **{
        f"position_of, d_model 8: {label}": label
        for label in ("sinusoidal", "tensor2tensor", "low_side_lobes", "learned", "nope")
    },
    "position_of, d_model 8: 2 layers": "sinusoidal, 2 layers",
    "position_of, d_model 8: 1200 steps": "sinusoidal, 1200 steps",
    "position_of, d_model 64: sinusoidal": "sinusoidal, d_model 64",
}
"""The cells of small.py that the page shows, and what it calls them."""

Json = dict[str, Any]


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
    """Separations by layer, of `HOME` against each of `PAIRS`; ``found`` are activations at ``(HOME, *PAIRS)``."""
    return {name: [separate(x[:, 0], x[:, 1 + i]) for i in range(len(PAIRS))] for name, x in found.items()}


def layer_record(pairs: list[Separation], named: Naming) -> Json:
    """The kept part of one layer and seed: accuracy and margin of every pair, and what a probe that names positions
    names.
    """
    return {
        "pairs": {other: [one.accuracy, one.margin] for other, one in zip(PAIRS, pairs, strict=True)},
        "named": named.accuracy,
        "off": {k: (named.at_offset(k) + named.at_offset(-k)) / 2 for k in OFFSETS},
    }


def over_seeds(values: list[float], trials: int = 0, lower: float = 0.0, digits: int = 3, factor: int = 1) -> str:
    """The mean over the seeds with its interval, between ``lower`` and 1; of one seed Wilson's over its trials."""
    found = mean_interval(values, lower=lower, upper=1.0)
    around = wilson(values[0] * trials, trials) if len(values) == 1 and trials else (found.low, found.high)
    shown, *ends = (None if x is None else f"{factor * x:.{digits}f}" for x in (found.mean, *around))
    if found.all_equal:
        return f"{shown} (all seeds equal)"
    return f"{shown}" if None in ends else f"{shown} [{ends[0]}, {ends[1]}]"


def excess(pairs: Json) -> float:
    """The error at the alias minus the mean error at its two neighbours."""
    wrong = {other: 1 - accuracy for other, (accuracy, _) in pairs.items()}
    return wrong[str(ALIAS)] - (wrong[str(ALIAS - 1)] + wrong[str(ALIAS + 1)]) / 2


def pairs_table(record: Json) -> str:
    """A row for each layer of each model: the accuracy of every pair, and the alias excess of the error."""
    rows = []
    for label, kept in record.items():
        for layer in next(iter(kept["seeds"].values())):
            seeds = [own[layer]["pairs"] for own in kept["seeds"].values()]
            each = [over_seeds([own[str(other)][0] for own in seeds], kept["trials"]) for other in PAIRS]
            rows.append((label, layer, *each, over_seeds([excess(own) for own in seeds], lower=-1.0)))
    head = ("model", "layer", *(f"{HOME} or {other}" for other in PAIRS), "alias excess of the error")
    return grid(head, "l" * len(head), rows)


def naming_table(record: Json) -> str:
    """A row for each layer of each model, in %: how often the position is named, and how often one so far off."""
    rows = []
    for label, kept in record.items():
        for layer in next(iter(kept["seeds"].values())):
            seeds = [own[layer] for own in kept["seeds"].values()]
            shown = [[own["named"] for own in seeds], *([own["off"][str(k)] for own in seeds] for k in OFFSETS)]
            rows.append((label, layer, *(over_seeds(values, digits=1, factor=100) for values in shown)))
    head = ("model", "layer", "right position named", *(f"{k} off" for k in OFFSETS))
    return grid(head, "l" * len(head), rows)


def counts(width: int) -> tuple[int, int]:
    """Contents for the pairs and for naming: what a margin of 1 needs, within bounds of time and memory."""
    count = min(max(2048, -(-4 * examples_needed(width) // 3)), MOST)
    return count, min(count, 1024)


def probed(directory: Path) -> Json:
    """All seeds of a finished cell."""
    config = load_config(directory)
    count, fewer = counts(config.model.d_model)
    seeds: Json = {}
    for seed in sorted(surviving_seeds(directory)):
        params = replica_params(directory, seed, lambda text: None)
        read = contents(config, count, seed)
        pairs = separations(activations(config, params, read, (HOME, *PAIRS)))
        everywhere = tuple(range(1, getattr(config.task, "length", int(read.length.min()))))
        found = activations(config, params, jax.tree.map(lambda leaf: leaf[:fewer], read), everywhere)
        seeds[str(seed)] = {layer: layer_record(pairs[layer], name_positions(x)) for layer, x in found.items()}
    if not seeds:
        raise RefusedError(f"{directory}: every replica diverged: nothing to probe")
    return {
        "environment": environment(),
        "config": config_hash(config),
        "contents": [count, fewer],
        "positions": len(everywhere),
        "trials": next(iter(pairs.values()))[0].trials,
        "needed": examples_needed(config.model.d_model),
        "seeds": seeds,
    }


def described(label: str, kept: Json) -> str:
    """Description of the probing of a cell, in a line."""
    count, fewer = kept["contents"]
    return (
        f"{label}: {len(kept['seeds'])} seeds; {count} contents each for pairs, {fewer} for naming 1 of "
        f"{kept['positions']} positions, 3/4 of them to fit (95 % of d' = 1 need {kept['needed']} to fit)"
    )


def as_text(record: Json) -> str:
    """The file: a cell a line, numbers to five significant digits."""
    lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(short(kept))}" for label, kept in record.items())
    return f"{{\n{lines}\n}}\n"


def filled(page: str, record: Json) -> str:
    """The page with its tables, less the row of the tokens, as they are now."""
    without = {
        label: {**kept, "seeds": {seed: _less(own, "token") for seed, own in kept["seeds"].items()}}
        for label, kept in record.items()
    }
    page = refilled(page, BEGIN.format("pairs"), pairs_table(without), END)
    before, mark, after = page.partition(BEGIN.format("naming"))
    return before + refilled(mark + after, mark, naming_table(without), END)


def _less(record: Json, name: str) -> Json:
    return {key: value for key, value in record.items() if key != name}


def main(arguments: list[str] | None = None) -> None:
    """Prints two Markdown tables; cells of an ablation that cannot be probed are named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.probe", description=__doc__)
    parser.add_argument("directory", type=Path, help="a finished ablation or run of a generated task")
    parser.add_argument(
        "--write", action="store_true", help="write probe.json and the tables of probe.md, of the cells shown there"
    )
    given = parser.parse_args(arguments)
    prepare_jax()
    record: Json = {}
    every = [cell for cell in cells(given.directory) if not given.write or cell[0] in SHOWN]
    for label, directory in every:
        try:
            kept = probed(directory)
        except RefusedError as error:
            if len(every) == 1:
                raise
            print(f"posenc: left out: {error}", file=sys.stderr)
            continue
        label = SHOWN.get(label, label)
        record |= json.loads(as_text({label: kept}))
        print(f"- {described(label, kept)}", flush=True)
    if not given.write:
        print(f"\n{pairs_table(record)}\n\n{naming_table(record)}")
        return
    if missing := set(SHOWN.values()) - set(record):
        names = ", ".join(sorted(missing))
        raise RefusedError(f"{given.directory} lacks {names}: finish experiments/periodicity/small.py")
    write_atomically(FILE, as_text(record))
    PAGE.write_text(filled(PAGE.read_text(), record))


if __name__ == "__main__":
    guarded(main)
