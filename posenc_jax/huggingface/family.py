"""The facts of a family of models: which settings its config says, and which parameter each of its tensors is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.files.shapes import Json
from posenc_jax.huggingface import config
from posenc_jax.huggingface.config import short
from posenc_jax.huggingface.names import Row
from posenc_jax.model_kind import ModelKind

_NO_DEFAULT: Any = object()


class Settings:
    """The values of a ``config.json``, each checked for its kind when it is read; `DataError` names it and the rule."""

    def __init__(self, values: Json, where: str = "config.json") -> None:
        self.values, self.where = values, where

    def whole(self, name: str, default: Any = _NO_DEFAULT) -> int:
        """A whole number above 0 by any of its names; ``default`` where it is missing or null."""
        return self._read(config.whole, name, default, "a whole number above 0")

    def number(self, name: str, default: Any = _NO_DEFAULT) -> float:
        """A number above 0."""
        return self._read(config.number, name, default, "a number above 0")

    def flag(self, name: str, default: Any = _NO_DEFAULT) -> bool:
        """True or false."""
        return self._read(config.flag, name, default, "true or false")

    def one_of(self, name: str, words: Mapping[str, Any], default: Any = _NO_DEFAULT) -> Any:
        """The value that one of the ``words`` stands for."""
        rule = f"one of {', '.join(map(repr, words))}"
        value = self._read(config.setting, name, default, rule)
        if not isinstance(value, str) or value not in words:
            raise DataError(f"{self.where}: {name} = {short(value)} must be {rule}: name another checkpoint")
        return words[value]

    def refuse_unless(self, name: str, *allowed: Any) -> None:
        """`DataError` for a value that this package does not compute; a missing one is the first of the ``allowed``."""
        value = self.values.get(name, allowed[0])
        if value not in allowed or isinstance(value, bool) != isinstance(allowed[0], bool):
            said = " or ".join(map(repr, allowed))
            raise DataError(f"{self.where}: {name} = {short(value)}, and {said} is read: name another checkpoint")

    def _read(self, read: Callable[[Json, str], Any], name: str, default: Any, rule: str) -> Any:
        try:
            value = read(self.values, name)
        except DataError as error:
            raise DataError(f"{self.where}: {error}") from None
        if value is None and default is _NO_DEFAULT:
            raise DataError(f"{self.where} lacks {name}, {rule}: fetch it again, or name another")
        return default if value is None else value


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
