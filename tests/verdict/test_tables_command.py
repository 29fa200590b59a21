"""``posenc tables`` on a table in miniature."""

import json
import shutil

import pytest

from posenc_jax.cli import main
from posenc_jax.files.checksums import unseal
from posenc_jax.results.timing import read_commands
from posenc_jax.runs import ablation
from posenc_jax.runs.files import write_json


def test_a_table_from_nothing_to_its_page(table, capsys, printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    listed = printed("tables")
    assert "small A small table no results - -" in " ".join(listed.split())
    said = printed("tables", "small")
    assert "complete: " in said
    assert "nope better than rope" in said

    data = json.loads((table / "results.json").read_text())
    assert {(own["table"], own["label"]) for own in data["cells"]} == {("rsc", "nope"), ("rsc", "rope")}
    assert all(set(own["by_metric"]["exact_match"]["4"]) == {"0", "1"} for own in data["cells"])
    assert all(len(own["config"]) == 8 for own in data["cells"])
    assert data["code"][0]["source"]
    page = (table / "README.md").read_text()
    assert page.startswith("# A small table\n")
    assert page.endswith("\nThe end.\n")
    assert "| copying | nope | 0.986 | 0." in page
    assert "Not run here: SCAN." in page
    assert "- Both columns are shares from 0 to 1 here; published, and quoted below, in per cent.\n" in page
    assert read_commands(table.parents[2] / "runs" / "tables" / "small")[0] == ("posenc tables small",)
    assert "published" in json.loads(next((table.parents[2] / "runs").rglob("ablation.json")).read_text())

    before = [(table / name).read_bytes() for name in ("results.json", "README.md")]
    assert main(["tables", "small"]) == 0
    assert "already complete" in capsys.readouterr().err
    assert [(table / name).read_bytes() for name in ("results.json", "README.md")] == before
    assert "done" in printed("tables")


def test_hours_of_each_and_of_all(table, capsys, printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["tables", "small"]) == 0
    data = unseal((table / "results.json").read_bytes())
    for own, seconds in zip(data["cells"], (3600.0, 900.0), strict=True):
        own["seconds"] = seconds
    write_json(table / "results.json", data)
    for name in ("other", "third"):
        shutil.copytree(table, table.parent / name)
    (table.parent / "third" / "results.json").unlink()
    capsys.readouterr()
    out = printed("tables")
    hours = {line.split()[0]: line.split()[-1] for line in out.splitlines() if "A small table" in line}
    assert hours == {"small": "1.25", "other": "1.25", "third": "-"}
    assert "on the machine that made them; 2.50 in all." in out


def test_what_is_stopped_elsewhere_takes_nothing_from_complete_results(table, capsys, monkeypatch):
    assert main(["tables", "small"]) == 0
    before = [(table / name).read_bytes() for name in ("results.json", "README.md")]
    real, ran = ablation.run, []

    def run(cell, *args, **kwargs):
        if ran:
            kwargs["stop"] = lambda: 15
        ran.append(cell.label)
        return real(cell, *args, **kwargs)

    monkeypatch.setattr(ablation, "run", run)
    assert main(["tables", "small", "--directory", "elsewhere"]) == 128 + 15
    assert [(table / name).read_bytes() for name in ("results.json", "README.md")] == before
    monkeypatch.undo()
    monkeypatch.chdir(table.parents[2])
    assert main(["tables", "small", "--directory", "elsewhere"]) == 0
    assert read_commands(table.parents[2] / "elsewhere")[0] == ("posenc tables small --directory elsewhere",)


def test_each_seed_has_the_learning_rate_of_its_own_validation(table, capsys, printed, monkeypatch):
    """Other rates are other settings, until they are run."""
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["tables", "small"]) == 0
    reduced = table / "reduced.py"
    reduced.write_text(reduced.read_text().replace("seeds=(0, 1),", "seeds=(0, 1), learning_rates=(1e-3, 0.5),"))
    capsys.readouterr()
    assert "of other settings: rsc nope, rsc rope" in " ".join(printed("tables").split())
    assert main(["tables", "small"]) == 0
    for cell in unseal((table / "results.json").read_bytes())["cells"]:
        tried = cell["tried"]
        best = {seed: max(tried, key=lambda rate, seed=seed: (tried[rate][seed], -float(rate))) for seed in "01"}
        assert cell["learning_rates"] == {seed: float(rate) for seed, rate in best.items()}
    assert "Every seed has the learning rate that is best in its own validation" in (table / "README.md").read_text()


def test_groups_of_other_machines_are_named(table, capsys):
    assert main(["tables", "small"]) == 0
    place = table.parents[2] / "runs" / "tables" / "small"
    *_, last = sorted(place.rglob("environment.json"))
    other = unseal(last.read_bytes())
    other["began"] |= {"cpu": "Another chip", "device_count": 64}
    write_json(last, other)
    assert main(["tables", "small"]) == 0
    data = unseal((table / "results.json").read_bytes())
    assert [own["cpu"] for own in data["machine"]["others"]] == ["Another chip"]
    assert "64 x Another chip; jax" in (table / "README.md").read_text()


def test_stopped_and_resumed(table, capsys, printed, monkeypatch):
    """What is finished is written, and the next call runs the rest only."""
    real, ran = ablation.run, []

    def run(cell, *args, **kwargs):
        if len(ran) == 1 and kwargs["stop"] is not None:
            kwargs["stop"] = lambda: 15
        ran.append(cell.label)
        return real(cell, *args, **kwargs)

    monkeypatch.setattr(ablation, "run", run)
    assert main(["tables", "small"]) == 128 + 15
    assert ran == ["nope", "rope"]
    data = json.loads((table / "results.json").read_text())
    assert [own["label"] for own in data["cells"]] == ["nope"]
    capsys.readouterr()
    assert "partial, 2 of 4 runs" in " ".join(printed("tables").split())
    assert main(["tables", "small"]) == 0
    assert ran == ["nope", "rope", "rope"]
    assert len(json.loads((table / "results.json").read_text())["cells"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smal"], "there is no table 'smal' in experiments/tables: did you mean 'small'?"),
        (["--directory", "runs"], "--directory is where the runs of one table are kept: name the table too"),
        (["small", "--directory", ""], "'' is no path"),
    ],
)
def test_refused_in_one_line(table, refusal, arguments, message):
    assert message in refusal("tables", *arguments)
    assert not (table.parents[2] / "runs").exists()


def test_directions_and_pages_are_checked_before_anything_is_trained(table, refusal):
    readme = (table / "README.md").read_text()
    (table / "README.md").write_text("# A small table\n")
    assert "README.md: the page lacks the marks for it: write the two lines" in refusal("tables", "small")
    (table / "README.md").write_text(readme)
    text = (table / "directions.toml").read_text()
    (table / "directions.toml").write_text(text.replace('better = "nope"', 'better = "alibi"'))
    said = refusal("tables", "small")
    assert "small: a direction names 'alibi' in table 'rsc', and its ablation has no such cell" in said
    (table / "directions.toml").write_text(text.replace('better = "nope"', 'better = "nope"\nwhere = 3'))
    assert "a direction is about length 3 of table 'rsc', which is measured at 2, 4 only" in refusal("tables", "small")
    assert not (table.parents[2] / "runs").exists()


def test_there_is_no_table_elsewhere(refusal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "there are no tables in experiments/tables: run this command in the folder of" in refusal("tables")
