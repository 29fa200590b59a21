"""Several processes that compute together: what one alone does, and what an error becomes on its way to the others."""

from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax.config import Execution
from posenc_jax.runs.errors import DamagedFileError, RefusedError, StoppedError
from posenc_jax.training import processes
from posenc_jax.training.processes import ElsewhereError, agreed, everyone, first, first_alone, host, largest, lost
from posenc_jax.training.replicas import make_mesh


def test_one_process_asks_nobody():
    assert processes.count() == 1
    assert first()
    assert agreed(lambda: 3) == first_alone(lambda: 3) == largest(3) == 3
    assert everyone("text") == ["text"]
    np.testing.assert_array_equal(host({"x": jax.numpy.arange(3)})["x"], [0, 1, 2])
    with pytest.raises(RefusedError, match="no"):
        agreed(lambda: (_ for _ in ()).throw(RefusedError("no")))


@pytest.mark.parametrize(
    "error",
    [RefusedError("no"), DamagedFileError(Path("a.json"), "cut off", "restore it"), StoppedError(15, "stopped")],
)
def test_an_error_of_the_first_process_is_the_same_in_the_others(error):
    sent = processes._picklable(error)
    assert sent is error
    found = processes.pickle.loads(processes.pickle.dumps(sent))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)


def test_an_error_that_cannot_be_sent_keeps_its_words():
    class OfAFunctionError(Exception):
        pass

    found = processes._picklable(OfAFunctionError("what it said"))
    assert type(found) is ElsewhereError
    assert str(found) == "what it said"


def test_which_errors_say_that_another_process_is_gone(monkeypatch):
    gone = RuntimeError("UNKNOWN: Gloo AllGather failed: Connection closed by peer")
    assert not lost(gone), "one process alone has nobody to lose"
    monkeypatch.setattr(processes, "count", lambda: 2)
    assert lost(gone)
    assert lost(RuntimeError("INTERNAL: Barrier timed out. Id: [op=1]"))
    assert not lost(ValueError("a mistake"))
    assert not lost(ConnectionError("a file server: connection refused"))


def test_trees_of_rows_lie_on_their_devices():
    mesh = make_mesh(Execution("devices"), 2)
    sharding = NamedSharding(mesh, P("replica"))
    assert processes.rows_here(sharding, 4) == [0, 1, 2, 3]
    trees = [{"x": np.full((2, 3), row), "y": np.int32(row)} for row in range(4)]
    found = processes.stacked(trees, sharding)
    assert found["x"].sharding == found["y"].sharding == sharding
    np.testing.assert_array_equal(found["y"], [0, 1, 2, 3])
    np.testing.assert_array_equal(found["x"], np.stack([tree["x"] for tree in trees]))
