"""Reads configs from stored JSON. It makes only classes that are registered or given, and imports nothing."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from posenc_jax.config.run import Ablation, Published, Run
from posenc_jax.config.settings import Evaluation, Execution, Optimizer, Training
from posenc_jax.config.stored import type_name
from posenc_jax.data.tasks import TASKS
from posenc_jax.data.text import TEXT_TASKS, AnswerIds, Data
from posenc_jax.encodings import ENCODINGS, SCALINGS
from posenc_jax.encodings.interface.structure import MASKS
from posenc_jax.encodings.interface.value import Value
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.decoding_config import Beam, Greedy, Sampling

KNOWN: dict[str, type[Value]] = {
    type_name(cls): cls
    for cls in (
        *(Run, Ablation, Published, Optimizer, Training, Evaluation, Execution),
        *(Slots, Transformer, Greedy, Beam, Sampling, Data, AnswerIds, *MASKS.values()),
        *(*TASKS.values(), *TEXT_TASKS.values(), *ENCODINGS.values(), *SCALINGS.values()),
    )
}
"""Every class of this package that a file can name."""


class UnknownTypeError(ValueError):
    """A stored config names a class that is neither of this package nor among those handed in."""


def from_json(data: Any, own: Mapping[str, type] | None = None) -> Any:
    """The inverse of `to_json`; fields that are not there have their defaults.

    Args:
      own: the user's classes that ``data`` may name, by `type_name`.

    Raises:
      UnknownTypeError: it names another class.
      ValueError: a field is unknown, is missing or has an impossible value.
    """
    if isinstance(data, list):
        return tuple(from_json(member, own) for member in data)
    if not isinstance(data, dict):
        return data
    cls = _class_of(data.get("type"), own or {})
    fields = {field.name: field for field in dataclasses.fields(cls)}
    unknown = [name for name in data if name != "type" and name not in fields]
    if unknown:
        raise ValueError(
            f"{data['type']} has no field {unknown[0]!r} in this version (it has {', '.join(fields)}): read it with "
            "the version that wrote it"
        )
    missing = [
        name
        for name, field in fields.items()
        if name not in data and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{data['type']} lacks the field {missing[0]!r}: the file is not whole")
    return cls(**{name: from_json(value, own) for name, value in data.items() if name != "type"})


def _class_of(name: Any, own: Mapping[str, type]) -> Any:
    if not isinstance(name, str):
        raise ValueError(f"{name!r} names no class: the file is no config of posenc_jax")
    if name in own:
        return own[name]
    if name in KNOWN:
        return KNOWN[name]
    raise UnknownTypeError(
        f"{name!r} is neither a class of posenc_jax nor one that comes with this file: read it with the version, or "
        "from the run, that wrote it"
    )
