"""Names of the leaves of a tree of parameters or of a state."""

from collections.abc import Mapping
from typing import Any

import jax


def names(path: tuple[Any, ...]) -> tuple[str, ...]:
    """The keys, indices and attributes on the way to a leaf: ``("decoder", "blocks", "0", "mlp", "hidden", "kernel")``.

    The attribute by which NNX reaches into a variable, the last, is left out, so that a model, a state and a tree of
    arrays agree.
    """
    last = path[-1] if path else None
    if isinstance(last, jax.tree_util.GetAttrKey) and last.name in ("value", "raw_value"):
        path = path[:-1]
    return tuple(str(getattr(entry, "key", getattr(entry, "idx", getattr(entry, "name", entry)))) for entry in path)


def flat(tree: Any) -> dict[str, Any]:
    """Every array of a tree of parameters (or of an NNX state, or a model) by its path, joined by dots."""
    return {".".join(names(path)): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def filled(tree: Any, values: Mapping[str, Any]) -> Any:
    """A tree of the same structure (or an NNX state) with the values of the same names as `flat` gives them."""
    return jax.tree_util.tree_map_with_path(lambda path, _: values[".".join(names(path))], tree)
