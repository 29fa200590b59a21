"""A slot with every encoding of the registry: the first of the catalogue that holds it; and a task for those that can
be trained.
"""

import dataclasses
import functools

import pytest

from posenc_jax.data.tasks.copying import Copying
from posenc_jax.encodings import ENCODINGS, Slot, elements, parse, spec
from posenc_jax.encodings.catalogue import CATALOGUE

# What a test says when a file that follows from the catalogue does not follow from it.
REGENERATE = "a file that is made from the catalogue is not of this catalogue: run scripts/regenerate"


@dataclasses.dataclass(frozen=True)
class AllowingTypes(Copying):
    """Copying, which does not refuse encodings that read token types; they cannot be run."""

    name = "allowing_types"
    has_token_types = True


@functools.cache
def slots_of_registry() -> dict[str, Slot]:
    """By the encoding's name; for models of head dimension 8 and five tokens or more. Sequences of them have the fields
    of `attributes_for`.
    """
    slots = [parse(method.spec) for family in CATALOGUE.values() for method in family]
    slots.insert(0, parse("position_coupling(digits=(1, 2), plus=3, equals=4)|learned"))
    slots.insert(0, parse("number_index(digits=(1,), plus=2, equals=3, then=4)|learned"))
    return {
        name: next(slot for slot in slots if any(type(element) is cls for element in elements(slot)))
        for name, cls in ENCODINGS.items()
    }


def fourth_of_registry():
    """The names of `slots_of_registry`, of which each fourth is not slow."""
    return [n if i % 4 == 0 else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(slots_of_registry())]


def reads_attributes(slot: Slot) -> bool:
    """True for encodings of attributes of tokens or pairs, which no task has: runs of them are refused."""
    return any(element.needs_attributes or element.needs_pairs for element in elements(slot))


@functools.cache
def slots_of_tasks() -> dict[str, Slot]:
    """`slots_of_registry`, those that a task can serve."""
    return {name: slot for name, slot in slots_of_registry().items() if not reads_attributes(slot)}


# Those of `slots_of_tasks` that a task without token types can serve too, as strings: every encoding is in one.
TRAINED = list(
    dict.fromkeys(
        spec(slot)
        for slot in slots_of_tasks().values()
        if not any(element.needs_token_types for element in elements(slot))
    )
)
