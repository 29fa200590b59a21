"""Two recorded environments compared, wherever results of two are put side by side."""

import json
import shutil

import pytest
import sealed_files
from synthetic_ablation import rewrite, write_ablation
from trained_runs import CONFIG, Notes, copy_of_the_run

from posenc_jax.environments import between, compared, draw_classes, history, of_process
from posenc_jax.results import read_record, report, summarise
from posenc_jax.results.ablation_result import read_result
from posenc_jax.results.report import tables
from posenc_jax.results.report.page import page
from posenc_jax.runs import evaluation, identity
from posenc_jax.runs.directory import read_group
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.identity import record_environment, trained_in
from posenc_jax.verdict import deciding

NOW = environment()
OTHER_DRAWS = NOW | {"threefry_partitionable": not NOW["threefry_partitionable"]}
ROUNDED = NOW | {"threads": 77}
FLIPPED = "threefry_partitionable: True -> False"


def test_one_answer_with_the_names_of_what_differs():
    assert compared(NOW, NOW).word == "same bits"
    assert not compared(NOW, NOW).lines
    assert (compared(NOW, OTHER_DRAWS).word, compared(NOW, OTHER_DRAWS).draws) == ("draws differ", (FLIPPED,))
    found = compared(NOW, ROUNDED)
    assert (found.word, found.rounding) == ("rounding may differ", (f"threads: {NOW['threads']} -> 77",))
    assert compared(OTHER_DRAWS, ROUNDED).word == "draws differ"


def test_what_is_not_recorded_is_not_known():
    older = {name: value for name, value in NOW.items() if name != "jax_random_seed_offset"}
    for found in (compared(older, NOW), compared(NOW, older), compared(older, older)):
        assert (found.word, found.lines) == ("not known", ["not recorded: jax_random_seed_offset"])
    assert compared({}, NOW).lines == ["not recorded: what it ran in"]
    assert compared({"jax": "1"}, {"jax": "1"}).lines[0].endswith(" more")


def test_groups_are_compared_by_all_that_they_ran_in():
    plain, rounded = history({"began": NOW}), history({"began": NOW, "resumed": [ROUNDED]})
    changed = history({"began": NOW, "resumed": [OTHER_DRAWS | {"own": {}}]})
    assert not between(plain, plain).lines
    assert between(plain, rounded).word == "rounding may differ"
    assert between(changed, changed).draws, "nobody knows at which step"
    here, there = (history({"began": NOW, "start": [own]}) for own in (NOW, OTHER_DRAWS))
    assert between(here, there).draws == (FLIPPED,)
    assert not between(there, there).lines, "the same start"
    every = {"a": plain, "b": changed, "c": rounded, "d": history({"began": OTHER_DRAWS}), "e": plain}
    assert draw_classes(every) == {"a": 0, "b": None, "c": 0, "d": 3, "e": 0}


def placed(ablation, histories, of):
    """The synthetic ablation with environments, and what ``of`` (row -> number) says of each row."""
    info = json.loads((ablation / "ablation.json").read_text())
    info["environments"] = {str(number): history(own) for number, own in enumerate(histories)}
    for cell in info["cells"]:
        cell |= {"bit_exact": True, "code": [{"version": "0.1.0", "seeds": [0, 1, 2, 3]}]}
    sealed_files.write(ablation / "ablation.json", info)
    rewrite(ablation, lambda row: row | {"environment": str(of(row))})
    return summarise(read_record(ablation))


@pytest.fixture
def ablation(tmp_path):
    return write_ablation(tmp_path / "ablation")


def test_cells_of_other_draws_are_not_paired_and_the_report_says_so(ablation):
    before = summarise(read_record(ablation)).tasks[0]
    assert next(cell for cell in before.cells if cell.label == "t5").difference.interval.n
    summary = placed(ablation, [{"began": NOW}, {"began": OTHER_DRAWS}], lambda row: int(row["label"] == "t5"))
    task = summary.tasks[0]
    cells = {cell.label: cell for cell in task.cells}
    assert cells["t5"].difference.interval.n == 0
    others = [cell for cell in task.cells if cell.label != "t5" and not cell.is_baseline and cell.scores]
    assert all(cell.difference.interval.n for cell in others)
    said = tables.terminal(summary, 400)
    (line,) = [line for line in said.splitlines() if "other random numbers were drawn" in line]
    assert line.startswith("rsc / t5") or "/ t5" in line
    assert FLIPPED in line
    assert "paired by seed." not in tables.main_table(task).notes[0]
    said_apart = f"Not paired, as the random numbers differ from those of {task.baseline}: t5."
    assert said_apart in tables.main_table(task).notes[0]
    assert "bit-exact: computed in one environment" not in said
    assert FLIPPED.replace(">", "&gt;") in page(summary)
    assert report.text_report(ablation, 400)
    rows = [row for row in read_result(ablation).differences if row["label"] == "t5"]
    assert rows
    assert all(row["seeds"] == 0 for row in rows)


def test_cells_of_another_environment_differ_by_rounding_and_one_is_said_once(ablation):
    summary = placed(ablation, [{"began": NOW}, {"began": ROUNDED}], lambda row: int(row["label"] == "t5"))
    lines = [line for line in tables.terminal(summary, 400).splitlines() if "results differ by rounding (" in line]
    assert len(lines) == 1
    assert f"threads: {NOW['threads']} -> 77" in lines[0]
    assert "paired by seed." in tables.main_table(summary.tasks[0]).notes[0]
    same = placed(ablation, [{"began": NOW}], lambda row: 0)
    assert "all results are bit-exact: computed in one environment by the same code" in tables.terminal(same, 400)


def test_an_evaluation_elsewhere_is_said(tmp_path, monkeypatch):
    directory = copy_of_the_run(tmp_path / "run")
    monkeypatch.setattr(evaluation, "measure", lambda *given: ([], []))
    places = {}
    for name, there in (("same", {}), ("rounded", {"threads": 77}), ("drawn", {"threefry_partitionable": False})):
        path = directory / "group-000" / "environment.json"
        record = read_json(path)
        began = {**record["began"], **of_process(NOW), **there}
        write_json(path, {"began": began, "resumed": []})
        notes = Notes()
        places[name], _ = evaluation.evaluate(directory, (2,), reporter=notes)
        said = " ".join(notes.notes)
        assert ("was trained in (rounding may differ): threads: 77 ->" in said) == (name == "rounded")
        assert ("was trained in (draws differ): " in said) == (name == "drawn")
        assert read_json(places[name])["environment"] == of_process(NOW)
    assert places["same"] == places["rounded"] != places["drawn"]


def test_a_start_from_elsewhere_is_said_and_not_called_exact(tmp_path):
    directory = copy_of_the_run(tmp_path / "source")
    path = directory / "group-000" / "environment.json"
    began = read_json(path)["began"]
    write_json(path, {"began": began | {"threefry_partitionable": False}, "resumed": []})
    source = trained_in(directory, (1,))
    assert source == (directory, [of_process(began | {"threefry_partitionable": False})])
    assert trained_in(directory, (7,)) == (directory, [])
    assert trained_in(None, (1,)) is None
    for start, exact in ((source, False), ((directory, [of_process(began)]), True), (None, True)):
        group = read_group(copy_of_the_run(tmp_path / f"run-{exact}-{start is None}") / "group-000")
        (group.directory / "environment.json").unlink()
        shutil.rmtree(group.directory / "checkpoints")
        notes = Notes()
        assert record_environment(group, began, notes.note, start) is exact
        wanted = [] if exact else [f"{directory}, which group-000 starts from, was trained elsewhere, its result"]
        assert [note.partition(" will be marked")[0] for note in notes.notes] == wanted
        assert all("threefry_partitionable: False -> True" in note for note in notes.notes)


def test_a_verdict_is_refused_where_arms_drew_other_numbers(tmp_path, monkeypatch):
    there = {"rope": ({"runs/rope": history({"began": OTHER_DRAWS})}, True), "mine": ({}, False)}
    monkeypatch.setattr(deciding, "histories", lambda table, slot, label, directory, seeds: there[label])
    with pytest.raises(RefusedError, match=r"draws other random numbers than runs/rope \(threefry_partitionable"):
        deciding._compared({"rope": (), "mine": ()}, {"copy": None}, tmp_path, (0, 1))
    there["rope"] = ({"runs/rope": history({"began": ROUNDED})}, True)
    assert deciding._compared({"rope": (), "mine": ()}, {"copy": None}, tmp_path, (0, 1)) == (
        f"threads: 77 -> {NOW['threads']}",
    )
    there["mine"] = ({"runs/mine": history({"began": ROUNDED})}, True)
    assert deciding._compared({"rope": (), "mine": ()}, {"copy": None}, tmp_path, (0, 1)) == ()


def test_processes_that_draw_other_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(identity, "count", lambda: 2)
    monkeypatch.setattr(identity, "agreed", lambda first: first())
    differ = iter(["", FLIPPED, "", ""])  # of the second process: its config, and its random numbers
    monkeypatch.setattr(identity, "everyone", lambda own: [own, next(differ)])
    with pytest.raises(
        RefusedError, match=r"draw different random numbers: .* from the first in threefry_partitionable"
    ):
        identity.refuse_other_processes(CONFIG)
    identity.refuse_other_processes(CONFIG)
