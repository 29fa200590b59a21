"""Flipped bits, lost rows and foreign files in a run's directory: refused by name or mended, never silent."""

from __future__ import annotations

import json
import random
import shutil

import jax
import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax import Ablation
from posenc_jax.results import read_record
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.checkpoint import Checkpoints
from posenc_jax.runs.directory import groups_of, load_config, read_group, read_stored, results, results_by_group
from posenc_jax.runs.errors import DamagedFileError, RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.files import Log, dumps, read_json
from posenc_jax.runs.groups import refuse_lost_rows
from posenc_jax.runs.identity import read_environments, refuse_other
from posenc_jax.runs.state import load_group_state, misfit

# Orbax leaves a coroutine or a thread behind where a damaged file ended it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

FLIPS = 8
ABLATION = Ablation("tiny", (CONFIG,), baseline="rope|learned")
CELL = CONFIG.directory_name


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An ablation of one cell, finished and measured once more."""
    directory = tmp_path_factory.mktemp("damage") / "ablation"
    copy_of_the_run(directory / CELL)
    ablate(ABLATION, directory)
    evaluate(directory / CELL)
    return directory


@pytest.fixture
def directory(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "ablation")


def everything_read(directory):
    """All that ablate, evaluate and report take from files, but for the checkpoints."""
    cell, group = directory / CELL, directory / CELL / "group-000"
    stored = read_stored(cell)
    refuse_other(read_stored(directory), ABLATION)
    log = Log(group / "metrics.jsonl")
    with Checkpoints(group / "checkpoints") as checkpoints:
        refuse_lost_rows(read_group(group), log, checkpoints, 20)
    log.cut_back(20)
    (evaluation,) = (cell / "evaluations").glob("*.json")
    record = read_record(directory)
    return (
        *(load_config(cell), groups_of(stored, CONFIG), results_by_group(stored, CONFIG), read_environments(group)),
        *(log.path.read_bytes(), read_json(evaluation), record.info, record.rows, record.skipped),
    )


def outcome(directory):
    """What was read, or the refusal."""
    try:
        return everything_read(directory), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize(
    "name",
    [
        *("config.json", "results.jsonl", "ablation.json", f"{CELL}/config.json", f"{CELL}/evaluations/*.json"),
        *(f"{CELL}/group-000/{name}" for name in ("config.json", "environment.json", "metrics.jsonl", "result.json")),
    ],
)
def test_no_flipped_bit_is_silent(directory, name):
    """In each kind of file that a number comes from: refused by its name, or nothing that is read has changed."""
    (path,) = directory.glob(name)
    sound, original = everything_read(directory), path.read_bytes()
    rng, refused = random.Random(name), 0
    for _ in range(FLIPS):
        content = bytearray(original)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        read, problem = outcome(directory)
        path.write_bytes(original)
        if not problem:
            assert read == sound, bytes(content)
            continue
        refused += 1
        assert str(path) in problem, bytes(content)
        assert "\n" not in problem
        assert any(way in problem for way in ("restore it, or ", "run the ablation again"))
    assert refused > FLIPS // 2
    assert everything_read(directory) == sound


def flip(path, place=0.5):
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)


def test_a_damaged_result_is_refused_and_without_it_measured_again_from_its_checkpoint(directory):
    before, group = contents(directory), directory / CELL / "group-000"
    flip(group / "result.json")
    for work in (lambda: evaluate(directory / CELL), lambda: ablate(ABLATION, directory)):
        with pytest.raises(DamagedFileError) as error:
            work()
        assert str(error.value) == (
            f"{group / 'result.json'} is damaged ({error.value.reason}): restore it, or move it away and run the same "
            "command again, which measures group-000 again from its last checkpoint"
        )
    (group / "result.json").rename(directory.parent / "away")
    ablate(ABLATION, directory)
    changed = ("timing", "ablation.json")  # in which the record stood before
    after, before = (
        {name: content for name, (_, content) in of.items() if not any(word in name for word in changed)}
        for of in (contents(directory), before)
    )
    assert after == before


def test_a_result_of_another_config_is_refused(finished):
    group = finished / "group-000"
    sealed_files.rewrite(group / "result.json", lambda data: data.update(config_hash="0" * 8))
    for read in (lambda: results(finished, CONFIG), lambda: run(CONFIG, finished), lambda: evaluate(finished)):
        with pytest.raises(
            RefusedError, match=r"result\.json is of config 00000000, and .*config\.json of .*: restore"
        ):
            read()


@pytest.mark.parametrize("name", ["result.json", "environment.json", "config.json"])
def test_a_file_without_a_checksum_is_not_read(finished, name):
    path = finished / "group-000" / name
    text = path.read_text()
    path.write_text(text[: text.rindex(",")] + "}")
    read = read_environments if name == "environment.json" else evaluate
    with pytest.raises(DamagedFileError, match=rf"{name} is damaged \(it has no checksum, so"):
        read(path.parent)


def unfinished(directory):
    (directory / "group-000" / "result.json").unlink()
    return directory / "group-000"


def test_lost_rows_are_refused_and_come_back_from_the_step_before(finished):
    """The way out that the message tells is gone, and everything is as it was."""
    before = contents(finished)
    group = unfinished(finished)
    lines = (group / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (group / "metrics.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(DamagedFileError) as error:
        run(CONFIG, finished)
    newest = group / "checkpoints" / "20"
    assert str(error.value) == (
        f"{group / 'metrics.jsonl'} is damaged (its rows are not those that were written): restore it, or move "
        f"{newest} away and run the same command again, to go on from step 10"
    )
    newest.rename(finished.parent / "20")
    run(CONFIG, finished)
    for name in ("metrics.jsonl", "result.json", "environment.json"):
        assert (group / name).read_bytes() == before[f"group-000/{name}"][1]


def test_metrics_of_a_finished_group_are_compared(directory):
    """Flipped, cut, or those of another group; moved away, the results stay."""
    path, before = directory / CELL / "group-000" / "metrics.jsonl", contents(directory)
    original = path.read_bytes()
    lines = original.splitlines(keepends=True)
    for content in (original.replace(b"1", b"2", 1), original[:-1] + b"X", b"".join(lines[:-1]), b"".join(lines[::-1])):
        path.write_bytes(content)
        for work in (lambda: ablate(ABLATION, directory), lambda: run(CONFIG, directory / CELL)):
            with pytest.raises(DamagedFileError, match=r"metrics\.jsonl is damaged \(.*or move it away, and only the"):
                work()
    path.unlink()
    ablate(ABLATION, directory, reporter=Notes())
    assert contents(directory) == {name: content for name, content in before.items() if "metrics" not in name}


def test_a_damaged_environment_is_refused_and_a_lost_one_is_not_called_exact(finished):
    group = unfinished(finished)
    flip(group / "environment.json", 0.3)
    with pytest.raises(
        DamagedFileError, match=r"environment\.json is damaged .*what group-000 began on is then unknown"
    ):
        run(CONFIG, finished)
    (group / "environment.json").rename(finished.parent / "away")
    reporter = Notes()
    (result,) = run(CONFIG, finished, reporter=reporter)
    assert result["bit_exact"] is False
    assert any("bit_exact=false: what it began on is not recorded" in note for note in reporter.notes)


def test_a_state_of_other_replicas_or_of_another_step_is_noticed(finished):
    """Also where the record of a step says nothing of its number, as that of the first format."""
    group, state = load_group_state(CONFIG, finished / "group-000")
    assert misfit(group, 20, state) == ""
    assert misfit(group, 30, state) == "its state is of step 20"
    assert misfit(group, 20, jax.tree.map(lambda leaf: leaf[::-1], state)) == "its state is of seeds 1, 0"
    assert "learning rate" in misfit(group, 20, state | {"learning_rate": state["learning_rate"] * 2})


# Rows on disk: each step once, torn lines repaired, numbers that come back as they were.


def rows(*steps):
    return [{"step": step, "seed": seed, "loss": np.float32(0.1) * step} for step in steps for seed in (0, 1)]


def test_float32_is_written_as_its_shortest_decimal():
    assert dumps(np.float32(0.1)) == "0.1"
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * np.float32(10) ** np.arange(
        -25, 25
    ).repeat(20)
    for value in values.astype(np.float32):
        assert np.float32(json.loads(dumps({"x": value}))["x"]) == value


def test_what_is_not_finite_is_null():
    assert dumps({"a": float("nan"), "b": [np.float32("inf")], "c": np.int32(3)}) == '{"a": null, "b": [null], "c": 3}'


def read(path):
    return sealed_files.read_rows(path)


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "metrics.jsonl")


def test_each_step_stands_once_and_in_order(log):
    log.append(rows(10, 20, 30))
    whole, digest = log.path.read_bytes(), log.digest
    log.cut_back(20)
    assert [row["step"] for row in read(log.path)] == [10, 10, 20, 20]
    log.append(rows(30))
    assert log.path.read_bytes() == whole
    assert log.digest == digest == log.digest_up_to(30)


@pytest.mark.parametrize("cut", [2, 40])
def test_a_torn_last_line_is_repaired(log, cut):
    log.append(rows(10, 20))
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-cut])
    log.cut_back(10)
    log.append(rows(20))
    assert log.path.read_bytes() == whole


def test_a_line_torn_just_before_its_end_is_kept_and_closed(log):
    log.append(rows(10))
    log.path.write_bytes(log.path.read_bytes()[:-1])
    log.cut_back(10)
    log.append(rows(20))
    assert [row["step"] for row in read(log.path)] == [10, 10, 20, 20]


def test_a_log_knows_what_it_was_at_a_step(log):
    """Going on from any step the digest is what it was then; rows that were lost, changed or added since change it."""
    known = {}
    for step in (10, 20, 30):
        log.append(rows(step))
        known[step] = log.digest
    whole = log.path.read_bytes()
    with log.path.open("a") as file:
        file.write('{"step": 40, "se')
    assert {step: log.digest_up_to(step) for step in known} == known
    lines = whole.splitlines(keepends=True)
    for other in (lines[1:], lines[:1] + lines, lines[1::-1] + lines[2:]):
        log.path.write_bytes(b"".join(other))
        assert not set(known.values()) & {log.digest_up_to(step) for step in known}
    log.path.write_bytes(b"".join(lines[:-1]))
    assert [step for step in known if log.digest_up_to(step) == known[step]] == [10, 20]


@pytest.mark.parametrize(
    ("old", "new"), [(b'"loss": 1', b'"loss": 3'), (b'"step"', b'"steq"'), (b'"checksum"', b'"chEcksum"'), (b"{", b"[")]
)
def test_a_damaged_row_is_refused_by_its_line(log, old, new):
    log.append(rows(10, 20))
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([lines[0], lines[1].replace(old, new), *lines[2:]]))
    with pytest.raises(DamagedFileError, match=r"metrics\.jsonl is damaged \(line 2: .*: restore it, or move .* away"):
        log.cut_back(20)
    log.cut_back(0)
