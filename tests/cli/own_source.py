"""A file of own classes."""

from __future__ import annotations

SOURCE = """
import dataclasses

import jax.numpy as jnp

from posenc_jax.data.metric import Metric
from posenc_jax.data.tasks import EvenPairs
from posenc_jax.encodings import PositionalEncoding, RoPEScaling


@dataclasses.dataclass(frozen=True)
class Mine(PositionalEncoding):
    base: float = 2.0
    inner: PositionalEncoding | None = None
    label: str = ""
    name = "mine"
    paper = citation = ""

    def bias(self, params, geometry):
        return -jnp.abs(jnp.asarray(geometry.relative, jnp.float32))[:, None] / self.base


@dataclasses.dataclass(frozen=True)
class Stretch(RoPEScaling):
    name = "stretch"
    factor: float = 1.0


class Thawed(PositionalEncoding):
    pass


@dataclasses.dataclass(frozen=True)
class Pairs(EvenPairs):
    extra: int = 0
    name = "pairs"


@dataclasses.dataclass(frozen=True)
class Right(Metric):
    k: int = 1
    name = "right"

    def sums(self, logits, example):
        right = (logits.argmax(axis=-1) == example.targets) * example.weights
        return {"right": self.k * jnp.sum(right), "all": jnp.sum(example.weights)}

    def score(self, sums):
        return sums["right"] / sums["all"]


@dataclasses.dataclass(frozen=True)
class Loss(Right):
    name = "loss"
"""


UNUSABLE = """
import abc
import dataclasses

from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class Abstract(PositionalEncoding, abc.ABC):
    name = "abstract"

    @abc.abstractmethod
    def slope(self): ...


@dataclasses.dataclass(frozen=True)
class Table(PositionalEncoding):
    table: dict = dataclasses.field(default_factory=dict)
    name = "table"


@dataclasses.dataclass(frozen=True)
class Hint(PositionalEncoding):
    size: "Nowhere" = 3
    name = "hint"


@dataclasses.dataclass(frozen=True)
class Function(PositionalEncoding):
    of_distance: object = abs
    name = "function"


@dataclasses.dataclass(frozen=True)
class Apart(PositionalEncoding):
    size: float = dataclasses.field(default=3.0, compare=False)
    name = "apart"


@dataclasses.dataclass(frozen=True)
class Fixed(PositionalEncoding):
    size: float = dataclasses.field(default=3.0, init=False)
    name = "fixed"


@dataclasses.dataclass(frozen=True)
class Alike(PositionalEncoding):
    size: float = 3.0
    name = "alike"

    def __eq__(self, other):
        return True

    __hash__ = PositionalEncoding.__hash__


@dataclasses.dataclass(frozen=True, eq=False)
class Shorter(Function):
    of_distance: int = 3
    size: float = 3.0
"""
