"""A path through what is taught about the sinusoidal encoding: each step tests a claim.

A lesson is a page, ``NAME.md``: text, cells of Python and numbers that they compute. `posenc lesson` shows it in a
terminal; the site and its notebooks are made of the same file.
"""

from collections import Counter

from posenc_jax.refusals import did_you_mean
from posenc_jax.show.lessons.lesson import Lesson, Verdict, read
from posenc_jax.show.lessons.tables import table, vector

__all__ = ["LESSONS", "NAMES", "Lesson", "numbered", "table", "tally", "vector"]

# In the order of the chapter, its sections before its applications, with the articles' examples between them.
NAMES = (
    *("order", "recurrent", "vectors", "formula", "frequencies", "properties", "near", "distance", "heatmap"),
    *("clusters", "aliases", "longer", "doubled", "dolphins", "fox", "eagles", "translation", "summaries"),
    *("documents", "claims"),
)
LESSONS: tuple[Lesson, ...] = tuple(map(read, NAMES))


def tally() -> Counter[Verdict]:
    """How many claims of the four texts have each verdict; a lesson on several claims has others."""
    return Counter(one.verdict for own in LESSONS for one in own.findings if one.verdict != "several claims")


def numbered(asked: str) -> tuple[int, Lesson]:
    """The lesson of a number or a name, with its number; ValueError where there is none."""
    for number, lesson in enumerate(LESSONS, 1):
        if asked in (str(number), lesson.name):
            return number, lesson
    hint = did_you_mean(asked, NAMES, f"there are 1 to {len(LESSONS)}, by number or by name")
    raise ValueError(f"there is no lesson {asked!r}: {hint}")
