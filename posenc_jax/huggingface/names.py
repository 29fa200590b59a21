"""Tables of names: which of our parameters a tensor of a checkpoint is, and what is done to it; read in both ways."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from posenc_jax.models.config import Transformer

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Change:
    """What lies between a tensor of theirs and the parts of ours that it is.

    Attributes:
      split: the parts of a tensor, for their shapes. join: the tensor of the parts, the inverse. shape: of the tensor,
        for the shapes of the parts.
    """

    split: Callable[[np.ndarray, Sequence[Shape], Transformer], list[np.ndarray]]
    join: Callable[[list[np.ndarray], Transformer], np.ndarray]
    shape: Callable[[Sequence[Shape]], Shape]


def _turned(shape: Shape) -> Shape:
    return shape[::-1]


def _split_rows(tensor: np.ndarray, shapes: Sequence[Shape], model: Transformer) -> list[np.ndarray]:
    ends = np.cumsum([shape[-1] for shape in shapes])[:-1]
    return [part.T for part in np.split(tensor, ends)]


SAME = Change(lambda tensor, shapes, model: [tensor], lambda parts, model: parts[0], lambda shapes: shapes[0])
TURNED = Change(
    lambda tensor, shapes, model: [tensor.T], lambda parts, model: parts[0].T, lambda shapes: _turned(shapes[0])
)
"""torch's Linear holds ``[outputs, inputs]``, ours ``[inputs, outputs]``; a bias stays as it is."""
ROWS = Change(
    _split_rows,
    lambda parts, model: np.concatenate([part.T for part in parts]),
    lambda shapes: (sum(shape[-1] for shape in shapes), *shapes[0][:-1]),
)
"""Matrices of torch one below the other, or their biases."""
COLUMNS = Change(
    lambda tensor, shapes, model: np.split(tensor, np.cumsum([shape[-1] for shape in shapes])[:-1], axis=-1),
    lambda parts, model: np.concatenate(parts, axis=-1),
    lambda shapes: (*shapes[0][:-1], sum(shape[-1] for shape in shapes)),
)
"""Matrices beside each other, not turned: GPT-2's."""


def _split_heads(tensor: np.ndarray, shapes: Sequence[Shape], model: Transformer) -> list[np.ndarray]:
    heads = tensor.reshape(-1, len(shapes), model.width_of_head, *tensor.shape[1:])
    return [heads[:, i].reshape(-1, *tensor.shape[1:]).T for i in range(len(shapes))]


def _join_heads(parts: list[np.ndarray], model: Transformer) -> np.ndarray:
    heads = [part.T.reshape(-1, model.width_of_head, *part.shape[:-1]) for part in parts]
    stacked = np.stack(heads, axis=1)
    return stacked.reshape(-1, *stacked.shape[3:])


HEADS = Change(_split_heads, _join_heads, ROWS.shape)
"""Rows of queries, keys and values head by head: those of the first head's queries, its keys, its values, the next
head's (GPT-NeoX, BLOOM).
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of a table: their name, ours, and the change; ``{}`` is the number of the layer in both."""

    theirs: str
    ours: tuple[str, ...]
    change: Change = SAME


def linear(theirs: str, *ours: str, change: Change | None = None) -> tuple[Row, Row]:
    """Weight and bias of a Linear that is one matrix of ours, or several below each other."""
    change = change or (TURNED if len(ours) == 1 else ROWS)
    return (
        Row(f"{theirs}.weight", tuple(f"{name}.kernel" for name in ours), change),
        Row(f"{theirs}.bias", tuple(f"{name}.bias" for name in ours), change),
    )


def norm(theirs: str, ours: str) -> tuple[Row, Row]:
    """Weight and bias of a norm."""
    return Row(f"{theirs}.weight", (f"{ours}.scale",)), Row(f"{theirs}.bias", (f"{ours}.bias",))


def each_layer(theirs: str, ours: str, *rows: Row | tuple[Row, ...]) -> tuple[Row, ...]:
    """Rows of every layer, under the names of the layer."""
    flat = [row for one in rows for row in ((one,) if isinstance(one, Row) else one)]
    return tuple(
        Row(f"{theirs}.{row.theirs}", tuple(f"{ours}.{name}" for name in row.ours), row.change) for row in flat
    )


def of_model(rows: Sequence[Row], shapes: dict[str, Shape], num_layers: int) -> dict[str, Row]:
    """The rows that a model with parameters of these ``shapes`` has, by the name of the tensor, layers counted out.

    A row of which the model has no part is left out (a bias that it lacks). ValueError for a table that gives a tensor
    or a parameter twice, or a part of a row only.
    """
    found: dict[str, Row] = {}
    taken: set[str] = set()
    for row in rows:
        for layer in range(num_layers if "{}" in row.theirs else 1):
            theirs, ours = row.theirs.format(layer), tuple(name.format(layer) for name in row.ours)
            there = [name for name in ours if name in shapes]
            if not there:
                continue
            if len(there) < len(ours) or theirs in found or not taken.isdisjoint(ours):
                raise ValueError(f"the table's row {theirs} <-> {', '.join(ours)} matches twice, or in part")
            found[theirs] = Row(theirs, ours, row.change)
            taken.update(ours)
    return found
