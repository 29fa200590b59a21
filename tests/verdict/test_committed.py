"""The page of committed verdicts says what their records say."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "experiments" / "verdicts"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_the_page_is_of_the_record(file):
    page, found = (FOLDER / "README.md").read_text(), json.loads(file.read_text())
    assert found["verdict"]
    for sentence in found["verdict"]:
        assert sentence in page.replace("\\", "")
    for finding in found["findings"]:
        start = f"| {found['label']} | {finding['baseline']} | `{finding['table']}` |"
        (row,) = (line for line in page.splitlines() if line.startswith(start))
        assert f" | {finding['word']} | " in row
        for label in (found["label"], finding["baseline"]):
            scores = found["measured"][label][finding["table"]]["scores"].values()
            assert f"{sum(scores) / len(scores):.3f}" in row
