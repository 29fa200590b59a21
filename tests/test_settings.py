"""Which settings decide numbers: what scripts/settings.py found, and that the record of the environment tells of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import settings

from posenc_jax.environments import OF_PROCESS
from posenc_jax.runs.environment import environment

ROOT = Path(__file__).parent.parent
FOUND = json.loads((ROOT / "scripts" / "docs" / "settings.json").read_text())
PARTS = 6


def test_what_changes_a_bit_is_in_the_record():
    assert settings.untold(FOUND["settings"]) == []
    names = {name for own in FOUND["settings"].values() for name in own.get("names", ())}
    assert names <= set(OF_PROCESS)
    assert set(OF_PROCESS) - {"device_software"} <= set(environment())


def test_settings_that_draw_other_numbers_are_among_those_that_do():
    drawing = {key.partition("=")[0] for key, own in FOUND["settings"].items() if own["effect"] == "draws"}
    assert {
        "jax_threefry_partitionable",
        "jax_enable_x64",
        "jax_random_seed_offset",
        "jax_default_prng_impl",
    } <= drawing


def test_the_table_of_the_page_is_that_of_what_was_found():
    page = (ROOT / "scripts" / "docs" / "reliability.md").read_text()
    assert page == settings.refilled(page, settings.BEGIN, settings.table(FOUND["settings"]), settings.END)


def test_errors_name_no_folder_of_the_machine():
    with pytest.raises(FileNotFoundError) as caught:
        (settings.ROOT / "nowhere" / "at_all").read_text()
    assert settings._line(caught.value).endswith("'nowhere/at_all'")
    assert [own["error"] for own in FOUND["settings"].values() if " /" in own.get("error", "")] == []


def test_every_setting_was_tried():
    names = {key.partition("=")[0] for key in FOUND["settings"]}
    assert {one.key for one in settings.variables()} <= set(FOUND["settings"])
    assert settings.UNTRIED not in {own["effect"] for own in FOUND["settings"].values()}
    import jax

    if FOUND["jax"] == jax.__version__:
        assert set(jax.config.values) <= names


def test_what_changes_more_than_the_record_says_is_named():
    found = {
        "a=1": {"effect": "draws", "record": "rounding may differ", "names": ["threads"]},
        "b=1": {"effect": "rounding", "record": "same bits", "names": []},
        "c=1": {"effect": "rounding", "record": "draws differ", "names": ["x64"]},
        "d=1": {"effect": "nothing"},
    }
    assert settings.untold(found) == ["a=1", "b=1"]


def test_many_are_tried_at_once_and_the_one_that_decides_is_found():
    asked = [settings.Tried("flag", f"f{number}", True) for number in range(20)]
    before = {"drawn": [], "results": ["a"], "environment": environment()}
    trained = []

    def run(group):
        trained.append(len(group))
        if any(one.name == "f7" for one in group):
            return "Error: no"
        return before | {"results": ["b"]} if any(one.name == "f13" for one in group) else before

    found = settings.tried(asked, run, {one.key: {"effect": "nothing"} for one in asked})
    effects = {key.partition("=")[0]: own["effect"] for key, own in found.items() if own["effect"] != "nothing"}
    assert effects == {"f7": "cannot run", "f13": "rounding"}
    assert settings.untold(found) == ["f13=True"], "nothing in the record tells of it"
    assert len(trained) < 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_setting_tried_anew_is_in_the_record_where_it_changes_a_bit(part):
    """Under every flag of this JAX and every variable that is documented."""
    command = [sys.executable, ROOT / "scripts" / "settings.py", "--part", str(part), str(PARTS)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert settings.untold(json.loads(done.stdout)) == []
