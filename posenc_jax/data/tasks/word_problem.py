"""Word problems of groups: the product of all elements so far."""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array

GroupName = Literal["s2", "s3", "s5", "a5", "z60"]


@functools.cache
def elements(group: GroupName) -> tuple[tuple[int, ...], ...]:
    """The elements as permutations p of ``0 .. m-1``, in the order of the tuples: the identity is the first.

    >>> elements("s3")
    ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    """
    if group == "z60":
        return tuple(tuple((index + shift) % 60 for index in range(60)) for shift in range(60))
    every = itertools.permutations(range(int(group[1])))
    if group.startswith("s"):
        return tuple(every)
    return tuple(p for p in every if sum(a > b for a, b in itertools.combinations(p, 2)) % 2 == 0)


@functools.cache
def products(group: GroupName) -> np.ndarray:
    """``[G, G]`` int32: the number of ``p q``, which is first q and then p: ``(p q)[i] = p[q[i]]``."""
    members = np.array(elements(group))
    number = {tuple(p): n for n, p in enumerate(members.tolist())}
    every = members[:, members]  # [p, q, i]
    return np.array([[number[tuple(p)] for p in row] for row in every.tolist()], np.int32)


@dataclasses.dataclass(frozen=True)
class WordProblem(RangedTask):
    """State tracking: at every element say the product so far: ``BOS g_1 ... g_n -> g_1, g_1 g_2, ..., g_1 ... g_n``.

    Elements of a group are drawn uniformly. The product of a sequence of symbols is the state of the automaton that
    reads them: for "s2" their parity. Of these groups "a5" and "s5" are not solvable, and their word problem is beyond
    what a Transformer of fixed depth is believed to solve at every length; for "z60", with as many elements as "a5",
    counting is enough.

    Attributes:
      group: "s2" (parity, two elements), "s3" (6), "s5" (120), "a5" (60) or "z60" (60).
      min_length, max_length: elements n of a training sequence.

    Published is the accuracy over all elements of a sequence. Guessing has one over the number of elements.

    Tokens: the elements in the order of `elements`, the identity is 0; BOS is the last.

    >>> task = WordProblem(group="s3", max_length=4)
    >>> task.describe(task.example(jax.random.key(0), 4, 4))
    'BOS 120 [120] 012 [120] 012 [120] 210 [021]'

    Departures: Merrill et al. draw sequences of one length for each model, and enumerate short ones; there is BOS.

    References: Merrill, Petty and Sabharwal, "The Illusion of State in State-Space Models", 2024, section 5 (S5, A5,
    Z60); Yang et al., "PaTH Attention", 2025, section 4.1 (A5); for parity, "Selective RoPE", 2025, arXiv:2511.17388.
    """

    min_length: int = 1
    max_length: int = 20
    group: GroupName = "s5"

    name = "word_problem"
    citation = """@inproceedings{merrill2024illusion, author = {Merrill and Petty and Sabharwal}, title = {{The
        Illusion of State in State-Space Models}}, booktitle = {ICML}, year = {2024}, eprint = {2404.08819}}"""
    length_unit = "elements"
    shortcut = "the last element alone"

    @property
    def chance(self) -> float:  # type: ignore[override]
        return 1 / self.num_classes

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        """Right at the first element, and as often as a guess at the others."""
        return sum((1 + (length - 1) * self.chance) / length for length in lengths) / len(lengths)

    @property
    def vocab_size(self) -> int:
        return self.num_classes + 1

    @property
    def num_classes(self) -> int:
        return len(elements(self.group))

    @property
    def token_names(self) -> tuple[str, ...]:
        if self.group == "z60":
            return (*map(str, range(60)), "BOS")
        return (*("".join(map(str, p)) for p in elements(self.group)), "BOS")

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.token_names[:-1]

    def width(self, max_length: int) -> int:
        """BOS and the elements."""
        return max_length + 1

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        drawn = integers(key, (max_length,), self.num_classes)
        table = jnp.asarray(products(self.group))
        states = jax.lax.associative_scan(lambda first, second: table[first, second], drawn)
        index = jnp.arange(max_length + 1)
        tokens = jnp.where(index == 0, self.num_classes, jnp.roll(jnp.append(drawn, 0), 1))
        return answered(tokens, jnp.roll(jnp.append(states, 0), 1), index > 0, length + 1)

    def describe(self, example: Example) -> str:
        """Each product behind its element."""
        return self.describe_in_place(example)
