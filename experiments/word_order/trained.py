"""Do trained translators tell a sentence from the same words with two of them swapped?

    python -m experiments.word_order.trained runs/translation

For every cell of an ablation (its first seed): what the encoder hands to the decoder for each word, between the two
sentences; and what the decoder writes. Writes trained.json beside this file, and from it its part of the README.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.cli.errors import guarded
from posenc_jax.cli.session import prepare_jax
from posenc_jax.data.tokenizer import EOS
from posenc_jax.drawing.markdown import escaped, grid, refilled
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.checksums import unseal
from posenc_jax.runs.directory import group_directories
from posenc_jax.runs.environment import environment
from posenc_jax.runs.files import read_json
from posenc_jax.runs.inference import Loaded, load_run, translate
from posenc_jax.training.step import model_of

HERE = Path(__file__).parent
README, RECORD = HERE / "README.md", HERE / "trained.json"
BEGIN, END = "<!-- Trained: written by trained.py -->", "<!-- end of trained -->"
PAIRS = (
    ("John loves Mary", "Mary loves John", (2, 1, 0)),
    ("The cat sat on the mat", "The mat sat on the cat", (0, 5, 2, 3, 4, 1)),
)

Json = dict[str, Any]


def difference(loaded: Loaded, first: str, second: str, order: tuple[int, ...]) -> float:
    """The largest difference of a word's values between the sentences, in standard deviations of the values.

    ``order``: where in the first sentence each word of the second stands.
    """
    words = [[loaded.tokenizer.encode(word) for word in sentence.split()] for sentence in (first, second)]
    rows = [[*(token for word in sentence for token in word), EOS] for sentence in words]
    model = model_of(loaded.config, loaded.params)
    memory = jax.jit(lambda tokens: model.encode(tokens).keys_values[0].values)(jnp.asarray(rows))
    one, other = np.moveaxis(np.asarray(memory), 2, 1).reshape(2, len(rows[0]), -1)
    starts = np.cumsum([0, *map(len, words[0])])
    places = [place for word in order for place in range(starts[word], starts[word + 1])]
    return float(np.abs(one[places] - other[:-1]).max() / one.std())


def measured(ablation: Path) -> Json:
    """Each cell's differences and translations, and what trained it."""
    cells = {}
    for cell in read_json(ablation / "ablation.json")["cells"]:
        directory = ablation / cell["directory"]
        loaded = load_run(directory)
        began = unseal((group_directories(directory)[0] / "environment.json").read_bytes())["began"]
        cells[cell["label"]] = {
            "trained by": began["commit"],
            "pairs": [
                {
                    "sentences": [first, second],
                    "difference": float(f"{difference(loaded, first, second, order):.3g}"),
                    "translations": [output.text for output in translate(loaded, [first, second])],
                }
                for first, second, order in PAIRS
            ],
        }
    return {"environment": environment(), "cells": cells}


def page(found: Json) -> str:
    """The part of the README."""
    rows = [
        [
            label,
            *pair["sentences"],
            f"{pair['difference']:.2g}",
            " / ".join(map(escaped, pair["translations"])),
        ]
        for label, cell in found["cells"].items()
        for pair in cell["pairs"]
    ]
    return grid(["encoding", "sentence", "with two words swapped", "largest difference", "translations"], "lllrl", rows)


def main(arguments: list[str] | None = None) -> int:
    """Measures, and writes both files."""
    (ablation,) = sys.argv[1:] if arguments is None else arguments
    prepare_jax()
    found = measured(Path(ablation).absolute())
    write_atomically(RECORD, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    write_atomically(README, refilled(README.read_text(), BEGIN, page(found), END))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
