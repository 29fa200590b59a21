"""Questions about long texts: a passkey by depth, and the tasks of RULER that need no corpus.

RULER (Hsieh et al. 2024, arXiv:2404.06654, Apache-2.0) defines templates, sizes, the number of tokens to write and the
score, which are kept; the code is ours. Departures: keys and common words are pairs from two lists of words, not from
the package wonderwords; a haystack grows in steps of one piece, not of 5 or 25; and "assgined" in the prefix of vt's
answer is spelled "assigned".
"""

import itertools
import math
import random
import string
import uuid
from collections.abc import Callable
from typing import NamedTuple

_ADJECTIVES = """
able amber ancient bitter blue bold brave brief bright broad calm careful cheap clean clever cold cool curious dark
deep dry early eager empty even fair faint fast fine firm flat fresh full gentle glad golden grand gray green happy
harsh heavy high hollow honest humble keen kind large late lazy level light little lively lone long loud low lucky
mild modern narrow neat new noble odd old open pale plain polite proud pure quick quiet rapid rare raw ready rich ripe
rough round royal safe sharp short shy silent silver simple slim slow small smooth soft solid sour stale steady steep
stiff still strict strong subtle sweet swift tall tame tender thick thin tidy tight tiny tough true vague vast vivid
warm weak wet wide wild wise wooden young
"""
_NOUNS = """
acorn anchor apple arrow badge barn basket beach bell bench berry bird board boat book bottle bowl branch brick bridge
brush bucket button cabin candle canoe carpet castle chair chalk cherry cliff clock cloud coast coin comet copper
corner cotton cradle crown curtain desert dinner donkey door dragon drum eagle engine fabric falcon farm feather fence
ferry field finger flame flower forest fossil garden glacier glove goose grape hammer harbor hat hill honey horse
island jacket jungle kettle kitten ladder lake lamp lantern leaf lemon letter lion magnet maple market meadow mirror
moon mountain needle nest oak ocean orange orchard oven paddle paper parrot pebble pencil piano pillow planet pocket
pond potato puzzle rabbit rain ribbon river robin rocket roof saddle salmon scarf shadow shell ship shovel spider
spoon spring star stone storm street sugar table teapot temple thunder tiger tower train tulip tunnel turtle valley
velvet village violin wagon walnut water whale wheel window winter wolf yard
"""
WORDS = tuple(f"{adjective}-{noun}" for adjective in _ADJECTIVES.split() for noun in _NOUNS.split())
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Depths of the passkey in its text; prompts take them in turn."""


class Prompt(NamedTuple):
    """A question with its text.

    Attributes:
      text: what the model goes on from.
      answers: what it should write.
      new_tokens: the most that it may write.
      depth: where the passkey lies in the text, None for other tasks.
    """

    text: str
    answers: tuple[str, ...]
    new_tokens: int
    depth: float | None = None


class PromptError(ValueError):
    """The shortest prompt of a task does not fit."""


def score(written: str, answers: tuple[str, ...]) -> float:
    """The share of the answers that ``written`` contains, ignoring case: RULER's ``string_match_all``.

    >>> score("They are 12 and 7.", ("12", "13"))
    0.5
    """
    return sum(answer.lower() in written.lower() for answer in answers) / len(answers)


def make(task: str, index: int, length: int, count: Callable[[str], int]) -> Prompt:
    """Prompt ``index`` of a task, as long as fits into ``length`` tokens together with the tokens to be written.

    Args:
      count: the number of tokens of a text.

    Raises:
      PromptError: the shortest does not fit.
    """
    build = TASKS[task]

    def of_size(size: int) -> Prompt:
        return build(random.Random(f"{task} {index} {length}"), size, index, length)

    def fits(size: int) -> bool:
        prompt = of_size(size)
        return count(prompt.text) + prompt.new_tokens <= length

    low = _LEAST
    if not fits(low):
        need = count(of_size(low).text) + of_size(low).new_tokens
        raise PromptError(f"{task} needs {need} tokens, and here are {length}: leave it out, or read longer texts")
    high = 2 * low
    while fits(high) and high < _MOST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return of_size(low)


_LEAST, _MOST = 12, 2**20


def _number(rng: random.Random) -> str:
    return str(rng.randint(10**6, 10**7 - 1))


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _needles(
    kind: str, key: Callable[[random.Random], str], value: Callable[[random.Random], str], *, among_needles: bool
) -> Callable[..., Prompt]:
    """A needle in lines of noise, or of other needles."""

    def needle(rng: random.Random) -> tuple[str, str, str]:
        own, hidden = key(rng), value(rng)
        return own, hidden, f"One of the special magic {kind}s for {own} is: {hidden}."

    def build(rng: random.Random, size: int, index: int, length: int) -> Prompt:
        own, hidden, line = needle(rng)
        place = rng.random()
        lines = [needle(rng)[2] for _ in range(size)] if among_needles else [NOISE] * size
        lines.insert(int(place * size), line)
        text = (
            f"A special magic {kind} is hidden within the following text. Make sure to memorize it. I will quiz you "
            f"about the {kind} afterwards.\n" + "\n".join(lines) + f"\nWhat is the special magic {kind} for {own} "
            f"mentioned in the provided text? The special magic {kind} for {own} mentioned in the provided text is"
        )
        return Prompt(text, (hidden,), 128)

    return build


def _chain(rng: random.Random, size: int, letters: int) -> tuple[str, list[str]]:
    """A question about a chain of five variables, its answer begun, and the variables."""
    names: list[str] = []
    while len(names) < 5:
        name = "".join(rng.choices(string.ascii_uppercase, k=letters))
        names += [name] if name not in names else []
    value = rng.randint(10000, 99998)
    chain = [f"VAR {names[0]} = {value}", *(f"VAR {b} = VAR {a} " for a, b in itertools.pairwise(names))]
    lines = [NOISE + "\n"] * size
    for number, place in enumerate(sorted(rng.sample(range(size), len(chain)))):
        lines.insert(place + number, chain[number])
    context = " ".join(lines).replace(". \n", ".\n")
    text = (
        f"Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n{context}\nQuestion: "
        f"Find all variables that are assigned the value {value} in the text above. Answer: According to the chain(s) "
        f"of variable assignment in the text above, 5 variables are assigned the value {value}, they are: "
    )
    return text, names


def _variable_tracking(rng: random.Random, size: int, index: int, length: int) -> Prompt:
    """One solved question before the one that is asked."""
    example, solved = _chain(rng, 5, 3)
    text, names = _chain(rng, size, 5)
    return Prompt(f"{example} {' '.join(solved)}\n\n\n\n{text}", tuple(names), 30)


def _list(rng: random.Random, size: int, common: int, uncommon: int) -> tuple[str, list[str]]:
    words = rng.sample(WORDS, size)
    listed = words[:10] * common + words[10:] * uncommon
    rng.shuffle(listed)
    text = (
        "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that "
        f"appear most often.\n{_numbered(listed)}\nQuestion: What are the 10 most common words in the above list? "
        "Answer: The top 10 words that appear most often in the list are:"
    )
    return text, words[:10]


def _numbered(words: list[str]) -> str:
    return " ".join(f"{number}. {word}" for number, word in enumerate(words, 1))


def _common_words(rng: random.Random, size: int, index: int, length: int) -> Prompt:
    short = length < 4096
    example, solved = _list(rng, *((20, 3, 1) if short else (40, 10, 3)))
    text, words = _list(rng, min(size, len(WORDS)), *((6, 1) if short else (30, 3)))
    return Prompt(f"{example} {_numbered(solved)}\n{text}", tuple(words), 120)


def _frequent_words(rng: random.Random, size: int, index: int, length: int) -> Prompt:
    """Made-up words, the k-th of which appears in proportion to k^-2; the first are dots."""
    letters: dict[str, None] = {}
    while len(letters) < max(length // 50, 8):
        letters["".join(rng.choices(string.ascii_lowercase, k=6))] = None
    words = ["...", *letters]
    total = 10 * size * 6 / math.pi**2
    listed = [word for k, word in enumerate(words, 1) for _ in range(int(total / k**2))]
    rng.shuffle(listed)
    text = (
        "Read the following coded text and track the frequency of each coded word. Find the three most frequently "
        f"appeared coded words. {' '.join(listed)}\nQuestion: Do not provide any explanation. Please ignore the dots "
        "'....'. What are the three most frequently appeared words in the above coded text? Answer: According to the "
        "coded text above, the three most frequently appeared words are:"
    )
    return Prompt(text, tuple(words[1:4]), 50)


def _passkey(rng: random.Random, size: int, index: int, length: int) -> Prompt:
    """The question of Mohtashami and Jaggi 2023 (arXiv:2305.16300), by depth."""
    key, depth = str(rng.randint(10000, 99999)), DEPTHS[index % len(DEPTHS)]
    lines = [NOISE] * size
    lines.insert(round(depth * size), f"The pass key is {key}. Remember it. {key} is the pass key.")
    text = (
        "There is an important info hidden inside a lot of irrelevant text. Find it and memorize it. I will quiz you "
        "about the important information there.\n" + "\n".join(lines) + "\nWhat is the pass key? The pass key is"
    )
    return Prompt(text, (key,), 12, depth)


TASKS: dict[str, Callable[[random.Random, int, int, int], Prompt]] = {
    "passkey": _passkey,
    "niah_single_1": _needles("number", _word, _number, among_needles=False),
    "niah_multikey_2": _needles("number", _word, _number, among_needles=True),
    "niah_multikey_3": _needles("uuid", _uuid, _uuid, among_needles=True),
    "vt": _variable_tracking,
    "cwe": _common_words,
    "fwe": _frequent_words,
}
"""Tasks by RULER's names: functions of draws, the size of the text, the prompt's number and the wanted length."""
RULER = tuple(name for name in TASKS if name != "passkey")
