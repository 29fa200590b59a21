"""The share of the side lobes along training, arm by arm: what the second reading stands on.

    python -m experiments.periodicity.along                      # all arms on the reported seeds; goes on where it was
    python -m experiments.periodicity.along --small              # without the longest: about half an hour
    python -m experiments.periodicity.along --pilot --arms A B   # on seeds that nothing is reported of
    python -m experiments.periodicity.share                      # the tables and the figure, from what is kept

Every few steps each replica is scored on fresh questions: accuracy, and `side_lobes.py` of the mean
logit by distance. Arms are compared at equal accuracy, by interpolation between the two scores beside its first
crossing. One JSON file an arm, written when all its seeds are done.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.periodicity.grid import centre
from experiments.periodicity.measures import by_distance
from experiments.periodicity.side_lobes import side_lobes
from posenc_jax import Run, parse, spec
from posenc_jax.analysis.kernels import kernel
from posenc_jax.analysis.views import frequencies
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.session import prepare_jax
from posenc_jax.data.tasks import PositionOf, TokenAt, TokenBack
from posenc_jax.files.atomic import write_atomically
from posenc_jax.runs.environment import environment
from posenc_jax.training.batches import buckets
from posenc_jax.training.layout import laid_out
from posenc_jax.training.replicas import Program, devices_here, make_mesh, put_state, stack
from posenc_jax.training.step import evaluate_length, init_params, init_state, train_call

POSITIONS, ALIAS = 128, 63
PILOTS, SEEDS = tuple(range(4)), tuple(range(100, 112))
LEVELS = (0.3, 0.5, 0.7, 0.9)
TASKS: dict[str, Callable[[int], Any]] = {
    "position_of": lambda positions: PositionOf(length=positions),
    "token_back": lambda positions: TokenBack(length=positions, back=8),
    "token_at": lambda positions: TokenAt(length=positions, num_symbols=4, queries=positions),
}
LOOKED_AT = 0.5
Look = Callable[[Run, Any, int], dict[str, Any]]
"""What `inside.py` finds in a trained model, of a config, its parameters and the seed."""


@dataclasses.dataclass(frozen=True)
class Arm:
    """One encoding on one task at one width, and the encoding whose kernel its side lobes are looked for with.

    Attributes:
      every: steps between scores.
      kernel_of: by default its own; of a control, that of another.
    """

    name: str
    task: str
    posenc: str
    d_model: int
    heads: int
    steps: int
    every: int
    learning_rate: float
    kernel_of: str = ""

    def run(self, seeds: tuple[int, ...]) -> Run:
        """Its config; one call of ``every`` steps, scored after each."""
        task = TASKS[self.task](POSITIONS)
        plain = centre(
            task,
            self.d_model,
            steps=self.steps,
            learning_rate=self.learning_rate,
            table=self.task,
            steps_per_call=self.every,
            seeds=seeds,
            batch_size=8 if self.task == "token_at" else 16,
            num_examples=1024 if self.task == "position_of" else 64,
        )
        model = dataclasses.replace(plain.model, num_heads=self.heads)
        return dataclasses.replace(plain, label=self.name, model=model, posenc=parse(self.posenc))

    def predicted(self) -> np.ndarray:
        """``[n]``: the kernel looked for."""
        run = self.run((0,))
        slot = parse(self.kernel_of or self.posenc)
        return kernel(frequencies(slot, run.dims), np.arange(POSITIONS))


def _naming(name: str, posenc: str, d_model: int, steps: int, every: int, rate: float, **other: str) -> Arm:
    heads = max(1, d_model // 16) if d_model >= 64 else 1
    return Arm(name, "position_of", posenc, d_model, heads, steps, every, rate, **other)


def _back(name: str, posenc: str, head_dim: int, heads: int, steps: int, every: int, **other: str) -> Arm:
    return Arm(name, "token_back", posenc, head_dim * heads, heads, steps, every, 1e-2, **other)


def _asking(name: str, posenc: str, d_model: int, steps: int, every: int, rate: float, **other: str) -> Arm:
    return Arm(name, "token_at", posenc, d_model, 1, steps, every, rate, **other)


_WIDTHS = {
    8: (600, 30, 1e-2),
    16: (300, 15, 1e-2),
    32: (200, 10, 1e-2),
    64: (200, 10, 3e-3),
    128: (120, 6, 3e-3),
    256: (180, 12, 1e-3),
    512: (240, 20, 4e-4),
}
_LOW = "sinusoidal(frequencies=low_side_lobes(length=128))"
_HEADS = {8: (300, 10), 16: (200, 10), 32: (160, 8), 64: (160, 8)}
_AS_ROPE = {16: (400, 10), 32: (320, 8), 64: (320, 8)}  # scored as often as the plain RoPE beside them
_WIDE = {
    "rope, resonance": _AS_ROPE,
    "p-RoPE": _AS_ROPE,
    "xPos": _AS_ROPE,
    "sinusoidal": {16: (240, 4), 32: (160, 2), 64: (140, 2)},
    "learned": {16: (320, 4), 32: (260, 4), 64: (240, 4)},
    "transformer_xl": {16: (160, 4), 32: (120, 2), 64: (100, 2)},
    "shaw": {16: (160, 4), 32: (140, 2), 64: (120, 2)},
    "deberta": {16: (120, 2), 32: (100, 2), 64: (80, 1)},
    "t5": {16: (240, 4), 32: (200, 4), 64: (200, 4)},
    "fire": {16: (600, 20), 32: (600, 12), 64: (600, 12)},
}
_OTHERS = (
    ("p-RoPE", "rope(scaling=p_rope(fraction=0.75))"),
    ("xPos", "xpos"),
    ("sinusoidal", "sinusoidal"),
    ("learned", "learned"),
    ("transformer_xl", "transformer_xl"),
    ("shaw", "shaw"),
    ("deberta", "deberta"),
    ("t5", "t5"),
    ("fire", "fire"),
)
_NO_PLACE = (("alibi", "alibi"), ("nope", "nope"))  # they do not find the place eight back
ARMS = (
    *(_naming(f"sinusoidal, d {d}", "sinusoidal", d, *s) for d, s in _WIDTHS.items()),
    *(
        _naming(f"{label}, d {d}", posenc, d, *_WIDTHS[d], kernel_of="sinusoidal")
        for d in (8, 64)
        for label, posenc in (("learned", "learned"), ("low side lobes", _LOW))
    ),
    _naming("tensor2tensor, d 8", "sinusoidal(frequencies='tensor2tensor')", 8, *_WIDTHS[8]),
    *(_back(f"rope, head {h}", "rope", h, 1, *s) for h, s in _HEADS.items()),
    _back("rope, 8 heads of 8", "rope", 8, 8, 100, 4),
    _back("rope, resonance, head 8", "rope(scaling=resonance)", 8, 1, 300, 10, kernel_of="rope"),
    _back(
        "rope, low side lobes, head 8",
        "rope(scaling=low_side_lobes(length=128))",
        8,
        1,
        300,
        10,
        kernel_of="rope",
    ),
    *(_back(f"{name}, head 8", posenc, 8, 1, 600, 20, kernel_of="rope") for name, posenc in (*_OTHERS, *_NO_PLACE)),
    *(
        _back(f"{name}, head {h}", posenc, h, 1, *_WIDE[name][h], kernel_of="rope")
        for h in (16, 32, 64)
        for name, posenc in (("rope, resonance", "rope(scaling=resonance)"), *_OTHERS)
    ),
    _asking("sinusoidal by name, d 8", "sinusoidal", 8, 3000, 30, 1e-2),
    _asking("learned by name, d 8", "learned", 8, 1800, 30, 1e-2, kernel_of="sinusoidal"),
    _asking("low side lobes by name, d 8", _LOW, 8, 4800, 60, 1e-2, kernel_of="sinusoidal"),
    _asking("sinusoidal by name, d 16", "sinusoidal", 16, 2000, 20, 1e-2),
    _asking("sinusoidal by name, d 64", "sinusoidal", 64, 1200, 10, 3e-3),
    _asking("learned by name, d 64", "learned", 64, 1200, 10, 3e-3, kernel_of="sinusoidal"),
    _asking("low side lobes by name, d 64", _LOW, 64, 1200, 10, 3e-3, kernel_of="sinusoidal"),
)


SMALL = tuple(
    arm.name
    for arm in ARMS
    if arm.task != "token_at"
    and arm.d_model < 128
    and arm.name not in ("learned, d 64", "low side lobes, d 64")
    and (arm.task != "token_back" or arm.d_model // arm.heads == 8 or arm.name in {f"rope, head {h}" for h in _HEADS})
)
"""All but those that take longest, wide heads of other encodings, and `token_at`."""


def trained(arm: Arm, seeds: tuple[int, ...], look: Look | None = None) -> Iterator[list[dict[str, Any]]]:
    """For each seed its scores along training; ``look`` sees the model at the first score of `LOOKED_AT` or more, and
    training ends when it has seen all.
    """
    run = arm.run(seeds)
    size = laid_out(run.execution, len(seeds), devices_here()).size
    mesh = make_mesh(run.execution, size)
    (bucket,) = buckets(run, run.evaluation.lengths, mesh.shape["replica"])
    predicted, train, score = arm.predicted(), None, None
    for first in range(0, len(seeds), size):
        group = seeds[first : first + size]
        filled = group + (group[-1],) * (size - len(group))
        states = [init_state(run, init_params(run, seed), seed, run.learning_rates[0]) for seed in filled]
        state = put_state(stack(states), mesh)
        if train is None:
            train = Program(
                "train", lambda s, f, d: train_call(run, None, s, f, d), run.execution, mesh, state, None, donate=True
            )
            scored = {"params": state["params"], "seed": state["seed"]}
            shared = (np.int32(POSITIONS), None)
            score = Program(
                "score",
                lambda r, _, s: evaluate_length(run, bucket, r["params"], r["seed"], *s),
                run.execution,
                mesh,
                scored,
                shared,
            )
        found: list[list[dict[str, Any]]] = [[] for _ in group]
        for step in range(arm.every, arm.steps + 1, arm.every):
            state, _ = train(state, None)
            sums = jax.tree.map(np.asarray, score({"params": state["params"], "seed": state["seed"]}, shared))
            for i, own in enumerate(found):
                own.append({"step": step, **scores(run, {k: v[i] for k, v in sums.items()}, predicted)})
                if look is not None and not _seen(own) and own[-1]["accuracy"] >= LOOKED_AT:
                    params = jax.tree.map(lambda leaf, i=i: np.asarray(leaf[i]), state["params"])
                    own[-1]["inside"] = look(run, params, group[i])
            if all(map(_seen, found)):
                break
        yield from found


def _seen(rows: list[dict[str, Any]]) -> bool:
    return any("inside" in row for row in rows)


def scores(run: Run, sums: dict[str, np.ndarray], predicted: np.ndarray) -> dict[str, float]:
    """The kept part of one score: accuracy, the side lobes in the logits, and the first reading's alias excess."""
    result = run.task.results({name: np.asarray(value) for name, value in sums.items()})
    asked = by_distance_count(result["asked_by_offset"])
    curve = by_distance(result["logit_by_offset"], result["asked_by_offset"])
    found = side_lobes(curve, predicted, asked)
    contrast = by_distance(result["given_contrast"], result["asked_by_offset"])
    return {
        "accuracy": float(result["accuracy"]),
        "right": float(curve[0]),
        "share": found.share,
        "slope": found.slope,
        "main_slope": found.main_slope,
        "lift": found.lift,
        "alias_excess": 100 * float(contrast[ALIAS]),
    }


def by_distance_count(asked: list[int]) -> np.ndarray:
    """``[n]``: questions at both signs of each distance."""
    zero = len(asked) // 2
    return np.array([asked[zero], *(asked[zero + k] + asked[zero - k] for k in range(1, zero + 1))], float)


def at_accuracy(along: list[dict[str, float]], level: float, measure: str) -> float | None:
    """A measure where the accuracy first reaches a level, linear between the scores beside it; None if it never is."""
    for before, after in itertools.pairwise(along):
        if before["accuracy"] < level <= after["accuracy"]:
            part = (level - before["accuracy"]) / (after["accuracy"] - before["accuracy"])
            return before[measure] + part * (after[measure] - before[measure])
    return None


def measured(arm: Arm, seeds: tuple[int, ...]) -> dict[str, Any]:
    """All of one arm, as its file has it."""
    begun, used = time.perf_counter(), time.process_time()
    along = list(trained(arm, seeds))
    return {
        "arm": dataclasses.asdict(arm),
        "posenc": spec(parse(arm.posenc)),
        "environment": environment(),
        "seconds": round(time.perf_counter() - begun, 1),
        "processor_seconds": round(time.process_time() - used, 1),
        "seeds": {
            str(seed): [{k: float(f"{v:.5g}") for k, v in row.items()} for row in rows]
            for seed, rows in zip(seeds, along, strict=True)
        },
    }


def file_of(arm: Arm, directory: Path) -> Path:
    """The file of an arm."""
    return directory / f"{arm.name.replace(', ', '-').replace(' ', '-')}-{arm.task}.json"


def main(arguments: list[str] | None = None) -> int:
    """Runs the arms that have no file yet."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.along", description=__doc__)
    parser.add_argument("--arms", nargs="*", help="their names (default: all)")
    parser.add_argument(
        "--small", action="store_true", help="without the longest arms, wide heads of other encodings and token_at"
    )
    parser.add_argument("--directory", type=Path, default=Path("runs/periodicity-along"))
    parser.add_argument("--pilot", action="store_true", help="on seeds 0 to 3")
    given = parser.parse_args(arguments)
    prepare_jax()
    names = {arm.name for arm in ARMS}
    if unknown := set(given.arms or ()) - names:
        parser.error(f"there is no arm {sorted(unknown)[0]!r}: {', '.join(sorted(names))}")
    directory = given.directory / ("pilot" if given.pilot else "seeds")
    directory.mkdir(parents=True, exist_ok=True)
    wanted = set(given.arms or names) & (set(SMALL) if given.small else names)
    chosen = [arm for arm in ARMS if arm.name in wanted]
    for arm in chosen:
        path = file_of(arm, directory)
        if path.exists():
            if json.loads(path.read_text())["arm"] != dataclasses.asdict(arm):
                parser.error(f"{path} was measured with other settings of {arm.name!r}: move it away, or restore them")
            continue
        found = measured(arm, PILOTS if given.pilot else SEEDS)
        write_atomically(path, json.dumps(found, indent=1) + "\n")
        last = [rows[-1]["accuracy"] for rows in found["seeds"].values()]
        print(f"{path.name}: {found['seconds']} s, accuracy {min(last):.2f} to {max(last):.2f}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
