"""The contract over the whole registry, and proof that it finds faults: each encoding below has one."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.analysis import check_contract, contract_clauses
from posenc_jax.analysis.contract import CLAUSES
from posenc_jax.analysis.outcome import WAYS_OUT
from posenc_jax.encodings import REGISTERED, PositionalEncoding, elements, is_pattern, parse, spec
from posenc_jax.encodings.catalogue import CATALOGUE


# Each runs every clause.
def layers(slot):
    """The specs of the layers of a pattern that have an encoding."""
    return [spec(layer) for layer in slot if layer]


ROWS = list(
    dict.fromkeys(
        text
        for methods in CATALOGUE.values()
        for m in methods
        if m.spec != "nope"
        for text in (layers(parse(m.spec)) if is_pattern(parse(m.spec)) else [m.spec])
    )
)


def parts(text):
    """The classes at work in a slot, those of the values in its fields too."""

    def within(value):
        yield type(value)
        for field in dataclasses.fields(value):
            if dataclasses.is_dataclass(inner := getattr(value, field.name)):
                yield from within(inner)

    return {cls for element in elements(parse(text)) for cls in within(element)}


# Methods of one promise in one slot: one set of programs for all of them, where each alone would have its own. These
# are quick, and have every hook and every kind of positions among them; all others are slow.
QUICK = [
    "sinusoidal | learned | sinusoidal(frequencies=low_side_lobes(search='base'))"
    " | sinusoidal(frequencies=cosine_density) | time2vec",
    "grid(width=8) | image_positions(sizes=(8, 8), to='unit') | fourier_bands | random_fourier",
    "grid(width=4, height=4)|mrope",
    "attributes(count=8) | tree_positions | random_signs | linear_positions(axes=8)",
    "pair_linear(count=6, first=1) | pair_table",
    "rope | rope(scaling=linear(factor=8)) | rope(scaling=ntk(factor=8)) | rope(scaling=p_rope(fraction=0.75))"
    " | rope(scaling=dynamic_ntk(factor=2, original_length=4)) | rope(base=5e5, scaling=llama3)"
    " | rope(scaling=ntk_by_parts(factor=8, original_length=512)) | rope(scaling=yarn(factor=8, original_length=512))"
    " | rope(scaling=longrope((1, 1, 1, 1), (1, 1.2, 1.5, 2), factor=8, original_length=512))"
    " | rope(scaling=resonance) | rope(scaling=hope(original_length=64)) | rotated_values",
    "alibi | t5 | kerple | sandwich | dynamic_bias | dape | temperature",
    "grape_m | lerope | shaw | music_transformer | huang | transformer_xl | xlnet | deberta",
    "log_scaling(training_length=64) | query_temperature(floor=8) | ssmax | scale_invariant | xpos | grape_a"
    " | stick_breaking",
    "fox | carope",
    "interpolated(factor=4) | pope",
    "randomized|rope",
    "self_extend(group_size=2, window=4)",
    "path",
    "abacus(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)) | learned | within_segment(separators=(1, 2)) | sinusoidal"
    " | segment_index(separators=(1, 2)) | rope | within_section | sinusoidal | section_index | learned(4)",
]
TOGETHER = [
    *QUICK,
    "grid(width=8) | sinusoidal_axes | learned_fourier(axes=2) | axial_rope | mixed_rope | log_cpb"
    " | irpe(mapping='euclidean', mode='bias') | layout_bias | spatial_alibi | window_bias | decomposed | gpsa"
    " | learned_axes(sizes=(128, 8)) | cayley_string | circulant_string | comrope | spiral_rope",
    "grid(width=8) | image_positions(sizes=(8, 8), to='aspect') | golden_gate_rope | liere",
    "wavelet(scales=4) | conv_position(kernel=8) | rope_pp",
    "ms_poe | clex(original_length=4, max_factor=4, substeps=10)",  # of one layout: rotations of two do not commute
    "rope(scaling=clipped(planes=3)) | rope(scaling=mrrope(factor=8, original_length=512))"
    " | rope(scaling=riflex(repeats_at=60, length=100))"
    " | mla_rope(scaling=yarn(factor=40, original_length=4096, mscale=1, mscale_all_dim=1))",
    "fope(original_length=512) | fire | tupe",
    "cope | selective_rope",
    "pose(target_length=4096) | rope | shape | sinusoidal | cape | sinusoidal",
]
FLOATER = "floater(substeps=1)"  # its solver takes as many steps from position to position
MORE = [
    "sinusoidal",
    "learned",
    "rope",
    "sinusoidal(frequencies='tensor2tensor', scale=0.1)",
    "sinusoidal(layout='half', base=100)",
    "learned(beyond='nan')",
    "learned(512, beyond='clamp')",
    "rope(base=5e5, layout='half')",
    "rope(rotary_dim=4)",
    "alibi",
    "t5",
    "shaw",
    "shaw(2, values=False)",
    "transformer_xl(base=100)",
    "randomized(1024, redraw='layer') | t5(4, 3)",
    "randomized(per='example', redraw='layer') | learned",
    "sinusoidal | rope | alibi | t5(4, 3) | shaw(2, values=False)",
]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, marks=() if text in QUICK else pytest.mark.slow)
        for text in dict.fromkeys((*TOGETHER, FLOATER, *ROWS, *MORE))
    ],
)
def test_encodings_keep_the_contract(text):
    before = jax.config.jax_enable_x64
    outcomes = {clause.name: clause.status for clause in check_contract(parse(text))}
    assert jax.config.jax_enable_x64 == before
    acts_on = frozenset().union(*(e.acts_on for e in parse(text)))
    skipped = set()
    if not all(e.shift_invariant for e in parse(text)):
        skipped.add("shift")
    if not acts_on & {"bias", "score", "content_bias", "value_term"}:
        skipped.add("blocks")
    if not promises_to_fused_attention(parse(text)):
        skipped.add("fused")
    assert {name for name, status in outcomes.items() if status == "skipped"} == skipped
    assert len(outcomes) == 15


def promises_to_fused_attention(encodings):
    """At positions that are plain where the element sees them, or by what reads none."""
    plain = not isinstance(encodings[0].position_axes, int)
    for e in encodings:
        if (plain and (e.bias_of_distance or e.num_factors)) or (e.num_factors and e.position_axes == "any"):
            return True
        plain = plain and "map_positions" not in e.acts_on
    return False


@pytest.mark.parametrize(
    "text",
    [
        "randomized(1024, per='example') | log_scaling(3, count='length') | rope(scaling=dynamic_ntk(2, 3))",
        "learned(3, beyond='interpolate') | cape(zero_mean=True) | rerope(3, rope=rope(scaling=dynamic_ntk(2, 3)))",
    ],
)
def test_what_reads_the_length_reads_that_of_its_own_sequence(text):
    """Lengths on both sides of every threshold; sequences of 4, 3 and 2 tokens in rows of 6."""
    check_contract(parse(text), only=("packing", "padding", "cached_decoding"))


def test_methods_of_one_slot_may_be_masked_alike():
    """One that is only causal would keep all beside it from being checked without a mask."""
    for text in TOGETHER:
        assert len({element.causal_only for element in parse(text)}) == 1, text


def test_the_registry_is_covered():
    """Scalings of RoPE too: a class without a row is tested by nothing. Its ``methods`` are its rows."""
    assert set().union(*map(parts, ROWS)) == set(REGISTERED)


def test_every_hook_is_checked_quickly():
    def hooks(texts):
        return set().union(*(e.acts_on for text in texts for e in parse(text)))

    assert hooks(QUICK) == hooks(ROWS)


@dataclasses.dataclass(frozen=True)
class Given(PositionalEncoding):
    """A slope as `init` gives it, and a bias of a kind."""

    slope: str = "array"
    kind: str = "right"

    def init(self, key, dims):
        slope = jnp.ones(dims.num_heads, jnp.float32)
        kinds = {
            "array": {"s": slope},
            "float": {"s": 0.5},
            "list": [slope],
            "None": None,
            "NaN": {"s": slope * np.nan},
        }
        return kinds[self.slope]

    def bias(self, params, geometry):
        if self.kind == "shape":
            return jnp.zeros((3, 4))
        if self.kind == "None":
            return None
        distance = jnp.abs(jnp.asarray(geometry.relative))[:, None]
        slope = params["s"][None, :, None, None]
        return jnp.sqrt(-slope * distance) if self.kind == "NaN" else -slope * distance


@pytest.mark.parametrize(
    ("encoding", "clause", "says"),
    [
        (Given("float"), "parameters", "Given.init's ['s'] is 0.5, of type float, not an array"),
        (Given("None"), "parameters", "Given.init returns NoneType, not a dict of arrays by name, {} for none"),
        (Given("NaN"), "parameters", "Given.init's array ['s'], float32[4], is not finite"),
        (Given(kind="shape"), "dtype", "Given.bias returns float64[3, 4], not an array [B, H, Q, K], [2, 4, 8, 8]"),
        (Given(kind="NaN"), "gradients", "Given.bias's array, float64[2, 4, 8, 8], is not finite: it has NaN"),
    ],
)
def test_an_array_that_cannot_be_used_is_the_one_failure(encoding, clause, says):
    failed = [found for found in contract_clauses(encoding) if found.status == "failed"]
    assert [(found.name, found.detail) for found in failed] == [(clause, says)]


def test_precision_where_a_table_ends_before():
    [clause] = contract_clauses(parse("learned(512, beyond='nan')"), only=("precision",))
    assert (clause.status, clause.detail) == ("skipped", "not defined up to position 1023")


@dataclasses.dataclass(frozen=True)
class Ordinary(PositionalEncoding):
    """As one writes it at first: parameters in JAX's default types."""

    shift_invariant = True

    def init(self, key, dims):
        return {"slope": jnp.zeros(dims.num_heads), "width": {"h": 1 + jnp.arange(dims.num_heads) / 2}}

    def bias(self, params, geometry):
        slope = (params["slope"] + params["width"]["h"])[None, :, None, None]
        return -slope * jnp.abs(jnp.asarray(geometry.relative)[:, None]).astype(slope.dtype)


def test_parameters_of_the_default_types_keep_it_and_it_prints_as_a_table():
    before = jax.config.jax_enable_x64
    clauses = check_contract(Ordinary())
    assert jax.config.jax_enable_x64 == before
    skipped = [clause.name for clause in clauses if clause.status != "passed"]
    assert (len(clauses), skipped) == (15, ["fused"])
    head, rule, *rows = str(clauses).splitlines()
    assert head.split() == ["clause", "outcome", "largest", "error"]
    assert set(rule) == {"-", " "}
    assert [row.split()[:2] for row in rows] == [[clause.name, clause.status] for clause in clauses]
    assert float(rows[-8].split()[2]) == pytest.approx(clauses[-8].error, rel=0.1, abs=1e-30)


def test_every_clause_has_a_way_out():
    assert list(WAYS_OUT) == list(CLAUSES)
