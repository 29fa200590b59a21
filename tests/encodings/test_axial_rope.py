import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from planes import turned

from posenc_jax.encodings import AxialRoPE, Dims, MixedRoPE, MRoPE, parse
from posenc_jax.encodings.rotary.rope_scaling import PositionInterpolation

TOKENS = 5


def dims(head_dim, kv_heads=2):
    return Dims(d_model=32, num_heads=4, num_kv_heads=kv_heads, head_dim=head_dim, num_layers=1, max_len=16)


def check(encoding, params, x, positions, angles_at, layout):
    """Both hooks, in float64; ``angles_at(position, head)``."""

    @jax.jit
    def both(params, x, positions):
        length = np.array([TOKENS])
        return tuple(encode(params, x, positions, length) for encode in (encoding.encode_queries, encoding.encode_keys))

    with jax.enable_x64(True):
        for got in both(params, x, positions):
            for b, h, s in np.ndindex(2, x.shape[1], TOKENS):
                want = turned(x[b, h, s], angles_at(positions[b, s], h), layout)
                np.testing.assert_allclose(got[b, h, s], want, atol=1e-9)


@pytest.mark.parametrize("axes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_axial_planes_belong_to_one_axis(random, axes, layout):
    """The authors' code: 100^(-4k/D) for k < D/4, columns first."""
    positions = random.integers(0, 20, (2, TOKENS, axes)).astype(np.int32)
    n = 2  # planes per axis

    def angles(position, _):
        return [position[axis] * 100 ** (-k / n) for axis in reversed(range(axes)) for k in range(n)]

    x = random.normal(size=(2, 3, TOKENS, 2 * n * axes))
    check(AxialRoPE(axes=axes, layout=layout), {}, x, positions, angles, layout)


@pytest.mark.parametrize(
    ("fields", "angle"),
    [
        # VisionRotaryEmbedding of Qwen2-VL: rows, then columns, each with the frequencies of half a head.
        ({"base": 1e4, "rows_first": True}, lambda p, k: p[k // 2] * 1e4 ** (-(k % 2) / 2)),
        # Pixtral: of the frequencies of a whole head rows have the even ones, columns the odd ones.
        (
            {"base": 1e4, "rows_first": True, "staggered": True},
            lambda p, k: p[k // 2] * (1e4 ** (-2 * np.arange(4) / 8))[k // 2 :: 2][k % 2],
        ),
        # DINOv3: 2 pi over the period base^(2 k / (D/2)).
        ({"rows_first": True, "unit": "turns"}, lambda p, k: 2 * np.pi * p[k // 2] / 100 ** (2 * (k % 2) / 4)),
    ],
)
def test_dialects_of_released_encoders(random, fields, angle):
    x, positions = random.normal(size=(1, 1, TOKENS, 8)), random.integers(0, 20, (1, TOKENS, 2))
    encoding = AxialRoPE(layout="half", **fields)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda x, p: encoding.encode_queries({}, x, p, None))(x, positions))
    for s in range(TOKENS):
        want = turned(x[0, 0, s], [angle(positions[0, s], k) for k in range(4)], "half")
        np.testing.assert_allclose(got[0, 0, s], want, atol=1e-9)


def test_planes_within_the_dimensions_of_an_axis(random):
    """CroCo's code: each half of a head is turned as a head of RoPE in halves of its own."""
    x, positions = random.normal(size=(1, 1, TOKENS, 8)), random.integers(0, 20, (1, TOKENS, 2))
    encoding = AxialRoPE(layout="half_of_axis", rows_first=True)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda x, p: encoding.encode_queries({}, x, p, None))(x, positions))
    for s in range(TOKENS):
        halves = [
            turned(x[0, 0, s, 4 * a : 4 * a + 4], [positions[0, s, a] * 100 ** (-k / 2) for k in range(2)], "half")
            for a in range(2)
        ]
        np.testing.assert_allclose(got[0, 0, s], np.concatenate(halves), atol=1e-9)


@pytest.mark.parametrize(("head_dim", "widths"), [(8, [4, 2, 2]), (16, [8, 4, 4]), (12, [4, 4, 4])])
def test_the_first_axis_has_what_the_others_leave(random, head_dim, widths):
    """Wan's code: of d dimensions time has d - 4 (d // 6), rows and columns 2 (d // 6) each."""
    x, positions = random.normal(size=(1, 1, TOKENS, head_dim)), random.integers(0, 20, (1, TOKENS, 3))
    encoding = AxialRoPE(3, base=1e4, rows_first=True, rest_first=True)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda x, p: encoding.encode_queries({}, x, p, None))(x, positions))
    for s in range(TOKENS):
        angles = [positions[0, s, a] * 1e4 ** (-2 * k / w) for a, w in enumerate(widths) for k in range(w // 2)]
        np.testing.assert_allclose(got[0, 0, s], turned(x[0, 0, s], angles, "interleaved"), atol=1e-9)


def test_mixed_planes_turn_by_both_axes(random):
    positions = random.integers(0, 20, (2, TOKENS, 2)).astype(np.int32)
    f_x, f_y = frequencies = random.normal(size=(2, 3, 4))

    def angles(position, head):
        return position[1] * f_x[head] + position[0] * f_y[head]

    x = random.normal(size=(2, 3, TOKENS, 8))
    check(MixedRoPE(), {"frequencies": frequencies}, x, positions, angles, "interleaved")


def test_mixed_frequencies_start_in_two_perpendicular_directions():
    f_x, f_y = initial(MixedRoPE(), dims(16))["frequencies"]
    assert f_x.shape == (2, 8)
    magnitudes = np.hypot(f_x, f_y)
    np.testing.assert_allclose(magnitudes, [[10 ** (-4 * k / 16) for k in range(4)] * 2] * 2, rtol=1e-6)
    angles = np.arctan2(f_y, f_x)
    np.testing.assert_allclose(np.ptp(angles[:, :4], axis=1), 0, atol=1e-6)
    np.testing.assert_allclose((angles[:, 4:] - angles[:, :4]) % (2 * np.pi), np.pi / 2, atol=1e-5)
    assert abs(angles[0, 0] - angles[1, 0]) > 0.01


# transformers: cos.split(mrope_section * 2) taken from axis i % 3; apply_interleaved_mrope for Qwen3-VL.
@pytest.mark.parametrize(
    ("encoding", "head_dim", "axes"),
    [
        (MRoPE(), 128, [0] * 16 + [1] * 24 + [2] * 24),
        (MRoPE(order="interleaved"), 128, [0, 1, 2] * 20 + [0] * 4),
        (MRoPE(sections=(1, 0, 3)), 8, [0, 2, 2, 2]),
        (MRoPE(sections=(3, 2, 1), order="interleaved"), 12, [0, 1, 2, 0, 1, 0]),
        (MRoPE(), 8, [0, 1, 1, 2]),
        (MRoPE(order="interleaved"), 8, [0, 1, 2, 0]),
        # vLLM: rows and columns by turns, the last planes for time.
        (MRoPE(order="space_first", sections=(20, 22, 22)), 128, [1, 2] * 22 + [0] * 20),
        (MRoPE(order="space_first", sections=(20 / 64, 22 / 64, 22 / 64)), 128, [1, 2] * 22 + [0] * 20),
        (MRoPE(order="space_first", sections=(20 / 64, 22 / 64, 22 / 64)), 32, [1, 2] * 5 + [1] + [0] * 5),
        (MRoPE(order="space_first"), 8, [1, 2, 1, 0]),
        # Ming, sections (8, 12, 12) of the half of a head that turns.
        (MRoPE(order="space_first", rotary_dim=0.5), 128, [1, 2] * 12 + [0] * 8),
        # Lumos-1: 4 planes of time, then two of height and two of width by turns. VRoPE: plane i has axis i % 4.
        (MRoPE(order=(0,) * 4 + (1, 1, 2, 2) * 3), 64, [*[0] * 4, *[1, 1, 2, 2] * 3] * 2),
        (MRoPE(order=(0, 1, 2, 3)), 12, [0, 1, 2, 3, 0, 1]),
        (MRoPE(sections=(4, 4, 4, 4)), 32, [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4),
    ],
)
def test_sections_are_those_of_the_models(encoding, head_dim, axes):
    assert encoding.axes(head_dim).tolist() == axes


@pytest.mark.parametrize("sections", [(16, 24, 24), (24, 20, 20), (1, 2, 1), (1, 0, 3), (5, 1, 1), (2, 7, 3)])
def test_even_shares_are_those_of_openpangu(sections):
    """get_mrope_interleaved_id_list of vLLM, with the last plane for time."""
    counts = {0: sections[0] - 1, 1: sections[1], 2: sections[2]}
    placed, remaining, found, last = dict.fromkeys(counts, 0), dict(counts), [], None
    for _ in range(sum(counts.values())):
        candidates = [k for k in remaining if remaining[k] > 0 and k != last]
        candidates = candidates or [k for k in remaining if remaining[k] > 0]
        best = min(candidates, key=lambda k: (placed[k] / counts[k], k))
        found.append(best)
        placed[best], remaining[best], last = placed[best] + 1, remaining[best] - 1, best
    assert MRoPE(sections, "even").axes(2 * sum(sections)).tolist() == [*found, 0]


@pytest.mark.parametrize("order", [pytest.param("blocks", marks=pytest.mark.slow), "interleaved", "space_first"])
def test_mrope_deals_out_the_planes_of_one_rope(random, order):
    encoding = MRoPE(sections=(3, 2, 1), order=order, base=100.0)
    positions = random.integers(0, 20, (2, TOKENS, 3)).astype(np.int32)
    axes = {"blocks": [0, 0, 0, 1, 1, 2], "interleaved": [0, 1, 2, 0, 1, 0], "space_first": [1, 2, 1, 0, 0, 0]}[order]

    def angles(position, _):
        return [position[axis] * 100 ** (-2 * k / 12) for k, axis in enumerate(axes)]

    check(encoding, {}, random.normal(size=(2, 3, TOKENS, 12)), positions, angles, "half")


@pytest.mark.parametrize("more", ["", "sections=(4, 2, 2)", "order='interleaved'", "order=(0, 1, 2, 3)"])
def test_mrope_reads_plain_positions_as_those_of_a_text(random, more):
    x, positions = random.normal(size=(2, 1, 5, 16)).astype(np.float32), np.array([[0, 1, 7, 10**6, 3]])
    (rope,), (mrope,) = parse("rope(base=1e6, layout='half')"), parse(f"mrope({more})")
    for place in (positions, jnp.asarray(positions)):
        args = {}, x, place, np.array([5])
        np.testing.assert_array_equal(mrope.encode_keys(*args), rope.encode_keys(*args))


@pytest.mark.parametrize(
    "more", ["rotary_dim=8", "scaling=yarn(factor=4, original_length=64)", "scaling=dynamic_ntk(2, 8)"]
)
def test_text_tokens_have_rope_of_a_part_or_scaled(random, more):
    x, positions = random.normal(size=(2, 2, 4, 16)).astype(np.float32), np.array([[0, 1, 7, 1000], [2, 3, 4, 5]])
    (one,), (own,) = parse(f"rope(base=1e6, layout='half', {more})"), parse(f"mrope({more})")
    want = one.encode_queries({}, x, positions, np.array([1001, 6]))
    np.testing.assert_allclose(
        own.encode_queries({}, x, np.stack([positions] * 3, axis=-1), np.array([1001, 6])), want, atol=1e-6
    )


def test_scaled_planes_of_a_part_turn_by_their_axes(random):
    encoding = MRoPE((3, 2, 1), base=100.0, rotary_dim=12, scaling=PositionInterpolation(4.0))
    x, positions = random.normal(size=(1, 1, TOKENS, 16)), random.integers(0, 20, (1, TOKENS, 3)).astype(np.int32)
    got = encoding.encode_queries({}, x.astype(np.float32), positions, np.array([TOKENS]))[0, 0]
    for vector, position, own in zip(x[0, 0], positions[0], got, strict=True):
        angles = [position[axis] * 100 ** (-2 * k / 12) / 4 for k, axis in enumerate([0, 0, 0, 1, 1, 2])]
        np.testing.assert_allclose(own, turned(vector, angles, "half"), atol=2e-5)


def test_planes_of_time_may_be_still(random):
    encoding = MRoPE((3, 2, 1), "space_first", base=100.0, still_time=True)
    frequencies = [100 ** (-2 * k / 12) if k < 3 else 0 for k in range(6)]
    np.testing.assert_allclose(encoding.frequencies_for(dims(12)), frequencies, rtol=1e-12)
    x, positions = random.normal(size=(1, 1, TOKENS, 12)), random.integers(0, 20, (1, TOKENS, 3)).astype(np.int32)
    with jax.enable_x64(True):
        got = encoding.encode_queries({}, x, positions, np.array([TOKENS]))[0, 0]
    for vector, position, own in zip(x[0, 0], positions[0], got, strict=True):
        angles = [position[axis] * f for axis, f in zip([1, 2, 1, 0, 0, 0], frequencies)]
        np.testing.assert_allclose(own, turned(vector, angles, "half"), atol=1e-9)
