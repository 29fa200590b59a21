"""SCAN (Lake and Baroni 2018): commands of a small grammar and the actions they stand for, all 20,910 of them."""

import dataclasses
import functools
import hashlib
import math
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import Example, Split, Task, integers
from posenc_jax.data.tasks.sequences import PAD, SPECIAL_NAMES, prompted, translated
from posenc_jax.encodings.interface.base import Array
from posenc_jax.model_kind import ModelKind

VERBS = ("walk", "look", "run", "jump")
WORDS = (*VERBS, "turn", "left", "right", "opposite", "around", "twice", "thrice", "and", "after")
ACTIONS = ("I_WALK", "I_LOOK", "I_RUN", "I_JUMP", "I_TURN_LEFT", "I_TURN_RIGHT")
TOKEN_NAMES = (*SPECIAL_NAMES, *WORDS, *ACTIONS)
CUTOFFS = (22, 24, 25, 26, 27, 28, 30, 32, 33, 36, 40)
MAX_WORDS, MAX_ACTIONS = 9, 48


def phrases() -> dict[str, str]:
    """The 102 phrases without "and" or "after", and their actions.

    Each is a verb alone, or a verb or "turn" with a direction, "opposite" or "around" or nothing before the direction;
    then "twice" or "thrice" or nothing. With ``[[.]]`` the actions of a phrase, ``T`` the turn in the direction and
    ``A`` the verb's action (nothing for "turn")::

        [[u left]] = T A    [[u opposite left]] = T T A    [[u around left]] = T A T A T A T A
        [[x twice]] = [[x]] [[x]]    [[x thrice]] = [[x]] [[x]] [[x]]
    """
    verbs = {verb: [f"I_{verb.upper()}"] for verb in VERBS}
    single = dict(verbs)
    for direction in ("left", "right"):
        turn = f"I_TURN_{direction.upper()}"
        for verb, action in {**verbs, "turn": []}.items():
            single[f"{verb} {direction}"] = [turn, *action]
            single[f"{verb} opposite {direction}"] = [turn, turn, *action]
            single[f"{verb} around {direction}"] = [turn, *action] * 4
    times = {"": 1, " twice": 2, " thrice": 3}
    return {text + word: " ".join(actions * n) for text, actions in single.items() for word, n in times.items()}


def commands() -> dict[str, str]:
    """All 20,910 commands and their actions: ``[[x and y]] = [[x]] [[y]]``, ``[[x after y]] = [[y]] [[x]]``."""
    simple = phrases()
    every = dict(simple)
    for first, first_actions in simple.items():
        for second, second_actions in simple.items():
            every[f"{first} and {second}"] = f"{first_actions} {second_actions}"
            every[f"{first} after {second}"] = f"{second_actions} {first_actions}"
    return every


class CommandTable(NamedTuple):
    """Every command as tokens: ``words [N, 9]``, ``actions [N, 48]`` (uint8, padded), their lengths, and ``rank [N]``,
    the order of the SHA-256 hashes of the commands, which stands for a random one."""

    words: np.ndarray
    num_words: np.ndarray
    actions: np.ndarray
    num_actions: np.ndarray
    rank: np.ndarray


@functools.cache
def table() -> CommandTable:
    """The data set as arrays; a pure function, computed once a process."""
    number = {name: token for token, name in enumerate(TOKEN_NAMES)}
    every = commands()
    words, num_words = _padded([[number[w] for w in text.split()] for text in every], MAX_WORDS)
    actions, num_actions = _padded([[number[a] for a in text.split()] for text in every.values()], MAX_ACTIONS)
    order = sorted(range(len(every)), key=[hashlib.sha256(text.encode()).digest() for text in every].__getitem__)
    rank = np.empty(len(every), np.int32)
    rank[order] = np.arange(len(every), dtype=np.int32)
    return CommandTable(words, num_words, actions, num_actions, rank)


def _padded(rows: list[list[int]], width: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([len(row) for row in rows], np.uint8)
    tokens = np.full((len(rows), width), PAD, np.uint8)
    tokens[np.arange(width) < lengths[:, None]] = np.concatenate([np.array(row, np.uint8) for row in rows])
    return tokens, lengths


class SplitSide(NamedTuple):
    """One side of a split: numbers of commands ordered by length, then by hash; those of length ``n`` are
    ``order[starts[n] : starts[n] + counts[n]]``."""

    order: np.ndarray
    starts: np.ndarray
    counts: np.ndarray


@functools.cache
def _part(split: str, cutoff: int, side: Split) -> SplitSide:
    lengths, rank = table().num_actions.astype(np.int32), table().rank
    in_range = lengths <= {"simple": MAX_ACTIONS, "length": 22, "length_cutoff": cutoff}[split]
    share = {"simple": 0.2, "length": 0.0, "length_cutoff": 0.1}[split]
    by_length = np.lexsort((rank, lengths))
    held_out = np.zeros(len(lengths), bool)
    for length in np.unique(lengths):
        members = by_length[lengths[by_length] == length]
        held_out[members[: math.ceil(share * len(members))]] = True
    if side == "train":
        chosen = in_range & ~held_out
    else:
        chosen = ~in_range | (held_out if share else in_range)
    order = by_length[chosen[by_length]].astype(np.int32)
    counts = np.bincount(lengths[order], minlength=MAX_ACTIONS + 1).astype(np.int32)
    return SplitSide(order, np.cumsum(counts, dtype=np.int32) - counts, counts)


@dataclasses.dataclass(frozen=True)
class Scan(Task):
    """Translate a command into actions; "length" is the number of actions, exact match of the actions and EOS.

    "jump around left twice and walk opposite right" has 9 words at most and up to 48 actions. Lengths are 1 to 22 and
    24, 25, 26, 27, 28, 30, 32, 33, 36, 40, 48.

    ``split``:
      * "length_cutoff": train on at most ``cutoff`` actions, test on more (Csordás et al. 2021; Kazemnejad et al. 2023
        use 25). Of each length in range the first tenth by hash is held out and serves as its test examples; theirs is
        a random tenth.
      * "length": the split of the data set's authors, at most 22 actions (16,990 commands) against more (3,920).
        Nothing is held out: the test examples of a length in range are its training examples.
      * "simple": 80 % against 20 % of each length, by hash. The authors' random split is a file, not this one.

    Attributes:
      split: what is trained on, see above.
      cutoff: the longest length trained on by "length_cutoff".
      model: which kind of model translates.

    Models: decoder-only reads ``BOS command SEP actions``; an encoder reads ``BOS command EOS`` and its decoder
    ``BOS actions``. Both predict ``actions EOS``. One vocabulary: PAD 0, BOS 1, SEP 2, EOS 3, 13 words, 6 actions.
    Training draws uniformly from the training commands.

    Errors: ValueError for a cutoff that no length lies on (the other splits do not read it), and for a length that no
    command has.

    References: Lake and Baroni, "Generalization without Systematicity: On the Compositional Skills of
    Sequence-to-Sequence Recurrent Networks", 2018; Csordás et al., "The Devil is in the Detail: Simple Tricks Improve
    Systematic Generalization of Transformers", 2021.
    """

    split: Literal["length_cutoff", "length", "simple"] = "length_cutoff"
    cutoff: int = 25
    model: Literal["decoder_only", "encoder_decoder"] = "decoder_only"

    name = "scan"
    citation = """@inproceedings{lake2018generalization, author = {Lake and Baroni}, title = {{Generalization without
        Systematicity: On the Compositional Skills of Sequence-to-Sequence Recurrent Networks}}, booktitle = {ICML},
        year = {2018}, eprint = {1711.00350}}
        @inproceedings{csordas2021devil, author = {Csordás and others}, title = {{The Devil is in the Detail: Simple
        Tricks Improve Systematic Generalization of Transformers}}, booktitle = {EMNLP}, year = {2021},
        eprint = {2108.12284}, annote = {cutoffs}}"""
    metric = "exact_match"
    token_names = TOKEN_NAMES
    vocab_size = len(TOKEN_NAMES)

    def check_fields(self) -> None:
        if self.cutoff not in CUTOFFS:
            raise ValueError(f"Scan: cutoff = {self.cutoff} is not one of {', '.join(map(str, CUTOFFS))}: choose one")

    @property
    def model_kind(self) -> ModelKind:
        return self.model

    @property
    def train_lengths(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.part("train").counts).tolist())

    def check_length(self, length: int) -> None:
        lengths = np.unique(table().num_actions).tolist()
        if length not in lengths:
            raise ValueError(
                f"length {length}: no SCAN command has {length} actions; the lengths are {', '.join(map(str, lengths))}"
            )

    def width(self, max_length: int) -> int:
        """BOS, command, SEP and actions; for an encoder BOS, command and EOS."""
        return MAX_WORDS + 2 + (max_length if self.model == "decoder_only" else 0)

    def decoder_width(self, max_length: int) -> int:
        """BOS and actions."""
        return 0 if self.model == "decoder_only" else max_length + 1

    @property
    def drawn_lengths(self) -> np.ndarray:
        counts = self.part("train").counts
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """One of the commands of this length, drawn uniformly; weights 0 if there is none."""
        part = self.part(split)
        count = jnp.asarray(part.counts)[length]
        return self._numbered(part, integers(key, (), jnp.maximum(count, 1)), length, max_length)

    def test_example(self, key: Array, index: Array, length: Array, max_length: int) -> Example:
        """Test command ``index`` of this length in the order of hashes; no key is needed."""
        return self._numbered(self.part("test"), index, length, max_length)

    def part(self, side: Split) -> SplitSide:
        """The commands of one side of the split."""
        return _part(self.split, self.cutoff if self.split == "length_cutoff" else 0, side)

    def _numbered(self, part: SplitSide, index: Array, length: Array, max_length: int) -> Example:
        """Command ``index`` of those of a length in ``part``; weights 0 beyond the last."""
        data = table()
        exists = index < jnp.asarray(part.counts)[length]
        at = jnp.asarray(part.starts)[length] + jnp.where(exists, index, 0)
        command = jnp.asarray(part.order)[jnp.minimum(at, len(part.order) - 1)]
        words, num_words = jnp.asarray(data.words)[command], jnp.asarray(data.num_words)[command].astype(jnp.int32)
        actions = jnp.asarray(np.pad(data.actions, ((0, 0), (0, max(max_length - MAX_ACTIONS, 0))))[:, :max_length])
        assemble = prompted if self.model == "decoder_only" else translated
        example = assemble(words.astype(jnp.int32), num_words, actions[command].astype(jnp.int32), length)
        return dataclasses.replace(example, weights=jnp.where(exists, example.weights, 0))
