"""Inside trained heads: attention at the alias, and which planes of an encoding a head uses.

    python -m experiments.periodicity.inside                     # trains and looks
    python -m experiments.periodicity.inside --write             # the page, from what is committed

What is expected: inside-directions.md; what came out: inside.md, whose numbers are those of inside.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.periodicity.along import ARMS, LOOKED_AT, Arm, by_distance_count, trained
from experiments.periodicity.measures import by_distance
from experiments.periodicity.probe import contents
from experiments.periodicity.probes import attention_maps
from experiments.periodicity.side_lobes import side_lobes
from posenc_jax import Run
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.session import prepare_jax
from posenc_jax.drawing.markdown import grid
from posenc_jax.encodings import RoPE, Sinusoidal
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.files.atomic import write_atomically
from posenc_jax.models import Streams
from posenc_jax.runs.environment import environment
from posenc_jax.statistics import holm, mean_interval, p_value
from posenc_jax.training.step import model_of

SEEDS = tuple(range(200, 212))
NAMES = tuple(
    f"{name}, head {size}"
    for name, size in (
        ("rope", 8),
        ("rope", 16),
        ("rope", 32),
        ("rope, resonance", 8),
        ("rope, low side lobes", 8),
        ("sinusoidal", 8),
        ("learned", 8),
        ("t5", 8),
    )
)
CONTENTS = 64
FILE, PAGE = (Path(__file__).with_name(f"inside.{end}") for end in ("json", "md"))
BEGIN, END = "<!-- written by inside.py: from here -->", "<!-- to here -->"


@dataclasses.dataclass(frozen=True)
class RoPEWithout(RoPE):
    """RoPE whose queries have nothing in one plane, counted from the fastest."""

    plane: int = 0

    name = "rope_without"
    paper = citation = "nowhere: an operation of an experiment"
    methods = ()

    def encode_queries(self, params, q, positions, length):
        there = np.arange(q.shape[-1]) // 2 != self.plane
        return super().encode_queries(params, q * there.astype(q.dtype)[None, None, None], positions, length)


@dataclasses.dataclass(frozen=True)
class SinusoidalWithout(Sinusoidal):
    """The sinusoid without one of its pairs, counted from the fastest."""

    plane: int = 0

    name = "sinusoidal_without"
    paper = citation = "nowhere: an operation of an experiment"
    methods = ()

    def embed(self, params, x, sequence):
        there = np.arange(x.shape[-1]) // 2 != self.plane
        return x + (super().embed(params, x, sequence) - x) * there.astype(x.dtype)[None, None]


WITHOUT = {RoPE: RoPEWithout, Sinusoidal: SinusoidalWithout}


def without(slot: Slot, plane: int) -> Slot | None:
    """The slot whose only element lacks a plane; None where it has none."""
    (element,) = slot
    if type(element) not in WITHOUT:
        return None
    fields = {field.name: getattr(element, field.name) for field in dataclasses.fields(element)}
    return (WITHOUT[type(element)](**fields, plane=plane),)


@functools.partial(jax.jit, static_argnums=0)
def _called(run: Run, params: Any, tokens: Any) -> tuple[Any, Any]:
    """The symbols that a model says, and the logarithms of its attention weights ``[B, Q, K]``, of its only head."""
    model = model_of(run, params)
    logits, captured = model(tokens, streams=Streams(positions=jax.random.key(0)), capture=True)
    (weights,) = jnp.moveaxis(attention_maps(captured)["decoder"][:, 0], 1, 0)
    return logits.argmax(axis=-1), jnp.log(jnp.maximum(weights, jnp.finfo(weights.dtype).tiny))


def attention_curve(logs: np.ndarray, back: int) -> tuple[np.ndarray, np.ndarray]:
    """``[n]`` mean over queries and contents of ``log w(q, k) - log w(q, q - back)`` by the distance of k from
    ``q - back``, both signs together, and how many pairs stand behind each; keys after the query have no part.
    """
    size = logs.shape[-1]
    q, k = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    asked = (q >= back) & (k <= q)
    right = np.take_along_axis(logs, np.maximum(np.arange(size) - back, 0)[None, :, None], axis=2)
    mean = (logs - right).mean(axis=0)
    offset = (k - q + back)[asked]
    count = np.bincount(offset + size - 1, minlength=2 * size - 1)
    total = np.bincount(offset + size - 1, weights=mean[asked], minlength=2 * size - 1)
    curve = [float(value / n) if n else None for value, n in zip(total, count)]
    return by_distance(curve, count), by_distance_count(count)


def look(arm: Arm, run: Run, params: Any, seed: int) -> dict[str, Any]:
    """Measurements of one trained model."""
    example = contents(run, CONTENTS, seed)
    there = example.weights > 0

    def accuracy(run: Run) -> tuple[float, np.ndarray]:
        said, logs = map(np.asarray, _called(run, params, example.inputs))
        return float((said == example.targets)[there].mean()), logs

    right, logs = accuracy(run)
    curve, asked = attention_curve(logs.astype(np.float64), run.task.back)
    found = side_lobes(curve, arm.predicted(), asked)
    size = run.model.d_model // run.model.num_heads // 2
    slots = [without(run.posenc, plane) for plane in range(size)]
    cut = [accuracy(dataclasses.replace(run, posenc=slot))[0] for slot in slots if slot is not None]
    return {"accuracy": right, "share": found.share, "lift": found.lift, "peak": found.peak, "without": cut}


def measured(arm: Arm, seeds: tuple[int, ...]) -> dict[str, Any]:
    """Seed -> what `look` found; seeds that never reach the accuracy are missing."""
    begun = time.perf_counter()
    along = trained(arm, seeds, functools.partial(look, arm))
    rows = {str(seed): [row for row in own if "inside" in row] for seed, own in zip(seeds, along, strict=True)}
    found = {seed: {"step": own[0]["step"], **_short(own[0]["inside"])} for seed, own in rows.items() if own}
    return {"arm": dataclasses.asdict(arm), "seconds": round(time.perf_counter() - begun, 1), "seeds": found}


def _short(inside: dict[str, Any]) -> dict[str, Any]:
    def short(value: float) -> float:
        return float(f"{value:.5g}")

    return {name: [*map(short, v)] if isinstance(v, list) else short(v) for name, v in inside.items()}


def values(found: dict[str, Any], name: str, measure: str) -> dict[int, float]:
    """Seed -> a measure of an arm."""
    return {int(seed): own[measure] for seed, own in found["arms"][name]["seeds"].items()}


def drops(found: dict[str, Any], name: str, plane: int) -> dict[int, float]:
    """Seed -> accuracy that is lost without a plane."""
    kept = found["arms"][name]["seeds"]
    return {int(seed): own["accuracy"] - own["without"][plane] for seed, own in kept.items()}


def tests(found: dict[str, Any]) -> list[tuple[str, dict[int, float], dict[int, float]]]:
    """The seven of inside-directions.md: what, and the two sides of a paired comparison."""
    lift = functools.partial(values, found, measure="lift")
    rope, *_ = NAMES

    def nought(name: str) -> dict[int, float]:
        return dict.fromkeys(lift(name), 0.0)

    return [
        ("1. rope, head 8: lift above 0", lift(rope), nought(rope)),
        ("2. resonance below rope", lift("rope, resonance, head 8"), lift(rope)),
        ("2. low side lobes below rope", lift("rope, low side lobes, head 8"), lift(rope)),
        ("3. head 32 below head 8", lift("rope, head 32"), lift(rope)),
        ("4. learned: no lift", lift("learned, head 8"), nought("learned, head 8")),
        ("4. t5: no lift", lift("t5, head 8"), nought("t5, head 8")),
        ("5. fastest plane costs more than the next", drops(found, rope, 0), drops(found, rope, 1)),
    ]


def over_seeds(values: list[float], digits: int = 3) -> str:
    """The mean over the seeds with its interval."""
    found = mean_interval(values)
    shown = f"{found.mean:.{digits}f}"
    return shown if found.low is None else f"{shown} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def section(found: dict[str, Any]) -> str:
    """The tables, as the page has them."""
    rows = []
    for name, kept in found["arms"].items():
        seeds = kept["seeds"].values()
        lift, share = ([own[m] for own in seeds] for m in ("lift", "share"))
        shown = [over_seeds(x, 2) if x else "" for x in (lift, share)]
        level = f"{np.mean([own['accuracy'] for own in seeds]):.2f}" if seeds else ""
        rows.append((name, str(len(seeds)), level, *shown))
    heads = grid(("arm", "seeds", "accuracy", "lift, nats", "share"), "lrrrr", rows)
    cut = []
    for name, kept in found["arms"].items():
        planes = len(next(iter(kept["seeds"].values()))["without"]) if kept["seeds"] else 0
        if planes:
            each = [[*drops(found, name, plane).values()] for plane in range(planes)]
            rest = over_seeds(max(each[4:], key=np.mean)) if planes > 4 else ""
            cut.append((name, *map(over_seeds, each[:4]), rest))
    head = ("accuracy lost without", "plane 1", "plane 2", "plane 3", "plane 4", "the worst of the others")
    planes = grid(head, "l" + "r" * 5, cut)
    return "\n\n".join([BEGIN, heads, planes, _judged(tests(found)), END])


def _judged(asked: Iterable[tuple[str, dict[int, float], dict[int, float]]]) -> str:
    paired = {name: [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()] for name, ours, theirs in asked}
    tested = {name: p for name, own in paired.items() if (p := p_value(mean_interval(own))) is not None}
    corrected = holm(tested)
    rows = [
        (name, over_seeds(own), str(len(own)), f"{corrected[name]:.2g}" if name in tested else "")
        for name, own in paired.items()
        if own
    ]
    return grid(("expected", "difference [95 %]", "seeds", "p, Holm"), "lrrr", rows)


def main(arguments: list[str] | None = None) -> int:
    """Trains and looks, or writes the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.inside")
    parser.add_argument("--write", action="store_true", help="only the page, from inside.json")
    parser.add_argument("--into", type=Path, default=FILE, help="where the numbers go")
    given = parser.parse_args(arguments)
    if not given.write:
        prepare_jax()
        by_name = {arm.name: arm for arm in ARMS if arm.task == "token_back"}
        found: dict[str, Any] = {"environment": environment(), "accuracy": LOOKED_AT, "arms": {}}
        for name in NAMES:
            found["arms"][name] = measured(by_name[name], SEEDS)
            kept = found["arms"][name]
            print(f"{name}: {kept['seconds']} s, {len(kept['seeds'])} seeds", file=sys.stderr)
            write_atomically(given.into, json.dumps(found, indent=1) + "\n")
    if given.into == FILE:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + section(json.loads(FILE.read_text())) + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
