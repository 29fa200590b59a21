"""Writes the settings of a ``config.json`` that declares given encodings."""

import dataclasses
from typing import Any

from posenc_jax.encodings import spec
from posenc_jax.encodings.images_and_media.mrope import MRoPE
from posenc_jax.encodings.interface.base import PositionalEncoding
from posenc_jax.encodings.interface.slots import Slot, is_pattern
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import (
    NTK,
    DynamicNTK,
    Llama3,
    LongRoPE,
    PositionInterpolation,
    RoPEScaling,
)
from posenc_jax.encodings.rotary.rope_selection import PRoPE
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.huggingface.rotation import ORIGINAL, READ, dims_of

_TYPES: dict[type, str] = {
    PositionInterpolation: "linear",
    DynamicNTK: "dynamic",
    YaRN: "yarn",
    LongRoPE: "longrope",
    Llama3: "llama3",
    PRoPE: "proportional",
}
# Where ours has another name than theirs.
_FIELDS = {
    ORIGINAL: "original_length",
    "short_factor": "short_factors",
    "long_factor": "long_factors",
    "partial_rotary_factor": "fraction",
}
_HALF = "convert the weights with convert_layout(..., to='half'), then give layout='half'"


def to_hf(slot: Slot, head_dim: int, num_layers: int) -> dict[str, Any]:
    """The settings by which transformers rotates as a slot does; `from_hf` gives the slot back.

    They are ``rope_parameters`` and what else it takes: ``no_rope_layers``, which the classes of SmolLM3 and Llama 4
    read, and for `DynamicNTK` the ``max_position_embeddings`` above which it changes. Layers may do without a rotation;
    those with one are equal. A ``partial_rotary_factor`` without a scaling is read by the types that have ``part_read``
    in ``types.toml``, and not by Llama.

    >>> from posenc_jax.encodings import parse
    >>> to_hf(parse("rope(base=5e5, layout='half', scaling=linear(factor=2))"), head_dim=64, num_layers=2)
    {'rope_parameters': {'rope_theta': 500000.0, 'rope_type': 'linear', 'factor': 2.0}}

    Raises:
      ValueError: transformers has nothing for an encoding; the message says what to do.
    """
    groups = slot if is_pattern(slot) else (slot,)
    of_layers: list[Any] = [groups[layer % len(groups)] for layer in range(num_layers)]
    different = list(dict.fromkeys(encodings for encodings in of_layers if encodings))
    if len(different) != 1 or len(different[0]) != 1:
        raise ValueError(
            f"{spec(slot)} is {len(different)} encodings of layers, and a config here declares one, an element alone, "
            "beside layers without any: write rope_parameters by layer_types yourself"
        )
    found = _settings(different[0][0], head_dim)
    if () in of_layers:
        found["no_rope_layers"] = [int(bool(encodings)) for encodings in of_layers]
    return found


def _settings(encoding: PositionalEncoding, head_dim: int) -> dict[str, Any]:
    if not isinstance(encoding, RoPE | MRoPE):
        raise ValueError(f"{spec((encoding,))} is no rotation that transformers has a type for: use rope or mrope")
    if encoding.layout != "half":
        raise ValueError(f"{spec((encoding,))} turns neighbouring dimensions, and Llama's class halves: {_HALF}")
    _refuse_others(encoding, "base", "layout", "rotary_dim", "scaling", "sections", order=("interleaved",))
    parameters: dict[str, Any] = {"rope_theta": encoding.base, "rope_type": "default"}
    beside: dict[str, Any] = {}
    if isinstance(encoding, MRoPE):
        axes = encoding.axes(head_dim).tolist()
        parameters["mrope_section"] = [axes.count(axis) for axis in range(3)]
        if encoding.order == "interleaved":
            parameters["mrope_interleaved"] = True
    if encoding.scaling is not None:
        beside = _scaled(encoding, encoding.scaling, parameters, head_dim)
    rotated = 2 * len(encoding.frequencies_for(dims_of(head_dim)))
    if rotated != head_dim:
        if "partial_rotary_factor" in parameters:
            raise ValueError(f"{spec((encoding,))} takes a part twice, by rotary_dim and p_rope: leave rotary_dim out")
        parameters["partial_rotary_factor"] = rotated / head_dim
    return {"rope_parameters": parameters, **beside}


def _scaled(rope: RoPE | MRoPE, scaling: RoPEScaling, parameters: dict[str, Any], head_dim: int) -> dict[str, Any]:
    """Adds a scaling to the parameters; gives what stands beside them."""
    if isinstance(scaling, NTK):  # a larger base is all that it is
        dim = 2 * len(rope.frequencies_for(dims_of(head_dim)))
        parameters["rope_theta"] = rope.base * scaling.factor ** (dim / (dim - 2))
        return {}
    kind = _TYPES.get(type(scaling))
    if kind is None or scaling == PRoPE(0.0):
        raise ValueError(f"{spec(scaling)} is no rope_type of transformers: use linear, ntk, yarn or another")
    theirs = {_FIELDS.get(name, name): name for name in ("partial_rotary_factor", *READ[kind])}
    beside = {"max_position_embeddings": scaling.original_length} if isinstance(scaling, DynamicNTK) else {}
    _refuse_others(scaling, *theirs, *(["original_length"] if beside else []))
    parameters["rope_type"] = kind
    for field, name in theirs.items():
        value = getattr(scaling, field, None)
        if value is not None:
            parameters[name] = list(value) if isinstance(value, tuple) else value
    return beside


def _refuse_others(value: Any, *written: str, **words: tuple[str, ...]) -> None:
    """ValueError for a field that is not its default and is not ``written``, or is none of its ``words``."""
    for field in dataclasses.fields(value):
        name, found = field.name, getattr(value, field.name)
        if name not in written and found not in (field.default, *words.get(name, ())):
            raise ValueError(f"transformers has nothing for {name} = {found!r} of {spec(value)}: leave it out")
