"""Inversion and alias of SmolLM2-135M's own queries and keys, by head and length.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.near_and_far.heads runs/smollm2     # some minutes

Contents are those of 3 pages of the Python documentation, 256 tokens each: a query, and the key that it attends to
most, without the first token, on which attention rests. Both are then put at distances up to a length. What was
expected is in `directions`, written down before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.context.planes import FROM, reader
from experiments.context.texts import of_corpus
from experiments.near_and_far.directions import HEADS
from experiments.records import short
from posenc_jax.analysis.near_and_far import HeadContents, alias, inversion, predicted
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import mean_interval

RECORD = Path(__file__).with_name("heads.json")
PLANES = Path(__file__).parent.parent / "context" / "planes.json"
TEXTS, LENGTH, LENGTHS = 3, 256, (512, 2048, 8192)
WINDOW = 64
ERRORS = {"inversion": 0.01, "alias": 0.025}


def contents(head: Any) -> HeadContents:
    """Queries of a head, its keys but the first, and the key that each query attends to most."""
    return HeadContents(head.queries, head.keys[1:], head.weights[:, 1:].argmax(1))


def measured(loaded: Loaded, texts: list[np.ndarray]) -> dict[str, Any]:
    """Shares by text, layer, head and length, ``[T][L][H][N]``, and what frequencies predict, ``[N]``."""
    frequencies = loaded.config.posenc[0].frequencies_for(loaded.config.dims)
    found: dict[str, Any] = {"inversion": [], "alias": []}
    for number, tokens in enumerate(texts):
        layers = [[contents(head) for head in of_layer] for of_layer in reader(loaded)(tokens)]
        found["inversion"].append(
            [
                [[inversion(frequencies, n, own, error=ERRORS["inversion"]).value for n in LENGTHS] for own in layer]
                for layer in layers
            ]
        )
        found["alias"].append(
            [
                [
                    [alias(frequencies, n, own, window=WINDOW, error=ERRORS["alias"]).value for n in LENGTHS]
                    for own in of
                ]
                for of in layers
            ]
        )
        print(f"text {number + 1} of {len(texts)}", np.mean(found["inversion"][-1], (0, 1)), flush=True)
    expected = [predicted(frequencies, n, pairs=2**16) for n in LENGTHS]
    of_normal = [alias(frequencies, n, window=WINDOW).value for n in LENGTHS]
    sizes = {"texts": len(texts), "tokens": LENGTH, "from": FROM, "window": WINDOW, "errors": ERRORS}
    more = {"note": loaded.config.note, "lengths": LENGTHS, "predicted": expected, "alias_of_normal": of_normal}
    return short(json.loads(json.dumps({**more, **sizes, **found})))


def positional() -> list[int]:
    """The numbers of the positional heads, as `experiments.context.planes` has them."""
    from experiments.context.planes import positional as most

    return most(json.loads(PLANES.read_text())["weight"])


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each of `HEADS` with its mean over texts, the interval and a word."""
    inversions, aliases = (np.array(found[name]).reshape(found["texts"], -1, len(LENGTHS)) for name in ERRORS)
    most = positional()
    others = np.setdiff1d(np.arange(inversions.shape[1]), most)
    numbers = {
        "rises": (inversions[..., -1] - inversions[..., 0]).mean(1),
        "above": inversions[..., -1].mean(1) - found["predicted"][-1][0],
        "positional": inversions[:, others, 0].mean(1) - inversions[:, most, 0].mean(1),
        "aliases": (aliases[..., -1] - aliases[..., 0]).mean(1),
    }
    rows = []
    for one in HEADS:
        own = mean_interval(numbers[one.number].tolist())
        word = "no difference seen" if own.low <= 0 <= own.high else "as expected" if own.low > 0 else "the other way"
        rows.append({**one._asdict(), "mean": own.mean, "low": own.low, "high": own.high, "word": word})
    return rows


def main(run: str) -> None:
    """Measures, and keeps the record."""
    loaded = load_run(run)
    found = measured(loaded, of_corpus(loaded.tokenizer, LENGTH, TEXTS))
    RECORD.write_text(json.dumps(found) + "\n")
    for row in judged(found):
        print(row)


if __name__ == "__main__":
    main(*sys.argv[1:])
