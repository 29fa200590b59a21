"""The part of the README on the translator is what its record says; which sentences it shows."""

import json

from experiments.translation import translated


def test_the_page_is_of_the_record():
    found = json.loads(translated.RECORD.read_text())
    readme = translated.README.read_text()
    assert translated.refilled(readme, translated.BEGIN, translated.page(found), translated.END) == readme, (
        "run python -m experiments.translation.translated"
    )
    assert len(found["sentences"]) == 10
    for scores in found["scores"].values():
        assert all(row["chrf"] >= 45 for length, row in scores.items() if int(length) <= 32)


def test_sentences_are_shown_by_their_place_from_worst_to_best():
    reference = "abcdefghijklmnopqrst"
    lines = [{"en": f"{n:02}", "de": reference, "output": reference[:n], "doc": "page"} for n in range(20, 0, -1)]
    found = translated.shown(lines)
    assert [row["en"] for row in found] == [f"{n:02}" for n in range(20, 0, -2)]
    assert [row["chrf"] for row in found] == sorted((row["chrf"] for row in found), reverse=True)
