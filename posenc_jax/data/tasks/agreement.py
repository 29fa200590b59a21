"""Agreement of a main clause with the subject and the tense of the clause before it, by the distance between them."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import LONGEST, Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

PEOPLE = {
    "john": "he",
    "boy": "he",
    "mary": "she",
    "girl": "she",
    "cat": "it",
    "rain": "it",
    "dogs": "they",
    "birds": "they",
}
TENSES = {"is": "decides", "was": "decided"}
OTHERS = ("cold", "late", "wet", "near", "with", "and")
PRONOUNS = tuple(dict.fromkeys(PEOPLE.values()))
NAMES = (*PEOPLE, *TENSES, *OTHERS, *PRONOUNS, ",", "although")
_FILLERS = len(PEOPLE) + len(TENSES) + len(OTHERS)
_SUBJECTS = tuple(tuple(token for token, own in enumerate(PEOPLE.values()) if own == pronoun) for pronoun in PRONOUNS)


@dataclasses.dataclass(frozen=True)
class Agreement(RangedTask):
    """Agree with the clause before: ``... although mary was w_1 ... w_n , [she] she [decided]``.

    The subject of the first clause decides the pronoun, its verb the tense of the main verb; both stand right behind
    "although", and n words stand between them and the comma. These, and the 0 to ``before`` words in front of
    "although", are drawn from the same subjects and verbs and from six others, so that the words alone do not tell:
    what stands right behind "although" must be found, near or far. "length" is n, the distance, so scores by length
    are scores by distance.

    Attributes:
      min_length, max_length: words n of a training sentence.
      before: the most words in front of "although".

    ``exact_match`` is the share of sentences with both answers right; guessing has 1/4 (the
    pronouns are drawn equally often) times 1/2.

    >>> task = Agreement()
    >>> task.describe(task.example(jax.random.key(1), 4, 4))
    'wet and john was john although cat was mary mary john boy , [it] it [decided]'
    """

    min_length: int = 1
    max_length: int = 16
    before: int = 8

    name = "agreement"
    paper = "this library"
    citation = "this library (posenc_jax), no publication"
    metric = "exact_match"
    chance = 1 / (len(PRONOUNS) * len(TENSES))
    length_unit = "words between"
    token_names = NAMES
    vocab_size = len(NAMES)
    class_names = (*PRONOUNS, *TENSES.values())
    num_classes = len(class_names)
    limits = limited(before=at_least(0, most=LONGEST))

    def width(self, max_length: int) -> int:
        """The words before, "although", a subject, a verb, the words between, the comma and the pronoun."""
        return self.before + max_length + 5

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        who_key, word_key = jax.random.split(key)
        before, pronoun, among, tense = integers(who_key, (4,), 2**30)
        start, pronoun, tense = before % (self.before + 1), pronoun % len(PRONOUNS), tense % len(TENSES)
        subject = jnp.asarray(_SUBJECTS)[pronoun, among % len(_SUBJECTS[0])]
        number = {name: token for token, name in enumerate(NAMES)}
        comma = start + length + 3
        tokens = jnp.asarray(integers(word_key, (self.width(max_length),), _FILLERS))
        for index, token in (
            (start, number["although"]),
            (start + 1, subject),
            (start + 2, len(PEOPLE) + tense),
            (comma, number[","]),
            (comma + 1, number[PRONOUNS[0]] + pronoun),
        ):
            tokens = tokens.at[index].set(token)
        index = jnp.arange(len(tokens))
        answers = jnp.where(index == comma, pronoun, len(PRONOUNS) + tense)
        return answered(tokens, answers, index >= comma, comma + 2)

    def describe(self, example: Example) -> str:
        """Each answer behind the word at which it is predicted."""
        return self.describe_in_place(example)
