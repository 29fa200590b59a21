"""Groups of a run: their names are never used twice, and how many replicas each has."""

from __future__ import annotations

import dataclasses
import shutil

import processes
import pytest
import sealed_files
from trained_runs import CONFIG, contents, copy_of_the_run

from posenc_jax.config import Ablation, Execution
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import complete, finished_groups, group_directories, read_stored, replicas_of, results
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.groups import plan
from posenc_jax.runs.identity import claim, keep_start, refuse_other_start
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.state import best_replica, surviving_seeds
from posenc_jax.training import replicas
from posenc_jax.training.layout import Devices, check_mesh, laid_out, layout_of, rows_of
from posenc_jax.training.memory import memory_of


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
    groups = plan(read_stored(halves), CONFIG, 1)
    assert [(group.directory.name, group.replicas) for group in groups] == [
        ("group-001", ((1, 0.01),)),
        ("group-002", ((0, 0.01),)),
    ]
    assert contents(halves / "group-001") == kept


def test_a_group_that_another_process_finishes_meanwhile_is_in_the_results(halves, monkeypatch):
    """As a task of a spread ablation that was killed may, while texts are read for the rest of its cell."""
    result, away = halves / "group-001" / "result.json", halves / "away.json"
    result.rename(away)
    monkeypatch.setattr("posenc_jax.runs.cell.keep_start", lambda *_: away.rename(result))
    found = run(CONFIG, halves, reporter=Reporter())
    assert [replicas_of(own) for own in found] == [((0, 0.01),), ((1, 0.01),)]


def test_an_empty_group_is_none(halves):
    """Its maker was killed before it had written what it is of."""
    (halves / "group-002").mkdir()
    assert [path.name for path in group_directories(halves)] == ["group-000", "group-001"]
    assert complete(halves, CONFIG)


def test_a_group_of_seeds_that_nobody_asks_for_any_more_stands_in_no_way(tmp_path):
    """A call for more seeds was stopped, and the same run asked for again with the seeds that are finished."""
    place, more = copy_of_the_run(tmp_path / "run"), dataclasses.replace(CONFIG, seeds=(0, 1, 2, 3))
    claim(place, more)
    plan(read_stored(place), more, 2)
    for ask in (finished_groups, surviving_seeds, lambda run: best_replica(run, 0), evaluate):
        with pytest.raises(RefusedError, match=r"group-001 is not finished: run it to the end first"):
            ask(place)
    claim(place, CONFIG)
    assert [group.name for group in finished_groups(place)] == ["group-000"]
    assert surviving_seeds(place) == {0, 1}
    assert best_replica(place, 0) == (place / "group-000", 0)
    later = dataclasses.replace(CONFIG, init_from=str(place))
    keep_start(later, tmp_path)
    refuse_other_start(later, tmp_path)
    result = place / "group-000" / "result.json"
    sealed_files.rewrite(result, lambda found: [own.update(parameters_sha256="0") for own in found["replicas"]])
    with pytest.raises(RefusedError, match="it was trained anew since"):
        refuse_other_start(later, tmp_path)


@pytest.mark.parametrize("left", [(), ("config.json.1-ab.unfinished",)])
def test_a_group_whose_maker_was_killed_gets_its_number_again(halves, left):
    """So that the results are in the same places as undisturbed."""
    shutil.rmtree(halves / "group-001")
    (halves / "group-001").mkdir()
    for name in left:
        (halves / "group-001" / name).write_text("{")
    groups = plan(read_stored(halves), CONFIG, 1)
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
        plan(read_stored(halves), CONFIG, 1)


@pytest.mark.parametrize(
    ("devices", "execution", "asked", "size", "used"),
    [
        (1, Execution("devices"), 4, 1, 1),
        (2, Execution("devices"), 3, 2, 2),
        (2, Execution("devices"), 1, 2, 2),  # on one device alone its bits would differ
        (64, Execution("devices"), 4, 4, 4),  # and no 60 spares
        (64, Execution("devices"), 100, 50, 50),
        (8, Execution("vmap"), 4, 4, 4),
        (8, Execution("vmap", group_size=10), 40, 8, 8),  # five rounds of one each; tens would lie two on each of five
        (8, Execution("vmap", data=2, model=2), 4, 4, 2),
        (8, Execution("map", group_size=3), 4, 2, 1),
    ],
)
def test_groups_end_soonest_with_the_fewest_spares(devices, execution, asked, size, used):
    there = Devices(devices, "cpu" if execution.mode == "devices" else "gpu")
    found = laid_out(execution, asked, there)
    assert (found.size, found.rows) == (size, used) == (size, rows_of(execution, size, there))
    assert found.groups * found.size - asked == found.spares < max(found.rows, 2)


def test_an_accelerator_holds_as_many_as_its_memory_does():
    """Where the run leaves the size of a group open; one where it does not hold one, which is refused elsewhere."""
    one = memory_of(CONFIG, 1, 1).peak
    many = dataclasses.replace(CONFIG, seeds=tuple(range(40)))

    def sizes(memory, count=4, **execution):
        run = dataclasses.replace(many, execution=Execution("vmap", **execution))
        found = layout_of(run, 40, Devices(count, "gpu", memory))
        return found.size, found.groups, found.on_each

    assert sizes(None) == sizes(100 * one) == (40, 1, 10)
    three = memory_of(CONFIG, 3, 3).peak
    assert sizes(three, 1) == (2, 20, 2)  # 14 groups of three would end later, with two spares
    assert sizes(three) == (8, 5, 2)
    assert sizes(one - 1) == (4, 10, 1)
    assert sizes(one - 1, group_size=40) == (40, 1, 10)


def test_an_ablation_of_several_processes_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(replicas.jax, "process_count", lambda: 2)
    monkeypatch.setattr(replicas.jax.distributed, "is_initialized", lambda: True)
    with pytest.raises(RefusedError, match=r"2 processes share their devices .* an ablation is of one process"):
        ablate(Ablation("tiny", (CONFIG,)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_groups_of_several_processes_lie_on_all_devices():
    """2 processes with 2 devices each: what one process with 4 has, but none is left out."""
    together = Devices(4, "cpu", processes=2)
    for seeds, size in ((1, 4), (2, 4), (4, 4), (5, 4)):
        layout = laid_out(Execution("devices"), seeds, together)
        assert (layout.rows, layout.size) == (4, size), seeds
    assert laid_out(Execution("vmap", data=2), 3, together).rows == 2
    assert laid_out(Execution("vmap", data=4), 3, together).size == 3
    with pytest.raises(ValueError, match=r"'map' uses one device, and 2 processes share 4: choose 'devices' or 'vmap'"):
        check_mesh(Execution("map"), together)
    with pytest.raises(ValueError, match=r"= 3 does not divide the 4 devices"):
        check_mesh(Execution("vmap", data=3), together)


def test_auto_is_a_device_each_on_cpu_and_one_batch_elsewhere(monkeypatch):
    assert replicas.mode_of(Execution()) == "devices"
    assert replicas.mode_of(Execution(data=2)) == "vmap"
    assert replicas.mode_of(Execution("map")) == "map"
    monkeypatch.setattr(replicas.jax, "default_backend", lambda: "gpu")
    assert replicas.mode_of(Execution()) == "vmap"


# What the bits of a replica depend on: its mode and the machine, never its neighbours.


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
