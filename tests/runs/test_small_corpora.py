"""Small corpora: all that they do not give is said in one line, with one set of values, and a run takes it."""

from __future__ import annotations

import dataclasses
import random
import re

import numpy as np
import pytest
import text_runs

from posenc_jax.cli.overrides import override_run
from posenc_jax.config import Ablation, Evaluation, Run, Training
from posenc_jax.data.corpora.corpus import UnfitError
from posenc_jax.data.corpora.fields import Fields
from posenc_jax.data.corpora.own import add_own, take
from posenc_jax.data.plan import Packing, least_rows
from posenc_jax.data.text import Classification, Data, LanguageModel, Summarization, TextTask, Translation
from posenc_jax.data.text.sizing import Batches, check_filled
from posenc_jax.encodings import parse
from posenc_jax.models.config import Transformer
from posenc_jax.runs import supply
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import write_json
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.supply import load_filling

WORDS = "the of a red sun owl ice river under because nobody walked slowly home again tonight"
FIELDS = {
    "language_model": Fields(text="text"),
    "translation": Fields(source="q", target="a"),
    "summarization": Fields(source="q", target="a"),
    "classification": Fields(text="text", label="kind"),
}


def sentence(number, words):
    draw = random.Random(number)
    return " ".join([*(draw.choice(WORDS.split()) for _ in range(words)), str(number)])


def rows(count, words):
    return [
        {"text": sentence(i, words), "q": sentence(i, words), "a": sentence(i + 1, words), "kind": "ab"[i % 2]}
        for i in range(count)
    ]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """``corpus(kind, records)`` adds a corpus of the user's, of the fields that a kind of task reads."""
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))

    def add(kind, records):
        fields = FIELDS[kind]
        records = [(f"x:{i}", {name: record[name] for name in fields.read}) for i, record in enumerate(records)]
        add_own(kind, take({"": records}, fields), fields, {}, note=str)
        return Data(name=f"own/{kind}")

    return add


def config(kind, data, **training):
    pair = {"source": "q", "target": "a"}
    task: TextTask = {
        "language_model": lambda: LanguageModel(data=data),
        "translation": lambda: Translation(data=data, **pair),
        "summarization": lambda: Summarization(data=data, **pair),
        "classification": lambda: Classification(data=data),
    }[kind]()
    shape = {"pooling": "mean", "token_types": 4} if kind == "classification" else {}
    return Run(
        task=task,
        model=Transformer(d_model=16, num_layers=1, num_heads=2, **shape),
        training=Training(**{"steps": 20, "batch_size": 32, **training}),
        evaluation=Evaluation(lengths=(32,)),
    )


def refusal(run):
    with pytest.raises(RefusedError) as refused:
        load_filling(run, str)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def applied(run, message):
    """The run with the values of a message, given as a user would."""
    values = re.search(r": set (.*?)(, or use more text)?$", message)[1]
    found = re.findall(r"([a-z_]+\.[a-z_]+) = (\([^)]*\)|[^,]+)", values)
    words = [[f"--{field}", *re.findall(r"[\w.]+", value)] for field, value in found]
    return override_run(run, [word for option in words for word in option], "train", "x.py")


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(("count", "words"), [(3, 10), (12, 12), (80, 12), (300, 40)])
def test_the_values_of_the_refusal_work(corpus, kind, count, words):
    run = config(kind, corpus(kind, rows(count, words)))
    message = refusal(run)
    assert message.startswith(f"own/{kind} does not suit data.vocab_size = 4000 (its text gives at most ")
    data = load_filling(applied(run, message), str)
    assert len(data.sizes)
    assert len(data.arrays["validation_ids"])


def test_all_that_is_wrong_is_in_one_line(corpus):
    run = config("language_model", corpus("language_model", rows(60, 12)), batch_size=256)
    assert refusal(run) == (
        "own/language_model does not suit data.vocab_size = 4000 (its text gives at most 525 pieces), "
        "task.max_length = 128 and task.row = 128 (its validation split has 30 tokens, and a window takes one more "
        "than it predicts), training.batch_size = 256 (46 examples do not fill a batch of 256): set data.vocab_size "
        "= 500, task.max_length = 16, task.row = 16, training.batch_size = 32, or use more text"
    )


def test_a_corpus_too_small_for_anything_says_how_much_it_needs(corpus):
    run = config("language_model", corpus("language_model", [{"text": text} for text in ("to be", "or", "no")]))
    assert refusal(run) == (
        "own/language_model has 3 tokens in its train split, and the shortest window takes 9: use at least 3 times as "
        "much text"
    )


def test_more_characters_than_the_vocabulary_has(corpus):
    texts = [{"text": "".join(chr(0x4E00 + (i * 7 + j) % 400) for j in range(300))} for i in range(60)]
    run = config("language_model", dataclasses.replace(corpus("language_model", texts), vocab_size=300), batch_size=4)
    message = refusal(run)
    assert message == (
        "own/language_model does not suit data.vocab_size = 300 (its characters and bytes are 662 ids): set "
        "data.vocab_size = 700"
    )
    load_filling(applied(run, message), str)


def test_two_vocabularies(corpus):
    run = config("translation", corpus("translation", rows(40, 12)))
    task = dataclasses.replace(run.task, target_vocab_size=4000)
    run = dataclasses.replace(run, task=task, model=dataclasses.replace(run.model, tie_embeddings=False))
    message = refusal(run)
    assert re.search(
        r"data.vocab_size = 4000 \(its text gives .*, task.target_vocab_size = 4000 \(its targets", message
    )
    assert load_filling(applied(run, message), str).tokenizer.target.vocab_size < 600


def test_rows_are_counted_for_every_seed():
    lengths = (np.random.Philox(key=6).random_raw(6) % 60 + 30).astype(np.int32)
    rows = [len(Packing(lengths, 128, 16, 1, seed).rows) for seed in range(8)]
    assert rows == [5, 4, 4, 4, 4, 4, 4, 4]
    assert least_rows(Packing(lengths, 128, 16, 1, 0)) <= 4
    task = Translation(data=Data(tokenizer="bytes"))
    check_filled(task, Batches(5, seeds=(0,)), np.stack([lengths] * 2, axis=1))
    with pytest.raises(UnfitError, match="4 rows do not fill a batch of 5"):
        check_filled(task, Batches(5, seeds=(0, 1)), np.stack([lengths] * 2, axis=1))


def test_an_ablation_on_too_little_text_is_refused_once_and_writes_nothing(corpus, tmp_path):
    run = config("language_model", corpus("language_model", rows(20, 12)))
    others = [dataclasses.replace(run, label=label, posenc=parse(label)) for label in ("rope", "alibi")]
    with pytest.raises(RefusedError) as refused:
        ablate(Ablation("little", (run, *others)), tmp_path / "runs" / "little", reporter=Reporter())
    assert str(refused.value) == refusal(run)
    assert not (tmp_path / "runs").exists()


# Cells of one table read one state of a corpus, or are refused: their seeds are paired.


FIRST = dataclasses.replace(text_runs.CONFIGS["translation"], table="t", label="first")
SECOND = dataclasses.replace(FIRST, label="second", posenc=())
NAME = FIRST.task.data.name


@pytest.fixture
def places(tmp_path):
    return {cell: tmp_path / cell.label for cell in (FIRST, SECOND)}


def begun(place, digest):
    place.mkdir()
    write_json(place / "data.json", {"name": NAME, "sha256": digest, "tokenizer": place.name, "train": {"examples": 1}})


def test_two_cells_that_read_other_text_are_refused(places):
    begun(places[FIRST], "1" * 8)
    begun(places[SECOND], "1" * 8)
    supply.refuse_other_corpora(places)  # their tokenizers may differ
    (places[SECOND] / "data.json").unlink()
    places[SECOND].rmdir()
    begun(places[SECOND], "2" * 8)
    with pytest.raises(RefusedError, match=r"second reads own/help-en-de at another state than .*first(.|\n)*sha256"):
        supply.refuse_other_corpora(places)
    elsewhere = dataclasses.replace(SECOND, table="another")
    supply.refuse_other_corpora({FIRST: places[FIRST], elsewhere: places[SECOND]})


def test_a_cell_that_is_still_to_run_is_asked_for_the_text_as_it_is_now(places, monkeypatch):
    begun(places[FIRST], "1" * 8)
    now = {"name": NAME, "sha256": "1" * 8}
    monkeypatch.setattr(supply, "identity_of", lambda name: now)
    supply.refuse_other_corpora(places, [SECOND])
    now["sha256"] = "2" * 8
    supply.refuse_other_corpora(places)
    with pytest.raises(RefusedError, match=r"t second, which is still to run, reads own/help-en-de at another state"):
        supply.refuse_other_corpora(places, [SECOND])


def test_a_run_is_not_measured_on_its_corpus_built_anew_unasked(places):
    place = places[FIRST]
    supply.refuse_rebuilt_corpus(place, {"name": NAME, "sha256": "2" * 8})  # nothing is known of what it read
    begun(place, "1" * 8)
    supply.refuse_rebuilt_corpus(place, {"name": NAME, "sha256": "1" * 8, "tokenizer": "another"})
    with pytest.raises(RefusedError, match=f"at another state of it(.|\n)*--data {NAME}(.|\n)*sha256"):
        supply.refuse_rebuilt_corpus(place, {"name": NAME, "sha256": "2" * 8})
