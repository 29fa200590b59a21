"""Changes of positions by name: what each makes of a slot, and what is refused."""

import re
from pathlib import Path

import pytest

from posenc_jax.cli.context import main
from posenc_jax.context.changes import CHANGES, FACTORS, changed, named
from posenc_jax.encodings import Dims, SelfExtend, elements, parse, spec
from posenc_jax.encodings.interface.slots import check_slot

DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=2, max_len=256)
ROPE = "rope(base=100000.0, layout='half')"


def of(word, length=256, slot=ROPE):
    return spec(changed(parse(slot), word, length, 128, DIMS))


def test_what_names_mean_at_twice_the_length():
    scaled = {
        "linear": "linear(factor=2.0)",
        "ntk": "ntk(factor=2.0)",
        "dynamic_ntk": "dynamic_ntk(original_length=128)",
        "yarn": "yarn(factor=2.0, original_length=128)",
        "p_rope": "p_rope",
    }
    for word, scaling in scaled.items():
        assert of(word) == f"rope(base=100000.0, layout='half', scaling={scaling})", word
    assert of("none") == ROPE
    assert of("nope") == "nope"
    assert of("log_scaling") == f"log_scaling(training_length=128)|{ROPE}"
    assert of("rerope") == f"log_scaling(training_length=128)|rerope(window=16, rope={ROPE})"
    assert of("string") == f"string(training_length=128, window=42, rope={ROPE})"
    (found,) = changed(parse(ROPE), "longrope", 256, 128, DIMS)
    assert found.scaling.long_factors == pytest.approx([2 ** (k / 3) for k in range(4)])  # d / (d - 2) = 8 / 6
    assert found.scaling.short_factors == (1.0,) * 4


@pytest.mark.parametrize("word", CHANGES)
def test_every_change_is_usable_and_keeps_patterns(word):
    slot = parse(ROPE)
    check_slot(changed(slot, word, 512, 128, DIMS), DIMS)
    pattern = (slot, slot, slot, ())  # no positions in every fourth layer
    found = changed(pattern, word, 512, 128, DIMS)
    assert word == "nope" or (found[3] == () and found[0] == changed(slot, word, 512, 128, DIMS))


def test_within_the_trained_length_a_factor_does_nothing_unless_it_is_given():
    for word in FACTORS:
        assert of(word, 128) == of(word, 64) == ROPE, word
        assert of(f"{word}(2)", 128) == of(word, 256), word


@pytest.mark.parametrize("factor", [1.3, 2, 4, 7.5])
def test_groups_reach_as_far_as_is_read(factor):
    """(L - w) g + w, of the paper, and no smaller group does."""
    (found,) = elements(changed(parse(ROPE), f"self_extend({factor})", 128, 128, DIMS))
    assert isinstance(found, SelfExtend)
    reach = [(128 - found.window) * group + found.window for group in (found.group_size - 1, found.group_size)]
    assert reach[0] < factor * 128 <= reach[1]


def test_a_scaling_that_is_there_is_replaced():
    llama = "rope(base=500000.0, scaling=llama3(original_length=64))"
    assert of("linear", slot=llama) == "rope(base=500000.0, scaling=linear(factor=2.0))"
    assert of("none", slot=llama) == llama


def test_the_guide_has_all_changes():
    guide = (Path(__file__).parents[2] / "scripts" / "docs" / "guides" / "long-context.md").read_text()
    rows = [f"| `{name}` | {words} |" for name, (words, _) in CHANGES.items()]
    assert "\n".join(rows) in guide
    listed = re.search(r"A change is one of (.*?), or an encoding in full", main.__doc__, re.DOTALL)[1]
    assert re.findall(r"\w+", listed.replace(" and ", " ")) == list(CHANGES)


def test_encodings_in_full_are_no_names():
    assert named("yarn(2)") == ("yarn", 2.0)
    assert named("rope(base=5e5)") is named("self_extend(group_size=2)") is named("alibi") is None


@pytest.mark.parametrize(
    ("word", "slot", "said"),
    [
        ("yarn(0.5)", ROPE, "yarn(0.5): a factor must be at least 1"),
        ("rerope(2)", ROPE, "rerope(2): rerope has no factor"),
        ("yarn", "alibi", "yarn changes rope and no other rotation, and the run has alibi: give an encoding in full"),
        ("yarn", "rope|rotated_values", "yarn changes rope and no other rotation, and the run has rope|rotated_values"),
        ("yearn", ROPE, "yearn is no change: choose of none, linear"),
    ],
)
def test_what_is_refused(word, slot, said):
    with pytest.raises(ValueError) as error:
        of(word, slot=slot)
    assert str(error.value).startswith(said)
