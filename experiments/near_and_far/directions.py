"""What was expected of SmolLM2-135M's heads, and of a task that asks for a place, written down before either was run.

The task is the second: the first, of nouns, was too hard, and showed nothing but that. Those of heads were first put to
texts of 256 tokens. Of heads (`heads`), a number of each text, expected above 0:
"""

from typing import Any, NamedTuple

import scipy.stats


class Direction(NamedTuple):
    """What is expected of a number of each text, or of each pair of blocks: it is above 0."""

    number: str
    claim: str
    source: str


HEADS = (
    Direction("rises", "the inversion of heads is higher at 8,192 than at 512", "Du et al. 2026, arXiv:2605.15514"),
    Direction("above", "at 8,192 it is above what the frequencies predict of equal contents", "own"),
    Direction("positional", "at 512 positional heads have less of it than others", "own"),
    Direction("aliases", "the alias of heads is higher at 8,192 than at 512", "Du et al. 2026"),
)

# Of the task: how often the token n back is found in second copies of words, n up to 4,096 tokens, in texts of 1x, 2x
# and 4x the context of 8,192. "half" is NoPE in every second layer; YaRN and NTK are those for 4 times the context. The
# frequencies alone predict an inversion of 0.349, 0.346 and 0.347 (none), 0.384, 0.347 and 0.342 (YaRN), 0.359, 0.352
# and 0.363 (NTK), and halfway from none's to a half (half): so none should not fall, if inversion were all.
TASK = (
    Direction("none 1x - none 2x", "the token n back is found less often at 2x than at 1x", "Du et al. 2026"),
    Direction("none 1x - none 4x", "and at 4x than at 1x", "Du et al. 2026"),
    Direction("near - far", "at 1x it is found less often 4,096 back than 128 back", "Du et al. 2026"),
    Direction("none 1x - half 1x", "NoPE in every second layer finds it less often (1x)", "inversion"),
    Direction("none 1x - yarn 1x", "YaRN for 4 times the context finds it less often than none (1x)", "inversion"),
    Direction("none 1x - ntk 1x", "NTK for 4 times the context finds it less often than none (1x)", "inversion"),
    Direction("yarn 2x - none 2x", "at 2x YaRN finds it more often than none, with equal inversion", "own"),
    Direction("ranks", "over changes and lengths, the more inversion the less often (minus rank correlation)", "own"),
    Direction("list", "the k-th of 8 words of a list is named more often than by chance", "own"),
)

# Of Möbius RoPE (`moebius`), with 16 paired seeds: the logarithm of the variance of RoPE's scores over seeds divided by
# that of its own.
MOEBIUS = Direction("log ratio", "the scores of Möbius RoPE vary less over seeds than RoPE's", "Bae 2026")


def coverage(count: int) -> float:
    """The coverage of each of ``count`` intervals that hold all together in 95 % of cases (Bonferroni)."""
    return 1 - 0.05 / count


def found_from(low: float, high: float, confidence: float) -> float:
    """The effect that a test finds in 4 of 5 trials, in standard errors of a normal number with this interval."""
    bound = scipy.stats.norm.ppf((1 + confidence) / 2)
    return float((bound + scipy.stats.norm.ppf(0.8)) / (2 * bound) * (high - low))


def judged(one: Direction, mean: float, low: float, high: float, seen: float) -> dict[str, Any]:
    """A direction with its number, interval, the effect that is seen in 4 of 5 trials, and a word."""
    word = "no difference seen" if low <= 0 <= high else "as expected" if low > 0 else "the other way"
    return {**one._asdict(), "mean": mean, "low": low, "high": high, "seen": seen, "word": word}
