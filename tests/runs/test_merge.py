"""Ablations that were run apart, joined: the same bytes as of one that ran in one place, or a refusal."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax.config import Ablation, config_hash
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.ablation_record import write_results
from posenc_jax.runs.directory import load_stored
from posenc_jax.runs.errors import DamagedFileError, RefusedError
from posenc_jax.runs.files import read_json, sealed_line, write_json
from posenc_jax.runs.merge import joined, merge
from posenc_jax.runs.ownership import claim
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


def refusal(*sources, output, kind=RefusedError):
    before = [contents(source) for source in sources]
    with pytest.raises(kind) as caught:
        merge(sources, output)
    assert [contents(source) for source in sources] == before
    assert not list(output.parent.glob(f"{output.name}*")), "something half made is left"
    return str(caught.value)


@pytest.mark.slow
def test_run_apart_and_merged_is_as_run_in_one_place(tmp_path):
    """Seeds 0 and 1 here, 2 and 3 there, against all four in one directory; and it can be gone on with."""
    four = dataclasses.replace(ABLATION, runs=(dataclasses.replace(CONFIG, seeds=(0, 1, 2, 3)),))
    here, there, whole = tmp_path / "here", tmp_path / "there", tmp_path / "whole"
    copy_of_the_run(here / CONFIG.directory_name)
    ablate(ABLATION, here, reporter=Reporter())
    shutil.copytree(here, whole)
    ablate(four, whole, reporter=Reporter())
    two = dataclasses.replace(ABLATION, runs=(dataclasses.replace(CONFIG, seeds=(2, 3)),), title="", name="other")
    ablate(two, there, reporter=Reporter())
    before = contents(here), contents(there)
    notes = Notes()
    assert merge([here, there], tmp_path / "both", note=notes.note) == four
    assert notes.notes == []
    assert (contents(here), contents(there)) == before
    for name in ("results.jsonl", f"{CONFIG.directory_name}/group-001/result.json"):
        assert (tmp_path / "both" / name).read_bytes() == (whole / name).read_bytes(), name
    record, expected = (read_json(place / "ablation.json") for place in (tmp_path / "both", whole))
    assert record == expected
    ablate(four, tmp_path / "both", reporter=(reporter := Notes()))
    assert reporter.notes == [f"{tmp_path / 'both'} is already complete: nothing to do"]


def test_merged_is_as_in_one_place(tmp_path):
    """The same with groups that nobody trains here."""
    four = dataclasses.replace(ABLATION, runs=(dataclasses.replace(CONFIG, seeds=(0, 1, 2, 3)),))
    a, b, whole = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3)), made(tmp_path / "whole")
    shutil.copytree(next(b.glob("*/group-000")), next(whole.glob("*/group-000")).with_name("group-001"))
    claim(whole / CONFIG.directory_name, four.runs[0])
    ablate(four, whole, reporter=Reporter())
    before = contents(a), contents(b)
    assert merge([a, b], tmp_path / "both") == four
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
    with pytest.raises(RefusedError, match=r"different baselines \('rope\|learned' in .*/a, 'other' in .*/b\)"):
        merge([a, b], tmp_path / "ab")
    assert merge([a, both, a], tmp_path / "out") == two
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [(row["label"], row["seed"]) for row in rows[::3]] == [
        *(("rope|learned", 0), ("rope|learned", 1), ("other", 0), ("other", 1))
    ]
    assert len(list((tmp_path / "out").glob("*/group-*"))) == 2


def test_results_that_differ_are_refused(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b")

    def another(result):
        result["replicas"][1]["evaluation"][0]["loss"] = 0.125

    message = refusal(a, changed(b, another), output=tmp_path / "out")
    group = f"{CONFIG.directory_name}/group-000"
    assert message.startswith(f"{a / group} and {b / group} have different results of seed 1 at 0.01: move one of")
    assert "evaluation[0].loss: " in message
    assert message.endswith(" -> 0.125")


def test_cells_that_differ_are_refused(tmp_path):
    other = dataclasses.replace(CONFIG.training, batch_size=2)
    a, b = made(tmp_path / "a"), made(tmp_path / "b", training=other)
    message = refusal(a, b, output=tmp_path / "out")
    assert message.startswith(f"{b} has another cell cmc rope|learned than {a}: relabel one of them")
    assert message.endswith("Differences:\n  training.batch_size: 4 -> 2")


def test_a_group_that_overlaps_in_part_is_refused(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 0))

    def as_here(result):
        result["replicas"][1] = read_json(next(a.glob("*/group-000/result.json")))["replicas"][0]

    message = refusal(a, changed(b, as_here), output=tmp_path / "out")
    assert "has seed 0 at 0.01, which" in message
    assert "and seed 2 at 0.01, which is in no other, and a group cannot be divided: move" in message


def test_what_is_not_finished_is_left_out_in_words(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    (group,) = b.glob("*/group-000")
    (group / "result.json").unlink()
    notes = Notes()
    merge([a, b], tmp_path / "out", note=notes.note)
    replicas = "seed 2 at 0.01, seed 3 at 0.01"
    assert notes.notes == [
        f"{group} is not finished and is left out: {replicas}",
        f"cmc rope|learned has no result of {replicas}",
    ]
    assert load_stored(tmp_path / "out").runs[0].seeds == (0, 1, 2, 3)


def test_groups_of_one_cell_that_were_made_on_different_machines_are_marked(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    changed(b, lambda record: record["began"].update(threads=77), "environment.json")
    notes = Notes()
    merge([a, b], tmp_path / "out", note=notes.note)
    assert len(notes.notes) == 1
    assert "is marked bit_exact=false: threads: " in notes.notes[0]
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert {row["seed"]: row["bit_exact"] for row in rows} == {0: True, 1: True, 2: False, 3: False}


def test_other_data_is_refused(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    for place, digest in ((a, "1"), (b, "2")):
        write_json(place / CONFIG.directory_name / "data.json", {"tokenizer": digest})
    message = refusal(a, b, output=tmp_path / "out")
    assert "was trained on other data than" in message
    assert message.endswith("tokenizer: '1' -> '2'")


def test_places_that_cannot_be_merged(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    out = tmp_path / "out"
    assert "at least two ablations, and got" in refusal(a, a, output=out)
    assert "holds a single run" in refusal(a, copy_of_the_run(tmp_path / "run"), output=out)
    assert "nowhere is no run: it has no config.json" in refusal(a, tmp_path / "nowhere", output=out)
    with pytest.raises(RefusedError, match="a is not empty, and a merge begins a directory: choose another"):
        merge([a, b], a)
    (path,) = b.glob("*/group-000/result.json")
    path.write_text(path.read_text().replace('"label"', '"lebel"'))
    assert "is damaged" in refusal(a, b, output=out, kind=DamagedFileError)


def test_an_empty_directory_is_taken(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    (tmp_path / "out").mkdir()
    merge([a, b], tmp_path / "out")
    assert (tmp_path / "out" / "results.jsonl").is_file()


def test_fields_of_a_merged_ablation(tmp_path):
    first = dataclasses.replace(ABLATION, title="", baseline="")
    second = dataclasses.replace(ABLATION, name="second", runs=(dataclasses.replace(CONFIG, learning_rates=(1.0,)),))
    config = joined({tmp_path / "a": first, tmp_path / "b": second})
    assert (config.name, config.title, config.baseline) == ("tiny", "Tiny", "rope|learned")
    assert config.runs[0].learning_rates == (0.01, 1.0)


def test_what_cells_began_with_is_kept_and_must_agree(tmp_path):
    first, second = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    for source, kept in ((first, {"0": ["1" * 8]}), (second, {"2": ["2" * 8]})):
        (home,) = (path.parent.parent for path in source.glob("*/group-000/result.json"))
        write_json(home / "start.json", kept)
    merge([first, second], tmp_path / "whole")
    (kept,) = (tmp_path / "whole").glob("*/start.json")
    assert read_json(kept) == {"0": ["1" * 8], "2": ["2" * 8]}
    write_json(home / "start.json", {"0": ["3" * 8]})
    said = refusal(first, second, output=tmp_path / "other")
    assert "began with other parameters than" in said


def test_the_states_of_corpora_are_compared_over_cells(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("posenc_jax.runs.merge.refuse_other_corpora", asked.append)
    first, second = made(tmp_path / "a"), made(tmp_path / "b", seeds=(2, 3))
    merge([first, second], tmp_path / "whole")
    ((cell, home),) = asked[0].items()
    assert (cell.seeds, home.parent) == ((0, 1, 2, 3), first)
