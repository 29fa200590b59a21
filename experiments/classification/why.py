"""Why does structure cost accuracy on help pages: is it the data, the encoding, or the budget? 8 seeds, for 2 cores.

    python -m experiments.corpora.make help-modules
    posenc ablate experiments/classification/why.py

Data: the words of every page in a random order, in training too. If that costs nothing, no encoding of order can help.
Encoding: the parts of the structured sum alone, and the same sum of learned vectors, which start fifty times smaller
than sinusoids. Budget: three times as many steps.

Accuracy on validation pages from 0.740 (structured) to 0.819 (NoPE), 0.869 with three times the steps.
"""

import dataclasses

from experiments.classification.small import plain, with_pooling
from posenc_jax import Ablation, Run, parse

SEEDS = tuple(range(8))
base = dataclasses.replace(plain, seeds=SEEDS, model=with_pooling)


def cell(label: str, posenc: str, *, words: str = "never", steps: int = 400) -> Run:
    """The same run with another encoding, order of words, or budget."""
    data = dataclasses.replace(base.task.data, shuffle_words=words)
    return dataclasses.replace(
        base,
        label=label,
        posenc=parse(posenc),
        task=dataclasses.replace(base.task, data=data),
        training=dataclasses.replace(base.training, steps=steps),
    )


STRUCTURED = "sinusoidal|within_section|sinusoidal|section_index|learned"
# Tables of different sizes: equal encodings of a slot are one.
SMALL = "learned|within_section|learned(max_len=512)|section_index|learned(max_len=4, beyond='nan')"

config = Ablation(
    name="classification-why",
    title="Why does structure cost accuracy on help pages?",
    description="Help pages to their module, with token types and pooling by section, 8 seeds.",
    runs=(
        cell("nope", "nope"),
        cell("sinusoidal", "sinusoidal"),
        cell("structured", STRUCTURED),
        # Data.
        cell("sinusoidal, shuffled words", "sinusoidal", words="always"),
        # Encoding.
        cell("place in the section alone", "within_section|sinusoidal"),
        cell("section alone", "section_index|learned"),
        cell("structured, of small learned vectors", SMALL),
        # Budget.
        cell("nope, 1200 steps", "nope", steps=1200),
        cell("structured, 1200 steps", STRUCTURED, steps=1200),
    ),
    baseline="nope",
)
