"""Recorded environments compared: whether results have the same bits, differ by rounding, or stand on other random
numbers.

Which setting decides what is written here and nowhere else; experiments/settings finds out whether all are here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from posenc_jax.files.shapes import Json

DRAW_FLAGS = ("jax_random_seed_offset", "jax_high_dynamic_range_gumbel")
"""Flags of JAX by which random numbers are others, beside those that a record has by a name of their own."""
ROUNDING_FLAGS = (
    *("jax_disable_jit", "jax_softmax_custom_jvp", "jax_disable_most_optimizations", "jax_optimization_level"),
    *("jax_exec_time_optimization_effort", "jax_memory_fitting_level", "jax_memory_fitting_effort"),
)
"""Flags of JAX by which the last digits of results are others."""
VARIABLES = (
    *("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "PJRT_NPROC"),
    *("LIBTPU_INIT_ARGS", "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG"),  # of accelerators, as these document
)
"""Variables of the process by which the last digits are others, where a record has them under no other name."""

DRAWS = ("jax", "flax", "prng", "threefry_partitionable", "x64", *DRAW_FLAGS)
"""What random numbers depend on. Versions may draw others."""
OF_CODE = ("version", "source")
OF_RUN = ("mode", "model_precision", "sharding")
OF_PROCESS = (
    *DRAWS,
    *("jaxlib", "optax", "numpy", "platform", "device_kind", "device_count", "device_software", "processes", "cpu"),
    *("cpu_features", "threads", "xla_flags", "matmul_precision", *ROUNDING_FLAGS, *VARIABLES),
)
EVERY = (*OF_CODE, *OF_PROCESS, *OF_RUN)
_WHERE_THEY_APPLY = ("device_software", *OF_RUN)  # absent is none; of the rest it is unknown


@dataclasses.dataclass(frozen=True)
class Compared:
    """The difference of two environments.

    Attributes:
      draws: ``name: old -> new`` of what gives other random numbers.
      rounding: of what gives other last digits.
      unknown: names that one of them does not have recorded.
    """

    draws: tuple[str, ...] = ()
    rounding: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """All that speaks against equal bits, in words; none where the bits are the same."""
        more = [f"and {len(self.unknown) - 3} more"] if len(self.unknown) > 3 else []
        unknown = [f"not recorded: {', '.join([*self.unknown[:3], *more])}"] if self.unknown else []
        return [*self.draws, *self.rounding, *unknown]

    @property
    def word(self) -> str:
        """The difference in two or three words."""
        if self.draws:
            return "draws differ"
        return "rounding may differ" if self.rounding else "not known" if self.unknown else "same bits"

    def __add__(self, other: Compared) -> Compared:
        """The differences of both comparisons."""
        fields = (field.name for field in dataclasses.fields(self))
        return Compared(*(tuple(dict.fromkeys(getattr(self, name) + getattr(other, name))) for name in fields))


def compared(old: Json, new: Json, names: Iterable[str] = EVERY) -> Compared:
    """Two environments (`posenc_jax.runs.environment`), as far as ``names`` decide."""
    if not old or not new:
        return Compared(unknown=("what it ran in",))
    found: dict[str, list[str]] = {"draws": [], "rounding": []}
    unknown = []
    for name in names:
        if name not in _WHERE_THEY_APPLY and not (name in old and name in new):
            unknown.append(name)
        elif old.get(name) != new.get(name):
            line = f"{name}: {_short(old.get(name))} -> {_short(new.get(name))}"
            found["draws" if name in DRAWS else "rounding"].append(line)
    return Compared(tuple(found["draws"]), tuple(found["rounding"]), tuple(unknown))


def of_process(record: Json) -> Json:
    """The part of an environment that code and config have no say in."""
    return {name: record[name] for name in OF_PROCESS if name in record}


def history(record: Json) -> Json:
    """The processes in a group's ``environment.json``: the one in which it ``began``, those in which it was
    ``resumed``, and those that trained the run of its ``start``.
    """
    parts = {name: [of_process(own) for own in record.get(name) or ()] for name in ("resumed", "start")}
    began = of_process(record.get("began") or {})
    parts["resumed"] = [own for own in parts["resumed"] if own != began]
    return {"began": began, **{name: own for name, own in parts.items() if own}}


def between(ours: Json, theirs: Json) -> Compared:
    """Two groups, by their `history`. One that went on with other random numbers is the pair of none."""
    found = compared(ours["began"], theirs["began"], OF_PROCESS) if ours["began"] != theirs["began"] else Compared()
    for own in (ours, theirs):
        for resumed in own.get("resumed", ()):
            found += compared(own["began"], resumed, OF_PROCESS)
    if "start" in ours and "start" in theirs and ours["start"] != theirs["start"]:
        for a in ours["start"]:
            for b in theirs["start"]:
                found += compared(a, b, OF_PROCESS)
    return found


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """Results that were computed in another environment than the first: ``who``, and the difference."""

    who: tuple[str, ...]
    compared: Compared

    def __str__(self) -> str:
        """A sentence with the results, the difference and its consequence."""
        who, lines = ", ".join(self.who), "; ".join(self.compared.lines)
        if self.compared.draws:
            return (
                f"{who}: other random numbers were drawn than for the rest ({lines}), so seeds are no pairs across the "
                "two, and no difference between them is given."
            )
        if self.compared.rounding:
            return f"{who}: computed in another environment than the rest, so results differ by rounding ({lines})."
        return f"{who}: whether it was computed in the environment of the rest is not known ({lines})."


def elsewhere(histories: Mapping[str, Json], who: Mapping[str, tuple[str, ...]]) -> tuple[Elsewhere, ...]:
    """Environments, of several by name, that differ from the first and in which something was computed."""
    found = ((name, between(next(iter(histories.values())), own)) for name, own in histories.items())
    return tuple(Elsewhere(who[name], own) for name, own in found if own.lines and name in who)


def draw_classes(histories: Mapping[str, Json]) -> dict[str, int | None]:
    """The number, for each environment, of the first that draws the same random numbers; None if these changed within
    it.
    """
    every = list(histories.values())
    return {
        name: next((first for first in range(number + 1) if not between(every[first], own).draws), None)
        for number, (name, own) in enumerate(histories.items())
    }


def _short(value: Any) -> str:
    return f"{value[:12]}..." if isinstance(value, str) and len(value) == 64 else str(value)
