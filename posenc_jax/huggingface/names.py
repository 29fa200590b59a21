"""Tables of names: which of our parameters a tensor of a checkpoint is, and what is done to it; read in both ways."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Change:
    """A change between one of their tensors and the parts of ours that it holds, in both directions.

    Attributes:
      split: the parts of a tensor, for their shapes and the number of heads.
      join: the tensor of the parts and the number of heads, the inverse.
      shape: of the tensor, for the shapes of the parts.
    """

    split: Callable[[np.ndarray, Sequence[Shape], int], list[np.ndarray]]
    join: Callable[[list[np.ndarray], int], np.ndarray]
    shape: Callable[[Sequence[Shape]], Shape]


def _split(tensor: np.ndarray, shapes: Sequence[Shape], axis: int) -> list[np.ndarray]:
    return np.split(tensor, np.cumsum([shape[-1] for shape in shapes])[:-1], axis)


def _rows(shapes: Sequence[Shape]) -> Shape:
    return (sum(shape[-1] for shape in shapes), *shapes[0][:-1])


# A tensor as it stands, or several side by side (GPT-2's matrices).
SAME = Change(
    lambda tensor, shapes, heads: _split(tensor, shapes, -1),
    lambda parts, heads: np.concatenate(parts, axis=-1),
    lambda shapes: (*shapes[0][:-1], sum(shape[-1] for shape in shapes)),
)
# torch's Linear holds ``[outputs, inputs]``, ours ``[inputs, outputs]``: a matrix, or several one below the other; a
# bias stays as it is.
TURNED = Change(
    lambda tensor, shapes, heads: [part.T for part in _split(tensor, shapes, 0)],
    lambda parts, heads: np.concatenate([part.T for part in parts]),
    _rows,
)


# A bias that is a matrix of one row.
ONE_ROW = Change(
    lambda tensor, shapes, heads: [tensor[0]], lambda parts, heads: parts[0][None], lambda shapes: (1, *shapes[0])
)


def copied(first: Change) -> Change:
    """A change from one tensor to several equal parts: ``first`` makes the first part; the others have its numbers in
    their shape.

    ValueError on the way back: they are not equal any more.
    """

    def split(tensor: np.ndarray, shapes: Sequence[Shape], heads: int) -> list[np.ndarray]:
        return first.split(tensor, shapes[:1], heads) + [tensor.reshape(shape) for shape in shapes[1:]]

    def join(parts: list[np.ndarray], heads: int) -> np.ndarray:
        tensor = first.join(parts[:1], heads)
        if not all(np.array_equal(part.reshape(tensor.shape), tensor) for part in parts[1:]):
            raise ValueError("they are one tensor there, and differ")
        return tensor

    return Change(split, join, lambda shapes: first.shape(shapes[:1]))


def _split_by_head(tensor: np.ndarray, shapes: Sequence[Shape], heads: int) -> list[np.ndarray]:
    groups = _key_heads(shapes, heads)
    rows = np.cumsum([shape[-1] // groups for shape in shapes])[:-1]
    parts = np.split(tensor.reshape(groups, -1, *tensor.shape[1:]), rows, axis=1)
    return [part.reshape(-1, *tensor.shape[1:]).T for part in parts]


def _join_by_head(parts: list[np.ndarray], heads: int) -> np.ndarray:
    groups, columns = _key_heads([part.shape for part in parts], heads), parts[0].shape[:-1]
    rows = np.concatenate([part.T.reshape(groups, -1, *columns) for part in parts], axis=1)
    return rows.reshape(-1, *columns)


def _key_heads(shapes: Sequence[Shape], heads: int) -> int:
    return heads * shapes[-1][-1] // shapes[0][-1]


# As `TURNED`, and the rows stand by head of keys: those of its queries, key and value, then of the next (GPT-NeoX,
# BLOOM, Falcon).
BY_HEAD = Change(_split_by_head, _join_by_head, _rows)


@dataclasses.dataclass(frozen=True)
class NameRule:
    """One line of a table: their name, ours, and the change; ``{}`` is the number of the layer in both. Where it stands
    in ours alone, these are the parts of all layers.
    """

    theirs: str
    ours: tuple[str, ...]
    change: Change = SAME


def linear(theirs: str, *ours: str, change: Change = TURNED) -> tuple[NameRule, NameRule]:
    """Weight and bias of a Linear that is one matrix of ours, or several."""
    return (
        NameRule(f"{theirs}.weight", tuple(f"{name}.kernel" for name in ours), change),
        NameRule(f"{theirs}.bias", tuple(f"{name}.bias" for name in ours), change),
    )


# Ours, where theirs are one matrix.
QKV = tuple(f"self_attention.{part}" for part in ("query", "key", "value"))


def attention(theirs: str, words: str, ours: str = "self_attention") -> tuple[NameRule, ...]:
    """Four Linears; ``{}`` in ``theirs`` is one of four ``words``, those for query, key, value and output."""
    pairs = zip(words.split(), ("query", "key", "value", "output"), strict=True)
    return tuple(rule for word, part in pairs for rule in linear(theirs.format(word), f"{ours}.{part}"))


def norm(theirs: str, ours: str) -> tuple[NameRule, NameRule]:
    """Weight and bias of a norm."""
    return NameRule(f"{theirs}.weight", (f"{ours}.scale",)), NameRule(f"{theirs}.bias", (f"{ours}.bias",))


def each_layer(theirs: str, ours: str, *rows: NameRule | tuple[NameRule, ...]) -> tuple[NameRule, ...]:
    """Rows of every layer, under the names of the layer."""
    flat = [row for one in rows for row in ((one,) if isinstance(one, NameRule) else one)]
    return tuple(
        dataclasses.replace(row, theirs=f"{theirs}.{row.theirs}", ours=tuple(f"{ours}.{name}" for name in row.ours))
        for row in flat
    )


def of_model(rows: Sequence[NameRule], shapes: dict[str, Shape], num_layers: int) -> dict[str, NameRule]:
    """The rows that a model with parameters of these ``shapes`` has, by the name of the tensor, layers counted out.

    A row of which the model has no part is left out (a bias that it lacks). ValueError for a table that gives a tensor
    or a parameter twice, or a part of a row only.
    """
    found: dict[str, NameRule] = {}
    taken: set[str] = set()
    for row in rows:
        each = [[layer] for layer in range(num_layers)] if "{}" in row.theirs else [range(num_layers)]
        for layers in each:
            theirs = row.theirs.format(*layers)
            ours = tuple(dict.fromkeys(name.format(layer) for name in row.ours for layer in layers))
            there = [name for name in ours if name in shapes]
            if not there:
                continue
            if len(there) < len(ours) or theirs in found or not taken.isdisjoint(ours):
                raise ValueError(f"the table's row {theirs} <-> {', '.join(ours)} matches twice, or in part")
            found[theirs] = dataclasses.replace(row, theirs=theirs, ours=ours)
            taken.update(ours)
    return found
