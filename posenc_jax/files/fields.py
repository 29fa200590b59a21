"""Fields of configs in JSON, by their dotted paths."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from posenc_jax.files.shapes import Json

SLOTS = ("posenc", "posenc_encoder", "posenc_cross")
# What a cell is called, which replicas it has, and where and on what it is measured.
_APART = ("type", "label", "table", "note", "seeds", "learning_rates", "evaluation", "execution")


def flat(data: Json, path: str = "") -> list[tuple[str, Any]]:
    """Every field of a config by its dotted path; a value's class stands under the path of the value."""
    found: list[tuple[str, Any]] = []
    for name, value in data.items():
        if name == "type":
            found += [(path.removesuffix("."), value)] if path else []
        elif isinstance(value, dict):
            found += flat(value, f"{path}{name}.")
        else:
            found.append((f"{path}{name}", value))
    return found


def training_fields(run: Json) -> dict[str, Any]:
    """The fields of a run that decide how it trains, but for its learning rates and seeds. Those of an encoding are
    called by its name, ``rope.base``, wherever it stands; its slot holds the names, ``randomized|rope``.
    """
    found: dict[str, Any] = {}
    for name, value in flat({name: value for name, value in run.items() if name not in _APART}):
        if name not in SLOTS or not isinstance(value, list):
            found[name] = value
            continue
        found[name] = _structure(value)
        for field, own in (pair for element in _elements(value) for pair in flat(element, f"{element.get('type')}.")):
            if "." in field:
                twice = sum(other.partition("[")[0] == field for other in found)
                found[f"{field}[{twice}]" if twice else field] = own
    return found


def varying(runs: Sequence[Json]) -> list[dict[str, Any]]:
    """The fields, for each run of an ablation, in which runs of its table that have them differ, but for encodings,
    which have names, and what follows from them.
    """
    found: list[dict[str, Any]] = [{} for _ in runs]
    tables: dict[Any, list[int]] = {}
    for number, run in enumerate(runs):
        tables.setdefault(run.get("table"), []).append(number)
    fields = [{**training_fields(run), "learning_rate": run.get("learning_rates")} for run in runs]
    for members in tables.values():
        for name in dict.fromkeys(name for number in members for name in fields[number] if name not in SLOTS):
            having = [number for number in members if name in fields[number]]
            if len({repr(fields[number][name]) for number in having}) > 1:
                for number in having:
                    found[number][name] = fields[number][name]
    return found


def in_words(fields: Mapping[str, Any]) -> str:
    """Fields and their values: ``model.d_model 64, learning_rate 0.001``."""
    return ", ".join(f"{name} {value_text(value)}" for name, value in fields.items())


def value_text(value: Any) -> str:
    """The value of a field: a number as short as it is exact."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, list | tuple):
        return " ".join(map(value_text, value))
    return "none" if value is None else str(value)


def _elements(slot: list[Any]) -> Iterator[Json]:
    for member in slot:
        if isinstance(member, list):
            yield from _elements(member)
        elif isinstance(member, dict):
            yield member


def _structure(slot: list[Any]) -> str:
    if slot and all(isinstance(member, list) for member in slot):
        return "/".join(map(_structure, slot))
    return "|".join(str(element.get("type")) for element in _elements(slot)) or "nope"
