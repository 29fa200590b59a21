"""Groups of a run: their names are never used twice, and how many replicas each has."""

from __future__ import annotations

import shutil

import pytest
import sealed_files
from trained_runs import CONFIG, contents, copy_of_the_run

from posenc_jax.config import Execution
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import complete, group_directories, plan, results
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.training import replicas


@pytest.fixture
def halves(tmp_path):
    """The tiny run as if it had been trained in two groups, of seed 0 and of seed 1; not to be trained on."""
    run_directory = copy_of_the_run(tmp_path / "run")
    shutil.copytree(run_directory / "group-000", run_directory / "group-001")
    for seed in (0, 1):
        for name in ("config.json", "result.json"):
            path = run_directory / f"group-00{seed}" / name
            sealed_files.rewrite(path, lambda data: data.update(replicas=[data["replicas"][seed]]))  # noqa: B023
    return run_directory


@pytest.mark.parametrize("away", ["../away-000", "group-000.old"])
def test_a_group_that_was_moved_away_is_gone_and_its_number_is_not_given_again(halves, away):
    kept = contents(halves / "group-001")
    (halves / "group-000").rename(halves / away)
    assert [path.name for path in group_directories(halves)] == ["group-001"]
    assert not complete(halves, CONFIG)
    groups = plan(halves, CONFIG, 1)
    assert [(group.directory.name, group.replicas) for group in groups] == [
        ("group-001", ((1, 0.01),)),
        ("group-002", ((0, 0.01),)),
    ]
    assert contents(halves / "group-001") == kept


def test_an_empty_group_is_none(halves):
    """Its maker was killed before it had written what it is of."""
    (halves / "group-002").mkdir()
    assert [path.name for path in group_directories(halves)] == ["group-000", "group-001"]
    assert complete(halves, CONFIG)


@pytest.mark.parametrize("left", [(), ("config.json.1-ab.unfinished",)])
def test_a_group_whose_maker_was_killed_gets_its_number_again(halves, left):
    """So that the results are in the same places as undisturbed."""
    shutil.rmtree(halves / "group-001")
    (halves / "group-001").mkdir()
    for name in left:
        (halves / "group-001" / name).write_text("{")
    groups = plan(halves, CONFIG, 1)
    assert [group.directory.name for group in groups] == ["group-000", "group-001"]
    assert [path.name for path in (halves / "group-001").iterdir()] == ["config.json"]


def test_a_result_of_other_replicas_than_its_group_is_refused(halves):
    path = halves / "group-001" / "config.json"
    sealed_files.rewrite(path, lambda data: data.update(replicas=[[7, data["replicas"][0][1]]]))
    for read in (results, evaluate):
        with pytest.raises(RefusedError, match=r"is of other replicas \(seed 1 at 0\.01\) than .*\(seed 7 at"):
            read(halves)


def test_a_replica_in_two_groups_is_refused(halves):
    for name in ("config.json", "result.json"):
        shutil.copy(halves / "group-000" / name, halves / "group-001" / name)
    with pytest.raises(RefusedError, match=r"has replicas that another group of .* has too .seed 0 at"):
        plan(halves, CONFIG, 1)


@pytest.mark.slow
def test_a_group_that_was_moved_away_is_trained_anew(tmp_path):
    directory = copy_of_the_run(tmp_path / "run")
    (before,) = results(directory)
    (directory / "group-000").rename(tmp_path / "away")
    (after,) = run(CONFIG, directory)
    assert [path.name for path in group_directories(directory)] == ["group-000"]
    assert after == before


@pytest.mark.parametrize(
    ("devices", "execution", "asked", "size", "used"),
    [
        (1, Execution("devices"), 4, 1, 1),
        (2, Execution("devices"), 4, 2, 2),
        (2, Execution("devices"), 3, 2, 2),
        (2, Execution("devices"), 1, 2, 2),  # on one device alone its bits would differ
        (64, Execution("devices"), 4, 4, 4),  # and no 60 spares
        (64, Execution("devices"), 100, 50, 50),
        (1, Execution("vmap"), 4, 4, 1),
        (8, Execution("vmap"), 4, 4, 4),
        (8, Execution("vmap", group_size=10), 40, 10, 5),
        (8, Execution("vmap", group_size=10), 4, 4, 4),
        (8, Execution("vmap"), 40, 40, 8),
        (8, Execution("vmap", data=2, model=2), 4, 4, 2),
        (8, Execution("map"), 4, 1, 1),
        (8, Execution("map", group_size=3), 4, 2, 1),
    ],
)
def test_groups_end_soonest_with_the_fewest_spares(monkeypatch, devices, execution, asked, size, used):
    monkeypatch.setattr(replicas.jax, "devices", lambda: list(range(devices)))
    found = replicas.group_size_for(execution, asked)
    rows = max(n for n in range(1, replicas.most_rows(execution) + 1) if found % n == 0)
    assert (found, rows) == (size, used)


def test_a_run_of_several_processes_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(replicas.jax, "process_count", lambda: 2)
    with pytest.raises(RefusedError, match=r"2 processes share their devices .*: start each process alone"):
        run(CONFIG, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_auto_is_a_device_each_on_cpu_and_one_batch_elsewhere(monkeypatch):
    assert replicas.mode_of(Execution()) == "devices"
    assert replicas.mode_of(Execution(data=2)) == "vmap"
    assert replicas.mode_of(Execution("map")) == "map"
    monkeypatch.setattr(replicas.jax, "default_backend", lambda: "gpu")
    assert replicas.mode_of(Execution()) == "vmap"
