"""A recurrent network reads in order, so it needs no positions: a GRU on two tasks of word order.

    python -m experiments.word_order.recurrent [--json experiments/word_order/recurrent.json]

It prints how far an untrained GRU tells "john loves mary" from "mary loves john", then trains one on `Earlier` (in both
directions, as an encoder reads) and one on `Agreement` (in one, as a decoder reads), with the tasks, batches, steps,
rates and seeds of bands.py and near_far.py, and prints their scores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from experiments.records import short
from experiments.word_order.bands import config as bands
from experiments.word_order.near_far import config as near_far
from posenc_jax import Run
from posenc_jax.data.scoring import correct_tokens, smoothed_loss
from posenc_jax.training.optimizer import schedule


class Reader(nnx.Module):
    """Embeddings, a GRU, in both directions if asked, and a linear layer: ``[B, S]`` tokens to ``[B, S, C]``."""

    def __init__(self, vocab_size: int, num_classes: int, width: int, *, both: bool, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(vocab_size, width, rngs=rngs)
        readers = [nnx.RNN(nnx.GRUCell(width, width, rngs=rngs), rngs=rngs) for _ in range(1 + both)]
        self.recurrent = nnx.Bidirectional(*readers, rngs=rngs) if both else readers[0]
        self.out = nnx.Linear(width * (1 + both), num_classes, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        """Logits at every position."""
        return self.out(self.recurrent(self.embed(tokens)))


def untrained(key: jax.Array) -> float:
    """The largest difference between the two sentences of what is said of a word, in standard deviations."""
    model = Reader(3, 16, 16, both=True, rngs=nnx.Rngs(key))
    john, loves, mary = range(3)
    said = np.asarray(model(jnp.array([[john, loves, mary], [mary, loves, john]])))
    return float(np.abs(said[0] - said[1][::-1]).max() / said.std())


def trained(run: Run, seed: int) -> dict[str, Any]:
    """Scores of one GRU, trained on the draws of ``seed``, by evaluated length."""
    task, steps, rate = run.task, run.training.steps, run.learning_rates[0]
    model_key, train_key, test_key = jax.random.split(jax.random.key(seed), 3)
    both = task.model_kind == "encoder_only"
    width = run.model.d_model
    model = Reader(task.vocab_size, task.num_classes, width, both=both, rngs=nnx.Rngs(model_key))
    graph, params = nnx.split(model, nnx.Param, ...)[0], nnx.state(model, nnx.Param)
    rest = nnx.state(model, nnx.Not(nnx.Param))
    factor = schedule(run.optimizer, steps)
    optimizer = optax.chain(
        optax.clip_by_global_norm(run.optimizer.clip_norm), optax.adam(lambda count: rate * factor(count))
    )

    def logits_of(params: Any, tokens: jax.Array) -> jax.Array:
        return nnx.merge(graph, params, rest)(tokens)

    def loss(params: Any, example: Any) -> jax.Array:
        return smoothed_loss(logits_of(params, example.inputs), example, 0.0) / jnp.sum(example.weights)

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
        logits = logits_of(params, example.inputs)
        right = jnp.all(correct_tokens(logits, example.targets) | (example.weights == 0), axis=1)
        return jnp.mean(right), task.extra_sums(logits, example)

    found = {}
    for length in run.evaluation.lengths:
        exact, sums = jax.tree.map(np.asarray, scored(jnp.int32(length)))
        found[str(length)] = task.results({"exact_match": float(exact), **sums})
    return found


def main(arguments: list[str] | None = None) -> None:
    """Trains, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--json", type=Path, help="a file for the scores of all seeds")
    given = parser.parse_args(arguments)
    difference = untrained(jax.random.key(0))
    print(f"untrained, john loves mary / mary loves john: {difference:.2f} standard deviations")
    record: dict[str, Any] = {"untrained": difference, "jax": jax.__version__, "trained": {}}
    for run in (next(run for run in bands.runs if run.label == "none"), near_far.runs[0]):
        seeds = {str(seed): trained(run, seed) for seed in run.seeds}
        record["trained"][run.task.name] = seeds
        for length in map(str, run.evaluation.lengths):
            for score in seeds[str(run.seeds[0])][length]:
                values = [of_seed[length][score] for of_seed in seeds.values()]
                print(f"{run.task.name} at {length}: {score} {np.mean(values):.3f} (from {min(values):.3f})")
    if given.json:
        given.json.write_text(json.dumps(short(record), indent=1) + "\n")


if __name__ == "__main__":
    main()
