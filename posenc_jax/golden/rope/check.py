"""Compares an engine's positions with those that configs of models declare; NumPy is all that this needs.

    python check.py ANSWERS.json

`rows` are what to answer, `problems` compares answers of a Python function. `models` and `failures` are the same for
rotary frequencies alone, of released models alone, in the older file beside it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FILE, ROWS = Path(__file__).with_name("rope-v1.json"), Path(__file__).with_name("positions-v1.json")
Engine = Callable[[Mapping[str, Any], int, int], Any]


def rows(text: str | None = None) -> list[dict[str, Any]]:
    """The rows, each with ``name``, ``type``, ``source``, ``config`` and ``groups`` of equal layers, whose ``points``
    have the values at a length; ``text`` is that of another file.
    """
    whole = json.loads(ROWS.read_text(encoding="utf-8") if text is None else text)
    for row in whole["rows"]:
        for group in row["groups"]:
            group["points"] = [{"length": p["length"], **whole["tables"][p["table"]]} for p in group["points"]]
    return whole["rows"]


def problems(engine: Engine, only: Sequence[str] = (), tolerance: float = 1e-6, angles: float = 5e-4) -> list[str]:
    """A line for each value of a row and length that is another in an engine: "layer 0 (+7)" and seven more layers.

    Args:
      engine: ``(row, layer, length)`` gives values by their names, of which those that are there are compared; None:
        no answer.
      only: names of rows; none is all.
      tolerance: of values, relative for frequencies and slopes.
      angles: of cosines and sines. Frequencies in float32 pass at 4,095, and no farther.
    """
    found: dict[tuple[str, str], list[int]] = {}
    for row in rows():
        for group in row["groups"] if not only or row["name"] in only else ():
            for layer, point in itertools.product(group["layers"], group["points"]):
                right = {**row, **group, **point}
                for name, mine in (engine(row, layer, point["length"]) or {}).items():
                    allowed = angles if name in ("cos", "sin") else tolerance
                    if text := differing(mine, right.get(name), allowed, name in ("inverse_frequencies", "slopes")):
                        found.setdefault((row["name"], f"length {point['length']}: {name}{text}"), []).append(layer)
    return [f"{row}, layer {own[0]} (+{len(own) - 1}), {text}" for (row, text), own in found.items()]


def differing(mine: Any, right: Any, allowed: float, relative: bool = False) -> str:
    """What is wrong with a value, or nothing."""
    same = mine == right if isinstance(mine, list) else mine is right
    if same or mine is None or right is None:
        return "" if same else f" is {mine}, and must be {right}"
    array, wanted = np.asarray(mine, np.float64), np.asarray(right, np.float64)
    if array.shape != wanted.shape:
        return f" has the shape {array.shape}, and must have {wanted.shape}"
    wrong = ~(np.abs(array - wanted) <= allowed * (np.abs(wanted) if relative else 1))
    if not wrong.any():
        return ""
    k = tuple(np.argwhere(wrong)[0].tolist())
    return f"{list(k) or ''} is {array[k]:.10g}, and must be {wanted[k]:.10g}"


def from_answers(answers: Mapping[str, Any]) -> Engine:
    """An engine that answers from ``{row: [layer, ...]}``, where a layer is ``{length: values}``, or the number of one
    that is equal.
    """

    def engine(row: Mapping[str, Any], layer: int, length: int) -> Any:
        if row["name"] not in answers:
            return None
        layers = answers[row["name"]]
        try:
            own = layers[layer]
            return (layers[own] if isinstance(own, int) else own)[str(length)]
        except LookupError:
            raise ValueError(f"{row['name']} has no values of layer {layer} at length {length}: add them") from None

    return engine


def main(arguments: list[str] | None = None) -> int:
    """Compares a file of answers; 1 if anything differs."""
    parser = argparse.ArgumentParser(description="Compares an engine's positions with what configs declare.")
    parser.add_argument("answers", type=Path, help='{"ROW": [{"LENGTH": {"window": null, ...}}, 0, ...], ...}')
    parser.add_argument("--angles", type=float, default=5e-4, help="what cosines and sines may differ by")
    given = parser.parse_args(arguments)
    answers = json.loads(given.answers.read_text(encoding="utf-8"))
    found = problems(from_answers(answers), angles=given.angles)
    print(*found, sep="\n")
    names = {row["name"] for row in rows()}
    wrong = {line.partition(", layer ")[0] for line in found}
    agree, silent = len(answers.keys() & names - wrong), len(names - answers.keys())
    print(f"{agree} of {len(names)} rows agree, {silent} have no answer")
    return int(bool(found))


def models() -> list[dict[str, Any]]:
    """The models, each with ``name``, ``source``, ``config``, and ``groups`` of equal layers."""
    return json.loads(FILE.read_text(encoding="utf-8"))["models"]


def failures(engine: Engine, tolerance: float = 1e-6) -> list[str]:
    """A line for each model, layer and length at which an engine differs by more than ``tolerance`` of the value.

    Args:
      engine: ``(config, layer, length)`` gives inverse frequencies and attention factor, with an empty array for a
        layer that does not rotate. ``length`` is that of the whole sequence: one below and one above the switch of
        each model whose frequencies depend on it.
    """
    found = []
    for model in models():
        for group in model["groups"]:
            for layer, point in itertools.product(group["layers"], group["points"]):
                mine, factor = engine(model["config"], layer, point["length"])
                parts = {
                    "inverse_frequencies": differing(mine, point["inverse_frequencies"], tolerance, relative=True),
                    "attention_factor": differing(factor, group["attention_factor"], tolerance),
                }
                at = f"{model['name']}, layer {layer}, length {point['length']}"
                found += [f"{at}: {name}{text}" for name, text in parts.items() if text][:1]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
