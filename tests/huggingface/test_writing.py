"""What is written of a slot declares that slot again, and what transformers has nothing for is refused."""

import dataclasses

import numpy as np
import pytest

from posenc_jax.encodings import RoPE, parse
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.huggingface import from_hf, to_hf, writing

SIZES = {"model_type": "llama", "num_hidden_layers": 4, "head_dim": 16, "max_position_embeddings": 64}


@pytest.mark.parametrize(
    "text",
    [
        "rope(layout='half')",
        "rope(base=5e5, layout='half', rotary_dim=8)",
        "rope(layout='half', scaling=linear(factor=2))",
        "rope(layout='half', scaling=dynamic_ntk(factor=2, original_length=32))",
        "rope(layout='half', scaling=yarn(factor=4, original_length=512, beta_fast=16, truncate=False))",
        "rope(layout='half', scaling=yarn(factor=4, original_length=512, mscale=1, mscale_all_dim=0.5))",
        "rope(layout='half', rotary_dim=4, scaling=longrope((1, 1), (2, 3), factor=2, original_length=32))",
        "rope(layout='half', scaling=llama3(factor=4, original_length=32))",
        "rope(layout='half', scaling=p_rope(0.5))",
        "mrope(sections=(2, 3, 3))",
        "mrope(sections=(4, 2, 2), order='interleaved')",
        "mrope(sections=(2, 1, 1), rotary_dim=8)",
        "mrope(sections=(2, 3, 3), scaling=yarn(factor=4, original_length=512))",
        "rope(layout='half')/rope(layout='half')/rope(layout='half')/nope",
        "nope/rope(layout='half')",
    ],
)
def test_a_slot_comes_back(text):
    slot = parse(text)
    written = to_hf(slot, 16, 4)
    partial = "partial_rotary_factor" in written["rope_parameters"]
    kind = "smollm3" if "no_rope_layers" in written else "solar_open" if partial else "llama"  # what classes read it
    found = from_hf({**SIZES, **written, "model_type": kind})
    assert (found.slot, found.unread) == (slot, ())


def test_ntk_is_a_larger_base():
    found = from_hf({**SIZES, **to_hf(parse("rope(layout='half', scaling=ntk(factor=4))"), 16, 4)}).layers[0]
    np.testing.assert_allclose(found.inverse_frequencies(), [(1e4 * 4 ** (8 / 7)) ** (-k / 8) for k in range(8)], 1e-13)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rope", "convert_layout"),
        ("alibi", "no rotation"),
        ("rope(layout='half')/rope(base=5e5, layout='half')", "is 2 encodings"),
        ("log_scaling|rope(layout='half')", "an element alone"),
        ("rope(layout='half', scaling=resonance)", "no rope_type"),
        ("mrope(sections=(2, 3, 3), order='space_first')", "nothing for order = 'space_first' of mrope"),
        ("rope(layout='half', rotary_dim=8, scaling=p_rope(0.5))", "takes a part twice"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ValueError, match=message):
        to_hf(parse(text), 16, 4)


@pytest.mark.parametrize("value", [RoPE(layout="half"), YaRN(2.0, 8)])
def test_a_field_that_nobody_knows_is_refused(monkeypatch, value):
    kind = type(value)
    later = dataclasses.make_dataclass("Later", [("unknown", int, 0)], bases=(kind,), frozen=True)
    monkeypatch.setitem(writing._TYPES, later, "yarn")
    own = later(**vars(value), unknown=1)
    with pytest.raises(ValueError, match="transformers has nothing for unknown = 1"):
        to_hf((own if kind is RoPE else RoPE(layout="half", scaling=own),), 16, 4)
