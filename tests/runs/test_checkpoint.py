"""Checkpoints under damage: nothing wrong is ever restored, the newest good step is, and nothing is deleted."""

from __future__ import annotations

import errno
import hashlib
import random
import resource
import shutil
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.runs.checkpoint import Checkpoints, digest, kept
from posenc_jax.runs.errors import CheckpointError, RefusedError, SaveError

# Orbax leaves a coroutine or a thread behind where a damaged file or a full disk ended it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


def state(step):
    rng = np.random.default_rng(step)
    return {
        "params": {
            "kernel": rng.standard_normal((2, 32, 16)).astype(np.float32),
            "bias": np.zeros((2, 16), np.float32),
        },
        "opt": ({"mu": rng.standard_normal((2, 32, 16)).astype(np.float32)}, np.full(2, step, np.int32)),
        "step": np.full(2, step, np.int32),
    }


def like(step=0):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), state(step))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Steps 10, 20, 30 were saved, of which 20 and 30 are kept."""
    directory = tmp_path_factory.mktemp("saved") / "checkpoints"
    with Checkpoints(directory) as checkpoints:
        for step in (10, 20, 30):
            checkpoints.save(step, state(step))
    return directory


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "group" / "checkpoints")


def restored(directory, notes=None):
    found = Checkpoints(directory, (notes if notes is not None else []).append).restore(like(), set_aside=True)
    return None if found is None else (found[0], digest(found[1]) == digest(state(found[0])))


def files(directory):
    return sorted(p for p in directory.rglob("*") if p.is_file())


def damaged_arrays(directory):
    """The files that hold array data, by size: everything else is small."""
    return [p for p in files(directory / "30") if p.stat().st_size > 2000]


def test_steps_that_are_to_stay_do_and_each_can_be_asked_for(tmp_path):
    with Checkpoints(tmp_path, keep_every=20) as checkpoints:
        for step in range(10, 70, 10):
            checkpoints.save(step, {"x": np.full(3, step, np.float32)})
    assert Checkpoints(tmp_path).steps() == [20, 40, 50, 60]
    assert kept([10, 20, 30, 40, 50, 60], 20) == {20, 40, 50, 60}
    assert kept([10, 20, 30], 0) == {20, 30}
    like = {"x": np.zeros(3, np.float32)}
    step, found = Checkpoints(tmp_path).restore(like, set_aside=False, only=40)
    assert (step, found["x"].tolist()) == (40, [40, 40, 40])
    assert Checkpoints(tmp_path).restore(like, set_aside=False, only=30) is None


def test_the_newest_two_steps_are_kept_and_come_back_to_the_bit(saved):
    assert Checkpoints(saved).steps() == [20, 30]
    assert restored(saved) == (30, True)
    _, found = Checkpoints(saved).restore(state(0), set_aside=True)
    assert jax.tree.structure(found) == jax.tree.structure(state(30))
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(found))


def test_device_arrays_may_be_donated_while_they_are_written(tmp_path):
    bump = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree), donate_argnums=0)
    current = jax.device_put({"x": jnp.arange(1_000_000, dtype=jnp.float32)})
    wanted = {}
    with Checkpoints(tmp_path) as checkpoints:
        for step in (1, 2):
            wanted[step] = digest(jax.tree.map(np.array, current))
            checkpoints.save(step, current)
            for _ in range(5):
                current = bump(current)
    for newest in (2, 1):
        step, found = Checkpoints(tmp_path).restore({"x": np.zeros(1_000_000, np.float32)}, set_aside=True)
        assert step == newest
        assert digest(found) == wanted[step]
        shutil.rmtree(tmp_path / str(step))


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_found(copy, part):
    """Bits anywhere in any file of the newest step: what is restored is right, or it is the step before."""
    rng = random.Random(part)
    # Array data is the largest share of the bytes, so take half the positions there and half anywhere.
    for trial in range(12):
        chosen = rng.choice(damaged_arrays(copy) if trial % 2 else files(copy / "30"))
        content = bytearray(chosen.read_bytes())
        if not content:
            continue
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        original = chosen.read_bytes()
        chosen.write_bytes(content)
        notes: list[str] = []
        step, right = restored(copy, notes)
        assert right, chosen
        assert (step == 20) == bool(notes)
        if step == 20:
            assert "checkpoints/30 is damaged" in notes[0]
            assert "kept as 30.bad" in notes[0]
            (copy / "30.bad").rename(copy / "30")
        chosen.write_bytes(original)
    assert restored(copy) == (30, True)


@pytest.mark.parametrize("damage", ["truncated", pytest.param("missing", marks=pytest.mark.slow)])
def test_damaged_files_mean_the_step_before(saved, tmp_path, damage):
    names = [p.relative_to(saved) for p in files(saved / "30")]
    fell_back = 0
    for number, name in enumerate(names):
        directory = shutil.copytree(saved, tmp_path / str(number))
        if damage == "missing":
            (directory / name).unlink()
        else:
            content = (directory / name).read_bytes()
            (directory / name).write_bytes(content[: len(content) // 2])
        step, right = restored(directory)
        assert right, name
        fell_back += step == 20
    assert fell_back >= 3


def test_a_stray_empty_directory_and_unfinished_steps_are_passed_over(copy):
    (copy / "40").mkdir()
    (copy / "50.orbax-checkpoint-tmp").mkdir()
    (copy / "60").write_text("a file")
    assert restored(copy) == (30, True)
    assert (copy / "40.bad").exists()
    with Checkpoints(copy) as checkpoints:
        checkpoints.save(35, state(35))
    assert not (copy / "50.orbax-checkpoint-tmp").exists()
    assert restored(copy) == (35, True)


def test_when_all_steps_are_bad_it_is_refused_and_everything_stays(copy):
    for step in ("20", "30"):
        (copy / step / "_CHECKPOINT_METADATA").write_text("{")
    before = [p.name for p in files(copy)]
    for _ in range(2):  # the second time, too
        with pytest.raises(CheckpointError) as error:
            restored(copy)
        assert f"no valid checkpoint in {copy}" in str(error.value)
        assert f"To start this group over, move {copy.parent} away" in str(error.value)
    assert [p.name for p in files(copy)] == before


def test_another_models_checkpoint_is_refused_by_leaf(copy):
    other = like()
    other["params"]["kernel"] = jax.ShapeDtypeStruct((2, 32, 24), np.float32)
    with pytest.raises(
        CheckpointError,
        match=r"params.kernel is float32\[2, 32, 16\] there and float32\[2, 32, 24\] in this config; use the config",
    ):
        Checkpoints(copy).restore(other, set_aside=True)
    other = like()
    other["params"]["extra"] = other["params"].pop("bias")
    with pytest.raises(CheckpointError, match=r"params.bias is float32\[2, 16\] there and absent in this config"):
        Checkpoints(copy).restore(other, set_aside=True)
    assert restored(copy) == (30, True), "a refused step is no damaged one"


def test_a_save_that_fails_is_reported(tmp_path):
    (tmp_path / "checkpoints").write_text("in the way")
    with pytest.raises(SaveError, match=r"could not save .*bytes, [\d,]+ are free.*run the same command again"):  # noqa: SIM117
        with Checkpoints(tmp_path / "checkpoints") as checkpoints:
            checkpoints.save(1, state(1))


def test_a_disk_that_takes_no_more_costs_the_newest_step_only(copy):
    """Files may not grow beyond 3 kB for a while: the save fails in the background, and leaves no step and no rest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        with (
            pytest.raises(
                SaveError,
                match=r"File too large.*; it needs at least [\d,]+ bytes, [\d,]+ are free\): raise the limit",
            ),
            Checkpoints(copy) as checkpoints,
        ):
            checkpoints.save(40, state(40))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {p.name for p in copy.iterdir()} == {"20", "30"}
    assert restored(copy) == (30, True)


def names(directory):
    return sorted(p.name for p in directory.iterdir())


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'orbax'"),
        MemoryError(),
        OSError(errno.EMFILE, "Too many open files"),
        PermissionError(errno.EACCES, "Permission denied"),
        ValueError("RESOURCE_EXHAUSTED: Failed to open [OS error 24: EMFILE Too many open files]"),
        RuntimeError("something that nobody has seen before"),
    ],
    ids=lambda error: type(error).__name__ + str(error)[:30],
)
def test_what_cannot_be_read_here_is_no_damage(copy, monkeypatch, error):
    """A missing module, a limit, a file server: an error in words, and every step stays what it is."""
    from orbax.checkpoint import v1

    def fail(*arguments, **options):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(v1, "load", fail)
        with pytest.raises(RefusedError, match=r"checkpoint .*/30 cannot be read here \(.*nothing was changed"):
            restored(copy)
    assert names(copy) == ["20", "30"]
    assert restored(copy) == (30, True)


def test_who_only_reads_renames_nothing(copy):
    (copy / "30" / "state" / "manifest.ocdbt").write_bytes(b"nonsense")
    notes: list[str] = []
    step, found = Checkpoints(copy, notes.append).restore(like(), set_aside=False)
    assert (step, digest(found)) == (20, digest(state(20)))
    assert "checkpoints/30 is damaged" in notes[0]
    assert names(copy) == ["20", "30"]


def test_a_step_under_another_name_is_damage(copy):
    (copy / "20").rename(copy / "25")
    shutil.copytree(copy / "25", copy / "40")
    notes: list[str] = []
    assert restored(copy, notes) == (30, True)
    assert "checkpoints/40 is damaged (it is step 20 under another name)" in notes[0]


def test_saving_returns_before_the_state_is_hashed(tmp_path, monkeypatch):
    """Checksums and files are made while training goes on: the caller waits for a copy only."""
    hashing, go_on = threading.Event(), threading.Event()
    real = hashlib.sha256

    def slow(*given, **options):
        hashing.set()
        assert go_on.wait(60)
        return real(*given, **options)

    monkeypatch.setattr(hashlib, "sha256", slow)
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, state(1))  # returns although no checksum is made
        assert hashing.wait(60)
        assert checkpoints.steps() == []
        go_on.set()
    assert Checkpoints(tmp_path).steps() == [1]


def test_digest_sees_values_names_shapes_and_dtypes():
    trees = [
        {"a": np.zeros(4, np.float32)},
        {"b": np.zeros(4, np.float32)},
        {"a": np.zeros(4, np.int32)},
        {"a": np.zeros((2, 2), np.float32)},
        {"a": -np.zeros(4, np.float32)},
    ]
    assert len({digest(tree) for tree in trees}) == len(trees)
