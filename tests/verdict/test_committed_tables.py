"""The tables in the repository: directions before results, pages that say what the data say."""

import subprocess
from pathlib import Path

import pytest

from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation
from posenc_jax.verdict.cells import read_results, state
from posenc_jax.verdict.published import DIRECTIONS, FULL, README, REDUCED, RESULTS, folders, read_folder
from posenc_jax.verdict.published_results import check, section

CLONE = Path(__file__).parent.parent.parent
ROOT = Path("experiments/tables")
NAMES = folders(CLONE / ROOT)


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.chdir(CLONE)


def test_all_are_there():
    assert len(NAMES) == 15


@pytest.mark.parametrize("name", NAMES)
def test_directions_can_be_judged(name):
    """Every one is between arms of the reduced version, at lengths that it measures."""
    folder = read_folder(ROOT, name)
    assert folder.directions
    check(folder, load_config(str(ROOT / name / REDUCED), Ablation, "tables"))


@pytest.mark.parametrize("name", NAMES)
def test_units_are_those_of_the_cells(name):
    """Where per cent are made shares, no words beside the shares say per cent."""
    assert not [c.name for c in read_folder(ROOT, name).columns if c.scale != 1 and "%" in c.theirs]


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_s_setting_builds_and_says_how_to_price_it(name):
    path = ROOT / name / FULL
    assert len(load_config(str(path), Ablation, "plan").runs) >= 2
    assert f"posenc plan {path} --target h100" in path.read_text()
    assert f"posenc plan {path} --target h100" in (ROOT / name / README).read_text()


@pytest.mark.parametrize("name", ["randomized", "chomsky"])
@pytest.mark.parametrize("file", [REDUCED, FULL])
def test_one_length_for_each_batch_from_the_first_step_on(name, file):
    """What the two pages say of their curriculum."""
    runs = load_config(str(ROOT / name / file), Ablation, "plan").runs
    assert {run.task.length_per for run in runs} == {"step"}
    assert {(run.training.curriculum_every, run.training.length_strata) for run in runs} == {(0, 1)}
    command = f"`posenc ablate experiments/tables/{name}/full.py --training.curriculum_every 1000`"
    assert command in (ROOT / name / README).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_of_the_data(name):
    folder = read_folder(ROOT, name)
    ours = read_results(ROOT / name / RESULTS)
    page = (ROOT / name / README).read_text()
    assert f"posenc tables {name}\n" in page
    assert section(folder, ours) in page
    assert state(ours, load_config(str(ROOT / name / REDUCED), Ablation, "tables")) == "done"


@pytest.mark.parametrize("name", [name for name in NAMES if (CLONE / ROOT / name / RESULTS).exists()])
def test_directions_were_committed_before_any_result(name):
    """The last change of the directions is an earlier commit than the first results."""
    expected = _commits(name, DIRECTIONS)
    found = _commits(name, RESULTS)
    if not expected or not found:
        pytest.skip("no repository, or a shallow one")
    before = subprocess.run(["git", "merge-base", "--is-ancestor", expected[0], found[-1]], check=False)
    assert before.returncode == 0
    assert expected[0] != found[-1]


def _commits(name, file):
    """Those that changed a file of a table, the newest first; none where nobody knows."""
    command = ["git", "log", "--format=%H", "--", str(ROOT / name / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=False
    )
    return done.stdout.split() if done.returncode == 0 and shallow.stdout.strip() == "false" else []
