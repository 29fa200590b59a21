import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Sequence, Sinusoidal, sinusoidal


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def paper(position, dim, base=10000.0):
    """The paper's formula, entry by entry."""
    row = []
    for k in range((dim + 1) // 2):
        angle = position / base ** (2 * k / dim)
        row += [np.sin(angle), np.cos(angle)]
    return row[:dim]


def test_published_rows():
    table = sinusoidal(np.array([5, 68]), 8, dtype=np.float64)
    want = [
        [-0.958924, 0.283662, 0.479426, 0.877583, 0.049979, 0.998750, 0.005000, 0.999988],
        [-0.897928, 0.440143, 0.494113, 0.869397, 0.628793, 0.777573, 0.067948, 0.997689],
    ]
    np.testing.assert_allclose(table, want, atol=5.1e-7)


def test_aliasing_exists_in_the_papers_form_only():
    rows = sinusoidal(np.arange(70), 8, dtype=np.float64)
    assert cosine(rows[5], rows[68]) == pytest.approx(0.947950, abs=1e-6)
    assert cosine(rows[5], rows[6]) == pytest.approx(0.883814, abs=1e-6)
    rows = sinusoidal(np.arange(70), 8, frequencies="tensor2tensor", dtype=np.float64)
    assert cosine(rows[5], rows[68]) == pytest.approx(0.500054, abs=1e-6)


def test_embed_adds_the_papers_vectors():
    x = np.random.default_rng(0).normal(size=(2, 5, 8))
    positions = np.array([[0, 1, 2, 3, 4], [7, 700, 2, 0, 99]])
    want = [[x[b, s] + 0.5 * np.array(paper(positions[b, s], 8, 50.0)) for s in range(5)] for b in range(2)]
    encoding = Sinusoidal(base=50, scale=0.5)
    with jax.enable_x64(True):
        for given in (positions, jnp.asarray(positions)):
            got = encoding.embed({}, jnp.asarray(x), Sequence(given, np.array([5, 5])))
            assert got.dtype == jnp.float64
            np.testing.assert_allclose(got, want, atol=1e-12)


def test_halves_are_a_permutation():
    positions = jnp.arange(9)[None]
    interleaved = sinusoidal(positions, 6)
    half = sinusoidal(positions, 6, layout="half")
    np.testing.assert_array_equal(half, interleaved[..., [0, 2, 4, 1, 3, 5]])


@pytest.mark.parametrize("frequencies", ["vaswani", "tensor2tensor"])
@pytest.mark.parametrize("dim", [1, 2, 3, 7, 8])
def test_odd_dimensions_by_policy(dim, frequencies):
    p = np.arange(5)
    for positions in (p, jnp.asarray(p)) if dim == 7 else (p,):
        table = {
            odd: np.asarray(jax.jit(lambda: sinusoidal(positions, dim, odd=odd, frequencies=frequencies))())  # noqa: B023
            for odd in ("pad", "zero")
        }
        assert table["pad"].shape == table["zero"].shape == (5, dim)
        if dim % 2 == 0:
            np.testing.assert_array_equal(table["pad"], table["zero"])
            continue
        wider = sinusoidal(p, dim + 1, frequencies=frequencies)
        np.testing.assert_allclose(table["pad"], wider[:, :dim], atol=2e-7)
        np.testing.assert_allclose(table["zero"][:, :-1], sinusoidal(p, dim - 1, frequencies=frequencies), atol=2e-7)
        assert (table["zero"][:, -1] == 0).all()
        with pytest.raises(ValueError, match=rf"dimension is {dim}: name odd='pad' or odd='zero'"):
            sinusoidal(positions, dim)
