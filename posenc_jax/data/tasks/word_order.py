"""Translation between word orders: one grammar, one sentence, and only the order of its parts changes."""

import dataclasses
import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.scoring import exact_match, shares, sums_by_group
from posenc_jax.data.tasks.base import Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, SPECIAL_NAMES, translated
from posenc_jax.encodings.interface.base import Array

NAMES = ("john", "mary")
NOUNS = ("cat", "mouse", "dog", "bird", "girl", "boy", "teacher", "child")
ADJECTIVES = ("old", "young", "small", "happy")
VERBS = ("chased", "loves", "saw", "heard", "followed", "helped")
WORDS = ("and", "the", *NAMES, *NOUNS, *ADJECTIVES, *VERBS)
PEOPLE = len(NAMES) + len(NOUNS)
# Those that training has as objects only, and the test examples of the second kind as subjects.
OBJECTS_ONLY = ("mary", "bird")

# The scores of the two kinds of test examples.
KINDS = ("exact_match_of_clauses", "new_role_exact_match")

_PHRASE, _CLAUSE = 3, 8  # "the small cat"; "and" and all words of a clause


@functools.cache
def clauses(kind: Literal["train", "test", "new_role"]) -> np.ndarray:
    """``[N, 3]`` int32: subject, verb and object of the clauses of one kind; who is both is left out.

    "train" and "test" share the subjects, every fifth of their clauses is "test"; "new_role" has the subjects
    `OBJECTS_ONLY`.
    """
    subject, verb, object_ = np.indices((PEOPLE, len(VERBS), PEOPLE)).reshape(3, -1)
    new = np.isin(np.array(NAMES + NOUNS)[subject], OBJECTS_ONLY)
    held_out = (subject + verb + object_) % 5 == 0
    chosen = {"train": ~new & ~held_out, "test": ~new & held_out, "new_role": new}[kind] & (subject != object_)
    return np.stack([subject, verb, object_], axis=1)[chosen].astype(np.int32)


@dataclasses.dataclass(frozen=True)
class WordOrder(RangedTask):
    """Translate sentences of the order subject, verb, object into another order, word for word::

        the old cat chased mary and john saw the dog
        -> "sov":  THE OLD CAT MARY CHASED AND JOHN THE DOG SAW

    A clause is a subject, a verb and an object; subject and object are a name, or a noun behind "the" and, every
    second time, an adjective. Clauses are joined by "and" and keep their order. Each word has one translation, written
    in capitals, so that nothing but the order of words is to be learned. Who does what to whom is said by the order
    alone: the same people are subjects and objects.

    Attributes:
      order: that of the target, "svo", "sov", "vso" or "osv".
      min_length, max_length: clauses of a training sentence.

    Every second test example is of one kind. The first has clauses that training never has (every fifth combination of
    subject, verb and object), made of words in roles that it has: ``exact_match_of_clauses``, the headline. The second
    has subjects that are objects only in training: ``new_role_exact_match``. Both are shares of sentences that are
    right to the last word. Loss, accuracy and exact match of a length are over both.

    Models: an encoder reads ``BOS source EOS`` and its decoder ``BOS target``. One vocabulary: PAD 0, BOS 1, SEP 2,
    EOS 3, the words of the source, their translations.

    >>> task = WordOrder(order="vso")
    >>> task.describe(task.example(jax.random.key(0), 1, 1))
    'BOS the girl loves the small teacher EOS -> LOVES THE GIRL THE SMALL TEACHER EOS'

    Errors: ValueError for lengths out of order.
    """

    order: Literal["svo", "sov", "vso", "osv"] = "sov"
    min_length: int = 1
    max_length: int = 4

    name = "word_order"
    paper = "this library"
    citation = "this library (posenc_jax), no publication"
    metric = "exact_match_of_clauses"
    length_unit = "clauses"
    model_kind = "encoder_decoder"
    token_names = (*SPECIAL_NAMES, *WORDS, *(word.upper() for word in WORDS))
    vocab_size = len(token_names)

    def width(self, max_length: int) -> int:
        """BOS, the longest clauses, each with room for "and" before it, and EOS."""
        return _CLAUSE * max_length + 2

    def decoder_width(self, max_length: int) -> int:
        """BOS and the longest clauses."""
        return _CLAUSE * max_length + 1

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """A sentence of training, or of the first kind of test examples."""
        return self._drawn(key, clauses("train" if split == "train" else "test"), length, max_length)

    def test_example(self, key: Array, index: Array, length: Array, max_length: int) -> Example:
        """A test example; the kinds take turns."""
        key = jax.random.fold_in(jax.random.fold_in(key, length), index)
        kinds = [self._drawn(key, clauses(kind), length, max_length) for kind in ("test", "new_role")]
        group = jnp.asarray(index, jnp.int32) % len(kinds)
        example = jax.tree.map(lambda *leaves: jnp.stack(leaves)[group], *kinds)
        return dataclasses.replace(example, group=group)

    def _drawn(self, key: Array, among: np.ndarray, length: Array, max_length: int) -> Example:
        """A sentence whose clauses are drawn uniformly and independently."""
        keys = jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(max_length))
        source, target = jax.vmap(functools.partial(self._clause, among=jnp.asarray(among)))(
            keys, jnp.arange(max_length)
        )
        shown = jnp.arange(max_length)[:, None] < length
        (words, count), (translation, _) = (_joined(jnp.where(shown, side, 0)) for side in (source, target))
        example = translated(words, count, jnp.where(translation > 0, translation + len(WORDS), 0), count)
        return dataclasses.replace(example, group=jnp.int32(0))

    def _clause(self, key: Array, index: Array, among: Array) -> tuple[Array, Array]:
        """``[8]`` and ``[8]``: clause ``index`` in the order of the source and of the target, with zeros between."""
        drawn = integers(key, (5,), 2**30)
        subject, verb, object_ = among[drawn[0] % len(among)]
        parts = {
            "s": _phrase(subject, drawn[1], drawn[2]),
            "v": jnp.stack([NUM_SPECIAL + len(WORDS) - len(VERBS) + verb]),
            "o": _phrase(object_, drawn[3], drawn[4]),
        }
        joint = jnp.where(index > 0, NUM_SPECIAL, 0)[None]
        first, second = (jnp.concatenate([joint, *(parts[part] for part in order)]) for order in ("svo", self.order))
        return first, second

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """Sentences that are right to the last word, and all, of each kind."""
        found = {"right_sentences": exact_match(logits, example), "sentences": jnp.any(example.weights > 0, axis=1)}
        return {name: sums_by_group(values, example.group, len(KINDS)) for name, values in found.items()}

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the exact match of each kind; None where a kind has no sentence."""
        rest = {name: value for name, value in scores.items() if name not in ("right_sentences", "sentences")}
        return rest | shares(KINDS, scores["right_sentences"], scores["sentences"])


def _phrase(person: Array, number: Array, flip: Array) -> Array:
    """``[3]``: a name, or "the", perhaps an adjective, and a noun, with zeros between."""
    at = {word: NUM_SPECIAL + index for index, word in enumerate(WORDS)}
    noun = person >= len(NAMES)
    adjective = jnp.where(noun & (flip % 2 == 1), at[ADJECTIVES[0]] + number % len(ADJECTIVES), 0)
    return jnp.stack([jnp.where(noun, at["the"], 0), adjective, at[NAMES[0]] + person])


def _joined(parts: Array) -> tuple[Array, Array]:
    """The tokens of ``parts`` in order without the zeros between, padded with zeros on the right, and their number."""
    flat = parts.reshape(-1)
    return flat[jnp.argsort(flat == 0, stable=True)], jnp.sum(flat > 0)
