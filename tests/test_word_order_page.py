"""The page on word order is of its records."""

import json
from pathlib import Path

import pytest

from experiments.word_order import recurrent, shuffled, trained
from posenc_jax.drawing.markdown import refilled

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("module", [shuffled, trained, recurrent])
def test_the_page_is_of_the_record(module):
    found, readme = json.loads(module.RECORD.read_text()), module.README.read_text()
    assert refilled(readme, module.BEGIN, module.page(found), module.END) == readme, f"run python -m {module.__name__}"
