"""The gain of a classifier of documents from positions and structure, by committed results."""

from posenc_jax.data.documents import document_parts
from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

NOTE = "# Method\nWe count. Twice.\n## Details\nBy hand."


def _body() -> str:
    parts = [(*part.coordinates, part.section, part.text) for part in document_parts(NOTE, "markdown", "note.md")]
    return f"""\
The first command needs network access to Debian's packages, the second the folder of the repository. The model is an
encoder; token types are what the chapter calls segment embeddings, and attention pools each section separately. (The
chapter's own class attends over an axis of length 1:
[how to find out](file:scripts/docs/guides/does-it-reach-your-model.md).)

## Positions in a structure
Positions in a document can be counted in more than one way. Every sentence of this library's documents gets four
numbers, each counted from 1 within the unit around it; 0 means before the first one, so a heading is paragraph 0:

{table(["section", "subsection", "paragraph", "sentence", "section's name", "text"], parts)}

`--posenc "sinusoidal_axes(axes=4)"` uses them as positions; `--model.mask own_section` lets a token see its own section
and all headings. [The guide](file:scripts/docs/guides/documents.md) has both, with any number of sections.

## What they are worth
The task is to name the module that a help page belongs to (9 classes, 2,094 training pages). Accuracy on pages that
were not in training, mean over 4 seeds [95 % interval]:

{quoted.tables()["documents"]}

The fewer positions the embeddings carry, the better; token types change nothing, and the sum of three position vectors
comes last. [The experiment](file:experiments/classification/README.md) asks why: small learned vectors instead of
sinusoids cost hardly anything, and longer training perhaps closes most of the gap; structure itself was
not seen to do harm."""


def _answer() -> str:
    return """\
That the task is a question about words: which words a page has decides, whatever their order. It cannot show what an
encoding is worth. A corpus in which the place of words decides can, such as papers whose abstract names one subject and
whose appendix has words of another. `posenc data add` makes a corpus from your own files; the guide above has the
commands."""


LESSON = Lesson(
    name="documents",
    title="Documents",
    where="The chapter, 4.3.7: document processing",
    claim="A classifier gains from positions, and from positions within header, body and footer.",
    verdict="refuted",
    because=f"No gain was seen on help pages: accuracy is {quoted.mean('documents', 'nope', 1)} without positions, "
    f"{quoted.mean('documents', 'sinusoidal', 1)} with sinusoids, "
    f"{quoted.mean('documents', 'structured, token types, pooling by section', 1)} with structured ones.",
    commands="""
posenc data prepare help/modules
posenc ablate experiments/classification/small.py --directory runs/documents
posenc classify runs/documents/help-modules-rope-* page.txt
""",
    body=_body,
    question="A linear model that counts words does as well on these pages as the best of the networks. What does that "
    "say?",
    answer=_answer,
    seconds=2,
)
