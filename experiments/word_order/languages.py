"""What does position buy where the order of words differs? English to German, French and Japanese, for 2 cores.

    python -m experiments.corpora.make help-en-de help-en-fr help-en-ja
    posenc ablate experiments/word_order/languages.py

French keeps the order of English, German moves verbs, Japanese puts the verb last. The translators of
experiments/translation on sentences of up to 16 tokens, 4 seeds each, with sinusoidal, learned and relative positions
and with none; the differences to none are paired by seed. Equal settings are no equal tasks: compare cells within a
language, and those differences between languages.

Expected, written down before the run: every encoding is above none in every language; what the sinusoid adds to none is
least in French and most in Japanese.

Scores: chrF with none and with the sinusoid 36.4 and 40.4 (German), 47.7 and 52.8 (French), 37.2 and 38.1 (Japanese,
where no encoding is seen to add anything).
"""

import dataclasses

from experiments.translation.small import base
from posenc_jax import Ablation, Run
from posenc_jax.data.text import Data
from posenc_jax.encodings import Learned, Shaw, Sinusoidal

POSITIONS = {"none": (), "sinusoidal": (Sinusoidal(),), "learned": (Learned(),), "relative": (Shaw(),)}


def cell(language: str, label: str) -> Run:
    """One language with one kind of positions."""
    data = Data(name=f"own/help-en-{language}", vocab_size=base.task.data.vocab_size)
    return dataclasses.replace(
        base,
        table=f"help en-{language}",
        label=label,
        task=dataclasses.replace(base.task, data=data, target=language, max_length=16, row=32),
        posenc=POSITIONS[label],
        evaluation=dataclasses.replace(base.evaluation, lengths=(8, 16), decoded_examples=256),
        seeds=(0, 1, 2, 3),
    )


config = Ablation(
    name="languages",
    title="What does position buy where the order of words differs?",
    description="Help pages from English into three languages, trained on sentences of up to 16 tokens.",
    runs=tuple(cell(language, label) for language in ("de", "fr", "ja") for label in POSITIONS),
    baseline="none",
)
