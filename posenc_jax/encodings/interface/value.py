"""Settings as values: frozen dataclasses whose fields have the types that they are annotated with."""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from posenc_jax.refusals import did_you_mean

# The largest whole number of a setting.
LARGEST = 2**31 - 1

# The smallest and the largest size of a setting that is not whole and not 0: programs compute in float32.
FLOATS = (float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max))


class Limit(NamedTuple):
    """The smallest and the largest value of a field that has one; ``rule`` says the first in words, and why."""

    least: float
    rule: str
    strict: bool = False
    most: float | None = None

    def check(self, name: str, value: Any) -> None:
        """Refuses (ValueError) a value outside; None has no size."""
        if value is None:
            return
        if value < self.least or (self.strict and value == self.least):
            raise ValueError(f"{name} = {value} must {self.rule}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{name} = {value} must be at most {self.most}")


def at_least(least: int, why: str = "", most: int | None = None) -> Limit:
    """A field may be ``least`` or more; ``why`` goes on behind the rule, as in ``": the paper has 2048"``."""
    return Limit(least, (f"be at least {least}" if least else "not be negative") + why, most=most)


def above(bound: int, why: str = "") -> Limit:
    """A field must be more than ``bound``."""
    return Limit(bound, (f"be above {bound}" if bound else "be positive") + why, strict=True)


def limited(**limits: Limit) -> Mapping[str, Limit]:
    """The class fact `Value.limits`, by field."""
    return limits


def of_field(name: str, value: Callable[[Any], Any] = lambda given: given) -> Any:
    """A class fact that the field ``name`` decides: ``value`` of it."""
    return property(lambda self: value(getattr(self, name)))


class Value:
    """A frozen dataclass whose fields have the types of their annotations, so that equal settings are equal values (and
    share one compiled program): a whole number becomes a float where one is asked for, NumPy's scalars become Python's,
    and nothing else is changed.

    Allowed field types: bool, int (those of int32, which programs count and index with), float (0, or within the range
    of float32, which programs compute in), str, Literal, None, tuples of these, and other values. Arrays are
    never fields. ``limits`` are those of numbers; messages on them name the ``part_of_run`` that a class is.
    """

    limits: ClassVar[Mapping[str, Limit]] = {}
    part_of_run: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field, kind in field_types(type(self)).items():  # type: ignore[arg-type]
            name = f"{type(self).__name__}.{field}"
            value = _coerce(getattr(self, field), kind, name)
            if not _is_setting(value):
                raise ValueError(
                    f"{name} is of type {type(value).__name__}, and a field is a number, bool, string, None, tuple of "
                    "these or another value: write it as tuples, or make it in a method"
                )
            object.__setattr__(self, field, value)
        for field, limit in self.limits.items():
            limit.check(f"{self.part_of_run or type(self).__name__}.{field}", getattr(self, field))
        self.check_fields()

    def check_fields(self) -> None:
        """Refuses impossible settings with a ValueError that names the value, the rule and the way out."""


class WrongReturnError(ValueError):
    """A method of a class of the user's returns what it must not; the message says what."""


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """The types that the fields of a dataclass are annotated with; ValueError where they name what is not there, or
    a field is called like a fact of the class.
    """
    try:
        hints = typing.get_type_hints(cls)
    except Exception as error:  # whatever evaluating an annotation raises
        what = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"the annotations of {cls.__name__} cannot be read ({what}): import or define what they name"
        ) from None
    names = [field.name for field in dataclasses.fields(cls)]
    if issubclass(cls, Value):
        _check_declared(cls)
    if issubclass(cls, Value) and (taken := {"limits", "part_of_run"}.intersection(names)):
        raise ValueError(
            f"{cls.__name__}.{min(taken)} is a fact of the class, and no field: give the field another name, or write "
            "it without an annotation"
        )
    return {name: hints[name] for name in names}


def _check_declared(cls: type) -> None:
    """Refuses (ValueError) fields that equality ignores or that cannot be given."""
    if fixed := [field.name for field in dataclasses.fields(cls) if not field.init]:
        raise ValueError(
            f"{cls.__name__}.{fixed[0]} has init=False, and a stored value is made of its fields: leave that out, or "
            "make a property of it"
        )
    apart = [field.name for field in dataclasses.fields(cls) if not field.compare]
    compares = next(base for base in cls.__mro__ if "__eq__" in vars(base))
    written = "__dataclass_fields__" not in vars(compares) or not compares.__eq__.__code__.co_filename.startswith("<")
    shorter = not written and len(dataclasses.fields(compares)) < len(dataclasses.fields(cls))
    if compares is object or not (apart or written or shorter):
        return
    what = f"{cls.__name__}.{apart[0]} has compare=False" if apart else f"{cls.__name__} has an __eq__ of its own"
    raise ValueError(
        f"{what}, and values that are equal share one program: let @dataclasses.dataclass(frozen=True) write __eq__ "
        "over all fields"
    )


def _is_setting(value: Any) -> bool:
    """True if a value is of the types that a field may have, and hashes."""
    if isinstance(value, tuple):
        return all(map(_is_setting, value))
    if not isinstance(value, (bool, int, float, str, type(None), Value)):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _coerce(value: Any, kind: Any, name: str) -> Any:
    """``value`` as the annotated type ``kind``; ValueError naming ``name``, the value and the rule otherwise."""
    origin = typing.get_origin(kind)
    is_union = origin in (typing.Union, types.UnionType)
    members = typing.get_args(kind) if is_union else (kind,)
    if value is None and type(None) in members:
        return None
    origins = {typing.get_origin(member) for member in members if member is not type(None)}
    if origins == {tuple} and not isinstance(value, (tuple, list)):
        raise ValueError(f"{name} = {value!r} must be a tuple: write ({value!r},)")
    if is_union:

        def exact(member: Any) -> bool:
            return type(value) is (typing.get_origin(member) or member)

        # An exact type wins over a coercion, so that `int | float` keeps an int.
        others = sorted((m for m in members if m is not type(None)), key=lambda m: not exact(m))
        problem: ValueError | None = None
        for member in others:
            try:
                return _coerce(value, member, name)
            except ValueError as error:
                if problem is None or not exact(others[0]):  # the exact type knows what is wrong
                    problem = error
        if len(others) > 1 and not exact(others[0]) and all(isinstance(m, type) for m in others):
            # Values by the word that strings have for them.
            allowed = [getattr(m, "name", m.__name__) for m in members if m is not type(None)]
            raise ValueError(f"{name} = {value!r} must be of type {', '.join(allowed[:-1])} or {allowed[-1]}")
        assert problem is not None
        raise ValueError(f"{problem}, or None") if others[0] in _NUMBERS and type(None) in members else problem
    if origin is Literal:
        choices = typing.get_args(kind)
        if value in choices:
            return choices[choices.index(value)]
        hint = did_you_mean(str(value), map(str, choices))
        raise ValueError(f"{name} = {value!r} is not one of {', '.join(map(repr, choices))}{hint and f'; {hint}'}")
    if origin is tuple:
        members = typing.get_args(kind)
        if len(members) == 2 and members[1] is Ellipsis:
            members = (members[0],) * len(value)
        if len(members) != len(value):
            raise ValueError(f"{name} = {value!r} must have {len(members)} elements")
        return tuple(_coerce(v, m, f"{name}[{i}]") for i, (v, m) in enumerate(zip(value, members, strict=True)))
    if kind is Any or kind is type(None):
        return value
    if kind in (bool, int, float):
        return _number(value, kind, name)
    if isinstance(kind, type) and isinstance(value, kind):
        if isinstance(value, str) and not _is_text(value):
            raise ValueError(f"{name} = {value!a} has half a character, and no file could keep it: write it in UTF-8")
        return value
    raise ValueError(f"{name} = {value!r} must be of type {getattr(kind, '__name__', kind)}{_of_word(value, kind)}")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_word(value: Any, kind: Any) -> str:
    """A hint for a value that was given as its command-line word: the expression to write instead."""
    if not (isinstance(value, str) and isinstance(kind, type) and issubclass(kind, Value)):
        return ""
    todo, word = [kind], value.partition("(")[0].strip()
    for cls in todo:
        if getattr(cls, "name", None) == word:
            return f": write {cls.__name__}(...), imported from {cls.__module__}, without quotes"
        todo += cls.__subclasses__()
    return ": write the value itself, not its name in quotes"


_NUMBERS: dict[type, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
}


def _number(value: Any, kind: type, name: str) -> Any:
    """``value`` as a Python number of type ``kind``: never a bool for a number, a float for a whole one, a NaN, or what
    float32 has as infinite or as 0.
    """
    shown = repr(value) if not isinstance(value, int) or value.bit_length() < 4096 else "a number of over 1000 digits"
    is_number = isinstance(value, _NUMBERS[kind]) and (kind is bool or not isinstance(value, bool))
    try:
        number = kind(value) if is_number else None
    except OverflowError:  # a whole number beyond the range of floats
        number = None
    if number is not None and number != number:
        raise ValueError(f"{name} = nan is no number: write one")
    if number is None:
        raise ValueError(f"{name} = {shown} must be of type {kind.__name__}")
    if kind is float and number != 0 and not FLOATS[0] <= abs(number) <= FLOATS[1]:
        smallest, largest = (f"{size:.2g}" for size in FLOATS)
        raise ValueError(f"{name} = {shown} must be finite: 0 or from {smallest} to {largest} in size, as in float32")
    if kind is int and not -LARGEST <= number <= LARGEST:
        raise ValueError(f"{name} = {shown} must lie between -{LARGEST} and {LARGEST}")
    return number
