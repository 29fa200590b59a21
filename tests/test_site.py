"""What the site is made of, without Sphinx: rows and their facts, links, and what autodoc is given."""

import ast
import collections
import json
import re
import tomllib
from pathlib import Path

import pytest
from documenting import api, commands, configs, drawn, encodings, gallery, pages
from documenting.rows import FACTS, page_name, rows

from posenc_jax.cli import COMMANDS
from posenc_jax.encodings.catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent

METHODS = [method for family in CATALOGUE.values() for method in family]
GUIDES = sorted((ROOT / "scripts" / "docs" / "guides").glob("*.md"))


@pytest.fixture(scope="module")
def facts():
    return tomllib.loads(FACTS.read_text())


@pytest.fixture(scope="module")
def all_rows(facts):
    return {row.method.name: row for row in rows(facts)}


# Encodings.


def test_every_row_of_the_catalogue_has_a_page_of_its_own(all_rows):
    assert list(all_rows) == [method.name for method in METHODS]
    assert len({row.page for row in all_rows.values()}) == len(METHODS)
    families = {method.family for method in METHODS}
    assert families == set(encodings.FAMILIES)


def test_every_row_is_cited(all_rows):
    for row in all_rows.values():
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", row.bibtex, re.MULTILINE))
        assert fields["author"], row.page
        assert fields["title"], row.page
        assert re.fullmatch(r"\d{4}", fields["year"]), row.page
        if row.method.link.startswith(("arXiv:", "http")):  # not a design of this project
            assert fields.get("eprint", fields.get("url")) in row.method.link, row.page


MISSING = "is missing: write it in scripts/docs/encodings/facts.toml"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"citation": None},
            "no citation of arXiv:2203.16634: write one in its class, or in facts.toml",
        ),
        ({"math": None}, f"'math' {MISSING}"),
        ({"use": None}, f"'use' {MISSING}"),
        ({"traps": None}, f"'traps' {MISSING}"),
        (
            {"difers": "Much."},
            "'difers' is none of math, use, traps, differs, symbols, citation: correct it in facts.toml",
        ),
        ({"differs": ""}, "'differs' is empty: leave it out of facts.toml"),
    ],
)
def test_a_row_that_lacks_something_or_has_what_no_page_reads_is_named(facts, changed, problem):
    of_row = {name: value for name, value in (facts["NoPE"] | changed).items() if value is not None}
    with pytest.raises(ValueError, match=f"^encodings/nope: {re.escape(problem)}$"):
        rows(facts | {"NoPE": of_row})


def test_facts_of_no_row_are_named(facts):
    with pytest.raises(ValueError, match=r"^RoPEE: facts\.toml has it, the catalogue not$"):
        rows(facts | {"RoPEE": facts["RoPE"]})


def test_a_row_without_a_picture_is_named(tmp_path, all_rows):
    def fails(name, spec):
        raise ValueError("this cannot be drawn\nat all")

    assert drawn.draw(tmp_path, ("RoPE", "rope"), lambda name, spec: []) == "nothing of it can be drawn"
    assert drawn.draw(tmp_path, ("RoPE", "rope"), fails) == "ValueError: this cannot be drawn"
    assert list(tmp_path.iterdir()) == []
    found = {"rope": "ValueError: this cannot be drawn", "alibi": [("a.png", "A", "b")]}
    with pytest.raises(ValueError, match=r"^encodings/rope: no picture: ValueError: this cannot be drawn$"):
        drawn.checked(found)
    with pytest.raises(ValueError, match=r"^encodings/rope: no picture$"):
        encodings.page(all_rows["RoPE"], [])


def test_a_picture_is_drawn_and_kept(tmp_path):
    made = drawn.draw(tmp_path, ("ALiBi", "alibi"))
    assert [(file, title) for file, title, _ in made] == [("alibi-0.png", "Bias of ALiBi")]
    assert {path.name for path in tmp_path.iterdir()} == {"alibi-0.png", "alibi-small.png", "alibi.json"}
    assert drawn.draw(tmp_path, ("ALiBi", "alibi"), None) == made


def test_a_page_says_what_is_kept_of_its_row(all_rows):
    row = all_rows["PoPE"]
    text = encodings.page(row, [("pope-0.png", "Similarity", "By offset.")])
    wanted = [
        "# PoPE",
        "```text\npope\n```",
        "2509.10534",
        "kept (13/13)",
        "512 learned",
        "```{figure} pope-0.png",
        row.bibtex,
    ]
    wanted += [row.facts["use"], *row.facts["traps"]]
    wanted += [
        "worse (length 12 alone) on even_pairs",
        "paths: cuDNN, kernel, blocks",
        ".. autoclass:: posenc_jax.encodings.rotary.pope.PoPE\n",
    ]
    for part in wanted:
        assert part in text, part
    for value in row.golden["outputs"]["q"][-1][-1][:4]:
        assert f"{value:.9g}" in text


def test_a_page_has_the_docstring_of_the_class_that_has_the_row(all_rows):
    """It says where our definition departs, also where the row's source is not the paper of the class."""
    assert all_rows["Temperature tuning with RoPE (Ministral 3)"].main == ("query_temperature", "rope")
    assert all_rows["M-RoPE at absolute time (Qwen2.5-VL)"].main == ("media", "mrope")


def test_a_page_says_where_papers_and_libraries_differ_if_they_do(all_rows):
    picture = [("a.png", "Similarity", "By offset.")]
    texts = {name: encodings.page(all_rows[name], picture) for name in ("PoPE", "Shaw")}
    assert "## Paper and code" not in texts["PoPE"]
    assert f"## Paper and code\n\n{all_rows['Shaw'].facts['differs']}\n\n## Known traps" in texts["Shaw"]


def test_evidence_is_asked_for_where_there_is_none(all_rows):
    row = all_rows["YaRN"]
    text = encodings.page(row, [("yarn-0.png", "Similarity", "By offset.")])
    assert f'posenc verdict "{row.method.spec}" --against rope --quick' in text


def test_page_names():
    assert page_name("Sinusoidal, tensor2tensor's form") == "sinusoidal-tensor2tensors-form"


# The reference.


def test_every_class_of_a_config_is_on_its_page():
    text = configs.page()
    for name in ("Ablation", "Run", "Transformer", "Optimizer", "Training", "Evaluation", "Execution", "Published"):
        assert f"\n## {name}\n\n```{{eval-rst}}\n.. autoclass:: posenc_jax." in text


def test_a_command_whose_help_fails_is_named(monkeypatch):
    monkeypatch.setattr(commands, "help_of", lambda name: "" if name in ("plan", "train") else f"usage of {name}")
    with pytest.raises(ValueError, match=r"^reference/commands: posenc train, plan --help fails$"):
        commands.page()
    monkeypatch.setattr(commands, "help_of", lambda name: f"usage of {name}")
    assert all(f"## posenc {name}\n" in commands.page() for name in COMMANDS)


# Pages written by hand.


def test_no_link_is_broken():
    assert pages.broken() == []


def test_broken_links_are_named(tmp_path, monkeypatch):
    page = tmp_path / "a.md"
    page.write_text(
        "# A\n\n[x](b.md) [y](#no) [z](encodings/rope.md) [w](encodings/ropes.md) [t](#a-b)\n\n## A b\n\n`[n](no.md)`\n"
        "\n```sh\n[n](no.md)\n```\n[u](https://a.b) ![p](no.png)\n"
    )
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    monkeypatch.setattr(pages, "written", lambda: {"a.md": page})
    assert pages.broken() == [
        "a.md: b.md is no file",
        "a.md: #no is no heading",
        "a.md: encodings/ropes.md is no page",
        "a.md: no.png is no file",
    ]


def test_a_link_whose_words_are_code_is_a_link():
    text = "[`a`](b.md), `[c](d.md)` and\n```\n[e](f.md)\n```\n"
    assert pages.links(text) == ["b.md"]
    assert pages.relinked(text, str.upper) == text.replace("b.md", "B.MD")


def test_a_table_of_contents_tolerates_pages_to_come():
    text = "# A\n\n```{toctree}\n:glob:\n\nb\nc/d\nc/*\n```\n\n```{toctree}\nz\n```\n"
    assert "c/d" in pages.with_pages_that_are_there(text, {"f/b.md", "f/c/d.md"}, Path("f"))
    assert "c/*" not in pages.with_pages_that_are_there(text, {"b.md", "c/d.md"})
    assert (
        pages.with_pages_that_are_there(text, {"b.md", "c/e.md"}) == "# A\n\n```{toctree}\n:glob:\n\nb\nc/*\n```\n\n\n"
    )


def test_links_to_files_of_the_repository_go_along(tmp_path):
    page = ROOT / "experiments" / "verdicts" / "README.md"
    pages.copy("experiments/verdicts.md", page, tmp_path)
    text = (tmp_path / "experiments" / "verdicts.md").read_text()
    assert "](/files/experiments/verdicts/pope-against-rope.png)" in text
    assert (tmp_path / "files/experiments/verdicts/pope-against-rope.png").exists()


def test_a_lesson_is_a_page_with_its_numbers_and_a_notebook(tmp_path):
    pages.copy("start/lessons/aliases.md", pages.LESSONS / "aliases.md", tmp_path, executes=True)
    text = (tmp_path / "start" / "lessons" / "aliases.md").read_text()
    assert "](/guides/positions-that-look-alike.md)" in text
    assert "\n0.9479. A step of 6" in text
    assert (tmp_path / "files/scripts/docs/pictures/kernel-128x8.png").exists()
    assert '<a href="../../notebooks/start/lessons/aliases.ipynb" download>' in text
    cells = json.loads((tmp_path / pages.SMALL / "notebooks/start/lessons/aliases.ipynb").read_text())["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) == 1 + 5


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_code_of_guides_is_python(guide):
    cells = re.findall(r"^```\{code-cell\}\n((?::[^\n]*\n)*)(.*?)^```$", guide.read_text(), re.MULTILINE | re.DOTALL)
    assert bool(cells) == guide.read_text().startswith("---\nfile_format: mystnb\n")
    for _, code in cells:
        magic, _, rest = code.partition("\n") if code.startswith("%%") else ("", "", code)
        if not magic.startswith("%%sh"):
            ast.parse(rest)


def test_the_front_page_shows_pictures_that_are_links(tmp_path):
    index = (ROOT / "scripts" / "docs" / "index.md").read_text()
    text = gallery.filled(index, collections.Counter(rotary=31, additive=16), tmp_path)
    assert "<!-- gallery" not in text
    assert '<a class="card" href="encodings/index.html#rotary">' in text
    assert "<span>31 methods</span>" in text
    pictures = re.findall(r'src="(gallery/[^"]+)"', text)
    assert len(pictures) == len(gallery.DOORS) + len(gallery.FOUND)
    assert [title in text.partition("```python")[0] for _, _, title, _ in gallery.DOORS] == [True] * 4
    assert all((tmp_path / picture).exists() for picture in pictures)
    assert "<iframe" in text
    assert "</html>" in (tmp_path / gallery.EXPLORER).read_text()


def test_a_large_package_has_a_page_a_module():
    assert "posenc_jax.runs.cell" in api.pages("posenc_jax.runs")
    assert list(api.pages("posenc_jax.attention")) == ["posenc_jax.attention"]
    first, _, below = api.pages("posenc_jax.encodings")["posenc_jax.encodings"].partition(".. automodule::")
    names = api.IMPORTED["posenc_jax.encodings"]
    assert all(re.search(rf"auto(class|function):: posenc_jax.encodings.{name}$", first, re.M) for name in names)
    assert f":exclude-members: {', '.join(names)}" in below


def test_constants_are_in_the_reference():
    text = "".join(api.pages("posenc_jax.encodings.interface").values())
    assert ".. py:data:: Params\n   :value: dict[str, Any]\n" in text
    text = "".join(api.pages("posenc_jax.verdict").values())
    assert ".. py:data:: LEARNED\n   :value: 0.9\n\n   The share of the way from the floor" in text


def test_a_page_stands_once_in_the_menu_whose_groups_are_short():
    index = (ROOT / "scripts" / "docs" / "index.md").read_text()
    written = [name.removesuffix(".md") for name in pages.written() if name != "index.md"]
    menu, listed, sizes = collections.Counter(), set(), []
    for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", index, re.MULTILINE | re.DOTALL):
        entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
        listed |= {entry for entry in entries if "*" not in entry}
        patterns = [entry.replace("*", "[^/]*") for entry in entries if "*" in entry]
        group = {name for name in written for pattern in patterns if re.fullmatch(pattern, name)}.union(entries)
        menu.update(group)
        sizes.append(sum("*" not in entry for entry in group))
    assert len(sizes) + max(sizes) + 1 <= 20  # the groups, one of them open, and a page below one of its own
    assert [name for name, count in menu.items() if count > 1] == []
    assert listed <= {*written, *(name.removesuffix(".md") for name in pages.generated())}
    assert [name for name in written if name.startswith("guides/") and name not in menu] == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-3.12.lock"])
def test_pins_name_no_index(lock):
    lines = (ROOT / lock).read_text().splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    names = [line.partition("==")[0].lower() for line in lines]
    assert len(set(names)) == len(names)
    assert {"sphinx", "myst-nb", "furo", "sphinx-copybutton", "dm-haiku", "latex2mathml"} <= set(names)
