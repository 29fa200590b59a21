"""Positions of texts with images, token by token, as the authors' loops number them."""

import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import V2PE, CirclePositions, FilmWithSound, Media, Sequence

# Text, an image, text, another image, text; a second document in the row; padding.
TYPES = np.array([[0, 2, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 3, 1, 1, 0, 0, 0]])
SEGMENTS = np.array([[1] * 14 + [2] * 4 + [0] * 2])
POSITIONS = np.array([[*range(14), *range(4), 0, 0]], np.int32)
REAL = SEGMENTS[0] != 0


def mapped(element, types=TYPES, segments=SEGMENTS, positions=POSITIONS):
    sequence = Sequence(positions, np.array([types.shape[1]]), token_types=types, segment_ids=segments)
    with jax.enable_x64(True):
        return np.asarray(element.map_positions(sequence, key=None, train=False))[0]


def documents(image, text):
    """Every document by itself: ``text(next)`` numbers a token, ``image(next, tokens)`` all of an image; both give the
    next number of the text too.
    """
    found, next_number, i = [], 0, 0
    while i < len(REAL):
        if i and SEGMENTS[0, i] != SEGMENTS[0, i - 1]:
            next_number = 0
        count = 0
        while i + count < len(REAL) and TYPES[0, i + count] == 1 and SEGMENTS[0, i + count] == SEGMENTS[0, i]:
            count += 1
        numbers, next_number = image(next_number, count) if count else text(next_number)
        found += numbers
        i += max(count, 1)
    return np.array(found)[REAL]


SIZES = [(2, 1, 2), (1, 2, 25), (2, 1, 0.75)]


@pytest.mark.parametrize(
    ("design", "width", "height", "stride"),
    [(design, *sizes) for design in ("mrope", "reset") for sizes in ((3, None, 1), (2, None, 1), *SIZES)]
    + [("diagonal", *sizes) for sizes in SIZES],
)
def test_images_are_numbered_as_the_loops_of_the_authors_number_them(design, width, height, stride):
    """get_rope_index of transformers, its spatial reset, and get_t_scale_rope_index of VideoRoPE."""

    def image(start, count):
        numbers = []
        for j in range(count):
            row, column = divmod(j, width)
            frame, row = (0, row) if height is None else divmod(row, height)
            time = start + frame * stride
            if design == "mrope":
                numbers.append([time, start + row, start + column])
            elif design == "reset":
                numbers.append([time, row, column])
            else:
                numbers.append([time, time + row - (height - 1) // 2, time + column - (width - 1) // 2])
        if design == "reset":
            return numbers, start + max(max(t - start, r, c) for t, r, c in numbers) + 1
        return numbers, max(t if design == "diagonal" else max(t, r, c) for t, r, c in numbers) + 1

    want = documents(image, lambda number: ([[number] * 3], number + 1))
    got = mapped(Media(width, height, design, stride))
    np.testing.assert_array_equal(got[REAL], want)
    assert got.dtype == (np.float64 if stride == 0.75 else np.int32)


def test_an_index_of_images_is_a_fourth_axis():
    """get_rope_index of HunyuanVL in transformers: position, column, row, image; of three columns the last is a newline
    token, for which its get_vision_position_ids counts one column more than the image has.
    """
    want, images = [], {1: 0, 2: 0}
    for i in np.flatnonzero(REAL):
        segment, position = SEGMENTS[0, i], POSITIONS[0, i]
        inside = 0
        while TYPES[0, i] == 1 and i - inside > 0 and TYPES[0, i - inside - 1] == 1:
            inside += 1
        is_image = TYPES[0, i] == 1
        want.append([position, inside % 3, inside // 3, images[segment]] if is_image else [position] * 4)
        if is_image and TYPES[0, i + 1] != 1:
            images[segment] += 1
    np.testing.assert_array_equal(mapped(Media(3, design="indexed"))[REAL], want)
    assert images == {1: 2, 2: 1}


@pytest.mark.parametrize(("width", "height"), [(3, 2), (2, 1), (1, 4)])
def test_symmetric_images_are_read_from_four_corners(width, height):
    """generate_nd_positions of VRoPE's authors."""
    corner = width + height - 1

    def image(start, count):
        numbers = []
        for j in range(count):
            frame, place = divmod(j, width * height)
            rows, columns = divmod(place, width)
            first = start + frame * corner
            rows, columns = (rows, height - 1 - rows), (columns, width - 1 - columns)
            numbers.append([first + r + c for r in rows for c in columns])
        return numbers, start + -(-count // (width * height)) * corner

    want = documents(image, lambda number: ([[number] * 4], number + 1))
    np.testing.assert_array_equal(mapped(Media(width, height, "symmetric"))[REAL], want)


@pytest.mark.parametrize(("width", "height", "stride"), [(2, 1, 2), (1, 2, 0.75), (3, 1, 1), (2, 2, 25)])
def test_frames_and_sound_of_a_film_begin_together(width, height, stride):
    """get_rope_index of Qwen2.5-Omni in transformers; there sound is the last of a film."""
    types = np.array([[0, 1, 1, 2, 2, 1, 1, 2, 2, 0, 0, 2, 2, 0, 1, 1, 2, 2, 0, 0]])
    want, i = [], 0
    number = 0
    while i < REAL.sum():
        if i == 14:  # the second document
            number = 0
        if types[0, i] == 0:
            want.append([number] * 3)
            number, i = number + 1, i + 1
            continue
        end = i
        while types[0, end] != 0 and SEGMENTS[0, end] == SEGMENTS[0, i]:
            end += 1
        seen = heard = 0
        for kind in types[0, i:end]:
            if kind == 2:
                want.append([number + heard] * 3)
                heard += 1
            else:
                frame, place = divmod(seen, width * height)
                row, column = divmod(place, width)
                want.append([number + math.floor(frame * stride), number + row, number + column])
                seen += 1
        number, i = max(max(own) for own in want[-(end - i) :]) + 1, end
    got = mapped(FilmWithSound(width, height, stride), types)
    np.testing.assert_array_equal(got[REAL], want)
    assert got.dtype == np.int32


@pytest.mark.parametrize("increment", [1, 0.25, 1 / 256])
def test_images_grow_slowly(increment):
    """get_rope_pos_id of V2PE: the last number of the text, then steps of the increment, rounded up behind them."""

    def image(start, count):
        numbers = [start - 1 + increment * (j + 1) for j in range(count)]
        return numbers, math.ceil(numbers[-1]) + 1

    want = documents(image, lambda number: ([number], number + 1))
    np.testing.assert_allclose(mapped(V2PE(increment))[REAL], want, atol=1e-12)


@pytest.mark.parametrize(("width", "height"), [(2, 2), (3, 2)])
def test_an_image_is_a_circle_around_the_text(width, height):
    seen = [math.atan2(r - (height - 1) / 2, c - (width - 1) / 2) for r in range(height) for c in range(width)]
    points = []
    for n, angle in enumerate(seen):
        angle = (angle - min(seen)) / (max(seen) - min(seen)) * math.tau
        a = 0.5 * angle + 0.5 * n / (width * height) * math.tau
        x, y = 10 * math.cos(a), 10 * math.sin(a)
        points.append([2 * y / 6**0.5, x / 2**0.5 - y / 6**0.5, -x / 2**0.5 - y / 6**0.5])
    largest = max(max(point) for point in points)

    def image(start, count):
        return [[start + p for p in points[j % len(points)]] for j in range(count)], start + largest + 1

    element = CirclePositions(width, height)
    np.testing.assert_allclose(
        mapped(element)[REAL], documents(image, lambda number: ([[number] * 3], number + 1)), atol=1e-9
    )
    distances = np.linalg.norm(np.array(points)[:, None] - np.arange(-3, 4)[None, :, None], axis=-1)
    np.testing.assert_allclose(distances, distances[:1].repeat(len(points), axis=0), atol=1e-9)


@pytest.mark.parametrize("element", [Media(3, 2), Media(3, 2, "symmetric"), V2PE(0.25), FilmWithSound(3, 2)], ids=str)
def test_one_row_of_types_serves_positions_of_several_rows(element):
    moved = np.concatenate([POSITIONS, POSITIONS + 7])
    for row, own in enumerate(moved):
        found = element.map_positions(
            Sequence(moved, np.array([20]), token_types=TYPES, segment_ids=SEGMENTS), key=None, train=False
        )
        np.testing.assert_allclose(np.asarray(found)[row], mapped(element, positions=own[None]), atol=1e-5)
