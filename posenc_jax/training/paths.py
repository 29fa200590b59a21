"""What a leaf of a tree of parameters or of a state is called."""

from __future__ import annotations

from typing import Any


def names(path: tuple[Any, ...]) -> tuple[str, ...]:
    """The keys, indices and attributes on the way to a leaf, those by which NNX reaches into a variable left out:
    ``("decoder", "blocks", "0", "mlp", "hidden", "kernel")``.
    """
    found = (str(getattr(entry, "key", getattr(entry, "idx", getattr(entry, "name", entry)))) for entry in path)
    return tuple(name for name in found if name not in ("value", "raw_value"))
