"""The lessons: pages as committed, and the mathematics that they state, by other ways."""

import importlib
import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from posenc_jax.lessons import LESSONS, TEXTS, numbered
from posenc_jax.lessons.pages import FOLDER, INDEX, for_terminal, index, page

ROOT = Path(__file__).resolve().parents[2]
NAMES = [lesson.name for lesson in LESSONS]
SLOW = ("order", "fox", "eagles", "claims")


def load(name):
    return importlib.import_module(f"posenc_jax.lessons.{name}")


def angle_vector(position, exponents, base=10000.0):
    """Sine and cosine in turn, number by number."""
    return [f(position / base**e) for e in exponents for f in (math.sin, math.cos)]


def oracle(position, d):
    return np.array(angle_vector(position, [2 * k / d for k in range(d // 2)]))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in NAMES]
)
def test_a_page_is_what_its_lesson_gives(name):
    """Else: scripts/regenerate. And the finding in one sentence has numbers of the page only."""
    number, lesson = numbered(name)
    text = page(LESSONS, number)
    assert text == (ROOT / FOLDER / f"{name}.md").read_text(), f"lesson {name}: scripts/regenerate writes its page"
    below = text.partition(lesson.because)[2]
    shown = re.findall(r"\d+\.\d+", below)
    for said in re.findall(r"\d+\.\d+", lesson.because):
        digits = len(said.partition(".")[2])
        assert any(f"{float(value):.{digits}f}" == said for value in shown), said


def test_the_list_is_of_all_lessons_and_no_page_is_left_over():
    assert index(LESSONS, TEXTS) == (ROOT / INDEX).read_text(), "scripts/regenerate writes it"
    assert {path.name for path in (ROOT / FOLDER).glob("*.md")} == {f"{name}.md" for name in NAMES}
    modules = {path.stem for path in (ROOT / "posenc_jax" / "lessons").glob("*.py")}
    assert modules - {"__init__", "lesson", "markdown", "pages", "quoted"} == {*NAMES}


def test_the_claims_are_as_many_as_the_last_lesson_says():
    found = (ROOT / FOLDER / "claims.md").read_text()
    rows = [line.split(" | ")[1] for line in found.splitlines() if line.startswith("| ")][2:]
    holds, condition, fails = (sum(v.startswith(word) for v in rows) for word in ("true", "only if", "**false"))
    assert LESSONS[-1].because == (
        f"{holds} of {len(rows)} claims hold, {condition} only under a condition that is left out, and {fails} do not."
    )


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_a_lesson_is_short_and_keeps_its_answer_to_itself(lesson):
    assert len([line for line in lesson.code.splitlines() if line]) <= 12
    assert lesson.code or lesson.commands
    if lesson.name in SLOW:
        return
    told = for_terminal(3, lesson, answer=False)
    assert told.startswith(f"# 3. {lesson.title}\n")
    assert lesson.question in told
    assert lesson.answer() not in told
    assert "](lesson:" not in told
    assert "](file:" not in told
    assert f"`posenc lesson {lesson.name} --answer`" in told


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
    zero, five = load("dolphins").rows([0, 5])
    assert zero.tolist() == [0.0, 1.0] * 256
    np.testing.assert_allclose(five, oracle(5, 512), rtol=0, atol=1e-14)
    assert (five != zero).all()


def test_the_article_s_tokens_are_counted_from_zero():
    dolphins = load("dolphins")
    assert dolphins.TOKENS == ("Dolphins", "leap", "grace", "##fully", "over", "waves", ".")
    assert dolphins.TOKENS.index("waves") == 5
    assert f"| 0 | sin | {oracle(5, 512)[0]:.4f} | {oracle(6, 512)[0]:.4f} |" in dolphins.LESSON.answer()


def test_the_table_by_hand_is_the_formula():
    formula = load("formula")
    np.testing.assert_allclose([formula.by_hand(p, 4) for p in range(3)], [oracle(p, 4) for p in range(3)], atol=1e-15)
    assert formula.apart(32, 20) < 1e-14


def test_near_and_far():
    near = load("near")
    for d, expected in ((512, [0.973, 0.645, 0.442]), (8, [0.884, 0.325, 0.328])):
        assert [round(k, 3) for k in near.cosines(d)] == expected
        by_vectors = [oracle(5, d) @ oracle(q, d) / (d / 2) for q in (6, 20, 100)]
        np.testing.assert_allclose(near.cosines(d), by_vectors, atol=1e-12)


def test_the_numbers_of_the_article_are_no_sum():
    eagles = load("eagles")
    rows = eagles.impossible_rows()
    assert [row[1] for row in rows] == [0.12, -0.48, 0.85, -0.03]
    assert [row[4] for row in rows] == [0.95, -0.87, 1.82, 0.45]
    one = oracle(1, 512)
    np.testing.assert_allclose(
        [row[3] for row in rows], [0.12 + one[0], -0.48 + one[1], 0.85 + one[2], -0.03 + one[511]]
    )
    wrong = [np.array(angle_vector(p, [4 * k / 512 for k in range(256)])) for p in (1, 6)]
    assert round(float(wrong[0] @ wrong[1] / 256), 3) == 0.870


def test_nearest_of_128_positions_are_6_and_63_away():
    near = load("clusters").neighbours()
    assert sorted(near[5].tolist()) == [11, 68, 74]
    assert near[5][0] == 68
    assert {abs(int(q) - p) for p, row in enumerate(near) for q in row} == {6, 63, 69}


def test_the_fox_reads_what_is_computed_by_hand():
    fox = load("fox")
    rows, scaled, added = fox.by_hand()
    np.testing.assert_array_equal(scaled, 2 * rows)
    table = np.array([oracle(p, 4) for p in range(4)])
    np.testing.assert_allclose(added, scaled + table, rtol=0, atol=1e-14)
    np.testing.assert_allclose(fox.table_of_positions(3), table[:3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(fox.inputs(train=False), added, rtol=0, atol=1e-6)
    trained = fox.inputs(train=True)
    kept = trained != 0
    assert 0 < kept.sum() < kept.size
    np.testing.assert_allclose(trained[kept], added[kept] / 0.9, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_only_positions_tell_who_chased_whom():
    order = load("order")
    for first, second in order.PAIRS:
        assert sorted(first.split()) == sorted(second.split())
    for name in order.ENCODINGS:
        found = order.differences(name)
        assert max(found) < order.EQUAL if name == "nope" else min(found) > 1e-3, name


def test_margin_is_negative_exactly_where_the_cosine_falls():
    """In d = 2 to 16, with cosines of all sizes, near the threshold too, by sums over entries."""
    eagles, rng, signs = load("eagles"), np.random.default_rng(5), set()
    for d, c, sd in itertools.product((2, 8, 16), (-1.0, -0.3, 0.0, 0.6, 0.8, 1.0), (0.02, 1.0, 5.0)):
        p, q = oracle(eagles.FIRST, d), oracle(eagles.SECOND, d)
        for a, b in zip(*eagles.with_cosine(d, sd, c, rng, draws=20)):
            dot, first, second = (math.fsum(x * y) for x, y in ((a, b), (a, a), (b, b)))
            before = dot / math.sqrt(first * second)
            assert before == pytest.approx(c, abs=1e-12)
            u, v = a + p, b + q
            after = math.fsum(u * v) / math.sqrt(math.fsum(u * u) * math.fsum(v * v))
            fell = bool(after < before)
            signs.add((c, fell))
            assert bool(eagles.margin(a, b, p, q) < 0) == fell
    assert {(0.6, True), (0.6, False), (0.8, True), (0.8, False)} <= signs
    assert (1.0, False) not in signs  # the same word twice always falls,
    assert (-1.0, True) not in signs  # and opposite ones always rise


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.1, 0.1), (7.0, 7.0), (1.0, 3.0), (0.2, 9.0)])
@pytest.mark.parametrize("k", [0.74, 0.2])
def test_without_cross_terms_the_cosine_changes_its_course_at_the_threshold(first, second, k):
    """Embeddings in four dimensions in which no encoding has a share: the cross terms are 0 exactly."""
    eagles, r = load("eagles"), 2.0
    p, q = r * np.array([1, 0, 0, 0, 0, 0]), r * np.array([k, math.sqrt(1 - k * k), 0, 0, 0, 0])
    at = eagles.threshold(k, first, second, r)
    if first == second:
        assert at == pytest.approx(k)
    else:
        assert 0 < at < k
    for c, falls in ((at - 1e-6, False), (at + 1e-6, True)):
        a, b = first * np.array([0, 0, 1, 0, 0, 0]), second * np.array([0, 0, c, math.sqrt(1 - c * c), 0, 0])
        assert bool(eagles.change(a, b, p, q) < 0) == falls


def test_the_share_that_falls_is_the_formula_s():
    """At d = 128 and positions far apart, where the share is neither 0 nor 1; 5 standard errors of 20,000 draws."""
    eagles, d, draws = load("eagles"), 128, 20_000
    for offset, sd in ((700, 0.5), (700, 1.0), (2000, 2.0)):
        p, q = oracle(1, d), oracle(1 + offset, d)
        k = p @ q / (d / 2)
        predicted = eagles.predicted_share(k, d, sd)
        assert 0.02 < predicted < 0.98
        a, b = eagles.independent(d, sd, np.random.default_rng(offset), draws)
        found = (eagles.change(a, b, p, q) < 0).mean()
        assert found == pytest.approx(predicted, abs=5 * math.sqrt(predicted * (1 - predicted) / draws))


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
    for frequencies, of in (
        (doubled.vaswani_frequencies(8), lambda p: oracle(p, 8)),
        (doubled.doubled_frequencies(8), lambda p: angle_vector(p, [4 * k / 8 for k in range(4)])),
    ):
        table = np.array([of(p) for p in range(512)])
        order = np.linalg.norm(table - table[5], axis=1).argsort(kind="stable")
        assert order[0] == 5
        assert [p for p, _ in doubled.nearest(frequencies, 5)[:4]] == order[1:5].tolist()


def test_a_shift_is_linear_for_pairs_of_one_frequency_only():
    doubled = load("doubled")
    positions = np.arange(300)
    assert doubled.shift_residual(doubled.doubled(positions, 8), 5) < 1e-9
    assert doubled.shift_residual(doubled.doubled_and_shifted(positions, 8), 5) > 0.1


def test_columns_turn_as_fast_as_the_table_says():
    frequencies = load("frequencies")
    w = frequencies.vaswani_frequencies(512)
    assert (np.diff(frequencies.sign_changes(512, 512)) <= 0).all()
    np.testing.assert_allclose(frequencies.strongest_frequency(512, 512)[:97], w[:97], rtol=0, atol=math.tau / 512)


def test_rotations_shift_and_share_is_of_offsets():
    properties = load("properties")
    matrix = properties.rotation(8, 63)
    np.testing.assert_allclose(matrix @ oracle(5, 8), oracle(68, 8), rtol=0, atol=1e-12)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(8), rtol=0, atol=1e-12)
    offsets = np.subtract.outer(np.arange(20.0), np.arange(20.0))
    assert properties.offset_share(np.sin(offsets)) == pytest.approx(1)
    assert properties.offset_share(np.add.outer(np.arange(20.0), np.arange(20.0))) == pytest.approx(0, abs=1e-12)


def test_the_closest_pair_is_that_of_all_pairs():
    properties = load("properties")
    table = np.array([oracle(p, 8) for p in range(300)])
    distances = np.linalg.norm(table[:, None] - table[None], axis=-1) + 10 * np.eye(300)
    offset, distance = properties.closest(8, 300)
    first, second = np.unravel_index(distances.argmin(), distances.shape)
    assert offset == abs(first - second)
    assert distance == pytest.approx(distances.min())


def test_a_recurrent_network_and_distant_words_are_of_the_records():
    """The rows of both lessons against the committed numbers, by another way than scripts/quote."""
    records = {
        name: json.loads((ROOT / "experiments" / "word_order" / f"{name}.json").read_text())
        for name in ("recurrent", "near_far", "bands")
    }
    for task, length, said in (("earlier", "64", "1.000"), ("agreement", "16", "1.000"), ("agreement", "64", "0.980")):
        seeds = [own[length]["exact_match"] for own in records["recurrent"]["trained"][task].values()]
        assert f"{np.mean(seeds):.3f}" == said
        assert f"| {task} | {length} | exact match | {said} |" in load("recurrent").LESSON.body()
    assert "0.980 of those at four times the length" in numbered("recurrent")[1].because
    at = {
        (m["label"], m["score"]): m["mean"] for n in records for m in records[n].get("means", ()) if m["length"] == 64
    }
    assert {name for (name, score), mean in at.items() if score == "exact_match" and mean < 0.9} == {"rope", "none"}
    assert "only RoPE gets worse as the distance grows" in load("distance").LESSON.body()
    fast, slow = (
        f"{at[of, score]:.3f}" for of, score in (("fast only", "far_accuracy"), ("slow only", "near_accuracy"))
    )
    because = numbered("distance")[1].because
    assert because.endswith(f"(accuracy {fast}); with slow ones alone, near marks too ({slow}).")


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
