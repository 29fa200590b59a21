"""The page of summaries has the table of its record."""

import json

from experiments.summarization import sources
from posenc_jax.drawing.markdown import refilled


def test_where_summaries_come_from_is_of_the_record():
    found, page = json.loads(sources.RECORD.read_text()), sources.README.read_text()
    assert refilled(page, sources.BEGIN, sources.page(found), sources.END) == page
    assert sources.figure(found).startswith(b"\x89PNG")
