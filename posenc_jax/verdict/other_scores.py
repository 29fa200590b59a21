"""Two other scores of the same trained models: by their best checkpoint, and at their best temperature.

Published comparisons often are of such scores. Both are chosen on the scores that they report, so they flatter; a
verdict shows them apart.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from posenc_jax.config import Run
from posenc_jax.encodings import Temperature, is_pattern
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.environments import DRAWS, compared, of_process
from posenc_jax.files.atomic import make_directory
from posenc_jax.files.shapes import Json
from posenc_jax.results.averages import seed_means
from posenc_jax.runs.cell import Engine
from posenc_jax.runs.directory import finished_groups, groups_with, result_of
from posenc_jax.runs.environment import environment
from posenc_jax.runs.evaluation import changed_config, measure, states_of
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict.tables import CHECKPOINTS, Table

Way = Literal["best checkpoint", "best temperature"]
WAYS: tuple[Way, ...] = get_args(Way)
TEMPERATURES = (0.5, 0.7, 0.85, 1.2)
"""What the logits of attention are divided by, beside 1."""


def other_scores(
    table: Table,
    cell: Run,
    home: Path,
    chosen: Mapping[int, float],
    final: Mapping[int, float],
    *,
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
    clock: Callable[[], float] = lambda: 0.0,
) -> tuple[dict[Way, dict[int, float]], float]:
    """Way -> seed -> the best score of the seed, the final one among them; and the seconds that measuring took.

    Args:
      cell: the run of the compared seeds at all learning rates.
      home: its directory, finished; what is measured is kept there, and only seeds that are new, have another learning
        rate by now, were trained anew, or were measured on other random numbers than are drawn now are measured again.
      chosen: seed -> its learning rate.
      final: seed -> score of the last step.
      clock: in seconds.
    """
    path = home / "evaluations" / "verdict.json"
    question = {
        "lengths": list(table.asked.score_lengths),
        "temperatures": list(TEMPERATURES),
        "checkpoints": CHECKPOINTS,
    }
    seeds: dict[str, Json] = {}
    seconds = 0.0
    if path.exists() and (known := read_json(path))["question"] == question:
        seeds, seconds = known["seeds"], known["seconds"]
    trained, here = _digests(home), of_process(environment())
    wanted: dict[int, Json] = {
        seed: {"learning_rate": chosen[seed], "parameters": trained.get((seed, chosen[seed]))} for seed in final
    }
    missing = {
        seed: chosen[seed]
        for seed, model in wanted.items()
        if not model.items() <= seeds.get(_key(seed, chosen), {}).items()
        or compared(seeds[_key(seed, chosen)].get("environment", {}), here, DRAWS).draws
    }
    if missing:
        begun = clock()
        measured = {way: dict(_measured(table, cell, home, missing, way, reporter, stop)) for way in WAYS}
        for seed in missing:
            by_way: Json = {
                way: {name: own.get(seed) for name, own in by_name.items()} for way, by_name in measured.items()
            }
            seeds[_key(seed, chosen)] = wanted[seed] | {"environment": here} | by_way
        seconds += clock() - begun
        make_directory(path.parent)
        write_json(path, {"question": question, "seeds": seeds, "seconds": seconds})
    best = max if table.asked.kind.better == "higher" else min
    found: dict[Way, dict[int, float]] = {
        way: {
            seed: best([score, *(other for other in seeds[_key(seed, chosen)][way].values() if other is not None)])
            for seed, score in final.items()
        }
        for way in WAYS
    }
    return found, seconds


def _key(seed: int, chosen: Mapping[int, float]) -> str:
    """The name of a seed at its learning rate, which another grid may choose otherwise."""
    return f"{seed} at {chosen[seed]:g}"


def _digests(home: Path) -> dict[tuple[int, float], str | None]:
    return {
        (replica["seed"], replica["learning_rate"]): replica.get("parameters_sha256")
        for result in finished_groups(home).values()
        for replica in result["replicas"]
    }


def _measured(
    table: Table,
    cell: Run,
    home: Path,
    chosen: Mapping[int, float],
    way: Way,
    reporter: Reporter,
    stop: Callable[[], int | None],
) -> Iterator[tuple[str, dict[int, float]]]:
    """(checkpoint or temperature, seed -> score)."""
    lengths, replicas = table.asked.score_lengths, set(chosen.items())
    groups = [(group, result_of(group)) for group in groups_with(home, replicas)]

    def rows(slot: Slot, steps: tuple[int, ...] | None) -> list[Json]:
        changed = changed_config(cell, lengths, slot)
        states = states_of(cell, groups, steps, None, reporter.note)
        return measure(cell, Engine(changed, reporter, stop), states, lengths)[0]

    if way == "best checkpoint":
        steps = table.steps_kept[:-1]
        found = rows(cell.posenc, steps)
        for step in steps:
            yield str(step), _scores(table, replicas, (row for row in found if row["step"] == step))
    else:
        for temperature in TEMPERATURES:
            yield str(temperature), _scores(table, replicas, rows(_at(temperature, cell.posenc), None))


def _at(temperature: float, slot: Slot) -> Slot:
    """The slot with all its logits divided."""
    last = (Temperature(temperature),)
    layers: Any = slot
    return tuple((*layer, *last) for layer in layers) if is_pattern(slot) else (*layers, *last)


def _scores(table: Table, replicas: set[tuple[int, float]], rows: Iterable[Json]) -> dict[int, float]:
    by_length: dict[int, dict[int, float]] = {length: {} for length in table.asked.score_lengths}
    for row in rows:
        score = row[table.asked.metric]
        if (row["seed"], row["learning_rate"]) in replicas and score is not None and math.isfinite(score):
            by_length[row["length"]][row["seed"]] = score
    return seed_means(by_length, table.asked.score_lengths, table.asked.kind)
