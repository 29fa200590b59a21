"""Training steps of this package, as an ablation runs them."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.sizes import VOCAB
from posenc_jax.config import Execution, Run, Training
from posenc_jax.data.tasks.base import Example, Task
from posenc_jax.model_kind import ModelKind
from posenc_jax.models.config import Transformer
from posenc_jax.training.replicas import Program, make_mesh, put_state, stack
from posenc_jax.training.step import init_params, init_state, train_call


@dataclasses.dataclass(frozen=True)
class RandomTokens(Task):
    """Uniform tokens: the next one cannot be known, only the time counts."""

    tokens: int
    kind: ModelKind = "decoder_only"
    vocabulary: int = VOCAB
    name = "random_tokens"
    paper = citation = ""

    @property
    def vocab_size(self):
        return self.vocabulary

    @property
    def num_classes(self):
        return self.vocabulary

    @property
    def model_kind(self):
        return self.kind

    @property
    def train_lengths(self):
        return (self.tokens,)

    def width(self, max_length):
        return max_length

    def decoder_width(self, max_length):
        return max_length if self.kind == "encoder_decoder" else 0

    def example(self, key, length, max_length, split="test"):
        tokens = jax.random.randint(key, (max_length + 1,), 0, self.vocabulary)
        ones = jnp.ones(max_length, jnp.float32)
        segments = ones.astype(jnp.int32)
        if self.kind == "decoder_only":
            return Example(tokens[:-1], tokens[1:], ones, length, segments)
        source = jax.random.randint(jax.random.fold_in(key, 1), (max_length,), 0, self.vocabulary)
        return Example(source, tokens[1:], ones, length, segments, decoder_inputs=tokens[:-1], decoder_length=length)


def config(size: dict[str, Any], mode: str, replicas: int) -> Run:
    """A run on random tokens of one length."""
    return Run(
        task=RandomTokens(size["tokens"], size["kind"]),
        model=Transformer(d_model=size["d_model"], num_layers=size["num_layers"], num_heads=size["num_heads"]),
        training=Training(
            steps=10_000 * size["steps"],
            batch_size=size["batch"],
            microbatches=size["microbatches"],
            steps_per_call=size["steps"],
            log_every=size["steps"],
        ),
        execution=Execution(mode=mode, group_size=replicas),
        seeds=tuple(range(replicas)),
        learning_rates=(1e-3,),
    )


def prepared(run: Run) -> tuple[Program, Any]:
    """A compiled training call of several steps, and the state of its replicas."""
    mesh = make_mesh(run.execution, len(run.seeds))
    state = put_state(stack([init_state(run, init_params(run, s), s, run.learning_rates[0]) for s in run.seeds]), mesh)
    program = Program(
        "train",
        lambda state, fed, data: train_call(run, None, state, fed, data),
        run.execution,
        mesh,
        state,
        None,
        donate=True,
    )
    return program, state


@contextlib.contextmanager
def plain_gradients(*modules: ModuleType) -> Iterator[None]:
    """Modules of models that are traced inside take JAX's own gradients, as they do on other devices than CPUs."""
    used = [module.backend for module in modules]
    for module in modules:
        module.backend = lambda: "gpu"
    try:
        yield
    finally:
        for module, backend in zip(modules, used, strict=True):
            module.backend = backend


def milliseconds(size: dict[str, Any], mode: str, replicas: int) -> Iterator[float]:
    """The seconds to the first step, compilation included; then each call's milliseconds per step and replica."""
    begun = time.perf_counter()
    program, state = prepared(config(size, mode, replicas))
    state, metrics = program(state, None)
    np.asarray(metrics["loss"])
    yield time.perf_counter() - begun
    while True:
        begun = time.perf_counter()
        state, metrics = program(state, None)
        np.asarray(metrics["loss"])
        yield (time.perf_counter() - begun) * 1e3 / size["steps"] / replicas
