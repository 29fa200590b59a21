"""Sharding of arrays on the (replica, data, model) mesh: matrices as their layers say, all else is replicated."""

import re
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax.models.attention import OUTPUTS
from posenc_jax.models.blocks import Block
from posenc_jax.training.leaf_names import names

# The paths end so in the parameters and in both moments of the optimizer; the output layer of the model and the
# encodings, which lie outside the blocks, are whole.
_IN_BLOCK = re.compile(r"/blocks/\d+/(\w+)/(\w+)/(kernel|bias)$")


def partition(path: str) -> P:
    """The partition of one replica's parameter (or of its optimizer moments) by its path."""
    found = _IN_BLOCK.search(path)
    if found is None:
        return P()
    layer, matrix, part = found.groups()
    if matrix not in Block.split[layer]:  # a norm's bias
        return P()
    if Block.split[layer][matrix] == OUTPUTS:
        return P(None, "model") if part == "kernel" else P("model")
    return P("model", None) if part == "kernel" else P()


def state_shardings(state: Any, mesh: Mesh) -> Any:
    """Shardings of a group's state: the leading axis over `replica`, parameters by `partition`. The optimizer's state
    lies on `data` too (`over_data`): devices that share a batch need its moments once (Rajbhandari et al. 2020, ZeRO,
    section 5.1).
    """

    def sharding(path: tuple[Any, ...], leaf: Any) -> NamedSharding:
        name = path_string(path)
        spec = partition(name) if mesh.shape["model"] > 1 else P()
        if name.startswith("/opt/"):
            spec = over_data(spec, leaf.shape[1:], mesh.shape["data"])
        return NamedSharding(mesh, P("replica", *spec))

    return jax.tree_util.tree_map_with_path(sharding, state)


def over_data(spec: P, shape: tuple[int, ...], devices: int) -> P:
    """``spec`` of an array with its first dimension that is whole and divides split over `data`; itself without one."""
    axes = [*spec, *[None] * (len(shape) - len(spec))]
    fitting = (
        i for i, (axis, size) in enumerate(zip(axes, shape, strict=True)) if axis is None and size % devices == 0
    )
    split = next(fitting, None)
    if split is None or devices == 1:
        return spec
    return P(*axes[:split], "data", *axes[split + 1 :])


def path_string(path: tuple[Any, ...]) -> str:
    """``/params/blocks/0/...``."""
    return "".join(f"/{name}" for name in names(path))
