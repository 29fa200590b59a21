"""The interface of a task: one pure function from (key, length) to one padded example, everything else follows."""

import functools
import inspect
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.example import Example
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import Value, at_least
from posenc_jax.model_kind import ModelKind

Split = Literal["train", "test"]
Range = Literal["within", "mixed", "beyond"]

# Tokens below which a narrower program saves nothing.
SMALLEST = 32

# The largest length, and the largest number of symbols or tokens, that a task takes.
LONGEST = 2**20

# The limit of a field that is such a number.
MANY = at_least(1, most=LONGEST)


class Task(Value):
    """Base class of tasks; subclass as a frozen dataclass.

    "Length" is the task's own measure (symbols of the input string, tokens of the output); `width` turns it into
    positions.

    Class facts: ``name``, ``paper``, ``citation``; ``metric`` is the published headline number: "exact_match" (every
    weighted target right), "accuracy" (mean over weighted targets) or one of the task's own `results`; ``length_per``
    says whether training draws one length per "step" or per "example"; ``chance`` is the score of guessing;
    ``shortcut`` is, in words, an answer that reads everything but what the task asks, where there is one;
    ``has_token_types`` says whether examples have token types; ``one_answer`` says whether an example has one answer of
    a class, so that a model must pool; ``writes_text`` says whether outputs are decoded and scored as text;
    ``length_unit`` is what lengths count ("source tokens"), where reports should say it; ``real_positions`` says
    whether ``grid_positions`` are real numbers, not whole ones. What depends on no field, as ``model_kind`` often, can
    be a class fact where a property stands here.
    """

    name: ClassVar[str]
    paper: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    metric: ClassVar[str] = "accuracy"
    length_per: ClassVar[Literal["step", "example"]] = "example"
    chance: ClassVar[float] = 0.0
    shortcut: ClassVar[str] = ""
    has_token_types: ClassVar[bool] = False
    one_answer: ClassVar[bool] = False
    writes_text: ClassVar[bool] = False
    length_unit: ClassVar[str] = ""
    real_positions: ClassVar[bool] = False

    @property
    def asks(self) -> str:
        """What the task asks, in the words that its docstring begins with, for a heading."""
        first = inspect.cleandoc(type(self).__doc__ or "").partition("\n\n")[0].replace("`", "")
        return " ".join(re.split(r"(?<!\.)\.(?:\s|$)|[:;(]", first)[0].split())

    @property
    def model_kind(self) -> ModelKind:
        """The architecture that the task is for."""
        raise NotImplementedError

    @property
    def vocab_size(self) -> int:
        """Number of input tokens, special ones included (for an encoder-decoder of source and target together, or,
        where they have two vocabularies, of the source).
        """
        raise NotImplementedError

    @property
    def num_classes(self) -> int:
        """Number of values that a target can take: by default one for each token of the vocabulary."""
        return self.vocab_size

    @property
    def position_axes(self) -> int | None:
        """The number of axes of its ``grid_positions``, or None without them."""
        return None

    @property
    def has_outline(self) -> bool:
        """True if ``grid_positions`` of an example are `structure.Coordinates` of tokens in a document."""
        return False

    @property
    def num_token_types(self) -> int:
        """Token types that examples have, padding (0) among them, where `has_token_types`."""
        return 4

    @property
    def one_vocabulary(self) -> bool:
        """True if the decoder of an encoder-decoder numbers its tokens as the source does."""
        return True

    def chance_at(self, length: int) -> float:
        """The score of guessing at a length."""
        return self.chance or (1 / self.num_classes if self.one_answer else 0.0)

    def shortcut_score(self, lengths: Sequence[int]) -> float | None:
        """The mean score over these lengths of the answer that `shortcut` describes; None without one."""
        return None

    @property
    def validation_metric(self) -> str:
        """The score, the larger the better, that learning rates are chosen by: of a task of errors the accuracy."""
        return self.metric if kind_of(self.metric).better == "higher" else "accuracy"

    @property
    def note(self) -> str:
        """A remark that readers of its scores need, or ""."""
        return ""

    @property
    def signatures(self) -> dict[str, str]:
        """Score -> how exactly it is computed: numbers with equal ones compare."""
        return {}

    def lengths_of(self, length: int) -> tuple[int, int]:
        """The shortest and the longest example that an evaluated length stands for: itself, or those of a bucket."""
        return (length, length)

    def length_name(self, length: int) -> str:
        """An evaluated length in words, ``17-32`` for a bucket."""
        first, last = self.lengths_of(length)
        return str(last) if first == last else f"{first}-{last}"

    def range_of(self, length: int) -> Range:
        """The range of an evaluated length, by the shortest and the longest of training.

        "within": no example that it stands for is shorter or longer than those. "beyond": every one is. "mixed": some
        are, so a mean over it says nothing of either; it belongs to no average of the one kind or the other.
        """
        first, last = self.lengths_of(length)
        shortest, longest = self.train_lengths[0], self.train_lengths[-1]
        if shortest <= first and last <= longest:
            return "within"
        return "beyond" if last < shortest or longest < first else "mixed"

    def score_lengths(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """Those of some evaluated lengths that a score is the mean over: the ones beyond training, or else all."""
        return tuple(n for n in lengths if self.range_of(n) == "beyond") or lengths

    @property
    def token_names(self) -> tuple[str, ...]:
        """A short name for each input token, for people to read."""
        return tuple(map(str, range(self.vocab_size)))

    @property
    def class_names(self) -> tuple[str, ...]:
        """A short name for each value of a target: the token's if targets are tokens, else the number."""
        same = self.num_classes == self.vocab_size
        return self.token_names if same else tuple(map(str, range(self.num_classes)))

    @property
    def train_lengths(self) -> Sequence[int]:
        """The lengths that training draws from, ascending."""
        raise NotImplementedError

    def check_length(self, length: int) -> None:
        """Refuses a length that the task does not have (ValueError); no task has one above `LONGEST`."""
        if length < 1:
            raise ValueError(f"length {length} is not positive: lengths of {self.name} start at 1")
        if length > LONGEST:
            raise ValueError(f"length {length} is above {LONGEST}, the longest of any task: lower it")

    def width(self, max_length: int) -> int:
        """Positions that ``inputs`` need for every length up to ``max_length``."""
        raise NotImplementedError

    def padded_length(self, length: int) -> int:
        """The length that test examples of this one are padded for: the next of those that are 1, 2, 4, ... times the
        longest of training, or a half, a quarter, ... of it down to 32 tokens.

        It depends on nothing else that is asked for, so neither do the numbers of a length, to the bit; and lengths
        share few programs. A longer one is never padded to less.
        """
        padded = self.train_lengths[-1]
        while padded < length:
            padded *= 2
        while length <= (half := -(-padded // 2)) < padded and self.width(half) >= SMALLEST:
            padded = half
        return padded

    def num_positions(self, lengths: tuple[int, ...]) -> int:
        """Positions, on the wider side, of the widest row of training and of evaluation at ``lengths``; padding too
        stands at positions.
        """
        longest = max(self.train_lengths[-1], self.padded_length(max(lengths)) if lengths else 0)
        return max(self.width(longest), self.decoder_width(longest))

    def decoder_width(self, max_length: int) -> int:
        """Positions that ``decoder_inputs`` need: 0 but for an encoder-decoder."""
        return 0

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """One example of traced ``length`` <= static ``max_length``, padded to ``width(max_length)``.

        Its values depend on ``key`` and ``length`` only, not on the padding.
        """
        raise NotImplementedError

    @property
    def drawn_lengths(self) -> np.ndarray:
        """The training lengths, ascending, each as often as it is drawn: all alike unless the task says otherwise."""
        return np.asarray(self.train_lengths, np.int32)

    def sample_lengths(self, key: Array, shape: tuple[int, ...]) -> Array:
        """Training lengths, uniform over `drawn_lengths`."""
        drawn = self.drawn_lengths
        return jnp.asarray(drawn)[integers(key, shape, len(drawn))]

    def check_strata(self, count: int) -> None:
        """Refuses (ValueError) a number of strata of length that training cannot have."""
        if count > 1:
            self._refuse_own_draws(f"training.length_strata = {count}", "strata would pass by; set it to 1")
        if count > 1 and count > (most := len(set(self.train_lengths))):
            raise ValueError(f"training.length_strata = {count} is more than the {most} training lengths: lower it")

    def check_division(self, count: int) -> None:
        """Refuses (ValueError) batches divided among ``count`` devices where their rows may not divide."""

    def check_curriculum(self, every: int, steps: int) -> None:
        """Refuses (ValueError) lengths that grow ``every`` so many of the ``steps`` where training cannot have that."""
        if not every:
            return
        asked, count = f"training.curriculum_every = {every}", len(set(self.train_lengths))
        self._refuse_own_draws(asked, "a curriculum would pass by; set it to 0")
        if count == 1:
            raise ValueError(f"{asked}: task {self.name!r} trains on one length only; set it to 0")
        if every * (count - 1) >= steps:
            raise ValueError(
                f"{asked}: the longest of {count} training lengths would come after step "
                f"{steps}, the last one; set it to at most {(steps - 1) // (count - 1)}"
            )

    def _refuse_own_draws(self, asked: str, consequence: str) -> None:
        """Refuses (ValueError) what is asked of a subclass that replaces the drawing of batches here."""
        for name in ("train_batch", "sample_lengths"):
            if getattr(type(self), name) is not getattr(Task, name):
                raise ValueError(
                    f"{asked}: task {self.name!r} has a {name} of its own, which {consequence}, or give the task's "
                    "drawn_lengths instead"
                )

    def strata(self, count: int) -> tuple[int, ...]:
        """The longest length of each of ``count`` equal shares of the draws, short ones first."""
        drawn = self.drawn_lengths
        return tuple(int(drawn[(len(drawn) * (share + 1) - 1) // count]) for share in range(count))

    def test_example(self, key: Array, index: Array, length: Array, max_length: int) -> Example:
        """Test example number ``index`` of a length.

        A finite task returns each of its examples once (in a mixed order: any first few are a fair sample) and
        weights 0 beyond the last.
        """
        # The length is folded in too: else the strings of one length would begin like those of the next.
        key = jax.random.fold_in(jax.random.fold_in(key, length), index)
        return self.example(key, length, max_length, "test")

    def train_batch(self, data: Any, fed: Any, key: Array, batch_size: int) -> Example:
        """``[batch_size, ...]`` training examples, padded to the longest training length.

        A generated task makes them from the key only. A task with data makes them from its arrays ``data`` and from
        ``fed``, what the host decided for this step.
        """
        length_key, example_key = jax.random.split(key)
        lengths = self.sample_lengths(length_key, (self._drawn_at_once(batch_size),))
        return self._made(_keys(example_key, batch_size), lengths, self.train_lengths[-1])

    def growing_batch(self, key: Array, batch_size: int, count: Array) -> Example:
        """Training examples as `train_batch` draws them, padded as those, of the ``count []`` shortest training lengths
        only; of all, where there are not so many.
        """
        length_key, example_key = jax.random.split(key)
        drawn = self.drawn_lengths
        ends = np.searchsorted(drawn, np.unique(drawn), side="right").astype(np.int32)
        among = jnp.asarray(ends)[jnp.minimum(count, len(ends)) - 1]
        lengths = jnp.asarray(drawn)[integers(length_key, (self._drawn_at_once(batch_size),), among)]
        return self._made(_keys(example_key, batch_size), lengths, self.train_lengths[-1])

    def stratified_batch(self, key: Array, batch_size: int, strata: int) -> tuple[Example, ...]:
        """Training examples as `train_batch` draws them, ``batch_size / strata`` from each equal share of the lengths;
        where `length_per` says "step", with one length in each share.

        Share s of S has the draws ``floor((s N + v) / S)`` with v uniform over ``0 .. N-1``, N draws in all: every
        length is drawn as often as before (a length on the border of two shares in both). Where a step has one length,
        its gradient is the mean over the shares of each one's own, so its expectation stays what it was. Elsewhere it
        is a sum over the batch divided by the number of targets, whose expectation differs by what any such ratio has
        (of order one over the batch); both sums have the expectations of before. The variance has lost what came from
        the shares of a batch, which no longer vary: all of it of the mean length, of gradients less than 2 % at first
        parameters. What is gained: each share is padded to its own longest length (`strata`), not to the longest of
        all.
        """
        length_key, example_key = jax.random.split(key)
        drawn, rows = self.drawn_lengths, batch_size // strata
        within = integers(length_key, (strata, self._drawn_at_once(rows)), len(drawn))
        keys = _keys(example_key, batch_size).reshape(strata, rows)
        lengths = (jnp.asarray(drawn)[(share * len(drawn) + within[share]) // strata] for share in range(strata))
        return tuple(map(self._made, keys, lengths, self.strata(strata)))

    def _drawn_at_once(self, batch_size: int) -> int:
        """Lengths that a batch has: one, or one for each example."""
        return 1 if self.length_per == "step" else batch_size

    def _made(self, keys: Array, lengths: Array, max_length: int) -> Example:
        make = jax.vmap(lambda key, length: self.example(key, length, max_length, "train"))
        return make(keys, jnp.broadcast_to(lengths, keys.shape))

    def validation_batch(self, data: Any, key: Array, index: Array, batch_size: int) -> Example:
        """Batch number ``index`` of examples like those of training, by which learning rates are chosen."""
        return self.train_batch(data, None, key, batch_size)

    def test_batch(self, data: Any, key: Array, length: Array, indices: Array, max_length: int) -> Example:
        """``[C, ...]`` test examples with numbers ``indices [C]`` of one traced length, however they are chunked."""
        return jax.vmap(lambda i: self.test_example(key, i, length, max_length))(indices)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """Sums over a batch that the task reports besides those of `scores`."""
        return {}

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """The scores of one replica (means, and the task's own sums) as they stand in a result."""
        return scores

    def describe(self, example: Example) -> str:
        """One example (no batch axis) as text: what the model is given, an arrow, what it has to predict.

        Where a causal model is asked at single tokens, as `describe_in_place`.
        """
        weighted = np.flatnonzero(example.weights)
        if self.model_kind == "decoder_only" and len(weighted) and weighted[-1] - weighted[0] >= len(weighted):
            return self.describe_in_place(example)
        given = int(weighted[0]) + 1 if self.model_kind == "decoder_only" and len(weighted) else int(example.length)
        inputs = (self.token_names[token] for token in np.asarray(example.inputs)[:given])
        targets = (self.class_names[value] for value in np.asarray(example.targets)[weighted])
        return f"{' '.join(inputs)} -> {' '.join(targets)}"

    def describe_in_place(self, example: Example) -> str:
        """One example as text: every token, and in brackets behind it what has to be predicted there."""
        words = [self.token_names[token] for token in np.asarray(example.inputs)[: int(example.length)]]
        for index in np.flatnonzero(example.weights):
            words[index] += f" [{self.class_names[int(example.targets[index])]}]"
        return " ".join(words)


class RangedTask(Task):
    """Base class: trained on lengths ``min_length .. max_length``, one for each example; a decoder-only model, unless a
    subclass has another ``model_kind``.

    Attributes:
      min_length, max_length: lengths that training draws, uniformly, up to 1048576; fields of the subclasses, which say
        what a length counts.

    Errors: ValueError for lengths out of order, too short or too long, in training and in evaluation.
    """

    min_length: int
    max_length: int

    model_kind: ClassVar[ModelKind] = "decoder_only"

    def check_fields(self) -> None:
        super().check_fields()
        name, least = type(self).__name__, self.least_length
        MANY.check(f"{name}.max_length", self.max_length)
        if not least <= self.min_length <= self.max_length:
            raise ValueError(
                f"{name}: min_length = {self.min_length} and max_length = {self.max_length}, but "
                f"{least} <= min_length <= max_length must hold: swap or raise them"
            )

    @property
    def least_length(self) -> int:
        """The shortest length that an example with these settings can have."""
        return 1

    @property
    def train_lengths(self) -> range:
        return range(self.min_length, self.max_length + 1)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        if length < self.least_length:
            raise ValueError(f"length {length}: lengths of this {self.name} start at {self.least_length}; raise it")


def _keys(key: Array, count: int) -> Array:
    """A key of its own for each example, whatever the size of the batch."""
    return jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(count))


def integers(key: Array, shape: tuple[int, ...], count: Array | int) -> Array:
    """int32 in ``0 .. count-1``, each with a probability off by less than ``2**-32``; a longer draw begins alike.

    One block of random bits; `jax.random.randint` takes a split and two blocks to be closer still, and a third more
    time to compile a batch.
    """
    return (jax.random.bits(key, shape, jnp.uint32) % jnp.asarray(count, jnp.uint32)).astype(jnp.int32)
