"""The table of comparisons with public code, and its record."""

import json

import jax
import numpy as np
import public_code as script
import pytest
from comparing.ours import COMPARISONS
from registry_slots import REGENERATE

from posenc_jax.encodings import parse, spec
from posenc_jax.encodings.catalogue import CATALOGUE

ROWS = json.loads(script.RECORD.read_text())["comparisons"]


def test_the_record_is_of_these_comparisons():
    keys = ("name", "spec", "source", "link", "what")
    kept = [tuple(own[key] for key in keys) for own in ROWS]
    assert kept == [(name, c.spec, c.source, c.link, c.what) for name, c in COMPARISONS.items()]
    assert {own["name"] for own in ROWS} <= {method.name for rows in CATALOGUE.values() for method in rows}


def test_elements_are_those_of_the_rows():
    """A comparison may set other fields than its row, and leave out what makes positions, but no other element."""
    rows = {method.name: method.spec for rows in CATALOGUE.values() for method in rows}
    for name, own in COMPARISONS.items():
        words = {element.name for element in parse(own.spec)}
        assert words <= {element.name for element in parse(rows[name])}, f"{name}: {spec(parse(own.spec))}"


def test_differences_are_those_of_32_bit_angles():
    """Angles up to 119 in 32-bit floats are wrong by 4e-6 or less, those of 6 bands up to 112 pi by 2e-5."""
    assert all(0 <= own["difference"] < 2e-5 for own in ROWS)
    in_floats = {"LongRoPE", "CLEX", "Sinusoidal, tensor2tensor's form", "Fourier features in linear bands (Perceiver)"}
    assert all(own["difference"] < 1e-6 for own in ROWS if own["name"] not in in_floats)


def test_the_page_has_the_table():
    text = script.PAGE.read_text()
    assert text == script.page(text), REGENERATE
    assert f"{len(ROWS)} rows are compared with public code" in text


@pytest.mark.parametrize("name", ["VRoPE", "TMRoPE (Qwen2.5-Omni)"])
def test_ours_are_made_of_what_theirs_are_given(name):
    """No number of ours may depend on more than the comparison says."""
    with jax.enable_x64(True):
        found = COMPARISONS[name].ours(COMPARISONS[name].spec)
    assert found.ndim == 2
    assert np.isfinite(found).all()


def test_sides_of_different_shapes_are_no_comparison():
    with pytest.raises(SystemExit, match=r"VRoPE: ours is \(30, 6\), theirs \(30, 4\)"):
        script.record("VRoPE", np.zeros((30, 4)))
