"""A hole in the positions of training: the page has the record, and what was trained on leaves the hole."""

import json

from experiments.length_generalisation import gap

FOUND = json.loads(gap.RECORD.read_text())


def test_the_page_has_what_was_recorded():
    assert gap.README.read_text() == gap.page(FOUND), "python -m experiments.length_generalisation.gap"


def test_no_position_of_the_hole_is_trained_on():
    def positions(starts):
        return {start + place for start in starts for place in range(gap.LENGTH)}

    trained = positions(gap.TRAINED)
    assert trained == {*range(20), *range(41, 64)}
    assert [positions([gap.PLACES[name]]) <= trained for name in ("below", "above")] == [True, True]
    assert positions([gap.PLACES["hole"]]) <= {*range(20, 41)}
    assert min(positions([gap.PLACES["beyond"]])) > max(trained)
    assert all(len(scores) == len(gap.SEEDS) for own in FOUND["accuracy"].values() for scores in own.values())
    assert {score for scores in FOUND["accuracy"]["rope"].values() for score in scores} == {1.0}  # as the lesson says
