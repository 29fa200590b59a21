"""What the bits of a replica depend on: its mode and the machine, never its neighbours."""

from __future__ import annotations

import processes
import pytest

# Several groupings of one cell through `run`, in one process; prints {grouping: {seed: what is to be compared}}.
PROGRAM = """
import dataclasses, json, tempfile
from trained_runs import CONFIG
from posenc_jax import parse
from posenc_jax.config import Evaluation, Execution
from posenc_jax.runs.cell import run

config = dataclasses.replace(
    CONFIG,
    posenc=parse(POSENC),
    model=dataclasses.replace(CONFIG.model, dropout=DROPOUT),
    evaluation=Evaluation(lengths=LENGTHS, num_examples=8),
)

def outcome(size, seeds, mode="devices"):
    changed = dataclasses.replace(config, seeds=seeds, execution=Execution(mode=mode, group_size=size))
    with tempfile.TemporaryDirectory() as directory:
        results = run(changed, directory)
    return {
        replica["seed"]: [replica["parameters_sha256"], replica["validation"], replica["evaluation"]]
        for result in results for replica in result["replicas"]
    } | {"groups": [result["group_size"] for result in results]}

print(json.dumps({name: outcome(*call) for name, call in CALLS.items()}))
"""


def outcomes(calls, devices, posenc, dropout=0.1, lengths=(2, 3), as_users=True):
    """Compiled as users compile, unless said otherwise: what bits depend on, XLA's flags decide too."""
    code = PROGRAM.replace("CALLS", repr(calls)).replace("POSENC", repr(posenc)).replace("DROPOUT", repr(dropout))
    code = code.replace("LENGTHS", repr(lengths))
    return processes.python(code, devices=devices, as_users=as_users)


GROUPINGS = {"alone": (1, (0,)), "two groups": (None, (2, 1, 0)), "four": (4, (2, 1, 0))}


def test_in_devices_mode_a_replica_is_what_it_is_alone():
    """Alone (with a spare), and in a group of four on two devices, two on each one after the other, with a spare."""
    calls = {name: GROUPINGS[name] for name in ("alone", "four")}
    found = outcomes(calls, 2, "rope|learned", 0.0, (3,), as_users=False)
    assert {name: found[name]["groups"] for name in found} == {"alone": [2], "four": [4]}
    assert found["alone"]["0"] == found["four"]["0"]
    assert len({found["four"][seed][0] for seed in "012"}) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("posenc", "dropout"), [("rope|learned", 0.0), ("randomized(max_position=16)|rope", 0.1)])
def test_in_devices_mode_bits_depend_on_neither_neighbours_nor_number(posenc, dropout):
    """Alone, in groups of two, and in a group of four."""
    calls = GROUPINGS
    found = outcomes(calls, 2, posenc, dropout)
    assert {name: found[name]["groups"] for name in calls} == {"alone": [2], "two groups": [2, 2], "four": [4]}
    for name in calls:
        assert found[name]["0"] == found["four"]["0"], name
    assert found["two groups"]["1"] == found["four"]["1"]
    assert found["two groups"]["2"] == found["four"]["2"]
    assert len({found["four"][seed][0] for seed in "012"}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("devices", [3, 4])
def test_the_number_of_devices_does_not_change_the_guarantee(devices):
    calls = {"alone": (None, (0,)), "many": (None, (5, 4, 3, 2, 1, 0)), "big": (2 * devices, (1, 0))}
    found = outcomes(calls, devices, "randomized(max_position=16)|rope")
    assert found["alone"]["0"] == found["many"]["0"] == found["big"]["0"]
    assert found["many"]["1"] == found["big"]["1"]
