"""A path through what is taught about the sinusoidal encoding: each step tests a claim.

`posenc lesson` lists the steps and runs them; `scripts/regenerate` writes them as pages. Everything but the results
of long training runs (`quoted`) is computed when a step is run.
"""

from posenc_jax.lessons import (
    aliases,
    claims,
    clusters,
    distance,
    documents,
    dolphins,
    doubled,
    eagles,
    formula,
    fox,
    frequencies,
    heatmap,
    longer,
    near,
    order,
    properties,
    recurrent,
    summaries,
    translation,
    vectors,
)
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.refusals.hints import did_you_mean

# In the order of the chapter, its sections before its applications, with the articles' examples between them.
LESSONS: tuple[Lesson, ...] = tuple(
    module.LESSON
    for module in (
        *(order, recurrent, vectors, formula, frequencies, properties, near, distance, heatmap, clusters, aliases),
        *(longer, doubled, dolphins, fox, eagles, translation, summaries, documents, claims),
    )
)

TEXTS = """The lessons test, sentence by sentence, four texts from which many people learn the sinusoidal encoding:
section 4.3, *Positional Encoding and Its Importance*, of a chapter on the architecture of the Transformer ("the
chapter"); an article by Sandaruwan Herath, *Positional Encoding in the Transformer Model*, from 2024 ("Herath's
article"); an article on the encoding's implementation in PyTorch, with a heat map and a t-SNE picture ("the article on
PyTorch"); and a lesson of a course by ApX Machine Learning, from 2025 ("the course")."""


def numbered(asked: str) -> tuple[int, Lesson]:
    """The lesson of a number or a name, with its number; ValueError where there is none."""
    for number, lesson in enumerate(LESSONS, 1):
        if asked in (str(number), lesson.name):
            return number, lesson
    names = [lesson.name for lesson in LESSONS]
    hint = did_you_mean(asked, names, f"there are 1 to {len(LESSONS)}, by number or by name")
    raise ValueError(f"there is no lesson {asked!r}: {hint}")
