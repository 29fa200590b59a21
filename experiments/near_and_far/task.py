"""A task that asks SmolLM2-135M for a place: the token n back in a long text, under changes of positions.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.corpora.make python-docs
    python -m experiments.near_and_far.task runs/smollm2 8192x2 16384x1 32768x1    # goes on where it stopped

A text is of blocks of 64 tokens: pages of the Python documentation, one behind the other, in which some blocks stand a
second time, n tokens later; n is 128, 256, ... up to half the text. Half of these pairs are passages of the pages, half
are words, of which none stands anywhere else in the text, so that the word before tells the word after it. Accuracy is
how often the most probable of all 49,152 tokens is the right one, from the eighth token of a block on. What a model
knows without the copy is its accuracy in the first block of a pair; of words it cannot know any.

A list has 8 words; the question names a place, from first to eighth, and the answer is among the 8. What was expected
is in `directions`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.stats

from experiments.context.texts import of_corpus
from experiments.near_and_far import directions
from experiments.near_and_far.directions import TASK
from experiments.records import short
from posenc_jax.analysis.near_and_far import predicted
from posenc_jax.context.prompts import WORDS
from posenc_jax.context.reading import Reader
from posenc_jax.encodings import Dims, RoPE
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.encodings.rotary.rope_scaling import NTK
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.models import Streams
from posenc_jax.models.layer_encodings import sequence_of
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import mean_interval
from posenc_jax.training.step import model_of

RECORD = Path(__file__).with_name("task.json")
BLOCK, KNOWN = 64, 8
"""Tokens of a block, and those at its beginning that are not asked: they tell which block it is."""
PAGES, PAGE, POOL = 48, 2048, 16384
LISTS = 32
DISTANCES = (128, 256, 512, 1024, 2048, 4096)
"""Those that texts of all lengths have."""
FACTS = ("distance", "words", "second")
"""What the record says of each pair: how far apart, whether of words, and where the second block begins."""
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
TRAINED = 8192


def slots(rope: RoPE) -> dict[str, Slot]:
    """The changes, each for 4 times the context."""
    return {
        "none": (rope,),
        "yarn": (dataclasses.replace(rope, scaling=YaRN(factor=4, original_length=TRAINED)),),
        "ntk": (dataclasses.replace(rope, scaling=NTK(4)),),
        "half": ((rope,), ()),
    }


class Text(NamedTuple):
    """Tokens ``[S]``, and of each pair of blocks the first and the second block, and whether it is of words."""

    tokens: np.ndarray
    pairs: np.ndarray
    words: np.ndarray


def laid_out(blocks: int, rng: np.random.Generator) -> np.ndarray:
    """``[P, 2]``, pairs of blocks 2, 4, ... blocks apart, as many of each distance, the largest first."""
    distances, count = [2**j for j in range(blocks.bit_length() - 2, 0, -1)], 2 * max(1, blocks // 40)
    while True:
        free, found = np.ones(blocks, bool), []
        for distance in distances:
            for _ in range(count):
                starts = np.flatnonzero(free[:-distance] & free[distance:])
                if len(starts):
                    first = int(rng.choice(starts))
                    free[[first, first + distance]] = False
                    found.append((first, first + distance))
        if len(found) == count * len(distances):
            return np.array(found)


@functools.lru_cache(1)
def pages(loaded: Loaded) -> list[np.ndarray]:
    """The pages that texts are made of, without the token that begins a text."""
    return [page[1:] for page in of_corpus(loaded.tokenizer, PAGE + 1, PAGES)]


@functools.lru_cache(1)
def pool(loaded: Loaded) -> np.ndarray:
    """The tokens that are a word of lower-case letters behind a space, those of few merges first."""
    pieces = ((token, loaded.tokenizer.decode([token])) for token in range(POOL))
    return np.array([token for token, own in pieces if own[:1] == " " and own[1:].isalpha() and own.islower()])


def text_of(loaded: Loaded, length: int, number: int) -> Text:
    """Text ``number`` of a length."""
    rng = np.random.default_rng([length, number])
    chosen = rng.choice(len(pages(loaded)), -(-length // PAGE), replace=False)
    blocks = np.concatenate([pages(loaded)[page] for page in chosen])[:length].reshape(-1, BLOCK)
    pairs = laid_out(len(blocks), rng)
    words = np.arange(len(pairs)) % 2 == 0
    drawn = rng.permutation(np.setdiff1d(pool(loaded), blocks))
    blocks[pairs[words, 0]] = drawn[: words.sum() * BLOCK].reshape(-1, BLOCK)
    blocks[pairs[:, 1]] = blocks[pairs[:, 0]]
    return Text(blocks.ravel(), pairs, words)


def accuracies(loaded: Loaded, slot: Slot, text: Text) -> np.ndarray:
    """``[P, 2]``, the accuracy in the first and the second block of each pair."""
    reader = Reader.of(loaded, slot, len(text.tokens))
    at = text.pairs.ravel()[:, None] * BLOCK + np.arange(KNOWN, BLOCK)

    @jax.jit
    def best(params: Any, tokens: Any, before: Any) -> Any:
        model, sequence = model_of(reader.run, params), sequence_of(tokens)
        call: dict[str, Any] = {"streams": Streams(), "train": False}
        layers = model.layer_encodings("decoder", sequence, sequence, causal=True, contiguous=True, **call)
        x, dropout = model.embed("decoder", sequence, **call)
        x = model.decoder(x, layers, dropout=dropout)[0][0, before]
        return jax.lax.map(lambda own: model.logits(own).argmax(-1), x)

    found = np.asarray(best(reader.params, text.tokens[None].astype(np.int32), at - 1))
    return (found == text.tokens[at]).mean(1).reshape(-1, 2)


def named(loaded: Loaded) -> list[float]:
    """Of each list, how many of its 8 words are named when they are asked for."""
    nouns = {word.partition("-")[2]: loaded.tokenizer.encode(" " + word.partition("-")[2]) for word in WORDS}
    words = {noun: own[0] for noun, own in nouns.items() if len(own) == 1}
    rng, found = np.random.default_rng(0), []
    read = jax.jit(lambda params, tokens: model_of(loaded.config, params)(tokens))
    for _ in range(LISTS):
        chosen = rng.choice(list(words), len(PLACES), replace=False).tolist()
        asked = [f"List: {', '.join(chosen)}.\nThe {name} word of the list is" for name in PLACES]
        tokens = [loaded.tokenizer.encode(text) for text in asked]
        padded = np.array([[*own, *[0] * (48 - len(own))] for own in tokens], np.int32)
        last = np.asarray(read(loaded.params, padded))[np.arange(len(asked)), [len(own) - 1 for own in tokens]]
        best = last[:, [words[word] for word in chosen]].argmax(1)
        found.append(float((best == np.arange(len(asked))).mean()))
    return found


def scores(
    found: dict[str, Any],
    name: str,
    length: int,
    *,
    words: bool = True,
    at: tuple[int, ...] = DISTANCES,
    beside: str = "none",
    within: range = range(2**30),
) -> np.ndarray:
    """``[P, 2]``, the accuracy of a change in the pairs of words or of passages at distances, with the second block in
    some places, in all texts of a length that were read under it and under another change.
    """
    own = [
        both
        for key, text in found["texts"].items()
        if key.split()[0] == str(length) and beside in text
        for both, distance, of_words, place in zip(text.get(name, ()), *(text[fact] for fact in FACTS))
        if distance in at and of_words == words and place in within
    ]
    return np.array(own).reshape(-1, 2)


def inversions(rope: RoPE, dims: Dims, lengths: Iterable[int]) -> dict[str, list[float]]:
    """The inversion that the frequencies of each change predict at lengths; of "half" the mean over layers."""
    found = {}
    for name, slot in slots(rope).items():
        turning = slot if name != "half" else slot[0]
        own = [predicted(turning[0].frequencies_for(dims), n, pairs=2**15).value for n in lengths]
        found[name] = own if name != "half" else [(share + 0.5) / 2 for share in own]
    return found


CONFIDENCE = directions.coverage(len(TASK))


def ranks(found: dict[str, Any]) -> tuple[float, tuple[float, float]]:
    """Minus the rank correlation of predicted inversion and accuracy, over changes and lengths, with its interval by
    Fisher's transformation (standard error 1.03 / sqrt(n - 3)).
    """
    both = [
        (share, own[:, 1].mean())
        for name, shares in found["predicted"].items()
        for length, share in zip(found["lengths"], shares)
        if len(own := scores(found, name, length))
    ]
    value = -scipy.stats.spearmanr(*zip(*both)).statistic
    half = scipy.stats.norm.ppf((1 + CONFIDENCE) / 2) * 1.03 / np.sqrt(len(both) - 3)
    return value, (float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half)))


def difference(found: dict[str, Any], number: str) -> tuple[float, tuple[float, float]] | None:
    """The difference of two means over pairs of words, with its interval: paired in the same texts, else Welch's."""
    if number == "near - far":
        a, b = (scores(found, "none", TRAINED, at=(distance,)) for distance in (DISTANCES[0], DISTANCES[-1]))
        paired = False
    else:
        (first, once), (second, twice) = (side.split() for side in number.split(" - "))
        paired = once == twice
        a = scores(found, first, TRAINED * int(once[:-1]), beside=second if paired else first)
        b = scores(found, second, TRAINED * int(twice[:-1]), beside=first if paired else second)
    if not len(a) or not len(b):
        return None
    a, b = a[:, 1], b[:, 1]
    test = scipy.stats.ttest_1samp(a - b, 0) if paired else scipy.stats.ttest_ind(a, b, equal_var=False)
    return float(a.mean() - b.mean()), test.confidence_interval(CONFIDENCE)


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each of `TASK` that was run."""
    rows = []
    for one in TASK:
        if one.number == "list":
            own = mean_interval([value - 1 / len(PLACES) for value in found["list"]], CONFIDENCE)
            got: Any = own.mean, (own.low, own.high)
        else:
            got = ranks(found) if one.number == "ranks" else difference(found, one.number)
        if got is not None:
            mean, (low, high) = got
            seen = directions.found_from(low, high, CONFIDENCE)
            if one.number == "ranks":  # which are normal after Fisher's transformation
                seen = float(np.tanh(directions.found_from(*np.arctanh([low, high]), CONFIDENCE)))
            rows.append(directions.judged(one, mean, low, high, seen))
    return rows


def main(run: str, *asked: str) -> None:
    """Measures what the record lacks, and keeps it."""
    loaded = load_run(run)
    (rope,) = loaded.config.posenc
    assert isinstance(rope, RoPE)
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {"note": loaded.config.note, "texts": {}}
    if "list" not in found:
        found["list"] = short(named(loaded))
    found["lengths"] = [TRAINED, 2 * TRAINED, 4 * TRAINED]
    found["predicted"] = short(inversions(rope, loaded.config.dims, found["lengths"]))
    for length, count in (map(int, one.split("x")) for one in asked):
        for number in range(count):
            text = text_of(loaded, length, number)
            kept = found["texts"].setdefault(f"{length} {number}", {})
            facts = (np.diff(text.pairs)[:, 0] * BLOCK, text.words, text.pairs[:, 1] * BLOCK)
            kept |= {fact: own.tolist() for fact, own in zip(FACTS, facts)}
            for name, slot in slots(rope).items():
                if name not in kept:
                    start = time.time()
                    kept[name] = short(accuracies(loaded, slot, text).tolist())
                    print(length, number, name, np.mean(kept[name], 0), f"{time.time() - start:.0f} s", flush=True)
                RECORD.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
