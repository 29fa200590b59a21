"""A recurrent network reads in order, so it needs no positions: a GRU on two tasks of word order.

    python -m experiments.word_order.recurrent

It asks how far an untrained GRU tells "john loves mary" from "mary loves john", then trains one on `Earlier` (in both
directions, as an encoder reads) and one on `Agreement` (in one, as a decoder reads), with the tasks, batches, steps and
rates of bands.py and near_far.py and seeds of the same numbers, whose draws are its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from experiments.records import short
from experiments.word_order.bands import config as bands
from experiments.word_order.near_far import config as near_far
from posenc_jax import Run
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.data.scoring import correct_tokens, smoothed_loss
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.training.optimizer import schedule

RECORD = Path(__file__).with_name("recurrent.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- Recurrent: written by recurrent.py -->", "<!-- end of recurrent -->"


def gru(key: jax.Array, width: int) -> dict[str, jax.Array]:
    """Parameters of a GRU: ``inner [C, 3C]`` of its input, ``outer [C, 3C]`` of its state, ``bias [3C]``."""
    of_input, of_state = jax.random.normal(key, (2, width, 3 * width)) / width**0.5
    return {"inner": of_input, "outer": of_state, "bias": jnp.zeros(3 * width)}


def states(params: dict[str, jax.Array], x: jax.Array, *, reverse: bool) -> jax.Array:
    """``[B, S, C]`` states of a GRU (Cho et al. 2014) that reads ``x [B, S, C]``, from the end if ``reverse``::

    z, r = sigmoid(x W_zr + h U_zr),    n = tanh(x W_n + (r h) U_n),    h' = z h + (1 - z) n
    """
    width = x.shape[-1]

    def step(h: jax.Array, given: jax.Array) -> tuple[jax.Array, jax.Array]:
        gates = jax.nn.sigmoid(given[:, : 2 * width] + h @ params["outer"][:, : 2 * width])
        z, r = jnp.split(gates, 2, axis=-1)
        h = z * h + (1 - z) * jnp.tanh(given[:, 2 * width :] + (r * h) @ params["outer"][:, 2 * width :])
        return h, h

    given = jnp.swapaxes(x @ params["inner"] + params["bias"], 0, 1)
    return jnp.swapaxes(jax.lax.scan(step, jnp.zeros_like(x[:, 0]), given, reverse=reverse)[1], 0, 1)


def reader(key: jax.Array, vocab_size: int, num_classes: int, width: int, *, both: bool) -> dict[str, Any]:
    """Parameters of embeddings, of a GRU for each direction, and of a linear layer."""
    embed, out, *directions = jax.random.split(key, 3 + both)
    return {
        "embed": jax.random.normal(embed, (vocab_size, width)),
        "directions": [gru(own, width) for own in directions],
        "out": jax.random.normal(out, (width * (1 + both), num_classes)) / width**0.5,
    }


def read(params: dict[str, Any], tokens: jax.Array) -> jax.Array:
    """``[B, S, C]`` logits at every position of ``tokens [B, S]``."""
    x = params["embed"][tokens]
    both = [states(own, x, reverse=bool(index)) for index, own in enumerate(params["directions"])]
    return jnp.concatenate(both, axis=-1) @ params["out"]


def untrained(key: jax.Array) -> float:
    """The largest difference between the two sentences of what is said of a word, in standard deviations."""
    john, loves, mary = range(3)
    said = np.asarray(read(reader(key, 3, 16, 16, both=True), jnp.array([[john, loves, mary], [mary, loves, john]])))
    return float(np.abs(said[0] - said[1][::-1]).max() / said.std())


def trained(run: Run, seed: int) -> dict[str, Any]:
    """Scores of one GRU, trained on the draws of ``seed``, by evaluated length."""
    task, steps, rate = run.task, run.training.steps, run.learning_rates[0]
    model_key, train_key, test_key = jax.random.split(jax.random.key(seed), 3)
    both = task.model_kind == "encoder_only"
    params = reader(model_key, task.vocab_size, task.num_classes, run.model.d_model, both=both)
    factor = schedule(run.optimizer, steps)
    optimizer = optax.chain(
        optax.clip_by_global_norm(run.optimizer.clip_norm), optax.adam(lambda count: rate * factor(count))
    )

    def loss(params: Any, example: Any) -> jax.Array:
        return smoothed_loss(read(params, example.inputs), example, 0.0) / jnp.sum(example.weights)

    def step(carry: Any, number: jax.Array) -> tuple[Any, None]:
        params, state = carry
        key = jax.random.fold_in(train_key, number)
        example = task.train_batch(None, None, key, run.training.batch_size)
        updates, state = optimizer.update(jax.grad(loss)(params, example), state, params)
        return (optax.apply_updates(params, updates), state), None

    params = jax.jit(lambda p: jax.lax.scan(step, (p, optimizer.init(p)), jnp.arange(steps))[0][0])(params)

    @jax.jit
    def scored(length: jax.Array) -> tuple[jax.Array, Any]:
        numbers = jnp.arange(run.evaluation.num_examples)
        example = task.test_batch(None, test_key, length, numbers, max(run.evaluation.lengths))
        logits = read(params, example.inputs)
        right = jnp.all(correct_tokens(logits, example.targets) | (example.weights == 0), axis=1)
        return jnp.mean(right), task.extra_sums(logits, example)

    found = {}
    for length in run.evaluation.lengths:
        exact, sums = jax.tree.map(np.asarray, scored(jnp.int32(length)))
        found[str(length)] = task.results({"exact_match": float(exact), **sums})
    return found


def page(record: dict[str, Any]) -> str:
    """The table of the page."""
    rows = []
    for task, seeds in record["trained"].items():
        for length, scores in next(iter(seeds.values())).items():
            for score in scores:
                values = [of_seed[length][score] for of_seed in seeds.values()]
                rows.append([task, length, kind_of(score).title, f"{np.mean(values):.3f}", f"{min(values):.3f}"])
    return grid(["task", "length", "score", "mean", "least of the seeds"], "lrlrr", rows)


def main() -> None:
    """Trains, prints, keeps, and writes the table of the page."""
    difference = untrained(jax.random.key(0))
    print(f"untrained, john loves mary / mary loves john: {difference:.2f} standard deviations")
    record: dict[str, Any] = {"untrained": difference, "jax": jax.__version__, "trained": {}}
    for run in (next(run for run in bands.runs if run.label == "none"), near_far.runs[0]):
        seeds = {str(seed): trained(run, seed) for seed in run.seeds}
        record["trained"][run.task.name] = seeds
    print(page(record))
    RECORD.write_text(json.dumps(short(record), indent=1) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(record), END))


if __name__ == "__main__":
    main()
