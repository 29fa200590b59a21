"""``posenc list`` and ``posenc --help``."""

import inspect
import re
import sys

import pytest

from posenc_jax.cli import COMMANDS
from posenc_jax.data.tasks import TASKS
from posenc_jax.data.text import TEXT_TASKS
from posenc_jax.drawing.bibtex import prose
from posenc_jax.encodings import ENCODINGS, parse
from posenc_jax.encodings.catalogue import CATALOGUE, num_axes

METHODS = [method for family in CATALOGUE.values() for method in family]


@pytest.mark.parametrize("width", [80, 120])
def test_the_whole_catalogue_by_family_and_all_tasks(printed, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    text = printed("list")
    encodings, _, tasks = text.partition("\nTasks.\n")
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line in CATALOGUE] == [family for family, rows in CATALOGUE.items() if rows]
    together = "".join(encodings.split())
    places = [together.find("".join(f"{m.name} ({m.paper}) {m.spec}".split())) for m in METHODS]
    assert min(places) > 0
    assert places == sorted(places)
    words = encodings.split("for `posenc list WORD`:")[1].replace(",", " ").split()
    assert set(ENCODINGS) <= set(words)
    assert {"yarn", "llama3"} <= set(words)
    assert [line.strip() for line in tasks.splitlines() if line.startswith("  ") and line[2] != " "] == [
        *TASKS,
        *TEXT_TASKS,
    ]


def listed(printed, *options):
    """The names of the rows that a choice lists, by the rows' strings."""
    text = "".join(printed("list", *options).split())
    return [m.name for m in METHODS if "".join(f"{m.name} ({m.paper}) {m.spec}".split()) in text]


def test_rows_by_use_axes_family_and_year(printed):
    of_films = listed(printed, "--axes", "3")
    assert of_films == [m.name for m in METHODS if num_axes(m) == 3]
    assert {"3-D sinusoidal", "M-RoPE", "VideoRoPE"} <= {*of_films}
    assert listed(printed, "--axes", "4") == ["XD-RoPE (HunyuanOCR)", "VRoPE"]
    assert listed(printed, "encodings", "--family", "none") == ["NoPE", "DroPE"]
    wide = listed(printed, "--use", "W")
    assert wide == [m.name for m in METHODS if m.use == "W"]
    assert {"RoPE", "T5 bias", "YaRN"} <= {*wide}
    since = listed(printed, "--use", "p", "--family", "positions", "--since", "2024")
    assert since == ["Abacus", "Position coupling", "Position coupling of two levels", "BiPE-RoPE", "BiPE-ALiBi"]


def test_names_of_the_catalogue_are_unique():
    names = [method.name.lower() for method in METHODS]
    assert len(names) == len(set(names))


def test_an_encoding_in_full(printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = printed("list", "rope")
    together = " ".join(text.split())
    assert text.startswith("rope(base=10000.0, layout='interleaved', rotary_dim=None, scaling=None)\n")
    assert inspect.getdoc(ENCODINGS["rope"]) in text
    assert "  layout: 'interleaved' or 'half'\n" in text
    assert "ntk or dynamic_ntk" in together
    assert "Acts on queries, keys; shift invariant" in text
    assert "arXiv:2104.09864" in text
    assert "  Partial RoPE: rope(rotary_dim=0.25, layout='half')\n" in text


@pytest.mark.parametrize("name", ["SHAPE", "partial rope", "3-D sinusoidal", "DroPE"])
def test_a_row_of_the_catalogue_in_full(printed, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "120")
    (method,) = (m for m in METHODS if m.name.lower() == name.lower())
    text = " ".join(printed("list", name).split())
    head = f"{method.name} string: {method.spec} paper: {method.paper}, {method.link}"
    assert text.startswith(head + (f" note: {method.note}" if method.note else ""))
    for element in parse(method.spec):
        assert f" {element.name}(" in text
        assert prose(element.citation) in text


def test_what_a_verdict_said_of_it(printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("pope", "PoPE"):
        out = " ".join(printed("list", name).split())
        said = re.search(r"verdict: against RoPE, 8 seeds: (.*) \(experiments/verdicts/pope-against-rope.json\)", out)
        assert "worse (length 12 alone) on even_pairs" in said[1]


def test_every_row_and_every_word_has_details(printed):
    for name in [*ENCODINGS, *(method.name for method in METHODS)]:
        assert len(printed("list", name)) > 40


def test_one_kind(printed):
    text = printed("list", "tasks")
    assert "even_pairs" in text
    assert "sinusoidal" not in text
    text = printed("list", "encodings")
    assert "even_pairs" not in text
    assert "sinusoidal" in text


OWN = '''import dataclasses

from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class Listed(PositionalEncoding):
    """Nearer is larger."""

    width: float = 2.0
    name = "listed"
    paper = citation = ""

    def bias(self, params, geometry):
        return -abs(geometry.relative)[:, None] / self.width


PLAIN = 3


class Nothing:
    pass
'''


def test_a_class_in_a_file(printed, refusal, monkeypatch, tmp_path):
    (tmp_path / "listed_here.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    text = printed("list", "listed_here.py:Listed")
    assert text.startswith("listed(width=2.0)\n\nNearer is larger.\n")
    assert "Fields and their types:\n  width: float\n" in text
    assert "Acts on logits (by position)" in text
    for words, message in {
        "listed_here.py:Liste": "listed_here.py has no class Liste: did you mean 'Listed'?",
        "listed_here.py:PLAIN": "listed_here.py has no class PLAIN",
        "listed_here.py:Nothing": "listed_here.py:Nothing is no encoding, task, metric or mask",
        "gone.py:A": "there is no file gone.py",
    }.items():
        assert message in refusal("list", words)
    sys.modules.pop("listed_here", None)


def test_help(printed):
    text = printed("--help")
    assert all(f"  {name} " in text for name in COMMANDS)
    assert max(map(len, text.splitlines())) <= 100
    for name in COMMANDS:
        assert printed(name, "--help").startswith(f"usage: posenc {name} ")
    assert printed("list", "rope", "--help").startswith("usage: posenc list ")
