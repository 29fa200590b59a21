"""Tiny finished runs on real-text tasks, over synthetic corpora that need no network; each test works on a copy."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import session

from posenc_jax.config import Evaluation, Execution, Run, Training
from posenc_jax.data.corpora.corpus import Rows
from posenc_jax.data.corpora.store import add
from posenc_jax.data.text import Classification, Data, Summarization, Translation
from posenc_jax.encodings import LogScaling, Sinusoidal
from posenc_jax.models.config import Transformer
from posenc_jax.runs.cell import run
from posenc_jax.runs.reporter import Reporter

WORDS = ("red", "sun", "owl", "ice")
LABELS = ("bird", "star")
LOUD = {word: (word[0] * (i + 1)).upper() for i, word in enumerate(WORDS)}
"""What a first word is translated to and summarised as: outputs of several lengths."""


def texts(count: int, longest: int, start: int) -> list[str]:
    """Different texts of 1 to ``longest`` of `WORDS`."""
    return [
        " ".join(WORDS[(number * (i + 3) + i * i) % len(WORDS)] for i in range(1 + number % longest))
        for number in range(start, start + count)
    ]


def splits(make) -> Rows:
    """96 training and 16 validation and test rows each, of ``make(text)``; one test row is long."""
    parts = {"train": texts(96, 3, 0), "validation": texts(16, 3, 96), "test": [*texts(15, 3, 112), *texts(1, 12, 23)]}
    return {
        split: [{**make(text), "doc": f"{split}{i}"} for i, text in enumerate(part)] for split, part in parts.items()
    }


def letters(train: int, held_out: int) -> Rows:
    """So many rows each of 80 letters, drawn from six: the tokenizer of a tiny checkpoint has them."""
    rng = np.random.default_rng(0)
    return {
        split: [{"text": "".join(rng.choice(list("abcdef"), 80)), "doc": f"{split}{i}"} for i in range(count)]
        for split, count in (("train", train), ("validation", held_out), ("test", held_out))
    }


ROWS = {
    "translation": splits(lambda text: {"en": text, "de": LOUD[text.split()[0]]}),
    "summarization": splits(lambda text: {"document": text, "summary": LOUD[text.split()[0]]}),
    "classification": splits(
        lambda text: {
            "header": text.split()[0],
            "body": text,
            "footer": "end" if len(text) % 2 else "",
            "label": LABELS[text[0] in "rs"],
        }
    ),
}
_BYTES = {"tokenizer": "bytes"}
TASKS = {
    "translation": Translation(data=Data(name="own/help-en-de", **_BYTES), max_length=12, row=32, batching="plain"),
    "summarization": Summarization(
        data=Data(name="own/descriptions-summaries", **_BYTES), max_length=12, max_summary=6, row=32
    ),
    "classification": Classification(
        data=Data(name="own/help-modules", **_BYTES), max_length=20, row=20, batching="plain", labels=LABELS
    ),
}
MODEL = Transformer(d_model=16, num_layers=1, num_heads=2)
CONFIGS = {
    kind: Run(
        task=task,
        model=dataclasses.replace(MODEL, pooling="mean", token_types=4) if kind == "classification" else MODEL,
        # The second sees how long a text is, and so how much room it is given.
        posenc=(Sinusoidal(), LogScaling(8, count="length")),
        training=Training(steps=60, batch_size=16, steps_per_call=20, log_every=20, validation_batches=1),
        evaluation=Evaluation(
            lengths=(12, 47),
            num_examples=16,
            decoded_examples=16 if task.writes_text else 0,
        ),
        execution=Execution(mode="map", group_size=2),
        seeds=(0, 1),
        learning_rates=(2e-2,),
    )
    for kind, task in TASKS.items()
}
"""The config of each run, by the name of its task."""


@contextlib.contextmanager
def small_corpus(name: str, rows: Rows, directory: Path) -> Iterator[Path]:
    """The corpus ``name`` with these rows, in ``directory``; POSENC_DATA says so."""
    columns = tuple(rows["test"][0])
    kind = "classification" if "label" in columns else "text" if "text" in columns else "pairs"
    facts = {"kind": kind, "licence": "CC0", "sources": {}}
    with mock.patch.dict(os.environ, {"POSENC_DATA": str(directory)}):
        yield add(name, rows, columns, facts, rebuild=True, note=lambda text: None)


@functools.cache
def trained(kind: str) -> Path:
    """The directory of the run `CONFIGS` of this kind, trained and measured once. Change a copy."""
    config = CONFIGS[kind]

    def make(place: Path) -> None:
        with small_corpus(config.task.data.name, ROWS[kind], place.with_name(f"{kind}-data")):
            run(config, place, reporter=Reporter())

    return session.made_once(kind, make)
