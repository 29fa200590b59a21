"""What was expected of SmolLM2-135M's heads, and of a task that asks for a place, written down before either was run.

Of heads (`heads`), a number of each text, expected above 0:
"""

from typing import NamedTuple


class Direction(NamedTuple):
    """What is expected of a number of each text or sequence: it is above 0."""

    number: str
    claim: str
    source: str


HEADS = (
    Direction("rises", "the inversion of heads is higher at 8,192 than at 512", "Du et al. 2026, arXiv:2605.15514"),
    Direction("above", "at 8,192 it is above what the frequencies predict of equal contents", "own"),
    Direction("positional", "at 512 positional heads have less of it than others", "own"),
    Direction("aliases", "the alias of heads is higher at 8,192 than at 512", "Du et al. 2026"),
)

# Of the task, with 1x, 2x and 4x the lengths that it is run at. "half" is NoPE in every second layer. Accuracy is that
# of the token n back in the second copy of n random words; its differences are paired by sequence.
TASK = (
    Direction("falls none", "the token n back is found less often at 4x than at 1x", "Du et al. 2026"),
    Direction("none - half", "NoPE in every second layer, where inversion is a half, finds it less often (1x)", "own"),
    Direction("none - yarn", "YaRN for 4 times the context finds it less often than none (1x)", "own"),
    Direction("none - ntk", "NTK for 4 times the context finds it less often than none (1x)", "own"),
    Direction("list", "the k-th of 8 words of a list is named more often than by chance", "own"),
)
