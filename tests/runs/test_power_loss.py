"""Loss of power at every moment of a run: what was waited for is whole, and it goes on to the same result."""

from __future__ import annotations

import dataclasses
import hashlib

import jax
import power_loss
import pytest
from trained_runs import CONFIG

from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.checksums import unseal
from posenc_jax.runs.cell import run
from posenc_jax.runs.checkpoint import Checkpoints, digest
from posenc_jax.runs.files import Log
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.state import abstract_state

OFTEN = dataclasses.replace(CONFIG, training=dataclasses.replace(CONFIG.training, checkpoint_every=5))
GROUP = "run/group-000"


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The states of a run that any loss of power could leave, in order, and the digests of the states it saved."""
    root = tmp_path_factory.mktemp("disk")
    saved, patch = {}, pytest.MonkeyPatch()
    save = Checkpoints.save

    def note(self, step, state, rows=None, **named):
        saved[step] = digest(jax.tree.map(lambda leaf: jax.device_get(leaf), state))
        save(self, step, state, rows, **named)

    patch.setattr(Checkpoints, "save", note)
    disk = power_loss.Disk(root, patch)
    run(OFTEN, root / "run", reporter=Reporter())
    patch.undo()
    disk.close()
    return disk.states, saved


def test_whatever_has_its_name_is_whole(watched):
    states, _ = watched
    assert {loss for loss, _ in states} == set(power_loss.LOSSES)
    for _, state in states:
        for path, content in state.items():
            if path.endswith(".json") and "/checkpoints/" not in path:
                unseal(content)


def newest(steps, saved, place):
    """The newest step, which is what was saved, and the digest of its rows; (0, that of none) without."""
    notes = []
    with Checkpoints(power_loss.restore(steps, place), notes.append) as checkpoints:
        found = checkpoints.restore(abstract_state(OFTEN, 2), set_aside=False)
        assert notes == [], "a step was there before it was whole"
        if found is None:
            return 0, hashlib.sha256().hexdigest()
        assert digest(found[1]) == saved[found[0]]
        return found[0], checkpoints.rows_at(found[0])


def test_training_goes_on_from_whole_steps_and_rows_and_a_result_comes_last(watched, tmp_path):
    """The newest step that is there is what was saved, its rows are there, and once there is a step there always is."""
    states, saved = watched
    known, reached = {}, dict.fromkeys(power_loss.LOSSES, 0)
    log = Log(tmp_path / "metrics.jsonl")
    for loss, state in states:
        part = {path[len(GROUP) + 1 :]: content for path, content in state.items() if path.startswith(f"{GROUP}/")}
        steps = {path[12:]: c for path, c in part.items() if path[:12] == "checkpoints/" and path[12].isdigit()}
        steps = {path: c for path, c in steps.items() if path.partition("/")[0].isdigit()}
        key = frozenset(steps.items())
        if key not in known:
            known[key] = newest(steps, saved, tmp_path / str(len(known)))
        step, rows = known[key]
        assert step >= reached[loss], loss
        reached[loss] = step
        log.path.write_bytes(part.get("metrics.jsonl") or b"")
        assert log.digest_up_to(step) == rows, (loss, step)
        assert step == OFTEN.training.steps or "result.json" not in part, loss
    assert reached == dict.fromkeys(power_loss.LOSSES, OFTEN.training.steps)
    assert {step for step, _ in known.values()} == {0, 5, 10, 15, 20}


def test_what_is_replaced_is_the_old_or_the_new(tmp_path, monkeypatch):
    """And the new one, once the writer has returned."""
    path = tmp_path / "disk" / "x.json"
    path.parent.mkdir()
    disk = power_loss.Disk(path.parent, monkeypatch)
    write_atomically(path, "old")
    before = len(disk.states)
    write_atomically(path, "new")
    disk.close()
    found = [state.get("x.json") for _, state in disk.states]
    assert set(found[: before + 1]) == {None, b"old"}
    assert set(found[before + 4 :]) <= {b"old", b"new"}
    assert set(found[-4:]) == {b"new"}


def test_the_disk_loses_what_was_not_waited_for(tmp_path, monkeypatch):
    """The layer itself: a content or a name that nobody waited for is lost in one of the states."""
    root = tmp_path / "disk"
    root.mkdir()
    disk = power_loss.Disk(root, monkeypatch)
    (root / "half").write_bytes(b"1234")
    (root / "half").rename(root / "named")
    disk.close()
    found = {loss: {state.get("named") for at, state in disk.states if at == loss} for loss in power_loss.LOSSES}
    assert found["contents, which are empty"] == {None, b""}
    assert b"12" in found["contents, of which a half is there"]
    assert found["names"] == {None}
