"""Which settings decide numbers: what experiments/settings found, and that the record of an environment has it."""

import json

import jax

from experiments.settings import settings
from posenc_jax.drawing.markdown import refilled
from posenc_jax.environments import OF_PROCESS
from posenc_jax.runs.environment import environment

FOUND = json.loads(settings.FOUND.read_text())


def test_what_changes_a_bit_is_in_the_record():
    assert settings.untold(FOUND["settings"]) == []
    names = {name for own in FOUND["settings"].values() for name in own.get("names", ())}
    assert names <= set(OF_PROCESS)
    assert set(OF_PROCESS) - {"device_software"} <= set(environment())


def test_every_setting_was_tried():
    names = {key.partition("=")[0] for key in FOUND["settings"]}
    assert {one.key for one in settings.variables()} <= set(FOUND["settings"])
    assert settings.UNTRIED not in {own["effect"] for own in FOUND["settings"].values()}
    if FOUND["jax"] == jax.__version__:
        assert set(jax.config.values) <= names


def test_the_table_of_the_page_is_that_of_what_was_found():
    page = settings.PAGE.read_text()
    assert page == refilled(page, settings.BEGIN, settings.table(FOUND["settings"]), settings.END)
