"""Citations as BibTeX: of all encodings and tasks, of texts that are none, and as bibtex and LaTeX read them."""

import re
import shutil
import subprocess
import time

import pytest
from tex_pages import needs_latex

from posenc_jax.data.tasks import TASKS
from posenc_jax.data.text import TEXT_TASKS
from posenc_jax.encodings import ENCODINGS, REGISTERED, SCALINGS
from posenc_jax.report.bibtex import entries

OF_TASKS = {cls.name: cls.citation for cls in (*TASKS.values(), *TEXT_TASKS.values())}
CITATIONS = {cls.name: cls.citation for cls in REGISTERED} | OF_TASKS
# What no citation of the registry has.
OTHERS = [
    "Kazemnejad et al., NeurIPS 2022, arXiv:2305.00001",
    r"50% of #1, a_b & c: {x} \y $z$ ~ ^ <i> | with our own idea",
    "Su 2021",
    "a closing } alone",
    'Press, Ofir and Ré, C. (2022). An "R&D" of {Braces. Journal of Examples 3(4). https://a.org/b_c%20d#{e}.',
    "\x1b[2J",
]


def fields(text):
    """Key -> kind and fields of every entry."""
    found = {}
    for kind, key, body in re.findall(r"^@(\w+)\{([a-z\d]+),\n(.*?)^\}$", text, re.M | re.S):
        assert key not in found
        found[key] = {"kind": kind} | dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.M))
        assert len(found[key]) == len(body.splitlines()) + 1
    assert len(found) == text.count("@")
    return found


def test_all_have_citations():
    assert set(CITATIONS) >= {*ENCODINGS, *SCALINGS, *TASKS, *TEXT_TASKS}
    assert all(CITATIONS.values())


@pytest.mark.parametrize("name", CITATIONS)
def test_every_citation_of_the_registry_is_read(name):
    text = entries([CITATIONS[name]])
    assert text.count("{") == text.count("}")
    works = fields(text)
    years = re.findall(r"\((\d{4})\)", CITATIONS[name])
    assert [work["year"] for work in works.values() if "year" in work] == years
    assert [work.get("eprint") for work in works.values() if "eprint" in work] == [
        number.rstrip(".") for number in re.findall(r"arXiv:([\d.]+)", CITATIONS[name])
    ]
    for work in works.values():
        if "author" in work:
            assert {"title", "year"} <= set(work)
            assert not re.search(r"arXiv|https?:|\(\d{4}\)", work["author"] + work["title"])
        else:
            assert CITATIONS[name].startswith(("A design of this project", "this library"))
            assert list(work) == ["kind", "note", "key"]


def test_all_together_have_a_key_each():
    works = fields(entries(CITATIONS.values()))
    numbers = [work["eprint"] for work in works.values() if "eprint" in work]
    assert len(numbers) == len(set(numbers)), "each work once"
    assert works["kazemnejad2023impact"]["booktitle"] == "NeurIPS"
    assert works["cho2024position"]["author"].startswith("Cho, H. and Cha, J. and "), "the encoding's, not the task's"
    assert works["raffel2020exploring"]["kind"] == "article"
    assert works["wang2024qwen"]["author"].endswith(" and Bai, J. and others")
    assert works["barbero2024round"]["title"].endswith("Go! What makes Rotary Positional Encodings useful?}")
    assert works["bloc972023aware"]["howpublished"] == "Reddit"
    assert works["wang2022crossformer"]["note"] == "in the form of x-transformers"


EXACT = {
    # Two works, one with an address.
    CITATIONS["log_scaling"]: """@misc{su2021attention,
  author = {Su, J.},
  title = {{Attention scale from the viewpoint of entropy invariance}},
  year = {2021},
  url = {https://kexue.fm/archives/8823},
}

@inproceedings{chiang2022overcoming,
  author = {Chiang, D. and Cholak, P.},
  title = {{Overcoming a Theoretical Limitation of Self-Attention}},
  booktitle = {ACL},
  year = {2022},
  eprint = {2202.12172},
  archivePrefix = {arXiv},
}
""",
    CITATIONS["llama3"]: """@misc{dubey2024llama,
  author = {Dubey, A. and others},
  title = {{The Llama 3 Herd of Models}},
  year = {2024},
  eprint = {2407.21783},
  archivePrefix = {arXiv},
}
""",
    CITATIONS["rerope"]: """@misc{su2023rectified,
  author = {Su, J.},
  title = {{Rectified Rotary Position Embeddings}},
  year = {2023},
  url = {https://kexue.fm/archives/9708},
  note = {https://github.com/bojone/rerope},
}
""",
    # As tasks were cited.
    "Lake and Baroni, ICML 2018, arXiv:1711.00350; cutoffs: Csordás et al., 2021, arXiv:2108.12284": """@misc{lake2018,
  author = {Lake and Baroni},
  howpublished = {ICML},
  year = {2018},
  eprint = {1711.00350},
  archivePrefix = {arXiv},
}

@misc{csordas2021,
  author = {Csordás and others},
  year = {2021},
  eprint = {2108.12284},
  archivePrefix = {arXiv},
}
""",
    "nowhere yet: 5% of a_b & c": """@misc{nowhere,
  note = {nowhere yet: 5\\% of a\\_b \\& c},
  key = {nowhere},
}
""",
    'Press, O. and Ré, C. (2022). "A" {B}. ICLR 2023. https://a.org/b_{c}.': r"""@inproceedings{press2022a,
  author = {Press, O. and Ré, C.},
  title = {{``A'' \textbraceleft{}B\textbraceright{}}},
  booktitle = {ICLR 2023},
  year = {2022},
  url = {https://a.org/b_%7Bc%7D},
}
""",
    "Qwen team (2025). Qwen3-VL. https://github.com/QwenLM/Qwen3-VL.": """@misc{qwenteam2025qwen,
  author = {{Qwen team}},
  title = {{Qwen3-VL}},
  year = {2025},
  url = {https://github.com/QwenLM/Qwen3-VL},
}
""",
    "": "",
}


@pytest.mark.parametrize("citation", EXACT)
def test_entries(citation):
    assert entries([citation]) == EXACT[citation]


def test_each_work_once_by_the_citation_that_tells_most_where_it_is_first_used():
    short, full = "Press et al., ICLR 2022, https://arxiv.org/abs/2108.12409v2", CITATIONS["alibi"]
    works = entries([short, "nowhere", full, "nowhere"])
    assert works == entries([full, "nowhere"])
    assert works.startswith("@inproceedings{press2022train,\n")


def test_equal_keys_end_in_letters():
    citations = [f"Su, J. (2021). Notes {word}." for word in "xyz"] + ["Su, J. (2021). Notesb."]
    assert list(fields(entries(citations))) == ["su2021notesa", "su2021notesc", "su2021notesd", "su2021notesb"]
    many = fields(entries(f"idea {number}" for number in range(60)))
    assert [*many][25:28] == ["ideaz", "ideaaa", "ideabb"]


@pytest.mark.parametrize("citation", [*OTHERS, "(2020). Y.", "Su, J. (2021). .", ";", "日本 (2020). 日本.", "...", "{"])
def test_nothing_is_refused(citation):
    text = entries([citation])
    (work,) = fields(text).values()
    assert "author" in work or "note" in work
    assert text.count("{") == text.count("}")
    assert "\x1b" not in text


@pytest.mark.parametrize("part", ["A b, A., ", "A b, A. ", "; a b c d ", "; Aa and Bb, ", "aa-", ". A, B. (2020", "AA"])
def test_a_long_text_takes_no_long_time(part):
    began = time.process_time()
    entries([part * 500])
    assert time.process_time() - began < 5


@pytest.mark.slow
@needs_latex
@pytest.mark.skipif(shutil.which("bibtex") is None, reason="bibtex is missing (Debian: texlive-binaries)")
@pytest.mark.parametrize("style", ["plain", "alpha", "abbrv"])
def test_bibtex_and_latex_take_them_all(tmp_path, style):
    text = entries([*CITATIONS.values(), *OTHERS])
    (tmp_path / "citations.bib").write_text(text)
    end = rf"\nocite{{*}}\bibliographystyle{{{style}}}\bibliography{{citations}}\end{{document}}"
    (tmp_path / "page.tex").write_text(r"\documentclass{article}\begin{document}" + end)
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    for command in (latex, ["bibtex", "page"], latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
        assert command[0] != "bibtex" or "Warning" not in done.stdout, done.stdout
    assert (tmp_path / "page.bbl").read_text().count(r"\bibitem") == len(fields(text))
    assert (tmp_path / "page.pdf").exists()
