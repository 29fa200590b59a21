"""Published tables: one in miniature from nothing to its page, and those of the repository."""

import json
import subprocess
from pathlib import Path

import pytest

from experiments.tables.__main__ import config_of, main
from experiments.tables.folders import DIRECTIONS, FULL, README, REDUCED, RESULTS, folders, read_folder
from experiments.tables.page import check, section
from experiments.tables.results import Selection, read_results, state
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation
from posenc_jax.files.checksums import unseal
from posenc_jax.results.timing import read_commands
from posenc_jax.runs import ablation
from posenc_jax.runs.files import write_json

CLONE = Path(__file__).parent.parent
ROOT = Path("experiments/tables")
NAMES = folders()
PUBLISHED = '''
title = "A small table"
source = "Nobody 2020"
setting = """
A larger
model.
"""

[[scores]]
name = "copying"
table = "rsc"
theirs = "% right"
scale = 0.01
[scores.values]
"nope" = 98.6
"rope" = 0.0
"shaw" = ""

[[scores]]
name = "SCAN"
table = "scan"
theirs = "% right"
[scores.values]
"nope" = 79.7
'''
EXPECTED = """
rule = "The one that there is."

[[direction]]
table = "rsc"
better = "nope"
worse = "rope"
published = "98.6 against 0"
"""
CONFIG = """
import dataclasses

from posenc_jax import Ablation, Evaluation, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import RoPE

run = Run(
    table="rsc",
    label="nope",
    task=Copying(min_length=2, max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=1),
    training=Training(steps=2, batch_size=2, steps_per_call=1, log_every=1),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
    seeds=(0, 1),
)
config = Ablation("small", (run, dataclasses.replace(run, label="rope", posenc=(RoPE(),))), baseline="rope")
"""
PAGE = """# A small table

<!-- written by experiments.tables: from here -->
<!-- to here -->

The end.
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The folder of a table in miniature, two encodings and two seeds, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ROOT / "small"
    folder.mkdir(parents=True)
    for name, text in {"published.toml": PUBLISHED, DIRECTIONS: EXPECTED, REDUCED: CONFIG, README: PAGE}.items():
        (folder / name).write_text(text)
    return folder


def listed(capsys):
    capsys.readouterr()
    assert main([], ROOT) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_table_from_nothing_to_its_page(table, capsys, monkeypatch):
    """Stopped after the first arm and resumed: what is finished is written, and the next call runs the rest only."""
    real, ran = ablation.run, []

    def run(cell, *args, **kwargs):
        if len(ran) == 1 and kwargs["stop"] is not None:
            kwargs["stop"] = lambda: 15
        ran.append(cell.label)
        return real(cell, *args, **kwargs)

    assert "small A small table no results - -" in listed(capsys)
    monkeypatch.setattr(ablation, "run", run)
    assert main(["small"], ROOT) == 128 + 15
    assert [own["label"] for own in json.loads((table / RESULTS).read_text())["cells"]] == ["nope"]
    assert "partial, 2 of 4 runs" in listed(capsys)
    assert main(["small"], ROOT) == 0
    assert ran == ["nope", "rope", "rope"]
    assert "What was expected: 0 of 1 held" in capsys.readouterr().out

    data = unseal((table / RESULTS).read_bytes())
    assert {(own["table"], own["label"]) for own in data["cells"]} == {("rsc", "nope"), ("rsc", "rope")}
    assert all(set(own["by_metric"]["exact_match"]["4"]) == {"0", "1"} for own in data["cells"])
    page = (table / README).read_text()
    assert page.startswith("# A small table\n")
    assert page.endswith("\nThe end.\n")
    assert "| copying | nope | 0.986 | 0." in page
    assert "| rsc | nope better than rope | 98.6 against 0 |" in page
    assert "Not run here: SCAN." in page
    assert "- Both columns are shares from 0 to 1 here; published, and quoted below, in per cent.\n" in page
    assert read_commands(Path("runs/tables/small"))[0] == ("python -m experiments.tables small",)
    assert "published" in json.loads(next(Path("runs").rglob("ablation.json")).read_text())

    before = [(table / name).read_bytes() for name in (RESULTS, README)]
    assert main(["small"], ROOT) == 0
    assert [(table / name).read_bytes() for name in (RESULTS, README)] == before
    for own, seconds in zip(data["cells"], (3600.0, 900.0), strict=True):
        own["seconds"] = seconds
    write_json(table / RESULTS, data)
    assert "done 0 of 1 1.25" in listed(capsys)

    *_, last = sorted(Path("runs").rglob("environment.json"))
    other = unseal(last.read_bytes())
    other["began"] |= {"cpu": "Another chip", "device_count": 64}
    write_json(last, other)
    assert main(["small"], ROOT) == 0
    assert "64 x Another chip; jax" in (table / README).read_text()

    before = [(table / name).read_bytes() for name in (RESULTS, README)]
    Path("runs").rename("complete")
    ran.clear()
    assert main(["small"], ROOT) == 128 + 15
    assert [(table / name).read_bytes() for name in (RESULTS, README)] == before, "of more than what is finished now"

    (table / REDUCED).write_text(CONFIG.replace("seeds=(0, 1),", "seeds=(0, 1), learning_rates=(1e-3, 0.5),"))
    assert "of other settings: rsc nope, rsc rope" in listed(capsys)


def test_what_was_published_and_is_expected(table):
    found = read_folder(ROOT / "small")
    assert (found.name, found.title, found.setting) == ("small", "A small table", "A larger model.")
    copying, scan = found.columns
    assert copying.values == {"nope": 98.6, "rope": 0.0, "shaw": None}, "an empty one is not known, it is not 0"
    assert (copying.scale, scan.scale) == (0.01, 1.0)
    (direction,) = found.directions
    assert (direction.better, direction.worse, direction.selection) == ("nope", "rope", Selection("rsc"))
    (table / DIRECTIONS).write_text(EXPECTED.replace('better = "nope"\nworse = "rope"', 'alike = ["nope", "rope"]'))
    (direction,) = read_folder(ROOT / "small").directions
    assert str(direction) == "nope like rope"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("published.toml", 'title = "A small table"', "title =", "published.toml: Invalid value"),
        (DIRECTIONS, 'rule = "The one', 'rules = "The one', "directions.toml: it lacks 'rule'"),
        (DIRECTIONS, 'better = "nope"', 'better = "nope"\nwhere = "byond"', "where = 'byond' must be 'beyond', "),
        (DIRECTIONS, 'better = "nope"', 'better = "alibi"', "names 'alibi' in table 'rsc', and its ablation has no"),
        (DIRECTIONS, 'better = "nope"', 'better = "nope"\nwhere = 3', "is about length 3 of table 'rsc'"),
        (README, "<!-- to here -->", "", "README.md: the page lacks the marks"),
    ],
)
def test_folders_are_checked_before_anything_is_trained(table, file, old, new, message):
    text = (table / file).read_text()
    assert old in text
    (table / file).write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError) as caught:
        check(found := read_folder(table), config_of(found))
    assert message in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_of_the_data(name):
    """Every direction is between arms of the reduced version, at lengths that it measures."""
    folder = read_folder(CLONE / ROOT / name)
    ours, config = read_results(folder.path / RESULTS), config_of(folder)
    page = (folder.path / README).read_text()
    assert f"python -m experiments.tables {name}\n" in page
    assert section(folder, ours) in page
    assert state(ours, config) == "done"
    assert folder.directions
    check(folder, config)
    assert not [c.name for c in folder.columns if c.scale != 1 and "%" in c.theirs], "shares are not said in per cent"


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_s_setting_builds_and_says_how_to_price_it(name):
    path = CLONE / ROOT / name / FULL
    assert len(load_config(str(path), Ablation, "plan").runs) >= 2
    for text in (path, path.with_name(README)):
        assert f"posenc plan {ROOT / name / FULL} --target h100" in text.read_text()


@pytest.mark.parametrize("name", ["randomized", "chomsky"])
@pytest.mark.parametrize("file", [REDUCED, FULL])
def test_one_length_for_each_batch_from_the_first_step_on(name, file):
    """What the two pages say of their curriculum."""
    runs = load_config(str(CLONE / ROOT / name / file), Ablation, "plan").runs
    assert {run.task.length_per for run in runs} == {"step"}
    assert {(run.training.curriculum_every, run.training.length_strata) for run in runs} == {(0, 1)}
    command = f"`posenc ablate experiments/tables/{name}/full.py --training.curriculum_every 1000`"
    assert command in (CLONE / ROOT / name / README).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_directions_were_committed_before_any_result(name):
    """The last change of the directions is an earlier commit than the first results."""
    expected, found = (_commits(name, file) for file in (DIRECTIONS, RESULTS))
    if not expected or not found:
        pytest.skip("no repository, or a shallow one")
    assert _git("merge-base", "--is-ancestor", expected[0], found[-1]).returncode == 0
    assert expected[0] != found[-1]


def _commits(name, file):
    """Those that changed a file of a table, the newest first; none where nobody knows."""
    done = _git("log", "--format=%H", "--", str(ROOT / name / file))
    shallow = _git("rev-parse", "--is-shallow-repository")
    return done.stdout.split() if done.returncode == 0 and shallow.stdout.strip() == "false" else []


def _git(*words):
    return subprocess.run(["git", *words], cwd=CLONE, capture_output=True, text=True, check=False)
