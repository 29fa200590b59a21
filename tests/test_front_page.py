"""The README is short, its numbers are those of the code and the records, its links and commands are there."""

import json
import re
import tomllib
from pathlib import Path
from urllib.parse import urlparse

import counts
import pytest
import yaml
from documenting import pages
from PIL import Image

import posenc_jax
from experiments.installs import measure as installs
from posenc_jax.cli import COMMANDS
from posenc_jax.config import Run
from posenc_jax.data.tasks import EvenPairs
from scripts.docs import front_picture

ROOT = Path(__file__).parent.parent

README = ROOT / "README.md"
PAGES = sorted(
    {
        *(README, *ROOT.glob("scripts/docs/**/*.md"), *ROOT.glob(".github/*.md"), *ROOT.glob("experiments/*/*.md")),
        *ROOT.glob("posenc_jax/show/lessons/*.md"),
    }
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def row(word):
    """The number column of the README's row that begins so."""
    (line,) = [line for line in README.read_text().splitlines() if line.startswith(f"| {word}")]
    return line.split(" | ")[1]


def test_it_is_read_in_minutes():
    assert len(README.read_text().split()) <= 700


def test_a_picture_comes_before_the_first_command():
    above = README.read_text().partition("```")[0]
    assert "](scripts/docs/front-picture.png)" in above
    assert len(above.split()) < 150


def test_the_picture_shows_the_committed_results():
    with Image.open(front_picture.PICTURE) as picture:
        assert picture.info["Source"] == front_picture.digest(), "python -m scripts.docs.front_picture"
        assert picture.width > 1200


def test_sinusoidal_learned_or_relative_is_answered_from_the_results():
    found = json.loads(front_picture.RESULTS.read_text())
    rows = [row for row in found["means"] if (row["table"], row["length"]) == ("rsc", None)]
    means = {(row["label"], row["range"]): row["mean"] for row in rows if row["score"] == "exact_match"}
    kinds = "sinusoidal", "rope", "learned", "alibi", "t5", "nope"
    assert all(means[kind, "within"] == 1 for kind in kinds)
    sinusoidal, rope, *others = (f"{means[kind, 'beyond']:.2f}" for kind in kinds)
    assert sinusoidal == rope
    assert (
        "sinusoidal and rotary encodings get {} right, a learned table {}, relative biases (ALiBi, T5) {} and {}, and "
        "no positions {}. These are decoders"
    ).format(rope, *others) in README.read_text()


def test_its_numbers_are_those_of_the_code():
    for page, text in counts.pages().items():
        assert page.read_text() == text, f"{page}: run scripts/regenerate"
    assert row("paired seeds") == f"{len(Run(task=EvenPairs()).seeds)} by default"


def test_a_count_is_written_where_its_sentence_stands_once():
    sentence = ("a {{doc}}`{rows} rows` of {tasks}",)
    rows, tasks = (counts.counts()[name] for name in ("rows", "tasks"))
    assert counts.counted("Here: a {doc}`1,234 rows` of 5.", sentence) == f"Here: a {{doc}}`{rows} rows` of {tasks}."
    with pytest.raises(ValueError, match="0 sentences of the page are"):
        counts.counted("a table of rows", sentence)


def test_its_numbers_are_those_of_the_records():
    trials = {one["trial"]: one for one in json.loads((ROOT / "scripts" / "docs" / "faults.json").read_text())}
    kills = trials["kills"]
    assert row("bit-identical results") == f"{kills['identical']} of {kills['trials']} trials"
    verdict = json.loads((ROOT / "experiments" / "verdicts" / "pope-against-rope.json").read_text())
    for page in ("README.md", "scripts/docs/guides/idea-to-verdict.md", "experiments/verdicts/README.md"):
        assert f"{verdict['seconds'] / 60:.0f} minutes of runs" in (ROOT / page).read_text(), page
    assert len(verdict["tables"]) == 3


def test_the_page_on_other_projects_has_the_numbers_of_ours():
    page, tables = ((ROOT / "scripts" / "docs" / name).read_text() for name in ("start/peers.md", "guides/tables.md"))
    published, questions = re.search(r"the (\d+) that were published .* the (\d+) open questions", tables).groups()
    assert f"| [{published}](../guides/tables.md), and {questions} open questions |" in page
    assert f"[{row('bit-identical results').removesuffix(' trials')}](../reliability.md)" in page


def test_the_table_of_installs_is_that_of_the_record():
    record, page = json.loads(installs.RECORD.read_text()), installs.PAGE.read_text()
    assert {"wheel", "encodings", "plain"} <= set(record) <= set(installs.KINDS)
    assert installs.filled(page, record) == page, "python -m experiments.installs.measure --page"
    assert record["encodings"]["packages"] < record["plain"]["packages"] < 60
    assert record["encodings"]["megabytes"] < record["plain"]["megabytes"] < 900


@pytest.mark.parametrize("page", sorted({*PAGES} - {*pages.written().values()}), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Those of pages of the site: `pages.broken`."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in LINK.findall(text):
        if urlparse(target).scheme:
            continue
        file, _, anchor = target.partition("#")
        aim = (page.parent / file).resolve() if file else page
        assert aim.exists(), f"{page}: {target}"
        assert ROOT in aim.parents
        assert not anchor or anchor in pages.anchors(aim.read_text()), target


def commands(text):
    """The lines of a page's shell blocks."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]


def test_commands_are_there():
    for line in (line for page in PAGES for line in commands(page.read_text())):
        for name in re.findall(r"(?:^|; |&& )posenc ([a-z]\S*)", line):
            assert name in COMMANDS, line
        for name in re.findall(r"(?:^|; |&& )(scripts/\S+)", line):
            assert (ROOT / name).is_file(), line
        for name in re.findall(r"\b(?:configs|experiments)/\S+\.py", line):
            assert (ROOT / name).is_file(), line


def test_every_command_is_on_a_page():
    shown = {name for page in PAGES for name in re.findall(r"\bposenc ([a-z]+)\b", page.read_text())}
    assert set(COMMANDS) <= shown


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / ".github" / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == posenc_jax.__version__
    assert f"version = {{{posenc_jax.__version__}}}" in README.read_text()
    assert cited["license"] == project["license"]
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in project["authors"]]
    assert set(cited) >= {"cff-version", "message", "title", "authors"}


def test_the_map_of_rooms_is_whole():
    """Every package and module of the top is a room, and what to begin with is there."""
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    rooms = {}
    for names, _, begin in rows:
        for name in re.findall(r"`([^`]+)`", names):
            rooms[name.removeprefix("posenc_jax/")] = re.findall(r"`([^`]+)`", begin)
    package = ROOT / "posenc_jax"
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    assert packages <= set(rooms)
    for name, begins in rooms.items():
        home = next(home for home in (package / name, package / f"{name}.py", ROOT / name) if home.exists())
        for begin in begins:
            assert any((place / begin).is_file() for place in (home, package, ROOT)), f"{name}: {begin}"
    commands = text.partition("## Five commands")[2].partition("Python 3.11")[0]
    named = re.findall(r"^    (scripts/\w+)", commands, re.MULTILINE)
    assert len(set(named)) == 5
    assert all((ROOT / name).is_file() for name in named)


def test_the_way_to_a_first_verdict_has_at_most_twelve_words_of_the_glossary():
    rows = (ROOT / "scripts" / "docs" / "start" / "glossary.md").read_text().split("|---|---|\n")[1].splitlines()
    words = [word for row in rows for word in row.split("|")[1].strip().split(", ")]
    way = README.read_text().partition("## Your own comparison")[0]
    assert "posenc verdict" in way
    assert len([word for word in words if re.search(rf"\b{word}s?\b", way, re.IGNORECASE)]) <= 12
