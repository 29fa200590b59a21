"""Training split over a mesh of eight devices: the same numbers up to rounding, every matrix in its place."""

from __future__ import annotations

import dataclasses
import re

import jax
import numpy as np
import processes
import pytest
from jax.sharding import PartitionSpec as P
from registry_slots import AllowingTypes, slots_of_tasks

from posenc_jax.config import Execution, Run
from posenc_jax.data.tasks import TASKS
from posenc_jax.models.config import Transformer
from posenc_jax.runs.checkpoint import Checkpoints
from posenc_jax.runs.errors import CheckpointError
from posenc_jax.runs.state import abstract_state, restore
from posenc_jax.training.optimizer import rearranged
from posenc_jax.training.replicas import over_data, partition, path_string
from posenc_jax.training.step import init_params

# Trains one cell under several layouts as `Engine` does; prints {layout: {path: [shape, largest, sharded, ...]}}.
PROGRAM = """
import dataclasses, functools, json
import jax, numpy as np
from posenc_jax.config import Evaluation, Execution, Optimizer, Run, Training
from posenc_jax.data.tasks import TASKS
from posenc_jax.encodings import parse
from posenc_jax.models.config import Transformer
from posenc_jax.training.replicas import Program, make_mesh, put_state, stack
from posenc_jax.training.replicas import path_string
from posenc_jax.training.step import init_params, init_state, train_call

task, posenc, parts = ARGUMENTS
base = Run(
    task=TASKS[task[0]](**task[1]),
    model=Transformer(d_model=16, num_layers=1, num_heads=4, dropout=0.1, **parts),
    posenc=parse(posenc),
    optimizer=Optimizer(schedule="constant", eps=1.0, clip_norm=1.0, weight_decay=0.1),
    training=Training(steps=10, batch_size=8, microbatches=2, steps_per_call=5, log_every=5),
    seeds=(0, 1),
)

def train(execution):
    run = dataclasses.replace(base, execution=execution)
    mesh = make_mesh(execution, 2)
    state = put_state(stack([init_state(run, init_params(run, s), s, 0.5) for s in (0, 1)]), mesh)
    sharded = mesh if execution.data * execution.model > 1 else None
    program = Program("train", lambda s, *_: train_call(run, sharded, s), execution, mesh, state, None, donate=True)
    for _ in range(2):
        state, metrics = program(state, None)
    shards = {
        path_string(path): [list(leaf.shape), list(leaf.addressable_shards[0].data.shape)]
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }
    return jax.tree.map(np.asarray, (state["params"], metrics)), shards, len(state["step"].sharding.device_set)

start = [init_params(base, s) for s in (0, 1)]
expected, _, _ = train(Execution(mode="vmap"))
moved = max(
    float(np.abs(a - b).max()) for a, b in zip(jax.tree.leaves(expected[0]), jax.tree.leaves(stack(start)), strict=True)
)
found = {"moved": moved}
for name, execution in LAYOUTS.items():
    got, shards, devices = train(execution)
    worst = max(
        float(np.abs(a - b).max()) for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(got), strict=True)
    )
    found[name] = {"worst": worst, "shards": shards, "devices": devices}
print(json.dumps(found))
"""

ONE_LAYOUT = """{"replica=2, data=2, model=2": Execution(mode="vmap", data=2, model=2)}"""
ALL_LAYOUTS = """{
    "replica=2, data=2, model=2": Execution(mode="vmap", data=2, model=2),
    "replica=1, data=4, model=2": Execution(mode="vmap", data=4, model=2),
    "replica=2": Execution(mode="devices"),
}"""
DEVICES = {"replica=2, data=2, model=2": 8, "replica=1, data=4, model=2": 8, "replica=2": 2}
COPYING = ("copying", {"kind": "cmc", "max_length": 3, "num_symbols": 4})
SCAN = ("scan", {"model": "encoder_decoder"})


def trained(*arguments, layouts=ALL_LAYOUTS):
    code = PROGRAM.replace("ARGUMENTS", repr(arguments)).replace("LAYOUTS", layouts)
    return processes.python(code, devices=8)


def check(found):
    """Adam's epsilon is 1, so that updates are as smooth as gradients; rounding is then some 1e-6 of what moved."""
    assert found.pop("moved") > 0.1
    for layout, result in found.items():
        assert result["worst"] < 2e-5, layout
        assert result["devices"] == DEVICES[layout]
    shards = found["replica=2, data=2, model=2"]["shards"]
    parameters = {path.removeprefix("/params"): lies for path, lies in shards.items() if path.startswith("/params/")}
    matrices = [path for path, (whole, part) in parameters.items() if np.prod(part) * 4 == np.prod(whole)]
    for path in matrices:
        whole, part = parameters[path]
        axis = 1 if path.endswith("output/kernel") else len(whole) - 1
        assert part == [1, *(n // 2 if i + 1 == axis else n for i, n in enumerate(whole[1:]))], path
    # Both moments lie as their parameters do, and one more dimension of each over the devices that share the batch.
    moments = {path: lies for path, lies in shards.items() if "/mu/" in path or "/nu/" in path}
    assert len(moments) == 2 * len(parameters)
    for path, (whole, part) in moments.items():
        _, expected = parameters["/" + re.split("/(?:mu|nu)/", path)[1]]
        again = next((i for i in range(1, len(whole)) if expected[i] == whole[i] and whole[i] % 2 == 0), None)
        assert part == [n // 2 if i == again else n for i, n in enumerate(expected)], path
    for path, (whole, part) in shards.items():
        assert part[0] == whole[0] // 2 == 1, path
    return {path.split("/", 2)[-1] for path in matrices}


def test_a_decoder_with_rope():
    split = check(trained(COPYING, "rope", {}, layouts=ONE_LAYOUT))
    names = [f"0/self_attention/{name}/{part}" for name in ("query", "key", "value") for part in ("kernel", "bias")]
    names += ["0/self_attention/output/kernel", "0/mlp/hidden/kernel", "0/mlp/hidden/bias", "0/mlp/output/kernel"]
    assert split == {f"blocks/{name}" for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("posenc", ["t5", "randomized(max_position=16, per='example')|learned", "transformer_xl"])
def test_a_decoder_with_other_encodings(posenc):
    check(trained(COPYING, posenc, {}))


@pytest.mark.slow
def test_a_decoder_with_norms_inside_its_layers():
    """Queries and keys are normalised over what several devices hold."""
    parts = {"norm": "sandwich", "query_key_norm": "projection", "embedding_norm": True}
    split = check(trained(COPYING, "rope", parts, layouts=ONE_LAYOUT))
    assert not any("norm" in path for path in split)


@pytest.mark.slow
def test_an_encoder_and_a_decoder():
    split = check(trained(SCAN, "rope", {}))
    assert "blocks/0/cross_attention/query/kernel" in split


def test_a_moment_lies_on_the_first_dimension_that_is_whole_and_divides():
    assert over_data(P(), (6, 8), 4) == P(None, "data")
    assert over_data(P(), (8, 8), 4) == P("data", None)
    assert over_data(P(None, "model"), (8, 6), 4) == P("data", "model")
    assert over_data(P("model", None), (8, 6), 2) == P("model", "data")
    assert over_data(P("model"), (8,), 2) == P("model")
    assert over_data(P(), (7, 9), 2) == over_data(P(), (), 2) == over_data(P(), (8,), 1) == P()


def test_a_state_saved_on_several_devices_is_restored_on_one_and_the_other_way_round(tmp_path):
    task, model = TASKS["copying"](), Transformer(d_model=8, num_layers=1, num_heads=2)
    one = Run(task=task, model=model, execution=Execution("vmap"))
    four = dataclasses.replace(one, execution=Execution("vmap", data=4))
    for name, saved, wanted in (("four", four, one), ("one", one, four)):
        like = abstract_state(saved, 2)
        state = jax.tree.map(lambda leaf: np.arange(np.prod(leaf.shape)).reshape(leaf.shape).astype(leaf.dtype), like)
        with Checkpoints(tmp_path / name) as checkpoints:
            checkpoints.save(5, state)
        step, found = restore(wanted, 2, Checkpoints(tmp_path / name), set_aside=False)
        assert step == 5
        assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), found) == jax.tree.map(
            lambda leaf: (leaf.shape, leaf.dtype), abstract_state(wanted, 2)
        )
        expected = state | {"opt": rearranged(state["opt"], found["opt"], split=wanted.execution.split)}
        jax.tree.map(np.testing.assert_array_equal, found, expected)
    wider = dataclasses.replace(one, model=dataclasses.replace(model, d_model=16))
    with pytest.raises(CheckpointError, match="is of another model: "):
        restore(wider, 2, Checkpoints(tmp_path / "four"), set_aside=False)


def test_encodings_are_never_split():
    for name, slot in slots_of_tasks().items():
        run = Run(task=AllowingTypes(), model=Transformer(d_model=16, num_layers=2, num_heads=2), posenc=slot)
        params = jax.eval_shape(lambda: init_params(run, 0))["posenc"]  # noqa: B023
        for path, _ in jax.tree_util.tree_leaves_with_path({"params": {"posenc": params}}):
            assert partition(path_string(path)) == P(), (name, path_string(path))
