"""The lessons: pages that run, and the mathematics that they state, by other ways."""

import functools
import itertools
import json
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
from posenc_jax.statistics import mean_interval

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
def test_a_page_runs_and_computes_the_findings_in_its_front(name):
    lesson, page = numbered(name)[1], load(name).page
    assert "{eval}" not in page
    assert "{code-cell}" not in page
    shown = re.findall(r"\d+\.\d+", page)
    for said in re.findall(r"\d+\.\d+", " ".join(one.because for one in lesson.findings)):
        digits = len(said.partition(".")[2])
        assert any(f"{float(value):.{digits}f}" == said for value in shown), said


def test_every_page_is_a_lesson_and_stands_in_the_list():
    assert {path.stem for path in FOLDER.glob("*.md")} == {*NAMES, "README"}
    assert [lesson.name for lesson in LESSONS] == list(NAMES)
    assert {one.verdict for lesson in LESSONS for one in lesson.findings} == {*Verdict.__args__}
    text = (FOLDER / "README.md").read_text()
    assert index(text, LESSONS) == text, "scripts/regenerate writes it"


def test_the_claims_are_as_many_as_the_last_lesson_says():
    found = load("claims").page
    rows = [line.split(" | ")[1] for line in found.splitlines() if line.startswith("| ")][2:]
    holds, condition, fails = (sum(v.startswith(word) for v in rows) for word in ("true", "only if", "**false"))
    assert LESSONS[-1].findings[0].because == (
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


def test_a_link_at_a_terminal_says_where_it_leads():
    told = for_terminal(*numbered("recurrent"), answer=False)
    assert "[The experiment](" not in told
    assert "The experiment (`experiments/word_order/README.md`) describes the setting." in told
    assert "without positions (`posenc lesson order`)" in told
    for lesson in LESSONS:
        for path in re.findall(r"\]\((\.\./[^)#]*)", lesson.body):
            assert (FOLDER / path).exists(), path


def test_the_answer_of_the_first_lesson_covers_its_own_code():
    names = {}
    body = numbered("order")[1].body
    cells = re.findall(r"^```\{code-cell\} python\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
    run(f"```{{code-cell}} python\n{cells[0]}```\n```{{code-cell}} python\n{cells[-1]}```", names)
    assert np.abs(names["read"][0] - names["read"][1]).max() > 0.01


def test_one_page_for_site_and_notebook():
    number, lesson = numbered("near")
    site, notebook = for_site(number, lesson, runs=True)
    assert all(text.startswith(f"# {number}. {lesson.title}\n\n*{lesson.where}*\n") for text in (site, notebook))
    assert "![kernel-128x512](../../../scripts/docs/pictures/kernel-128x512.png)" in site
    assert "| 8 | 0.8838 | 0.3249 | 0.3275 | **no** |" in site
    assert "<details>\n<summary>Answer</summary>" in site
    assert "[positions 5 and 68](aliases.md)" in site
    assert "The picture (extra `report`): `posenc show --preset kernel-128x512`." in notebook
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
        ("distance", [("sinusoidal", 2), ("nope", 2), ("fast only", 2), ("slow only", 1)]),
        ("summaries", [("sinusoidal", 1), ("nope", 1), ("sinusoidal", 2), ("nope", 2)]),
    ],
)
def test_a_finding_of_training_runs_is_that_of_its_rows(name, cells):
    lesson = numbered(name)[1]
    rows = {line.split(" | ")[0]: line.split(" | ") for line in lesson.body.splitlines()}
    said = re.findall(r"\d+\.\d+", " ".join(one.because for one in lesson.findings))
    assert said == [rows[f"| {label}"][column].split()[0] for label, column in cells]


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


def kept(file, table, label, score, part="means", **where):
    """The kept mean of a committed record and its bounds; ``where``: its range, or its length."""
    rows = json.loads((ROOT / "experiments" / file).read_text())[part]
    asked = {"table": table, "label": label, "score": score, "length": None, "range": "within"} | where
    (row,) = (row for row in rows if all(row[key] == value for key, value in asked.items()))
    return row["mean"], row["low"], row["high"]


COPIED = ("length_generalisation/results.json", "rsc")
PAIRS = ("length_generalisation/results.json", "even_pairs")
AGREED = ("word_order/near_far.json", "agreement")
PAPERS = ("classification/place.json", "papers")
HELP = ("translation/results.json", "help en-de")
FAR = {"range": "beyond"}
ORDERS = ("svo", "sov", "vso")
REACHES = [("within", 1), ("within", 4), ("within", 8), ("within", 16), ("beyond", 17), ("beyond", 32), ("beyond", 64)]


def pages_of_help(file):
    return json.loads((ROOT / "experiments" / "classification" / file).read_text())["tables"]["help modules"]


def in_order(order, label):
    return kept("word_order/orders.json", order, label, "exact_match_of_clauses")


def test_four_tasks_beyond_their_lengths_are_those_of_the_records():
    at_64 = FAR | {"length": 64}
    rows = {
        "copy a token n times": (COPIED, "exact_match", FAR, 3),
        "[agreement](distance.md) with a subject n words back": (AGREED, "exact_match", at_64, 3),
        "[translation](translation.md) of help pages": (HELP, "chrf", FAR, 1),
    }
    body = numbered("longer")[1].body
    for task, (record, score, far, digits) in rows.items():
        (line,) = (line for line in body.splitlines() if line.startswith(f"| {task} |"))
        means = [
            kept(*record, "sinusoidal", score),
            *(kept(*record, one, score, **far) for one in ("sinusoidal", "nope")),
        ]
        assert line.split(" | ")[4:] == [f"{mean[0]:.{digits}f}" + " |" * (at == 2) for at, mean in enumerate(means)]
    within, beyond = (kept(*PAIRS, "sinusoidal", "accuracy", **where)[0] for where in ({}, FAR))
    assert f"guessing has 0.5 | {within:.3f} | {beyond:.3f} | - |" in body


def test_the_orders_of_words_are_those_of_the_record():
    rows = re.findall(r"^\| (\w+) \| (0\.\d{3}) \| (0\.\d{3}) \| (0\.\d{3}) \|$", numbered("translation")[1].body, re.M)
    assert len(rows) == 7
    none = {order: in_order(order, "nope") for order in ORDERS}
    for label, *shown in rows:
        found = {order: in_order(order, label) for order in ORDERS}
        assert shown == [f"{mean:.3f}" for mean, _, _ in found.values()]
        assert label == "nope" or all(found[order][1] > none[order][2] for order in ORDERS)
    for label in ("learned", "t5"):
        _, low, high = kept(*HELP, label, "chrf")
        assert low < kept(*HELP, "nope", "chrf")[0] < high


def test_what_places_are_worth_in_documents_is_that_of_the_records():
    validation = pages_of_help("results.json")["validation"]
    sections = "structured, token types, pooling by section"
    means = [
        *(kept(*PAPERS, label, "accuracy")[0] for label in ("sinusoidal", "nope")),
        *(validation[label][0] for label in ("sinusoidal", "nope", sections)),
        kept(*PAPERS, "sinusoidal", "accuracy")[0],
    ]
    said = " ".join(one.because for one in numbered("documents")[1].findings)
    assert re.findall(r"\d+\.\d+", said) == [f"{mean:.3f}" for mean in means]


def test_what_aliases_do_to_answers_is_that_of_the_records():
    body = numbered("aliases")[1].body
    arms, readout = (
        json.loads((ROOT / "experiments" / "periodicity" / f"{name}.json").read_text())
        for name in ("side-lobes", "readout")
    )

    def excess(d, level):
        seeds = arms["arms"][f"sinusoidal, d {d}, position_of"]["at"][level].values()
        return mean_interval([seed["alias_excess"] for seed in seeds])

    for d in (8, 16, 32, 64):
        one, bare = excess(d, "0.5"), np.mean(readout["widths"][str(d)]["0.2"])
        assert f"| {d} | {one.mean:.2f} [{one.low:.2f}, {one.high:.2f}] | {bare:.2f} |" in body
    one = excess(64, "0.7")
    pages = ("experiments/periodicity/README.md", "scripts/docs/guides/positions-that-look-alike.md")
    for text in (body, *((ROOT / page).read_text() for page in pages)):
        assert f"{one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]" in text.replace("points\n", "").replace("points ", "")


def test_far_keys_win_half_of_the_time_at_base_1e4_and_not_yet_at_later_ones():
    """What the lesson on aliases predicts from frequencies, drawn here."""
    body, generator = numbered("aliases")[1].body, np.random.default_rng(3)
    assert "for base in (1e4, 5e5, 1e6)}\nlengths = (512, 2**13, 2**17, 2**20)\n" in body
    for base, length, low, high in ((1e4, 2**17, 0.47, 0.53), (5e5, 2**20, 0.36, 0.43), (1e6, 2**20, 0.33, 0.4)):
        near, far = np.sort(generator.integers(length, size=(2, 4000)), axis=0)
        size = (generator.normal(size=(4000, 64, 2)) ** 2).sum(-1)
        waves = base ** (-np.arange(64) / 64)
        near, far = ((size * np.cos(np.outer(at, waves))).sum(1) for at in (near, far))
        assert low < (far > near).mean() < high


def test_a_share_of_many_draws_is_what_the_pages_say():
    shares = {d: properties.logits_share(d, 128, 200, rotating=False) for d in (8, 64)}
    assert {d: round(share, 2) for d, share in shares.items()} == {8: 0.13, 64: 0.11}
    assert all(f"| {d} | 1.00 | {share:.2f} |" in load("properties").page for d, share in shares.items())
    assert f"{100 * shares[64]:.0f} % for random projections" in load("claims").page


def test_local_maxima_are_those_with_a_lower_value_on_both_sides():
    for d, number in ((512, 61), (1024, 65)):
        k = [math.fsum(math.cos(n * w) for w in vaswani_frequencies(d)) for n in range(513)]
        assert sum(k[n - 1] < k[n] > k[n + 1] for n in range(2, 512)) == number
        (row,) = (
            line for line in load("near").page.splitlines() if line.startswith(f"| {d} |") and line.count("|") == 8
        )
        assert row.split(" | ")[5] == str(number)


def cases():
    """(lesson, claim): whether the claim holds, in each of the cases that decide its verdict."""
    w, far = {d: vaswani_frequencies(d) for d in (8, 512)}, {"length": 64} | FAR
    near, heat = load("near"), np.array([oracle(p, 128) for p in range(50)])
    changes = (np.diff(np.sign(heat[1:, 0::2]), axis=0) != 0).sum(axis=0)
    jumps = abs(np.diff(heat[[10, 25]].reshape(2, 64, 2), axis=1)) > 0.1  # of sines, and of cosines
    pairs = (eagles.with_cosine(512, c, np.random.default_rng(3), draws=50) for c in (0.0, 0.9))
    learned = {d: [kept(*AGREED, "sinusoidal", "exact_match", range=r, length=d)[0]] for r, d in REACHES}
    doubled = load("doubled").doubled(np.arange(9), 8)
    validation = pages_of_help("results.json")["validation"]
    values = [
        kept("summarization/results.json", "descriptions", label, "rouge_l", **where)[0]
        for where in ({"length": 64}, FAR)
        for label in ("sinusoidal", "nope")
    ]
    best = [in_order(order, "sinusoidal")[1] > in_order(order, "nope")[2] for order in ORDERS]
    return {
        ("frequencies", 0): [f[0] < f[-1] for f in w.values()],
        ("frequencies", 1): [1 / f[-1] > 9000 for f in w.values()],
        ("near", 0): [k[0] > k[1] > k[2] for k in map(near.cosines, w)],
        ("distance", 0): [mean > 0.99 for (mean,) in learned.values()],
        ("heatmap", 0): [len(np.unique(heat, axis=0)) == 50, (np.diff(changes) <= 0).all()],
        ("heatmap", 1): [not jumps[:, :23].any(), not jumps[:, 23:].any()],
        ("longer", 0): [
            kept(*COPIED, "sinusoidal", "exact_match", **FAR)[0] > 0.9,
            kept(*PAIRS, "sinusoidal", "accuracy", **FAR)[0] > 0.9,
            kept(*AGREED, "sinusoidal", "exact_match", **far)[0] > 0.9,
        ],
        ("documents", 0): [
            kept(*PAPERS, "sinusoidal", "accuracy", part="differences")[1] > 0,
            validation["sinusoidal"][0] > validation["nope"][0],
        ],
        ("doubled", 0): [np.allclose(doubled, [oracle(p, 8) for p in range(9)])],
        ("eagles", 0): [eagles.before_and_after(*pair)[2] > 0.9 for pair in pairs],
        ("translation", 0): [*best, kept(*HELP, "sinusoidal", "chrf")[1] > kept(*HELP, "nope", "chrf")[2]],
        ("summaries", 0): [values[0] > values[1], values[2] > values[3]],
    }


def test_a_verdict_is_that_of_its_cases():
    for (name, number), holds in cases().items():
        expected = "confirmed" if all(holds) else "holds under a condition" if any(holds) else "refuted"
        assert numbered(name)[1].findings[number].verdict == expected, name


def test_what_cannot_be_told_is_not_told_by_the_records():
    bands = [
        kept("word_order/bands.json", "earlier", label, score, length=64)[0]
        for label in ("all", "fast only", "slow only")
        for score in ("near_accuracy", "far_accuracy")
    ]
    assert min(bands) > 0.99  # at the ceiling
    mean, low, high, _ = pages_of_help("why.json")["validation differences"]["sinusoidal"]
    assert low < 0 < high
    assert f"it is {mean:+.3f} [{low:+.3f}, {high:+.3f}]" in numbered("documents")[1].body
    arms = ("sinusoidal", "sinusoidal, token types", "structured, token types")
    assert {kept(*PAPERS, label, "accuracy")[0] for label in arms} == {1.0}  # at the ceiling too
    for name, number in (("distance", 1), ("documents", 1)):
        assert numbered(name)[1].findings[number].verdict == "cannot be told here"
