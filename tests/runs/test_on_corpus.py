"""A run that is sized to a corpus and a machine may be run, its texts fill it, and what it can show is said."""

from __future__ import annotations

import dataclasses
import random

import pytest
from scipy.stats import t

from posenc_jax.config import config_hash, source_of
from posenc_jax.data.corpora.fields import Fields
from posenc_jax.data.corpora.own import add_own, take
from posenc_jax.data.errors import DataError
from posenc_jax.data.text import Classification, LanguageModel, Summarization, Translation
from posenc_jax.runs.on_corpus import BUDGET, EPOCHS, config_on, with_model
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.preflight import check_run
from posenc_jax.runs.supply import load_filling
from posenc_jax.runs.targets import CPU_PEAK, Chip, Target, target

HERE = Target(Chip("here", "CPU", "cpu", 8 * 10**9, {"float32": CPU_PEAK}), 1)
WORDS = [first + second for first in "bcdfghkl" for second in ("arn", "ell", "ip", "ost", "ung")]
PAIR = Fields(source="q", target="a")
FIELDS = {
    "language_model": Fields(text="long"),
    "translation": PAIR,
    "summarization": Fields(source="long", target="q"),
    "classification": Fields(text="q", label="kind"),
    "sections": Fields(sections=("head", "q"), label="kind"),
}
TASKS = {
    "language_model": LanguageModel,
    "translation": Translation,
    "summarization": Summarization,
    "classification": Classification,
    "sections": Classification,
}


def row(number, words=7):
    draw = random.Random(number)
    said = [draw.choice(WORDS) for _ in range(words)]
    long = " ".join([*said, *(draw.choice(WORDS) for _ in range(5 * words))])
    return {
        "q": " ".join(said),
        "a": " ".join(reversed(said)).upper(),
        "long": long,
        "head": said[0],
        "kind": "ab"[number % 2],
    }


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path))


def added(kind, count, words=7):
    """The name of a corpus of so many rows."""
    fields = FIELDS[kind]
    rows = [(f"x:{i}", {name: row(i, words)[name] for name in fields.read}) for i in range(count)]
    add_own(kind, take({"": rows}, fields), fields, {}, note=str)
    return f"own/{kind}"


@pytest.mark.parametrize("kind", FIELDS)
def test_two_hundred_examples_suffice(kind):
    run = config_on(name := added(kind, 200), HERE)
    assert type(run.task) is TASKS[kind]
    assert run.task.data.name == run.table == name
    check_run(run)
    data = load_filling(run, str)  # which refuses what the texts do not fill
    kept = sum(data.identity[split]["examples"] for split in ("train", "validation", "test"))
    assert kind == "language_model" or kept > 180
    assert run.training.batch_size >= 8
    assert 1 <= run.training.steps * run.training.batch_size / max(len(data.sizes), 1) <= 2 * EPOCHS
    found = {}
    exec(source_of(run, "about"), found)
    assert found["config"] == run
    assert config_hash(found["config"]) == config_hash(run)
    assert config_on(name, HERE) == run


@pytest.mark.parametrize("kind", FIELDS)
def test_too_little_is_refused_with_how_much_is_needed(kind):
    with pytest.raises(DataError, match=r"^own/\w+ (is too small|has \d+ tokens).* times as much text$") as refused:
        config_on(added(kind, 4, words=2), HERE)
    assert "\n" not in str(refused.value)


def test_a_structure_that_a_corpus_was_added_with_is_read():
    fields = FIELDS["classification"]
    rows = [(f"x:{i}", {"q": f"# {row(i)['head']}\n{row(i)['q']}.", "kind": "ab"[i % 2]}) for i in range(90)]
    add_own("papers", take({"": rows}, fields), fields, {"structure": "markdown"}, note=str)
    run = config_on("own/papers", HERE)
    assert (run.task.structure, run.model.pooling) == ("markdown", "mean")
    check_run(run)
    load_filling(run, str)


def test_it_says_what_the_test_examples_can_show():
    """Eight of 200 pairs: Student's t of seven degrees of freedom; of 200 texts with classes an accuracy of a half."""
    run = config_on(added("translation", 200), HERE)
    assert run.note == (
        f"Test examples: 8 of length 12: a mean of 8 is known to \u00b1{t.ppf(0.975, 7) / 8**0.5:.2f} "
        "standard deviations of one (95 %)."
    )
    accuracy = config_on(added("classification", 200), HERE).note
    assert accuracy == "Test examples: 8 of length 8: an accuracy of 0.5 in 8 is known to \u00b10.33 (95 %)."
    one = config_on(added("summarization", 20), HERE).note
    assert one == "Test examples: 1 of length 44: the score of 1 can show nothing; add more text."
    windows = config_on(added("language_model", 200), HERE).note
    assert windows.startswith(
        "Test windows of 8 texts: 10 of length 32, 5 of length 64, 2 of length 128: a mean of 2 is known to "
    )


def test_a_chip_with_more_to_give_has_a_larger_model_for_longer():
    base = config_on(added("translation", 200), HERE)
    small, large = (with_model(base, place, tokens=1e9, most=1e9) for place in (HERE, target("h100")))
    assert small.model.d_model == 64 < large.model.d_model
    assert (small.model.dtype, large.model.dtype) == ("float32", "bfloat16")
    assert 0.9 * BUDGET < plan_of(dataclasses.replace(small, seeds=(0,)), HERE).seconds("train") <= BUDGET
    assert with_model(base, target("h100"), tokens=1e5, most=1e9).model.d_model == 64
    assert with_model(base, HERE, tokens=1e9, most=130).training.steps == 100
