"""The lessons: pages that run, and the mathematics that they state, by other ways."""

import functools
import itertools
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.show.lessons import LESSONS, NAMES, eagles, numbered, properties
from posenc_jax.show.lessons.lesson import Verdict
from posenc_jax.show.lessons.pages import for_site, for_terminal, index
from posenc_jax.show.lessons.running import CodeCell, run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "posenc_jax" / "show" / "lessons"
SLOW = ("order", "eagles")


@functools.cache
def load(name):
    """The names that the cells of a lesson define, and its ``page``."""
    names = {}
    page = "".join(map(str, run(numbered(name)[1].body, names)))
    return SimpleNamespace(**names | {"page": page})


def angle_vector(position, exponents, base=10000.0):
    """Sine and cosine in turn, number by number."""
    return [f(position / base**e) for e in exponents for f in (math.sin, math.cos)]


def oracle(position, d):
    return np.array(angle_vector(position, [2 * k / d for k in range(d // 2)]))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in NAMES]
)
def test_a_page_runs_and_computes_the_finding_in_its_front(name):
    lesson, page = numbered(name)[1], load(name).page
    assert "{eval}" not in page
    assert "{code-cell}" not in page
    shown = re.findall(r"\d+\.\d+", page)
    for said in re.findall(r"\d+\.\d+", lesson.because):
        digits = len(said.partition(".")[2])
        assert any(f"{float(value):.{digits}f}" == said for value in shown), said


def test_every_page_is_a_lesson_and_stands_in_the_list():
    assert {path.stem for path in FOLDER.glob("*.md")} == {*NAMES, "README"}
    assert [lesson.name for lesson in LESSONS] == list(NAMES)
    assert {lesson.verdict for lesson in LESSONS} == {*Verdict.__args__}
    text = (FOLDER / "README.md").read_text()
    assert index(text, LESSONS) == text, "scripts/regenerate writes it"


def test_the_claims_are_as_many_as_the_last_lesson_says():
    found = load("claims").page
    rows = [line.split(" | ")[1] for line in found.splitlines() if line.startswith("| ")][2:]
    holds, condition, fails = (sum(v.startswith(word) for v in rows) for word in ("true", "only if", "**false"))
    assert LESSONS[-1].because == (
        f"{holds} of {len(rows)} claims hold, {condition} only under a condition that is left out, and {fails} do not."
    )
    assert f"Of {len(rows)} claims, {holds} are true, {fails} false, and {condition} true under a" in found


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_a_page_is_short(name):
    lesson = numbered(name)[1]
    cells = [part.code for part in run(lesson.body, {}, dry=True) if isinstance(part, CodeCell)]
    assert cells or "```sh\n" in lesson.body
    for code in cells:
        lines = [line for line in code.splitlines() if line]
        assert len(lines) <= 16, code
        assert max(map(len, lines)) <= 100, code


@pytest.mark.parametrize(
    ("name", "words"),
    [("vectors", "The last one, 127"), ("aliases", "628, with cosine 0.9396"), ("longer", "requires extrapolation")],
)
def test_a_lesson_at_a_terminal_keeps_its_answer_to_itself(name, words):
    lesson = numbered(name)[1]
    told, answered = (for_terminal(3, lesson, answer=answer) for answer in (False, True))
    assert told.startswith(f"# 3. {lesson.title}\n")
    assert (words in told, words in answered) == (False, True)
    assert not re.search(r"\]\(|<details>|<!--|```math", answered)
    assert told.endswith(f"`posenc lesson {lesson.name} --answer` shows the answer.\n")


def test_one_page_for_site_and_notebook():
    number, lesson = numbered("near")
    site, notebook = for_site(number, lesson, runs=True)
    assert all(text.startswith(f"# {number}. {lesson.title}\n\n*{lesson.where}*\n") for text in (site, notebook))
    assert "![kernel-128x512](../../../scripts/docs/pictures/kernel-128x512.png)" in site
    assert "| 8 | 0.8838 | 0.3249 | 0.3275 | **no** |" in site
    assert "<details>\n<summary>Answer</summary>" in site
    assert "[positions 5 and 68](aliases.md)" in site
    assert "The picture: `posenc show --preset kernel-128x512`." in notebook
    assert "| 8 |" not in notebook
    assert notebook.count("```{code-cell} python\n") == lesson.body.count("```{code-cell} python\n")
    assert "## Answer\n\nAt d_model 8, yes: its cosine with 5 is 0.9479" in notebook
    assert "positions 5 and 68 (`posenc lesson aliases`)" in notebook


def test_cells_and_expressions_are_run_in_turn():
    code, value, names = "x = 2\nprint(x)\nx + 1\n", 'f"{x:.1f}"', {}
    page = f"A.\n\n```{{code-cell}} python\n{code}```\n\nIt is {{eval}}`{value}`.\n```python\nx = 5\n```\n"
    before, cell, between, found, after = run(page, names)
    assert cell == CodeCell(code, "2\n", "3")
    assert str(cell) == f"```python\n{code}```\n\nIt prints\n\n```text\n2\n```\n\n3"
    assert f"{before}{cell.source}{between}{{eval}}`{value}`{after}" == page
    assert (found, names["x"]) == ("2.0", 2)
    assert "".join(map(str, run(page, {}, dry=True))) == page.replace("{code-cell} ", "").replace("{eval}", "")
    with pytest.raises(ZeroDivisionError):
        run("{eval}`1 / 0`", {})


@pytest.mark.parametrize("name", NAMES)
def test_jupyter_reads_the_same_cells(name):
    read = pytest.importorskip("myst_nb.core.read", reason="myst-nb is not installed: install requirements.lock")
    text = (FOLDER / f"{name}.md").read_text()
    assert read.is_myst_markdown_notebook(text)
    found = [cell.source for cell in read.read_myst_markdown_notebook(text).cells if cell.cell_type == "code"]
    cells = [part for part in run(numbered(name)[1].body, {}, dry=True) if isinstance(part, CodeCell)]
    assert found == [cell.code.rstrip() for cell in cells]


def test_a_lesson_that_does_not_exist():
    assert numbered("3") == (3, LESSONS[2])
    assert numbered("eagles")[1].name == "eagles"
    with pytest.raises(ValueError, match=r"^there is no lesson 'eagels': did you mean 'eagles'\?$"):
        numbered("eagels")
    with pytest.raises(
        ValueError, match=f"^there is no lesson '0': there are 1 to {len(LESSONS)}, by number or by name$"
    ):
        numbered("0")


def test_dolphins_vectors_are_those_of_the_formula():
    zero, five = load("dolphins").dolphins, load("dolphins").waves
    assert zero.tolist() == [0.0, 1.0] * 256
    np.testing.assert_allclose(five, oracle(5, 512), rtol=0, atol=1e-14)
    assert (five != zero).all()


def test_the_table_by_hand_is_the_formula():
    formula = load("formula")
    np.testing.assert_allclose([formula.by_hand(p, 4) for p in range(3)], [oracle(p, 4) for p in range(3)], atol=1e-15)


def test_near_and_far():
    near = load("near")
    for d, expected in ((512, [0.973, 0.645, 0.442]), (8, [0.884, 0.325, 0.328])):
        assert [round(k, 3) for k in near.cosines(d)] == expected
        by_vectors = [oracle(5, d) @ oracle(q, d) / (d / 2) for q in (6, 20, 100)]
        np.testing.assert_allclose(near.cosines(d), by_vectors, atol=1e-12)


@pytest.mark.slow
def test_the_numbers_of_the_article_are_no_sum():
    page, one = load("eagles").page, oracle(1, 512)
    for i, word, printed in ((0, 0.12, 0.95), (1, -0.48, -0.87), (2, 0.85, 1.82), (511, -0.03, 0.45)):
        assert f"| {i} | {word} | {one[i]:.4f} | {word + one[i]:.4f} | {printed} |" in page
    wrong = [np.array(angle_vector(p, [4 * k / 512 for k in range(256)])) for p in (1, 6)]
    assert round(float(wrong[0] @ wrong[1] / 256), 3) == 0.870
    assert "a cosine of 0.870 instead of" in page


def test_nearest_of_128_positions_are_6_and_63_away():
    near = load("clusters").neighbours
    assert sorted(near[5].tolist()) == [11, 68, 74]
    assert near[5][0] == 68
    assert {abs(int(q) - p) for p, row in enumerate(near) for q in row} == {6, 63, 69}


def test_the_fox_reads_what_is_computed_by_hand():
    fox = load("fox")
    np.testing.assert_array_equal(fox.scaled, 2 * fox.rows)
    positions = np.array([oracle(p, 4) for p in range(4)])
    np.testing.assert_allclose(fox.added, fox.scaled + positions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(fox.first_layer_reads(train=False), fox.added, rtol=0, atol=1e-6)
    kept = fox.trained != 0
    assert 0 < kept.sum() < kept.size
    np.testing.assert_allclose(fox.trained[kept], fox.added[kept] / 0.9, rtol=1e-6, atol=1e-6)
    entries = [f"`{word}` = {number}" for number, word in enumerate(fox.vocabulary)]
    assert f"The vocabulary has {len(entries)} entries: {', '.join(entries)}." in fox.page


@pytest.mark.slow
def test_only_positions_tell_who_chased_whom():
    order = load("order")
    for first, second in order.pairs:
        assert sorted(first.split()) == sorted(second.split())
    for name in ("nope", "sinusoidal", "learned", "rope"):
        model = order.encoder(name)
        found = [order.difference(model, *pair) for pair in order.pairs]
        assert max(found) < 1e-5 if name == "nope" else min(found) > 1e-3, name


def margin(a, b, p, q):
    """Negative exactly where the cosine falls: ``R^2 K + cross terms - c (|a+p| |b+q| - |a| |b|)``."""
    sizes, sums = (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1) for x, y in ((a, b), (a + p, b + q)))
    return p @ q + a @ q + b @ p - eagles.cosine(a, b) * (sums - sizes)


def test_margin_is_negative_exactly_where_the_cosine_falls():
    """In d = 2 to 16, with cosines of all sizes, near the threshold too, by sums over entries."""
    rng, signs = np.random.default_rng(5), set()
    for d, c, sd in itertools.product((2, 8, 16), (-1.0, -0.3, 0.0, 0.6, 0.8, 1.0), (0.02, 1.0, 5.0)):
        p, q = oracle(1, d), oracle(6, d)
        for a, b in zip(*sd * eagles.with_cosine(d, c, rng, draws=20)):
            dot, first, second = (math.fsum(x * y) for x, y in ((a, b), (a, a), (b, b)))
            before = dot / math.sqrt(first * second)
            assert before == pytest.approx(c, abs=1e-12)
            u, v = a + p, b + q
            after = math.fsum(u * v) / math.sqrt(math.fsum(u * u) * math.fsum(v * v))
            fell = bool(after < before)
            signs.add((c, fell))
            assert bool(margin(a, b, p, q) < 0) == fell
    assert {(0.6, True), (0.6, False), (0.8, True), (0.8, False)} <= signs
    assert (1.0, False) not in signs  # the same word twice always falls,
    assert (-1.0, True) not in signs  # and opposite ones always rise


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.1, 0.1), (7.0, 7.0), (1.0, 3.0), (0.2, 9.0)])
@pytest.mark.parametrize("k", [0.74, 0.2])
def test_without_cross_terms_the_cosine_changes_its_course_at_the_threshold(first, second, k):
    """Embeddings in four dimensions in which no encoding has a share: the cross terms are 0 exactly."""
    r = 2.0
    p, q = r * np.array([1, 0, 0, 0, 0, 0]), r * np.array([k, math.sqrt(1 - k * k), 0, 0, 0, 0])
    at = load("eagles").threshold(k, first, second, r)
    if first == second:
        assert at == pytest.approx(k)
    else:
        assert 0 < at < k
    for c, falls in ((at - 1e-6, False), (at + 1e-6, True)):
        a, b = first * np.array([0, 0, 1, 0, 0, 0]), second * np.array([0, 0, c, math.sqrt(1 - c * c), 0, 0])
        assert bool(eagles.cosine(a + p, b + q) < eagles.cosine(a, b)) == falls


def test_a_doubled_exponent_is_a_squared_base():
    doubled, d = load("doubled"), 16
    vectors = doubled.doubled(np.arange(50), d)
    for position in (0, 1, 49):
        expected = angle_vector(position, [2 * k / d for k in range(d // 2)], base=1e8)
        np.testing.assert_allclose(vectors[position], expected, rtol=0, atol=1e-12)
    shifted = doubled.doubled_and_shifted(np.arange(50), d)[49]
    np.testing.assert_allclose(shifted[0::2], [math.sin(49 / 1e4 ** (2 * i / d)) for i in range(0, d, 2)], atol=1e-12)
    np.testing.assert_allclose(shifted[1::2], [math.cos(49 / 1e4 ** (2 * i / d)) for i in range(1, d, 2)], atol=1e-12)


def test_nearest_positions_by_distances_of_all_vectors():
    doubled = load("doubled")
    for base, of in ((1e4, lambda p: oracle(p, 8)), (1e8, lambda p: angle_vector(p, [4 * k / 8 for k in range(4)]))):
        table = np.array([of(p) for p in range(512)])
        order = np.linalg.norm(table - table[5], axis=1).argsort(kind="stable")
        assert order[0] == 5
        assert [p for p, _ in doubled.nearest(base)[:4]] == order[1:5].tolist()


def test_a_shift_is_linear_for_pairs_of_one_frequency_only():
    doubled = load("doubled")
    positions = np.arange(300)
    assert doubled.error_of_best_map(doubled.doubled(positions, 8)) < 1e-9
    assert doubled.error_of_best_map(doubled.doubled_and_shifted(positions, 8)) > 0.1


def test_rotations_shift_and_share_is_of_offsets():
    matrix = properties.rotation(8, 63)
    np.testing.assert_allclose(matrix @ oracle(5, 8), oracle(68, 8), rtol=0, atol=1e-12)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(8), rtol=0, atol=1e-12)
    offsets = np.subtract.outer(np.arange(20.0), np.arange(20.0))
    assert properties.offset_share(np.sin(offsets)) == pytest.approx(1)
    assert properties.offset_share(np.add.outer(np.arange(20.0), np.arange(20.0))) == pytest.approx(0, abs=1e-12)


def test_the_closest_pair_is_that_of_all_pairs():
    distances = load("properties").distances(vaswani_frequencies(8), np.arange(1, 300))
    vectors = np.array([oracle(p, 8) for p in range(300)])
    pairs = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1) + 10 * np.eye(300)
    first, second = np.unravel_index(pairs.argmin(), pairs.shape)
    assert 1 + distances.argmin() == abs(first - second)
    assert distances.min() == pytest.approx(pairs.min())


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("longer", [("sinusoidal", 2), ("nope", 2)]),
        ("distance", [("fast only", 2), ("slow only", 1)]),
        ("translation", [("sinusoidal", 1), ("nope", 1)]),
        ("summaries", [("sinusoidal", 1), ("nope", 1), ("sinusoidal", 2), ("nope", 2)]),
        ("documents", [("nope", 1), ("sinusoidal", 1), ("structured, token types, pooling by section", 1)]),
    ],
)
def test_a_finding_of_training_runs_is_that_of_its_rows(name, cells):
    lesson = numbered(name)[1]
    rows = {line.split(" | ")[0]: line.split(" | ") for line in lesson.body.splitlines()}
    assert re.findall(r"\d+\.\d+", lesson.because) == [rows[f"| {label}"][column].split()[0] for label, column in cells]


def test_unseen_values_are_beyond_the_seen_ones():
    """By the wavelengths: at d = 8 only sin(p / 1000) and its cosine go on to new values from 512 to 1023."""
    seen, new = 0.511, 1.023
    assert math.sin(new) > math.sin(seen) + 0.1
    assert math.cos(new) < math.cos(seen) - 0.1
    first = next(
        p
        for p in range(512, 1024)
        if math.cos(p / 1000) < math.cos(seen) - 0.1 or math.sin(p / 1000) > math.sin(seen) + 0.1
    )
    assert load("longer").unseen(8, 512) == (2, 1024 - first)
