"""Limits of fields: of all classes that strings can name, and of settings."""

import dataclasses
import re

import pytest

from posenc_jax.config import Evaluation, Execution, Optimizer, Training
from posenc_jax.encodings import REGISTERED, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.value import Value, above, limited
from posenc_jax.models.decoding_config import Beam, Sampling

SETTINGS = (Beam(), Sampling(), Optimizer(), Training(), Evaluation(), Execution())
CLASSES = (*REGISTERED, *map(type, SETTINGS))


def values_in(value):
    """A setting and all in its fields."""
    if isinstance(value, tuple):
        return {one for inner in value for one in values_in(inner)}
    if not isinstance(value, Value):
        return set()
    return {value} | values_in(tuple(getattr(value, field.name) for field in dataclasses.fields(value)))


@pytest.fixture(scope="module")
def examples():
    """One of each class, from the catalogue."""
    rows = (parse(method.spec) for methods in CATALOGUE.values() for method in methods)
    return {type(one): one for row in (*rows, SETTINGS) for one in values_in(row)}


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls.limits], ids=lambda cls: cls.__name__)
def test_what_is_beyond_is_refused_in_one_line(cls, examples):
    example = examples[cls]
    name = cls.part_of_run or cls.__name__
    for field, limit in cls.limits.items():
        below = limit.least if limit.strict else limit.least - 1
        with pytest.raises(ValueError, match=rf"^{name}\.{field} = {below:g}.* must {re.escape(limit.rule)}$"):
            dataclasses.replace(example, **{field: below})
        if limit.most is not None:
            with pytest.raises(ValueError, match=rf"^{name}\.{field} = [\d.]+ must be at most {limit.most}$"):
                dataclasses.replace(example, **{field: limit.most + 1})


@pytest.mark.parametrize("name", ["limits", "part_of_run"])
def test_a_field_called_like_a_fact_of_the_class_is_refused(name):
    taken = dataclasses.make_dataclass("Mine", [(name, int, 3)], bases=(Value,), frozen=True)
    with pytest.raises(ValueError, match=rf"Mine\.{name} is a fact of the class, and no field: give the field another"):
        taken()


def test_a_limit_needs_no_reason():
    """As in the steps for an encoding."""

    @dataclasses.dataclass(frozen=True)
    class Wide(Value):
        width: float = 1.0

        limits = limited(width=above(0))

    with pytest.raises(ValueError, match=r"^Wide.width = 0.0 must be positive$"):
        Wide(0)
