"""Citations as BibTeX: of all encodings and tasks, of texts that are none, and as bibtex and LaTeX read them."""

import re

import pytest

from posenc_jax.data.tasks import TASKS
from posenc_jax.data.text import TEXT_TASKS
from posenc_jax.drawing.bibtex import bibtex, prose
from posenc_jax.encodings import ENCODINGS, REGISTERED, SCALINGS

OF_TASKS = {cls.name: cls.citation for cls in (*TASKS.values(), *TEXT_TASKS.values())}
CITATIONS = {cls.name: cls.citation for cls in REGISTERED} | OF_TASKS
# What no citation of the registry is.
OTHERS = [
    "Kazemnejad et al., NeurIPS 2022, arXiv:2305.00001",
    r"50% of #1, a_b & c: {x} \y $z$ ~ ^ <i> | with our own idea",
    "a closing } alone",
    "@misc{broken, title = {unclosed}",
    "\x1b[2J",
]


def fields(text):
    """Key -> kind and fields of every entry."""
    found = {}
    for kind, key, body in re.findall(r"^@(\w+)\{([\w:]+),\n(.*?)^\}$", text, re.M | re.S):
        assert key not in found
        found[key] = {"kind": kind} | dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.M))
        assert len(found[key]) == len(body.splitlines()) + 1
    assert len(found) == len(re.findall("^@", text, re.M))
    return found


def test_all_have_citations():
    assert set(CITATIONS) >= {*ENCODINGS, *SCALINGS, *TASKS, *TEXT_TASKS}
    assert all(CITATIONS.values())


@pytest.mark.parametrize("name", CITATIONS)
def test_every_citation_of_the_registry_is_bibtex(name):
    text, said = bibtex([CITATIONS[name]]), prose(CITATIONS[name])
    assert text.count("{") == text.count("}")
    if said.startswith(("A design of this project", "this library")):
        assert [list(work) for work in fields(text).values()] == [["kind", "note", "key"]]
        return
    for work in fields(text).values():
        assert {"author", "title", "year"} <= set(work)
        assert f"({work['year']}). {work['title'][1:-1]}".replace("``", '"').replace("''", '"') in said
        assert ("eprint" in work) == (work.get("archivePrefix") == "arXiv")
        assert f"arXiv:{work.get('eprint', '')}" in said or "url" in work


def test_all_together_have_a_key_each():
    works = fields(bibtex(CITATIONS.values()))
    numbers = [work["eprint"] for work in works.values() if "eprint" in work]
    assert len(numbers) == len(set(numbers)), "each work once"
    assert works["cho2024position"]["author"].startswith("Cho, H. and Cha, J. and "), "the encoding's, not the task's"


SAID = {
    "log_scaling": "Su, J. (2021). Attention scale from the viewpoint of entropy invariance. "
    "https://kexue.fm/archives/8823; Chiang, D., Cholak, P. (2022). Overcoming a Theoretical Limitation of "
    "Self-Attention. ACL. arXiv:2202.12172.",
    "llama3": "Dubey, A., et al. (2024). The Llama 3 Herd of Models. arXiv:2407.21783.",
    "word_problem": "Merrill, Petty and Sabharwal (2024). The Illusion of State in State-Space Models. ICML. "
    "arXiv:2404.08819.",
}


@pytest.mark.parametrize("name", SAID)
def test_prose(name):
    assert prose(CITATIONS[name]) == SAID[name]


EXACT = {
    CITATIONS["rerope"]: """@misc{su2023rectified,
  author = {Su, J.},
  title = {{Rectified Rotary Position Embeddings}},
  year = {2023},
  url = {https://kexue.fm/archives/9708},
  note = {https://github.com/bojone/rerope},
}
""",
    '@Article{own:1,\n  year = 2026, title="Of {ours}" ,\n}': """@Article{own:1,
  year = {2026},
  title = {Of {ours}},
}
""",
    "nowhere yet: 5% of a_b & c": """@misc{nowhere,
  note = {nowhere yet: 5\\% of a\\_b \\& c},
  key = {nowhere},
}
""",
    "": "",
}


@pytest.mark.parametrize("citation", EXACT)
def test_entries(citation):
    assert bibtex([citation]) == EXACT[citation]


def test_commands_of_others_are_text():
    hostile = r"@misc{a, title = {M\"uller {\o}k \aa\ \emph{b} \input{/etc/hostname} ^^5cinput \\\write}, year = 1}"
    kept = r"M\"uller {\o}k \aa\ \emph{b} \textbackslash{}input{/etc/hostname} "
    kept += r"\textasciicircum{}\textasciicircum{}5cinput \\\textbackslash{}write"
    assert fields(bibtex([hostile]))["a"]["title"] == kept
    assert r"\input" in prose(hostile)
    assert list(fields(bibtex([r"@misc{a\input/etc/hostname, title = {b}}"]))) == ["misc"], "a key is a word"


def test_each_work_once_where_it_is_first_used():
    found = fields(bibtex([CITATIONS["flip_flop"], "nowhere", CITATIONS["path"], "nowhere", "nowhere else"]))
    assert list(found) == ["liu2023exposing", "yang2025path", "nowhere", "nowhere1"]
    assert found["yang2025path"]["author"].startswith("Yang, S. and Shen, Y. and ")


@pytest.mark.parametrize("citation", [*OTHERS, ";", "日本 (2020). 日本.", "...", "{"])
def test_nothing_is_refused(citation):
    text = bibtex([citation])
    (work,) = fields(text).values()
    assert "note" in work
    assert text.count("{") == text.count("}")
    assert "\x1b" not in text
    assert prose(citation) == citation
