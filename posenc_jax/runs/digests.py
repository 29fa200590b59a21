"""SHA-256 of arrays and of trees of them."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc_jax.training.leaf_names import flat


def leaf_digest(array: np.ndarray) -> str:
    """SHA-256 of an array with its dtype and shape."""
    array = np.ascontiguousarray(array)
    total = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
    total.update(array.reshape(-1).view(np.uint8).data)  # no copy
    return total.hexdigest()


def digest(tree: Any) -> str:
    """One SHA-256 over all leaves and their names: equal exactly when the trees are equal to the bit."""
    return joined({name: leaf_digest(np.asarray(leaf)) for name, leaf in flat(tree).items()})


def joined(digests: Mapping[str, str]) -> str:
    """`digest` of a tree, from those of its leaves in its order."""
    return hashlib.sha256("".join(f"{name}:{found};" for name, found in digests.items()).encode()).hexdigest()
