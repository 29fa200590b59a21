"""Golden values of the encodings, for other implementations to test against; NumPy is all that this needs.

>>> from posenc_jax import golden
>>> golden.load()["format"]
'posenc golden 1'
>>> yarn = golden.row("YaRN")
>>> golden.check("YaRN", {"q": yarn["outputs"]["q"]})  # nothing is said: they agree
"""

from __future__ import annotations

import copy
import difflib
import functools
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc_jax.golden.sequences.check import differing

FILE = "encodings-v1.json"


def load() -> dict[str, Any]:
    """The whole file: conventions, inputs, and a row for each row of the catalogue, and for edges of some."""
    file = importlib.resources.files(__name__) / FILE
    return json.loads(file.read_text(encoding="utf-8"))


def row(name: str) -> dict[str, Any]:
    """The row of that name; ValueError where there is none."""
    rows = _rows()
    if name not in rows:
        near = difflib.get_close_matches(name, rows, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(rows)}"
        raise ValueError(f"{name!r} is no row of the golden values: {hint}")
    return copy.deepcopy(rows[name])


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
    """The rows by name; they are read once, as a suite of tests asks for all of them."""
    return {one["name"]: one for one in load()["rows"]}


def check(name: str, outputs: Mapping[str, Any], *, tolerance: float = 1e-9) -> None:
    """Compares arrays with the golden values of a row.

    Args:
      name: of the row.
      outputs: some of its arrays, by their names there, as anything that NumPy takes.
      tolerance: the largest allowed difference, times the largest value of the array where that is above 1.

    Raises:
      ValueError: there is no such row or array, or none is given, the tolerance is no size, a shape is another one, or
        a value differs: the message has the first index with the largest difference.
    """
    wanted = row(name)["outputs"]
    if not outputs:
        raise ValueError(f"nothing to compare with {name}: give some of {', '.join(wanted)}")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance = {tolerance} must be a number from 0 up")
    for output, values in outputs.items():
        if output not in wanted:
            raise ValueError(f"{name} has no array {output!r}: it has {', '.join(wanted)}")
        if problem := differing(f"{name}, {output}", values, wanted[output], tolerance):
            raise ValueError(problem)
