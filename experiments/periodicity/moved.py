"""Effect on a trained text model of moving the same words from position 5 to 68.

    python -m experiments.periodicity.moved runs/language_model
    python -m experiments.periodicity.moved runs/translation

Give an ablation or a single run on text, finished; its corpus must be prepared. Every cell and seed reads the same test
texts starting at position 5 and at later starts, parameters as they are: all up to the last position of its training,
at least up to 69, none beyond a learned table; only a few where no vectors are added to the embeddings. In an
encoder-decoder the source moves, the target stays.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.periodicity.probe import cells, guarded, markdown
from experiments.periodicity.probes import Change, check_change, compare
from posenc_jax.analysis.kernels import kernel
from posenc_jax.cli.session import prepare_jax
from posenc_jax.config import Run, config_hash
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.text import TextTask
from posenc_jax.data.text.loading import load
from posenc_jax.encodings import Sequence, elements
from posenc_jax.encodings.interface import slots as slot_functions
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.files.atomic import write_atomically
from posenc_jax.models import Streams
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.state import replica_params, surviving_seeds
from posenc_jax.runs.supply import read_tokenizer
from posenc_jax.statistics import mean_interval
from posenc_jax.training.step import model_of

HOME = 5
SHOWN = (1, 2, 6, 12, 35, 62, 63, 64)  # moved by: into the neighbourhood, to 40, to 67, 68 and 69


@dataclasses.dataclass(frozen=True)
class Moved:
    """One cell: the change against the start at `HOME`, for every start.

    Attributes:
      width: slots of the moved inputs.
      offsets: ``[S]``, start - `HOME`.
      change: `Change` with leaves ``[seeds, S, B, ...]``.
      distance: ``[S]``, the squared distance of the position vectors at the two places over the sum of their squared
        norms (both summed over the tokens), so ``1 - cos`` for vectors of one norm; mean over the seeds. None: the
        encoding adds no vectors.
    """

    label: str
    config: Run
    width: int
    offsets: np.ndarray
    change: Change
    distance: np.ndarray | None


def texts(config: Run, directory: Path, tokens: int, count: int) -> Example:
    """Up to ``count`` test examples of length ``tokens`` as the task measures it."""
    task = config.task
    if not isinstance(task, TextTask):
        raise RefusedError(f"{directory} is a run of task {task.name!r}, which is not about text: name another")
    data = load(task, tokenizer=read_tokenizer(directory), splits=("test",))
    found = task.test_batch(data.arrays, jax.random.key(0), np.int32(tokens), np.arange(count), tokens)
    there = np.flatnonzero(np.asarray(found.length) > 0)
    if not there.size:
        raise RefusedError(f"{directory}: the corpus has no test text of length {tokens}: give other --tokens")
    return jax.tree.map(lambda leaf: np.asarray(leaf)[there], found)


def trained_last(config: Run) -> int:
    """The last position at which training had an input, wherever its texts began."""
    mapped = functools.reduce(
        lambda size, element: element.mapped_max_len(size),
        elements(moved_slot(config)),
        config.task.width(max(config.task.train_lengths)),
    )
    return mapped - 1


def table_last(config: Run) -> int | None:
    """The last position of the shortest learned table, behind what maps positions before it; None without one."""
    seen = slot_functions.dims_seen(moved_slot(config), config.dims)
    tables = [getattr(e, "max_len", None) or dims.max_len for e, dims in seen.items() if not e.extrapolates]
    return min(tables) - 1 if tables else None


def starts_for(config: Run, width: int) -> np.ndarray:
    """Every start after `HOME` that training knew, at least up to the last of `SHOWN`; none beyond a learned table."""
    last = max(trained_last(config) - width + 1, HOME + SHOWN[-1])
    table = table_last(config)
    return np.arange(HOME + 1, (last if table is None else min(last, table - width + 1)) + 1)


def moved_stack(config: Run) -> str:
    """The stack whose positions are moved."""
    return "decoder" if config.task.model_kind == "decoder_only" else "encoder"


def moved_slot(config: Run) -> Any:
    """Its encodings."""
    return getattr(config.slots, moved_stack(config))


def check_starts(config: Run, starts: np.ndarray, width: int) -> None:
    """Refuses positions beyond a learned table."""
    last, table = int(starts.max()) + width - 1, table_last(config)
    if table is not None and last > table:
        raise RefusedError(
            f"{config.label}: {width} tokens from position {starts.max()} end at {last}, beyond the learned table of "
            f"{table + 1} rows: keep starts up to {table + 1 - width}, or take fewer --tokens"
        )


def forward(model: Any, kind: str, example: Example, start: Any) -> tuple[Any, Any]:
    """Logits and activations with the inputs at ``start, start + 1, ...``."""
    given: dict[str, Any] = {
        "positions": (start + jnp.arange(example.inputs.shape[1], dtype=jnp.int32))[None],
        "segment_ids": example.segment_ids,
        "length": example.length,
        "streams": Streams(positions=jax.random.key(0)),
        "capture": True,
    }
    if kind == "encoder_decoder":
        return model(
            example.inputs,
            example.decoder_inputs,
            decoder_segment_ids=example.decoder_segment_ids,
            decoder_length=example.decoder_length,
            **given,
        )
    return model(example.inputs, token_types=example.token_types, **given)


def changes(config: Run, params: Any, example: Example, starts: np.ndarray) -> Change:
    """The change from `HOME` to every start, leaves ``[S, B, ...]``."""
    check_starts(config, starts, example.inputs.shape[1])
    kind = config.task.model_kind
    real = {moved_stack(config): example.segment_ids}
    if example.decoder_inputs is not None:
        real["decoder"] = np.arange(example.decoder_inputs.shape[1])[None] < example.decoder_length[:, None]

    def call(params: Any, start: Any) -> tuple[Any, Any]:
        return forward(model_of(config, params), kind, example, start)

    # One program makes both passes: where positions play no part, they are equal to the bit.
    called, compared = jax.jit(call), jax.jit(lambda first, second: compare(first, second, real))
    home = called(params, HOME)
    found = [jax.tree.map(np.asarray, compared(home, called(params, int(start)))) for start in starts]
    return check_change(jax.tree.map(lambda *leaves: np.stack(leaves), *found))


def distance(config: Run, params: Any, starts: np.ndarray, width: int) -> np.ndarray | None:
    """``[S]`` of `Moved`, from what the encodings add to embeddings of zero."""
    places = np.arange(HOME, int(starts.max()) + width, dtype=np.int32)
    slot, stack = slot_functions.for_layer(moved_slot(config), 0), moved_stack(config)
    added = slot_functions.embed(
        slot,
        slot_functions.layer_params(moved_slot(config), params["posenc"][stack], 0),
        jnp.zeros((1, len(places), config.model.d_model)),
        Sequence(places[None], np.full((1,), width, np.int32)),
        key=jax.random.key(0),
        train=False,
    )
    vectors = np.asarray(added, np.float64)[0]
    if not vectors.any():
        return None
    here = vectors[:width]
    there = [vectors[start - HOME : start - HOME + width] for start in starts]
    return np.array([((x - here) ** 2).sum() / ((x**2).sum() + (here**2).sum()) for x in there])


def moved(label: str, directory: Path, tokens: int, count: int) -> Moved:
    """All seeds of a finished cell."""
    config = load_config(directory)
    example = texts(config, directory, tokens, count)
    width = example.inputs.shape[1]
    starts = starts_for(config, width)
    if not starts.size:
        raise RefusedError(
            f"{directory}: {width} tokens from position {HOME} on leave no other start within the learned table of "
            f"{config.max_len} rows: take fewer --tokens"
        )
    found, lengths = [], []
    for seed in sorted(surviving_seeds(directory)):
        params = replica_params(directory, seed, lambda text: None)
        lengths.append(distance(config, params, starts, width))
        if lengths[0] is None:  # a few starts are enough where nothing is added to the embeddings
            starts = starts[np.isin(starts - HOME, (*SHOWN, starts[-1] - HOME))]
        found.append(changes(config, params, example, starts))
    change = jax.tree.map(lambda *leaves: np.stack(leaves), *found)
    away = None if lengths[0] is None else np.mean(np.stack(lengths), axis=0)
    return Moved(label, config, width, starts - HOME, change, away)


def interval(values: np.ndarray, digits: int = 3) -> str:
    """Mean over seeds and texts of ``[seeds, B]``, with the 95 % interval over texts (of their mean over the seeds)."""
    found = mean_interval(values.mean(0).tolist())
    around = "all equal" if found.low is None else f"{found.low:.{digits}g}, {found.high:.{digits}g}"
    return f"{found.mean:.{digits}g} [{around}]"


def rows(cell: Moved) -> list[list[str]]:
    """The rows of one cell in the first table; one row where nothing changed anywhere."""
    change = cell.change
    if change.kl.max() < 1e-6 and cell.distance is None:
        maps = max(np.abs(maps).max() for maps in change.attention.values())
        largest = f"at most {change.kl.max():.0e} (log-probability {change.largest.max():.0e})"
        offsets = ", ".join(map(str, cell.offsets))
        return [[cell.label, f"{offsets}: each", "", largest, f"{change.argmax.max():.0%}", f"at most {maps:.0e}"]]
    found = []
    for offset in sorted({*SHOWN, int(cell.offsets[-1])}):
        if offset not in cell.offsets:
            continue
        at = int(np.flatnonzero(cell.offsets == offset)[0])
        away = "" if cell.distance is None else f"{cell.distance[at]:.3f}"
        kl = change.kl[:, at]
        by_seed = ", ".join(f"{x:.3g}" for x in kl.mean(1))
        maps = "; ".join(
            f"{stack} {' '.join(f'{x:.3f}' for x in values[:, at].mean((0, 1, 3)))}"
            for stack, values in change.attention.items()
        )
        by = f"{offset}*" if HOME + offset + cell.width - 1 > trained_last(cell.config) else f"{offset}"
        other = f"{change.argmax[:, at].mean():.1%}"
        found.append([cell.label, by, away, f"{interval(kl)} ({by_seed})", other, maps])
    return found


def ripple(values: np.ndarray) -> np.ndarray:
    """``y(k) - (y(k-3) + y(k+3)) / 2`` along the last axis: what repeats every 6 or so positions, trend taken out."""
    return values[..., 3:-3] - (values[..., :-6] + values[..., 6:]) / 2


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's."""
    return float(np.corrcoef(x, y)[0, 1])


def theory(cell: Moved) -> list[str] | None:
    """A row of the second table; None where nothing is added to the embeddings.

    Of the KL by offset, for each seed: its correlation with the distance of the cell's own position vectors, the same
    with trends taken out (`ripple`, from offset 12 on), and so with ``1 - K`` of the sinusoidal encoding of this
    d_model. Last, the change at an offset minus the mean of its two neighbours: at 63 (predicted for d_model 8).
    """
    if cell.distance is None or len(cell.offsets) < 20:
        return None
    kl = cell.change.kl.mean(2)
    own = cell.distance
    paper = 1 - kernel(vaswani_frequencies(cell.config.model.d_model), cell.offsets)
    found = [
        [correlation(one, own) for one in kl],
        [correlation(ripple(one[8:]), ripple(own[8:])) for one in kl],
        [correlation(ripple(one[8:]), ripple(paper[8:])) for one in kl],
    ]
    shown = [", ".join(f"{x:.2f}" for x in values) for values in found]
    return [cell.label, *shown, *excess(cell, 63, 1)]


def excess(cell: Moved, offset: int, step: int) -> list[str]:
    """KL, and ``1 - cos``, at an offset minus the mean at ``offset -+ step``."""
    if offset + step > cell.offsets[-1]:
        return ["", ""]
    at = int(np.flatnonzero(cell.offsets == offset)[0])

    def difference(values: np.ndarray) -> Any:
        return values[at] - (values[at - step] + values[at + step]) / 2

    kl = np.moveaxis(cell.change.kl, 1, 0)
    away = "" if cell.distance is None else f"{difference(cell.distance):.4f}"
    return [away, interval(difference(kl), 2)]


def numbers(cell: Moved) -> dict[str, Any]:
    """The kept part of a cell: its environment, and for each offset the mean over texts and heads, by seed, and by
    layer of the attention. Cells have their own environments, since one may be measured again without the others.
    """

    def short(values: np.ndarray) -> Any:
        return [short(one) for one in values] if values.ndim else float(f"{values:.4g}")

    change = cell.change
    attention = {stack: short(maps.mean((2, 4)).transpose(0, 2, 1)) for stack, maps in change.attention.items()}
    return {
        "environment": environment(),
        "config": config_hash(cell.config),
        "offsets": cell.offsets.tolist(),
        "1 - cos": None if cell.distance is None else short(cell.distance),
        "kl": short(change.kl.mean(2)),
        "other argmax": short(change.argmax.mean(2)),
        "attention": attention,
    }


def main(arguments: list[str] | None = None) -> None:
    """Prints two Markdown tables, and writes their numbers where asked."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.moved", description=__doc__)
    parser.add_argument("directory", type=Path, help="a finished ablation or run on text")
    parser.add_argument("--tokens", type=int, default=32, help="length of the texts (default 32)")
    parser.add_argument("--texts", type=int, default=64, help="how many (default 64)")
    parser.add_argument("--json", type=Path, help="write the numbers of every offset and seed there")
    given = parser.parse_args(arguments)
    prepare_jax()
    found = [moved(label, directory, given.tokens, given.texts) for label, directory in cells(given.directory)]
    if given.json is not None:
        lines = ",\n".join(f"  {json.dumps(cell.label)}: {json.dumps(numbers(cell))}" for cell in found)
        write_atomically(given.json, f'{{"cells": {{\n{lines}\n}}}}\n')
    first = found[0]
    print(
        f"{first.change.kl.shape[2]} test texts of length {first.config.task.length_name(given.tokens)}, "
        f"{first.width} slots; training ended at position {trained_last(first.config)}, offsets that go beyond have a "
        "star.\n"
    )
    head = ["encoding", "moved by", "1 - cos", "KL, nats [95 %] (by seed)", "other argmax", "attention, by layer"]
    print(markdown(head, [row for cell in found for row in rows(cell)]))
    compared = [row for cell in found if (row := theory(cell)) is not None]
    if compared:
        head = ["encoding", "KL with 1 - cos", "ripples", "ripples with 1 - K", "1 - cos at 63", "KL at 63"]
        print("\n" + markdown(head, compared))


if __name__ == "__main__":
    guarded(main)
