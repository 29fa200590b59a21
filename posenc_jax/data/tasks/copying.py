"""The eight copying and reversing tasks of Kazemnejad et al. 2023."""

import dataclasses
from collections.abc import Sequence
from typing import Literal, TypeVar

import jax.numpy as jnp

from posenc_jax.data.tasks.base import MANY, Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, SPECIAL_NAMES, prompted
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import limited

Length = TypeVar("Length", int, Array)  # known, or an array

NEXT, WITH, IN = range(NUM_SPECIAL, NUM_SPECIAL + 3)
FIRST_SYMBOL = NUM_SPECIAL + 3
# Symbols whose n (n - 1) ordered pairs are numbered in int32.
MOST_PAIRED = 46_341

_ASKS = {"rsc": "Copy a token n times", "cmc": "Copy n tokens", "mc": "Reverse n tokens"}
# The target of the tasks on random symbols: x is copied forwards (1) or backwards (-1), parts are joined by NEXT.
_PARTS = {"cmc": (1,), "cmc2x": (1, 1), "mc": (-1,), "mc2x": (-1, -1), "mcrv": (-1, 1)}


@dataclasses.dataclass(frozen=True)
class Copying(RangedTask):
    """Copy or reverse a string of ``n`` symbols, decoder-only: ``BOS prompt SEP target EOS``.

    Exact match of the target and EOS; ``a``, ``b`` and ``x_i`` are symbols, ``n`` the length:

    ======== =========================== ================================
    kind     prompt                      target
    ======== =========================== ================================
    rsc      a ... a (n times)           a ... a (n times)
    rsc2x    a ... a (n times)           a ... a (2n times)
    rdc      a WITH b IN a ... a         b ... b (n times); b is not a
    cmc      x_1 ... x_n                 x_1 ... x_n
    cmc2x    x_1 ... x_n                 x_1 ... x_n NEXT x_1 ... x_n
    mc       x_1 ... x_n                 x_n ... x_1
    mc2x     x_1 ... x_n                 x_n ... x_1 NEXT x_n ... x_1
    mcrv     x_1 ... x_n                 x_n ... x_1 NEXT x_1 ... x_n
    ======== =========================== ================================

    Attributes:
      kind: which of the eight tasks.
      min_length, max_length: lengths that training draws, uniformly, up to 1048576.
      num_symbols: number of symbols, up to 1048576 (of rdc 46341).

    Tokens: PAD 0, BOS 1, SEP 2, EOS 3, NEXT 4, WITH 5, IN 6, then the symbols; all kinds share the one vocabulary.
    Test examples of rsc, rsc2x and rdc are enumerated (every symbol, every ordered pair), the others drawn afresh.

    Departures from the authors' data: BOS stands for the first word of the instruction ("Copy:", "Reverse:",
    "Replace"); training draws examples without end instead of 100,000 fixed ones; rsc, rsc2x and rdc use
    ``num_symbols`` symbols, where the authors enumerate the words of a tokenizer (about 5,750 examples per length).

    Errors: ValueError for lengths below 1, out of order or too long, and for too few or too many symbols.

    Reference: Kazemnejad et al., "The Impact of Positional Encoding on Length Generalization in Transformers", 2023,
    section 3 and appendix.
    """

    kind: Literal["rsc", "rsc2x", "rdc", "cmc", "cmc2x", "mc", "mc2x", "mcrv"] = "rsc"
    min_length: int = 1
    max_length: int = 20
    num_symbols: int = 100

    name = "copying"
    citation = """@inproceedings{kazemnejad2023impact, author = {Kazemnejad and others}, title = {{The Impact of
        Positional Encoding on Length Generalization in Transformers}}, booktitle = {NeurIPS}, year = {2023},
        eprint = {2305.19466}}"""
    metric = "exact_match"
    limits = limited(num_symbols=MANY)

    def check_fields(self) -> None:
        super().check_fields()
        if self.kind == "rdc" and not 2 <= self.num_symbols <= MOST_PAIRED:
            raise ValueError(f"Copying: num_symbols = {self.num_symbols} of rdc must be from 2 to {MOST_PAIRED}")

    @property
    def asks(self) -> str:
        return _ASKS.get(self.kind, super().asks)

    @property
    def shortcut(self) -> str:  # type: ignore[override]
        return "" if self.kind in _PARTS else "as many tokens for every input"

    def shortcut_score(self, lengths: Sequence[int]) -> float | None:
        """Right at one length at most."""
        return None if self.kind in _PARTS else 1 / len(lengths)

    @property
    def vocab_size(self) -> int:
        return FIRST_SYMBOL + self.num_symbols

    @property
    def token_names(self) -> tuple[str, ...]:
        return (*SPECIAL_NAMES, "NEXT", "WITH", "IN", *map(str, range(self.num_symbols)))

    def width(self, max_length: int) -> int:
        """BOS, prompt, SEP and target."""
        return 2 + self._header_length + max_length + self.target_length(max_length)

    @property
    def _header_length(self) -> int:
        return 4 if self.kind == "rdc" else 0

    def target_length(self, length: Length) -> Length:
        """Tokens of the target without EOS."""
        if self.kind == "rsc2x":
            return 2 * length
        parts = len(_PARTS.get(self.kind, (1,)))
        return parts * length + parts - 1

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        if self.kind in _PARTS:
            symbols = FIRST_SYMBOL + integers(key, (max_length,), self.num_symbols)
            step = jnp.arange(self.target_length(max_length))
            part, offset = step // (length + 1), step % (length + 1)
            forwards = jnp.asarray(_PARTS[self.kind])[jnp.minimum(part, len(_PARTS[self.kind]) - 1)] == 1
            source = jnp.where(forwards, offset, length - 1 - offset)
            target = jnp.where(offset == length, NEXT, symbols[jnp.clip(source, 0, max_length - 1)])
            return prompted(symbols, length, target, self.target_length(length))
        return self._enumerated(integers(key, (), self._num_enumerated), length, max_length)

    @property
    def _num_enumerated(self) -> int:
        return self.num_symbols * (self.num_symbols - 1 if self.kind == "rdc" else 1)

    def _enumerated(self, index: Array, length: Array, max_length: int) -> Example:
        """Example ``index`` of rsc, rsc2x or rdc: the symbols in turn; then, for rdc, each with its next partner."""
        first = FIRST_SYMBOL + index % self.num_symbols
        second = FIRST_SYMBOL + (index + 1 + index // self.num_symbols) % self.num_symbols
        prompt = jnp.full((max_length,), first)
        if self.kind == "rdc":
            prompt = jnp.concatenate([jnp.stack([first, jnp.asarray(WITH), second, jnp.asarray(IN)]), prompt])
        target = jnp.full((self.target_length(max_length),), second if self.kind == "rdc" else first)
        return prompted(prompt, self._header_length + length, target, self.target_length(length))

    def test_example(self, key: Array, index: Array, length: Array, max_length: int) -> Example:
        """Example ``index`` of one per symbol (rsc, rsc2x) or ordered pair of symbols (rdc), else a fresh draw."""
        if self.kind in _PARTS:
            return super().test_example(key, index, length, max_length)
        example = self._enumerated(index, length, max_length)
        return dataclasses.replace(example, weights=jnp.where(index < self._num_enumerated, example.weights, 0))
