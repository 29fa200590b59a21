import jax
import numpy as np
import pytest

from posenc_jax.encodings import ConditionalPosition, Grid, Sequence, map_slot


def padded(image, weight, bias, kernel):
    """A convolution with zeros around, channel by channel; ``image [rows, columns, M]``."""
    rows, columns, width = image.shape
    out = np.array(image)
    for r, c, m in np.ndindex(rows, columns, width):
        out[r, c, m] += bias[m]
        for a, b in np.ndindex(kernel, kernel):
            y, x = r + a - kernel // 2, c + b - kernel // 2
            if 0 <= y < rows and 0 <= x < columns:
                out[r, c, m] += weight[a * kernel + b, m] * image[y, x, m]
    return out


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_cells_around_are_added_up(random, kernel):
    """Conv2d(3, padding=1, groups=channels) of PosCNN, plus its input."""
    x, weight, bias = random.normal(size=(2, 12, 3)), random.normal(size=(kernel**2, 3)), random.normal(size=3)
    seen = map_slot((Grid(4), ConditionalPosition(kernel)), Sequence.of_length(12))[-1]
    with jax.enable_x64(True):
        got = ConditionalPosition(kernel).embed({"weight": weight, "bias": bias}, x, seen)
    for b in range(2):
        want = padded(x[b].reshape(3, 4, 3), weight, bias, kernel).reshape(12, 3)
        np.testing.assert_allclose(got[b], want, atol=1e-9)


def test_images_of_a_row_do_not_see_each_other(random):
    x, weight, bias = random.normal(size=(1, 9, 3)), random.normal(size=(9, 3)), random.normal(size=3)
    places = np.array([[0, 1, 2, 3, 0, 1, 2, 3, 0]], np.int32)
    whole = Sequence(places, np.array([9]), segment_ids=np.array([[1] * 4 + [2] * 4 + [0]]))
    seen = map_slot((Grid(2), ConditionalPosition()), whole)[-1]
    with jax.enable_x64(True):
        got = ConditionalPosition().embed({"weight": weight, "bias": bias}, x, seen)
    for part in (slice(0, 4), slice(4, 8)):
        want = padded(x[0, part].reshape(2, 2, 3), weight, bias, 3).reshape(4, 3)
        np.testing.assert_allclose(got[0, part], want, atol=1e-9)
