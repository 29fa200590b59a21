"""A task that asks SmolLM2-135M for a place: the token n back, and the k-th word of a list, under changes of positions.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.near_and_far.task runs/smollm2 128 256 512          # goes on where it stopped
    python -m experiments.near_and_far.task runs/smollm2 8192 16384 32768    # 1x, 2x and 4x the context: hours

A sequence is n random words of 152, each a token, and the same words again: at every place of the second copy the word
n back is right. Accuracy is among the 152, without the first eighth of the copy. A list has 8 of the words; the
question names a place, from first to eighth, and the answer is among the 8. What was expected is in `directions`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.near_and_far.directions import TASK
from experiments.records import short
from posenc_jax.context.prompts import WORDS
from posenc_jax.context.reading import Reader
from posenc_jax.encodings import RoPE
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.encodings.rotary.rope_scaling import NTK
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import mean_interval
from posenc_jax.statistics.comparison import paired_comparison
from posenc_jax.training.step import model_of

RECORD = Path(__file__).with_name("task.json")
SEQUENCES, LISTS = 4, 4
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


def words_of(loaded: Loaded) -> dict[str, int]:
    """The second words of `WORDS` that are one token behind a space, with their tokens."""
    nouns = dict.fromkeys(word.partition("-")[2] for word in WORDS)
    tokens = {noun: loaded.tokenizer.encode(f" {noun}") for noun in nouns}
    return {noun: int(own[0]) for noun, own in tokens.items() if len(own) == 1}


def accuracies(loaded: Loaded, slot: Slot, length: int) -> list[float]:
    """Of each sequence of ``length`` tokens, how often the most probable word is the one n back."""
    reader, n = Reader.of(loaded, slot, length), (length - 1) // 2
    words = np.array(list(words_of(loaded).values()))
    read = jax.jit(lambda params, tokens: model_of(reader.run, params)(tokens)[0][:, words].argmax(-1))
    found = []
    for number in range(SEQUENCES):
        own = np.random.default_rng([length, number]).integers(len(words), size=n)
        tokens = np.array([[loaded.tokenizer.bos, *words[own], *words[own]]], np.int32)
        # The first words of the second copy have little before them that says that it is one.
        best = np.asarray(read(reader.params, tokens))[n + n // 8 : 2 * n]
        found.append(float((best == own[n // 8 :]).mean()))
    return found


def named(loaded: Loaded) -> list[float]:
    """Of each list, how many of its 8 words are named when they are asked for."""
    words, rng = words_of(loaded), np.random.default_rng(0)
    read = jax.jit(lambda params, tokens: model_of(loaded.config, params)(tokens)[0])
    found = []
    for _ in range(LISTS):
        chosen = rng.choice(list(words), 8, replace=False).tolist()
        right = 0
        for place, name in enumerate(PLACES):
            text = f"List: {', '.join(chosen)}.\nThe {name} word of the list is"
            tokens = [loaded.tokenizer.bos, *loaded.tokenizer.encode(text)]
            padded = np.zeros((1, 48), np.int32)
            padded[0, : len(tokens)] = tokens
            logits = np.asarray(read(loaded.params, padded))[len(tokens) - 1]
            right += int(logits[[words[word] for word in chosen]].argmax()) == place
        found.append(right / 8)
    return found


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each of `TASK` with its mean over sequences, the interval and a word."""
    shortest, longest = (str(found["lengths"][place]) for place in (0, -1))
    accuracy, rows = found["accuracy"], []
    for one in TASK:
        if one.number == "list":
            got = mean_interval([value - 1 / 8 for value in found["list"]])
            mean, low, high = got.mean, got.low, got.high
        else:
            name = one.number.split()[-1]
            second = accuracy["none"][longest] if one.number == "falls none" else accuracy[name][shortest]
            mean, low, high = paired_comparison(accuracy["none"][shortest], second, -1.0, 1.0)[:3]
        word = "no difference seen" if low <= 0 <= high else "as expected" if low > 0 else "the other way"
        rows.append({**one._asdict(), "mean": mean, "low": low, "high": high, "word": word})
    return rows


def main(run: str, *lengths: str) -> None:
    """Measures what the record lacks, and keeps it."""
    loaded = load_run(run)
    (rope,) = loaded.config.posenc
    assert isinstance(rope, RoPE)
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {"note": loaded.config.note, "accuracy": {}}
    found["lengths"] = sorted({*map(int, lengths), *found.get("lengths", ())})
    found.setdefault("list", named(loaded))
    for length in map(int, lengths):
        for name, slot in slots(rope).items():
            own = found["accuracy"].setdefault(name, {})
            if str(length) not in own:
                own[str(length)] = short(accuracies(loaded, slot, length))
                print(name, length, own[str(length)], flush=True)
                RECORD.write_text(json.dumps(found) + "\n")
    for row in judged(found):
        print(row)


if __name__ == "__main__":
    main(*sys.argv[1:])
