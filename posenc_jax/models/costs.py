"""Costs of layers, in numbers to be multiplied by tokens: each layer's file states those of its own layer."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
from flax import nnx


@dataclasses.dataclass(frozen=True)
class Token:
    """The cost of one token.

    Attributes:
      weights: of the matrices that it is multiplied by, two operations each.
      outputs: of these products.
      kept: of its activations, numbers that a training step keeps for the gradient.
      held: numbers that a forward pass holds at one time.
    """

    weights: int = 0
    outputs: int = 0
    kept: int = 0
    held: int = 0

    @classmethod
    def of(cls, *layers: nnx.Linear, kept: int = 0, held: int = 0) -> Token:
        """The costs of a token that these layers are applied to."""
        weights = sum(layer.in_features * layer.out_features for layer in layers)
        return cls(weights, sum(layer.out_features for layer in layers), kept, held)

    def __add__(self, other: Token) -> Token:
        """Both costs."""
        return Token(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


@dataclasses.dataclass(frozen=True)
class LayerCost:
    """The cost of a sub-layer: of each token that asks (in a feed-forward layer of every token), of each that is
    attended to, and of each pair of them.

    Attributes:
      operations: of each pair.
      logits: of each pair, one for each head.
      arrays: of logits, that a training step keeps.
      arrays_held: of logits, that a forward pass holds at one time.
    """

    queries: Token
    keys: Token = Token()
    operations: int = 0
    logits: int = 0
    arrays: int = 0
    arrays_held: int = 1

    def work(self, queries: int, keys: int, pairs: int) -> int:
        """Operations of the products for so many."""
        return 2 * (queries * self.queries.weights + keys * self.keys.weights) + pairs * self.operations

    def kept(self, queries: int, keys: int, pairs: int = 0) -> int:
        """Numbers that a training step keeps of so many; of pairs where logits are arrays."""
        return queries * self.queries.kept + keys * self.keys.kept + pairs * self.arrays * self.logits

    def held(self, queries: int, keys: int, pairs: int = 0, *, more: int = 0) -> int:
        """Numbers that a forward pass holds at one time of so many; of pairs where logits are arrays, and ``more``
        such arrays.
        """
        arrays = self.arrays_held + more
        return queries * self.queries.held + keys * self.keys.held + pairs * arrays * self.logits

    def in_block(self, width: int, *, dropout: bool, norms: int = 1, beside: int = 0) -> LayerCost:
        """The layer with its norms, its residual connection and its dropout, of the width of the model; of each token
        a forward pass holds ``beside`` numbers more meanwhile.
        """
        kept = self.queries.kept + (norms + (4 if dropout else 2)) * width
        more = dataclasses.replace(self.queries, kept=kept, held=self.queries.held + width + beside)
        return dataclasses.replace(self, queries=more)


@dataclasses.dataclass(frozen=True)
class StackCost:
    """The cost of a stack: ``depth`` times that of its ``layers``.

    Attributes:
      unkept: numbers of each token that a training step does not keep, as the first layer has no norm.
    """

    depth: int
    layers: tuple[LayerCost, ...]
    unkept: int = 0


@dataclasses.dataclass(frozen=True)
class ModelCosts:
    """The cost of a model without encodings.

    Attributes:
      parameters: how many it has.
      stacks: by the names of `STACKS`, and "pooling", whose queries are the rows.
      embedding: of each token.
      output: of each target.
    """

    parameters: int
    stacks: dict[str, StackCost]
    embedding: Token
    output: Token


def count(tree: Any) -> int:
    """The number of elements of a module, or of a tree of arrays or shapes."""
    leaves = jax.tree.leaves(nnx.state(tree) if isinstance(tree, nnx.Module) else tree)
    return sum(math.prod(leaf.shape) for leaf in leaves)
