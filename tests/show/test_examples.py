"""The things that encodings of attributes are drawn with: what they are, and that pictures say so."""

import dataclasses

import numpy as np
import pytest

from posenc_jax.analysis.views import available, pair_values
from posenc_jax.encodings import Dims, Sequence, elements, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.show import examples
from posenc_jax.show.measure import measure, with_contents
from posenc_jax.show.measured import Chosen, MeasuredEncoding
from posenc_jax.show.views import plots_of, views_of

DIMS = Dims(128, 4, 4, 32, 1, 64, 64)
ROWS = [row for rows in CATALOGUE.values() for row in rows]


def test_every_row_that_reads_attributes_has_an_example():
    """But for those of numbers, whose vectors are drawn by the number."""
    found = set()
    for row in ROWS:
        slot = parse(row.spec)
        reads = any(e.needs_attributes or e.needs_pairs for e in elements(slot))
        if (reads and not available(slot, DIMS)) or examples.example_of(slot) is not None:
            found.add(row.name)
    assert found == set(examples._EXAMPLES)


def test_the_club_is_zachary_s():
    """34 members and 78 friendships; the two leaders, 34 and 1, have 17 and 16, and three members 33's 12 and more."""
    club, place = examples._club(), {member: i for i, member in enumerate(examples._MEMBERS)}
    degrees = club.sum(axis=1)
    assert club.shape == (34, 34)
    assert club.sum() == 2 * 78
    assert [degrees[place[member]] for member in (34, 1, 33, 12)] == [17, 16, 12, 1]
    assert np.array_equal(club, club.T)
    assert len(examples._STAYED) == 17
    between = {(i, j) for i in examples._STAYED for j in examples._FRIENDS.get(i, ()) if j not in examples._STAYED}
    before = {(i, j) for i, friends in examples._FRIENDS.items() for j in friends if i not in examples._STAYED}
    assert len(between) == 11, "friendships that the split cut"
    assert not {j for _, j in before} & set(examples._STAYED)


@pytest.mark.parametrize("name", examples._EXAMPLES)
def test_pictures_are_of_the_example_and_say_so(name):
    slot = parse(next(row.spec for row in ROWS if row.name == name))
    one, example = with_contents(MeasuredEncoding(name), slot, DIMS), examples.example_of(slot)
    maps = any("map_positions" in e.acts_on for e in elements(slot))
    assert views_of(one) == (("positions", "pairs") if maps else ("pairs",))
    for view in views_of(one):
        (plot,) = plots_of([one], view, Chosen())
        assert plot.caption.startswith(example.about)
        assert plot.x.names == example.names
    assert np.isfinite(one.pairs.values).all()
    assert np.ptp(one.pairs.values) > 0


def test_pairs_are_what_the_hooks_give():
    """Products of RoPE at times are the mean over planes of cos(w (t_j - t_i)); biases are rows of a table."""
    times = np.array([0.0, 2, 4, 9])
    what, found = pair_values(parse("attributes|rope"), DIMS, Sequence.of_length(4, attributes=times[None, :, None]))
    w = 1e4 ** (-2 * np.arange(16) / 32)
    assert what == "product of equal contents"
    apart = times[None] - times[:, None]
    np.testing.assert_allclose(found[0], np.cos(apart[..., None] * w).mean(axis=-1), atol=1e-12)
    pairs = np.array([[[0], [3]], [[3], [0]]])
    tokens = Sequence.of_length(2, pairs=pairs[None], segment_ids=np.ones((1, 2), np.int32))
    what, found = pair_values(parse("pair_table"), DIMS, tokens)
    assert what == "bias of the logit"
    assert found.shape == (4, 2, 2)
    np.testing.assert_array_equal(found[:, 0, 1], found[:, 1, 0])
    assert (found[:, 0, 0] != found[:, 0, 1]).all()
    what, found = pair_values(parse("sinusoidal"), DIMS, Sequence.of_length(3))
    assert what == "cosine of the vectors from their mean"
    np.testing.assert_allclose(found[0].diagonal(), 1)


def test_numbers_are_called_numbers_and_still_dimensions_are_not_drawn():
    one = measure("FoNE", parse("fone(number=3)"), dataclasses.replace(DIMS, max_len=20), 20, shifts=False)
    assert one.note.startswith("d_model 128, heads 4, numbers 0 to 19")
    (heat,) = plots_of([one], "heatmap", Chosen())
    assert heat.y.title == "number"
    (waves,) = plots_of([one], "waves", Chosen())
    assert waves.x.title == "number"
    assert all(np.ptp(line.y) > 0 for line in waves.lines)
