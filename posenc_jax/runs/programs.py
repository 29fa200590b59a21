"""The programs of one config, compiled when they are first asked for and shared by its groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from posenc_jax.config import Run
from posenc_jax.runs.directory import Group
from posenc_jax.runs.supply import Supply
from posenc_jax.runs.timing import keep
from posenc_jax.training.batches import Bucket
from posenc_jax.training.generation import decode_chunk
from posenc_jax.training.replicas import Program, make_mesh
from posenc_jax.training.step import evaluate_length, train_call, validate


class Programs:
    """Programs by what they do and the size of the group; what compiling took goes to the group's ``timing.jsonl``."""

    def __init__(self, config: Run, supply: Supply) -> None:
        self._config, self._supply = config, supply
        self._compiled: dict[Any, Program] = {}

    def train(self, group: Group, state: Any, fed: Any) -> Program:
        """A call of training, one program for each shape of what it is fed; ``shared``: the arrays of the data."""
        mesh = self._mesh(group)
        split, data = self._split(mesh), self._supply.arrays(mesh)
        name = "train" if fed is None else f"train@{jax.tree.leaves(fed)[0].shape[2]}"

        def call(state: Any, fed: Any, data: Any) -> Any:
            return train_call(self._config, split, state, fed, data)

        return self._program(group, name, call, state, data, fed=fed, donate=True)

    def validate(self, group: Group, replicas: Any) -> Program:
        """A validation of parameters and seeds; ``shared``: the arrays of the data."""
        mesh = self._mesh(group)
        split, data = self._split(mesh), self._supply.arrays(mesh)

        def scores(replica: Any, _: None, data: Any) -> Any:
            return validate(self._config, replica["params"], replica["seed"], data, split)

        return self._program(group, "validate", scores, replicas, data)

    def evaluate(self, group: Group, bucket: Bucket, replicas: Any) -> Program:
        """The evaluation at a length of a bucket; ``shared``: (length, the arrays of the data)."""
        mesh = self._mesh(group)
        split, shared = self._split(mesh), (np.int32(bucket.lengths[0]), self._supply.arrays(mesh))

        def scores(replica: Any, _: None, shared: tuple[Any, Any]) -> Any:
            length, data = shared
            return evaluate_length(self._config, bucket, replica["params"], replica["seed"], length, data, split)

        return self._program(group, bucket, scores, replicas, shared)

    def decode(self, group: Group, length: int, replicas: Any) -> Program:
        """The outputs of a chunk of test examples of one length; ``shared``: (the first, the arrays of the data)."""
        mesh = self._mesh(group)
        split, shared = self._split(mesh), (np.int32(0), self._supply.arrays(mesh))

        def outputs(replica: Any, _: None, shared: tuple[Any, Any]) -> Any:
            return decode_chunk(self._config, length, replica["params"], replica["seed"], shared, split)

        return self._program(group, f"decode@{length}", outputs, replicas, shared)

    def _mesh(self, group: Group) -> Mesh:
        return make_mesh(self._config.execution, group.size)

    def _split(self, mesh: Mesh) -> Mesh | None:
        """The mesh, where batches or matrices are split over it."""
        return mesh if self._config.execution.split else None

    def _program(
        self,
        group: Group,
        name: str | Bucket,
        fn: Callable[..., Any],
        replicas: Any,
        shared: Any,
        *,
        fed: Any = None,
        donate: bool = False,
    ) -> Program:
        key = (name, group.size)
        if key not in self._compiled:
            title = name if isinstance(name, str) else f"evaluate@{name.max_length}"
            start = time.perf_counter()
            execution, mesh = self._config.execution, self._mesh(group)
            program = Program(title, fn, execution, mesh, replicas, shared, fed=fed, donate=donate)
            seconds = round(time.perf_counter() - start, 3)
            keep(group, {"program": title, "compile_seconds": seconds})
            self._compiled[key] = program
        return self._compiled[key]
