"""Ablations that were run apart, joined: the same bytes as of one that ran in one place, or a refusal."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil

import pytest
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax.cli import main
from posenc_jax.config import Ablation, config_hash
from posenc_jax.results.timing import read_commands
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.ablation_record import write_results
from posenc_jax.runs.directory import load_stored
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import append_rows, read_json, sealed_line, write_json
from posenc_jax.runs.identity import claim
from posenc_jax.runs.joining import join, joined
from posenc_jax.runs.reporter import Reporter

ABLATION = Ablation("tiny", (CONFIG,), baseline="rope|learned", title="Tiny")


def made(directory, seeds=(0, 1), **fields):
    """An ablation of the trained run, told to be of other seeds and to have other settings than it has."""
    cell = dataclasses.replace(CONFIG, seeds=seeds, **fields)
    config = dataclasses.replace(ABLATION, runs=(cell,), baseline=cell.label)
    home = directory / cell.directory_name
    group = copy_of_the_run(home) / "group-000"
    result = read_json(group / "result.json")
    for replica, seed in zip(result["replicas"], seeds, strict=True):
        replica["seed"] = seed
    (home / "config.json").unlink()
    stored = read_json(group / "config.json")
    (group / "config.json").unlink()
    claim(home, cell)
    claimed = read_json(home / "config.json")
    replicas = [[seed, rate] for seed, (_, rate) in zip(seeds, stored["replicas"], strict=True)]
    write_json(group / "config.json", {**stored, **claimed, "replicas": replicas, "config_hash": config_hash(cell)})
    (group / "result.json").write_text(sealed_line(result | {"config_hash": config_hash(cell)}))
    claim(directory, config)
    write_results(directory, config)
    return directory


def changed(directory, change, name="result.json"):
    """A file of the first group, with what ``change`` does to it, under a new checksum."""
    (path,) = directory.glob(f"*/group-000/{name}")
    data = read_json(path)
    change(data)
    path.write_text(sealed_line(data))
    return directory


def test_joined_is_as_in_one_place(tmp_path):
    """Seeds 0 and 1 here, 2 and 3 there, against all four in one directory; and it can be gone on with."""
    four = dataclasses.replace(ABLATION, runs=(dataclasses.replace(CONFIG, seeds=(0, 1, 2, 3)),))
    a, b, whole = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3)), made(tmp_path / "whole")
    shutil.copytree(next(b.glob("*/group-000")), next(whole.glob("*/group-000")).with_name("group-001"))
    claim(whole / CONFIG.directory_name, four.runs[0])
    ablate(four, whole, reporter=Reporter())
    before = contents(a), contents(b)
    join([a, b], tmp_path / "both", print)
    assert load_stored(tmp_path / "both") == four
    assert (contents(a), contents(b)) == before
    expected, found = (
        {name: content for name, (_, content) in contents(place).items()} for place in (whole, tmp_path / "both")
    )
    assert found == expected
    ablate(four, tmp_path / "both", reporter=(reporter := Notes()))
    assert reporter.notes == [f"{tmp_path / 'both'} is already complete: nothing to do"]


def test_different_cells_and_what_several_have(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", label="other")
    both = made(tmp_path / "c")
    shutil.copytree(next(b.glob("*-other-*")), both / next(b.glob("*-other-*")).name)
    two = dataclasses.replace(ABLATION, runs=(CONFIG, dataclasses.replace(CONFIG, label="other")))
    (both / "config.json").unlink()
    claim(both, two)
    join([a, both, a], tmp_path / "out", print)
    assert load_stored(tmp_path / "out") == two
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [(row["label"], row["seed"]) for row in rows[::3]] == [
        *(("rope|learned", 0), ("rope|learned", 1), ("other", 0), ("other", 1))
    ]
    assert len(list((tmp_path / "out").glob("*/group-*"))) == 2


def test_fields_of_a_joined_ablation(tmp_path):
    first = dataclasses.replace(ABLATION, title="", baseline="")
    second = dataclasses.replace(ABLATION, name="second", runs=(dataclasses.replace(CONFIG, learning_rates=(1.0,)),))
    config = joined({tmp_path / "a": first, tmp_path / "b": second})
    assert (config.name, config.title, config.baseline) == ("tiny", "", "")
    assert config.runs[0].learning_rates == (0.01, 1.0)


def another_loss(a, b):
    changed(b, lambda result: result["replicas"][1]["evaluation"][0].update(loss=0.125))


def overlaps_in_part(a, b):
    first = read_json(next(a.glob("*/group-000/result.json")))["replicas"][0]
    made_of(b, seeds=(2, 0))
    changed(b, lambda result: result["replicas"].__setitem__(1, first))


def other_data(a, b):
    for place, digest in ((a, "1"), (b, "2")):
        write_json(place / CONFIG.directory_name / "data.json", {"tokenizer": digest})


def damaged(a, b):
    (path,) = b.glob("*/group-000/result.json")
    path.write_text(path.read_text().replace('"label"', '"lebel"'))


def made_of(directory, **fields):
    shutil.rmtree(directory)
    made(directory, **fields)


OTHER = dataclasses.replace(CONFIG.training, batch_size=2)
REFUSED = {
    another_loss: r"have different results of seed 1 at 0.01 \(evaluation\[0\].loss: .* -> 0.125\): move one",
    overlaps_in_part: r"has seed 0 at 0.01, which .* has too, beside others, and a group cannot be divided",
    other_data: r"was trained on other data than .*: tokenizer: '1' -> '2'$",
    damaged: "is damaged",
    lambda a, b: made_of(b, training=OTHER): r"another cell cmc rope\|learned .*\n  training.batch_size: 4 -> 2$",
    lambda a, b: shutil.rmtree(b): r"b is no run: it has no config\.json",
    lambda a, b: (shutil.rmtree(b), copy_of_the_run(b)): "b holds a single run, and ablations are joined",
}


@pytest.mark.parametrize("change", REFUSED, ids=list(REFUSED.values()))
def test_what_differs_is_refused(tmp_path, change):
    a, b = made(tmp_path / "a"), made(tmp_path / "b")
    change(a, b)
    before = [contents(source) for source in (a, b) if source.exists()]
    with pytest.raises(RefusedError, match=REFUSED[change]):
        join([a, b], tmp_path / "out", print)
    assert [contents(source) for source in (a, b) if source.exists()] == before
    assert not (tmp_path / "out").exists()


def test_what_is_not_finished_is_left_out_in_words_and_other_machines_are_marked(tmp_path):
    a, b, c = (made(tmp_path / name, seeds=seeds) for name, seeds in (("a", (0, 1)), ("b", (2, 3)), ("c", (4, 5))))
    (b / CONFIG.directory_name / "group-000" / "result.json").unlink()
    changed(c, lambda record: record["began"].update(threads=77), "environment.json")
    notes = Notes()
    join([a, b, c], tmp_path / "out", notes.note)
    assert notes.notes == ["cmc rope|learned has no result of seed 2 at 0.01, seed 3 at 0.01"]
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert {row["seed"]: row["bit_exact"] for row in rows} == {0: True, 1: True, 4: False, 5: False}


def test_the_command(tmp_path, capsys, refusal):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    append_rows(a / "timing.jsonl", [{"command": "posenc ablate a.py"}])
    command = ["report", str(a), str(b), "-o", str(tmp_path / "c")]
    assert main(command) == 0
    out, _ = capsys.readouterr()
    assert f"wrote in {tmp_path / 'c'}: report.html" in out
    assert read_commands(tmp_path / "c")[0] == ("posenc ablate a.py", shlex.join(("posenc", *command)))
    assert "exists: choose another directory" in refusal(*command)
    assert "give both, or neither" in refusal("report", str(a), str(b))
