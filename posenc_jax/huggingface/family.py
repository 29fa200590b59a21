"""The facts of a family of models: which settings its config says, and which parameter each of its tensors is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.config import setting
from posenc_jax.huggingface.names import Row
from posenc_jax.model_kind import ModelKind
from posenc_jax.shapes import Json

_NO_DEFAULT: Any = object()


class Settings:
    """The values of a ``config.json``, each checked for its kind when it is read; `DataError` names it and the rule."""

    def __init__(self, values: Json, where: str = "config.json") -> None:
        self.values, self.where = values, where

    def whole(self, name: str, default: Any = _NO_DEFAULT) -> int:
        """A whole number above 0 by any of its names; ``default`` where it is missing or null."""
        value = self._value(name, default)
        good = isinstance(value, int) and not isinstance(value, bool) and value > 0
        return self._checked(name, value, default, good, "a whole number above 0")

    def number(self, name: str, default: Any = _NO_DEFAULT) -> float:
        """A number above 0."""
        value = self._value(name, default)
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
        return self._checked(name, value, default, good, "a number above 0")

    def flag(self, name: str, default: Any = _NO_DEFAULT) -> bool:
        """True or false."""
        value = self._value(name, default)
        return self._checked(name, value, default, isinstance(value, bool), "true or false")

    def one_of(self, name: str, words: Mapping[str, Any], default: Any = _NO_DEFAULT) -> Any:
        """What one of the ``words`` stands for."""
        value = self._value(name, default)
        known = ", ".join(map(repr, words))
        return words[self._checked(name, value, None, isinstance(value, str) and value in words, f"one of {known}")]

    def refuse_unless(self, name: str, *allowed: Any) -> None:
        """`DataError` for a value that this package does not compute; a missing one is the first of the ``allowed``."""
        value = self.values.get(name, allowed[0])
        if value not in allowed or isinstance(value, bool) != isinstance(allowed[0], bool):
            said = " or ".join(map(repr, allowed))
            raise DataError(f"{self.where}: {name} = {value!r}, and {said} is read: name another checkpoint")

    def _value(self, name: str, default: Any) -> Any:
        value = setting(self.values, name)
        return default if value is None else value

    def _checked(self, name: str, value: Any, default: Any, good: bool, rule: str) -> Any:
        if value is _NO_DEFAULT:
            raise DataError(f"{self.where} lacks {name}, {rule}: fetch it again, or name another")
        if not good and value is not default:
            raise DataError(f"{self.where}: {name} = {value!r} must be {rule}: fetch it again, or name another")
        return value


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of models.

    Attributes:
      name: ``model_type`` of the config. architecture: the class of transformers that is written on export.
      settings: the fields of `Transformer` for a config; encodings are those of `declared.from_hf`.
      names: the table. tied: the tensor of a tied output layer and the table that it repeats, in files that have both.
      left_out: what some files leave out in front of all names, or have there in addition.
      ignored: patterns of the names of tensors that hold no parameters: masks and tables made of the config.
    """

    name: str
    architecture: str
    kind: ModelKind
    settings: Callable[[Settings], dict[str, Any]]
    names: tuple[Row, ...]
    tied: tuple[str, str] | None = None
    left_out: str = ""
    ignored: tuple[str, ...] = ()
