"""The facts of a family of models: which settings its config says, and which parameter each of its tensors is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from posenc_jax.data.errors import DataError
from posenc_jax.files.shapes import Json
from posenc_jax.huggingface import config
from posenc_jax.huggingface.config import short
from posenc_jax.huggingface.names import NameRule, Shape, of_model
from posenc_jax.model_kind import ModelKind

if TYPE_CHECKING:
    from posenc_jax.encodings.interface.slots import Slot
    from posenc_jax.models import Transformer

_NO_DEFAULT: Any = object()
# Their names of activations, and ours.
_ACTIVATIONS = {
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast"), "gelu_tanh"),
    **{name: name for name in ("gelu", "relu", "silu")},
    "swish": "silu",
}


class Settings:
    """The values of a ``config.json``, each checked for its kind when it is read; `DataError` names it and the rule."""

    def __init__(self, values: Json, where: str = "config.json") -> None:
        self.values, self.where = values, where

    def sizes(self) -> dict[str, Any]:
        """Width, layers and heads, and what most published models have, as fields of `Transformer`."""
        return {
            "scale_embeddings": False,
            "output_bias": False,
            "d_model": self.whole("hidden_size"),
            "num_layers": self.whole("num_hidden_layers"),
            "num_heads": self.whole("num_attention_heads"),
        }

    def without_gate(self, epsilon: str, activation: str, default: str, *, tied: bool) -> dict[str, Any]:
        """`sizes`, and what models with LayerNorm and without a gate say beside them, by the names of two settings."""
        return {
            **self.sizes(),
            "norm_epsilon": self.number(epsilon, 1e-5),
            "activation": self.activation(activation, default),
            "tie_output": self.flag("tie_word_embeddings", tied),
        }

    def whole(self, name: str, default: Any = _NO_DEFAULT) -> int:
        """A whole number above 0 by any of its names; ``default`` where it is missing or null."""
        return self._read(config.whole, name, default, "a whole number above 0")

    def number(self, name: str, default: Any = _NO_DEFAULT) -> float:
        """A number above 0."""
        return self._read(config.number, name, default, "a number above 0")

    def cap(self, name: str, default: float | None) -> float | None:
        """A number above 0, or None where it is null; ``default`` where it is missing."""
        return self.number(name, None) if name in self.values else default

    def activation(self, name: str, default: str) -> str:
        """The activation of a feed-forward layer without a gate."""
        return self.one_of(name, _ACTIVATIONS, default)

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
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            said = " or ".join(map(repr, allowed))
            raise DataError(f"{self.where}: {name} = {short(value)}, and {said} is read: name another checkpoint")

    def inner(self, name: str) -> Settings:
        """The settings of an inner object; empty where it is missing or null."""
        values = self.values.get(name) or {}
        if not isinstance(values, dict):
            raise DataError(f"{self.where}: {name} = {short(values)} must be an object: fetch the config again")
        return Settings(values, f"{self.where}: {name}")

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
      name: ``model_type`` of the config.
      architecture: the class of transformers that is written on export.
      title: the name that people know it by.
      settings: the fields of `Transformer` for a config; encodings and windows are those of `declared.from_hf`.
      names: the table.
      tied: tensors that some files have beside the one that each repeats, or in its place, as an output layer.
      head: the tensor of the output layer, where a file that lacks it has the table as one, whatever its config says.
      left_out: what some files leave out in front of all names, or have there in addition.
      spellings: what stands in names of other files, and in those of the table in its place.
      renamed: what stands in names of the table, and in those of a model in its place.
      ignored: patterns of the names of tensors that hold no parameters of the model: masks, tables made of the config,
        heads for other tasks.
      base: the class of transformers that is the encoder without its head; "": not read.
      has_head: false for that.
      written: settings that are written on export in place of those of the config.
      max_length: the longest text where a config says none.
      ids: likewise of ``decoder_start``, ``eos`` and ``pad``.
      slots: the encodings of each stack by those of the config, in a model of two stacks.
    """

    name: str
    architecture: str
    title: str
    settings: Callable[[Settings], dict[str, Any]]
    names: tuple[NameRule, ...]
    kind: ModelKind = "decoder_only"
    tied: Mapping[str, str] = dataclasses.field(default_factory=dict)
    head: str = ""
    left_out: str = ""
    spellings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    renamed: Callable[[Transformer], Mapping[str, str]] = lambda model: {}
    ignored: tuple[str, ...] = ()
    base: str = ""
    has_head: bool = True
    written: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    max_length: int | None = None
    ids: Mapping[str, int] = dataclasses.field(default_factory=dict)
    slots: Callable[[Slot], dict[str, Slot]] | None = None

    def rows(self, model: Transformer, shapes: dict[str, Shape]) -> dict[str, NameRule]:
        """The table of one model, whose parameters have these shapes, by the names of its tensors."""
        names = self.names
        for old, new in self.renamed(model).items():
            names = tuple(dataclasses.replace(row, theirs=row.theirs.replace(old, new)) for row in names)
        return of_model(names, shapes, max(model.depth("encoder"), model.depth("decoder")))

    def spelled(self, name: str) -> str:
        """The name of a tensor as the table spells it."""
        for old, new in self.spellings.items():
            name = name.replace(old, new)
        return name

    def ignores(self, name: str) -> bool:
        """True if a tensor holds no parameters of the model."""
        return any(re.fullmatch(pattern, name) for pattern in self.ignored)

    def without_head(self) -> Family:
        """The family of bare encoders, whose files omit the prefix of the names."""
        names = tuple(
            dataclasses.replace(row, theirs=row.theirs.removeprefix(self.left_out))
            for row in self.names
            if not row.ours[0].startswith(("transform.", "output."))
        )
        return dataclasses.replace(self, architecture=self.base, names=names, tied={}, has_head=False)
