"""Inversion and alias of SmolLM2-135M's own queries and keys, by head and length.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.corpora.make python-docs
    python -m experiments.near_and_far.heads runs/smollm2     # some minutes a text; goes on where it stopped

Contents are those of pages of the Python documentation, as long as the context: for a length, queries drawn from the
second half of so many tokens, each with the key before it that it attends to most, without the first token, on which
attention rests. Both are then put at distances up to the length. What was expected is in `directions`, written down
before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.context import planes
from experiments.context.texts import of_corpus
from experiments.near_and_far import directions
from experiments.near_and_far.directions import HEADS
from experiments.records import short
from posenc_jax.analysis.near_and_far import HeadContents, alias, inversion, predicted
from posenc_jax.models import Streams
from posenc_jax.models.layer_encodings import sequence_of
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import detectable, mean_interval
from posenc_jax.training.step import model_of

RECORD = Path(__file__).with_name("heads.json")
TEXTS, LENGTHS, QUERIES = 4, (512, 1024, 2048, 4096, 8192), 128
WINDOW = 64
ERRORS = {"inversion": 0.01, "alias": 0.05}


def places(length: int) -> np.ndarray:
    """``[Q]``, of the queries."""
    return np.sort(np.random.default_rng(length).choice(np.arange(length // 2, length), QUERIES, replace=False))


def projected(loaded: Loaded, tokens: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each layer the queries at the places of all lengths ``[H, N Q, P]`` and all keys ``[Hkv, S, P]``, complex,
    before any rotation.
    """
    at = np.concatenate([places(length) for length in LENGTHS if length <= len(tokens)])

    @jax.jit
    def seen(params: Any, tokens: Any) -> Any:
        model, sequence = model_of(loaded.config, params), sequence_of(tokens)
        call: dict[str, Any] = {"streams": Streams(), "train": False}
        layers = model.layer_encodings("decoder", sequence, sequence, causal=True, contiguous=True, **call)
        x, dropout = model.embed("decoder", sequence, **call)
        _, keys_values, captured = model.decoder(x, layers, dropout=dropout)
        inputs = (captured["embeddings"], *(own["output"] for own in captured["layers"]))
        found = []
        for block, x, own in zip(model.decoder.blocks, inputs, keys_values):
            queries = block.self_attention.query(block.self_attention_norm(x[0, at]))
            found.append((queries.reshape(len(at), -1, own.keys.shape[-1]).swapaxes(0, 1), own.keys[0]))
        return found

    half = loaded.config.dims.head_dim // 2  # of this model, whose layout is "half"
    made = jax.tree.map(np.asarray, seen(loaded.params, tokens[None]))
    return [(q[..., :half] + 1j * q[..., half:], k[..., :half] + 1j * k[..., half:]) for q, k in made]


def contents(queries: np.ndarray, keys: np.ndarray, at: np.ndarray, frequencies: np.ndarray) -> HeadContents:
    """Queries of a head, its keys but the first, and the key that each query attends to most."""
    turned = [
        (x * np.exp(1j * np.outer(own, frequencies))).astype(np.complex64)
        for x, own in ((queries, at), (keys, np.arange(len(keys))))
    ]
    logits = (turned[0] @ turned[1].conj().T).real
    logits[np.arange(len(keys)) > at[:, None]] = -np.inf
    return HeadContents(queries, keys[1:], logits[:, 1:].argmax(1))


def measured(loaded: Loaded, tokens: np.ndarray) -> dict[str, Any]:
    """Shares of a text by layer, head and length, ``[L][H][N]``."""
    frequencies = loaded.config.posenc[0].frequencies_for(loaded.config.dims)
    found: dict[str, Any] = {name: [] for name in ERRORS}
    for queries, keys in projected(loaded, tokens):
        shares = np.zeros((2, len(queries), len(LENGTHS)))
        for head, q in enumerate(queries):
            k = keys[head * len(keys) // len(queries)]
            for number, n in enumerate(LENGTHS):
                own = contents(q[number * QUERIES :][:QUERIES], k[:n], places(n), frequencies)
                shares[0, head, number] = inversion(frequencies, n, own, error=ERRORS["inversion"]).value
                shares[1, head, number] = alias(frequencies, n, own, window=WINDOW, error=ERRORS["alias"]).value
        for name, values in zip(ERRORS, shares):
            found[name].append(values.tolist())
    return found


def positional() -> list[int]:
    """The numbers of the positional heads, as `experiments.context.planes` has them."""
    return planes.positional(json.loads(planes.RECORD.read_text())["weight"])


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each of `HEADS` with its mean over texts."""
    inversions, aliases = (np.array(found[name]).reshape(found["texts"], -1, len(LENGTHS)) for name in ERRORS)
    most = positional()
    others = np.setdiff1d(np.arange(inversions.shape[1]), most)
    numbers = {
        "rises": (inversions[..., -1] - inversions[..., 0]).mean(1),
        "above": inversions[..., -1].mean(1) - found["predicted"][-1][0],
        "positional": inversions[:, others, 0].mean(1) - inversions[:, most, 0].mean(1),
        "aliases": (aliases[..., -1] - aliases[..., 0]).mean(1),
    }
    confidence = directions.coverage(len(HEADS))
    rows = []
    for one in HEADS:
        own = mean_interval(numbers[one.number].tolist(), confidence)
        seen = detectable(own.deviation, own.n, confidence=confidence)
        rows.append(directions.judged(one, own.mean, own.low, own.high, seen))
    return rows


def main(run: str) -> None:
    """Measures what the record lacks, and keeps it."""
    loaded = load_run(run)
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {"texts": 0, **{name: [] for name in ERRORS}}
    frequencies = loaded.config.posenc[0].frequencies_for(loaded.config.dims)
    found |= {"note": loaded.config.note, "lengths": LENGTHS, "queries": QUERIES, "window": WINDOW, "errors": ERRORS}
    found["predicted"] = [predicted(frequencies, n, pairs=2**16) for n in LENGTHS]
    found["alias_of_normal"] = [alias(frequencies, n, window=WINDOW).value for n in LENGTHS]
    for tokens in of_corpus(loaded.tokenizer, LENGTHS[-1], TEXTS)[found["texts"] :]:
        for name, shares in measured(loaded, tokens).items():
            found[name].append(shares)
        found["texts"] += 1
        RECORD.write_text(json.dumps(short(json.loads(json.dumps(found)))) + "\n")
        print(f"text {found['texts']} of {TEXTS}", np.mean(found["inversion"][-1], (0, 1)), flush=True)
    for row in judged(found):
        print(row)


if __name__ == "__main__":
    main(*sys.argv[1:])
