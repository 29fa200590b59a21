import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import posenc_jax.golden
from posenc_jax.encodings import Film, Media, Sequence, media_positions

SEQUENCES = Path(posenc_jax.golden.__file__).parent / "sequences" / "sequences-v1.json"


@pytest.mark.parametrize(
    ("design", "stride"), [*itertools.product(("mrope", "reset", "diagonal", "indexed"), (1, 2, 0.5)), ("symmetric", 1)]
)
def test_one_size_is_as_the_element_of_a_slot_numbers_it(design, stride):
    film = Film(2, 3, (0, stride))
    types = np.array([[0, 0, *[1] * 12, 0, *[1] * 12, 0]])
    found, delta = media_positions([2, film, 1, film, 1], design)
    element = Media(3, 2, design, stride)
    want = element.map_positions(Sequence.of_length(28, token_types=types), key=None, train=False)[0]
    np.testing.assert_array_equal(found, want)
    assert delta == found[-1, 0] + 1 - 28


def test_images_of_several_sizes_are_those_of_the_golden_sequence():
    """transformers' Qwen2-VL: text, an image, text, another image, text."""
    (scenario,) = (s for s in json.loads(SEQUENCES.read_text())["scenarios"] if s["name"] == "mrope_images")
    known = scenario["outputs"]["positions"][0]
    found, delta = media_positions([3, Film(2, 3), 2, Film(2, 2), 2])
    np.testing.assert_array_equal(found, known[: len(found)])
    assert known[len(found) :] == [[place + delta] * 3 for place in range(len(found), len(known))]
    assert len(known) > len(found) + 2  # tokens that the model generated


def test_what_cannot_be():
    with pytest.raises(ValueError, match="has -1 tokens of text: give a number from 0 on, or a Film"):
        media_positions([-1])
    for film in (Film(0, 2), Film(2, 2, ()), Film(2, 2, (1,)), Film(2, 2, (0, 2, 1))):
        with pytest.raises(ValueError, match="times that begin at 0 and do not fall"):
            media_positions([film])
    with pytest.raises(ValueError, match="design = 'mrop' is none of"):
        media_positions([1], "mrop")
    assert media_positions([])[0].shape == (0, 3)
    assert media_positions([], "indexed")[0].shape == (0, 4)
