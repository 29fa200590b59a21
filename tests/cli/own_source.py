"""A file of own classes, and what imports of it leave."""

from __future__ import annotations

import contextlib
import sys

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


@contextlib.contextmanager
def own_modules(folder):
    """Within, modules of a folder of the user's may be imported, which no other test sees."""
    before, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
