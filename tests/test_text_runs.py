"""Runs on real text through the engine: scores, resuming, other data, other positions."""

import contextlib
import dataclasses
import json
import shutil

import numpy as np
import pytest
import sealed_files
import text_runs

from posenc_jax import Run, evaluate, run
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.tasks import EvenPairs
from posenc_jax.data.text import Data, Translation
from posenc_jax.data.text.loading import shuffled
from posenc_jax.runs.errors import RefusedError, StoppedError
from posenc_jax.runs.evaluation import changed_config
from posenc_jax.runs.reporter import Reporter

KINDS = ("translation", "summarization", "classification")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """All corpora at once, as a user has them."""
    folder = tmp_path_factory.mktemp("data")
    with contextlib.ExitStack() as stack:
        for kind in KINDS:
            config = text_runs.CONFIGS[kind]
            stack.enter_context(text_runs.small_corpus(config.task.data.name, text_runs.ROWS[kind], folder))
        yield folder


@pytest.fixture
def finished(tmp_path):
    """A function that gives a copy of the finished run of a kind."""

    def copy(kind):
        return shutil.copytree(text_runs.trained(kind), tmp_path / kind)

    return copy


def result(directory):
    return json.loads((directory / "group-000" / "result.json").read_text())


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("translation", {"chrf", "bleu", "decoded"}),
        ("summarization", {"rouge_1", "rouge_2", "rouge_l", "chrf", "decoded"}),
        ("classification", {"macro_f1", "confusion"}),
    ],
)
def test_a_result_has_the_scores_of_its_task(kind, names):
    replicas = result(text_runs.trained(kind))["replicas"]
    for replica in replicas:
        assert [row["count"] for row in replica["evaluation"]].count(0) <= (kind == "classification")
        for row in (row for row in replica["evaluation"] if row["count"]):
            assert names <= set(row)
            if kind == "classification":
                assert np.sum(row["confusion"]) == row["count"]
                assert np.trace(row["confusion"]) / row["count"] == pytest.approx(row["accuracy"])
    main = max(names & {"chrf", "rouge_l", "macro_f1"})
    best = max(row[main] for r in replicas for row in r["evaluation"] if row["count"])
    assert best > 0.4, "the runs learn next to nothing, and show nothing"


@pytest.mark.slow
def test_shuffled_words_and_other_data_are_other_questions(data, finished):
    directory = finished("translation")
    before = (directory / "group-000" / "result.json").read_bytes()
    plain, rows = evaluate(directory, (12,))
    mixed, shuffled = evaluate(directory, (12,), shuffle_words=True)
    assert plain != mixed
    assert [row["count"] for row in rows] == [row["count"] for row in shuffled]
    # The first word decides: in order it is found, in a random order as often as chance puts it first.
    assert np.mean([row["loss"] for row in rows]) < np.mean([row["loss"] for row in shuffled])
    record = json.loads(mixed.read_text())
    assert record["shuffle_words"]
    assert record["data"]["name"] == "own/help-en-de"
    assert (directory / "group-000" / "result.json").read_bytes() == before
    with pytest.raises(ValueError, match=r"generated: it has no text"):
        changed_config(Run(task=EvenPairs()), (4,), (), shuffle_words=True)
    always = Run(task=Translation(data=Data(shuffle_words="always")))
    assert changed_config(always, (4,), (), data="other").task.data == Data("other", shuffle_words="always")


def test_shuffling_keeps_the_words_and_repeats_itself():
    task = text_runs.TASKS["classification"]
    row = {"header": "a b", "body": "one two three four five six", "footer": "", "label": "bird", "doc": "x"}
    mixed = shuffled(task, row, 3)
    assert shuffled(task, row, 3) == mixed
    assert len({shuffled(task, row, number)["body"] for number in range(20)}) > 15
    assert sorted(mixed["body"].split()) == sorted(row["body"].split())
    assert (mixed["footer"], mixed["label"]) == ("", "bird")


def test_every_input_of_an_example_is_shuffled_by_itself():
    """No order goes on in another: the words of one side stand in no order that words of another side have."""
    task, words = text_runs.TASKS["classification"], [str(i) for i in range(24)]
    sides = ("header", "body", "footer")
    for number in range(4):
        mixed = shuffled(task, dict.fromkeys(sides, " ".join(words)), number)
        places = [np.argsort([int(word) for word in mixed[side].split()]) for side in sides]
        for a in range(3):
            for b in range(3):
                for moved in range(a == b, 13):
                    first, second = places[a][moved:], places[b][: 24 - moved]
                    assert (np.argsort(first) != np.argsort(second)).any(), (sides[a], sides[b], moved)


@pytest.mark.slow
def test_a_length_scores_the_same_whatever_else_is_asked_for(data, finished):
    """Decoded too: the room for the output of an encoder-decoder, which its encoding sees, is that of the length."""
    directory = finished("translation")
    together, alone = evaluate(directory, (6, 12))[1], evaluate(directory, (12,))[1]
    assert {row["length"] for row in together} == {6, 12}
    assert alone == [row for row in together if row["length"] == 12]
    empty = [row for row in together if row["length"] == 6]  # no text of 4 to 6 letters
    assert all(row["count"] == 0 and row["exact_match"] is None for row in empty)


class Stopper:
    """Asks to stop at the ``n``-th boundary."""

    def __init__(self, n):
        self.left = n

    def __call__(self):
        self.left -= 1
        return 15 if self.left == 0 else None


@pytest.mark.parametrize(
    "kind", [kind if kind == "classification" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_a_stopped_run_goes_on_to_the_same_bytes(data, tmp_path, kind):
    config, whole = text_runs.CONFIGS[kind], text_runs.trained(kind)
    with pytest.raises(StoppedError):
        run(config, tmp_path / "run", stop=Stopper(1))
    run(config, tmp_path / "run")
    names = ["data.json", "tokenizer.model", "words.json", "group-000/metrics.jsonl", "group-000/result.json"]
    for name in names + ["group-000/decoded.jsonl"] * (kind != "classification"):
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes(), name


def test_what_is_refused_before_the_first_step_leaves_no_directory(data, tmp_path):
    config = text_runs.CONFIGS["classification"]
    other = dataclasses.replace(config.task.data, tokenizer="bpe", vocab_size=100_000)
    refused = dataclasses.replace(config, task=dataclasses.replace(config.task, data=other))
    with pytest.raises(RefusedError, match=r"does not suit data.vocab_size = 100000 .* set data.vocab_size = 300"):
        run(refused, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_goes_on_with_its_own_data_only(data, tmp_path):
    config = text_runs.CONFIGS["classification"]
    with pytest.raises(StoppedError):
        run(config, tmp_path / "run", stop=Stopper(1))
    path = tmp_path / "run" / "data.json"
    sealed_files.rewrite(path, lambda data: data.update(sha256="0" * 64))
    with pytest.raises(RefusedError, match=r"begun with other data(.|\n)*sha256: '000"):
        run(config, tmp_path / "run")


def test_what_is_missing_is_said_before_anything_is_written(data, tmp_path):
    config = text_runs.CONFIGS["translation"]
    for name, message in (
        ("own/help-en-fr", r"own/help-en-fr is not prepared in .*posenc data add help-en-fr"),
        ("help/en-de", r"help/en-de is own/help-en-de now: .*python -m experiments\.corpora\.make help-en-de"),
        ("own/help-modules", r"columns header, body, footer, label, doc.*reads en, de"),
    ):
        task = dataclasses.replace(config.task, data=dataclasses.replace(config.task.data, name=name))
        with pytest.raises(DataError, match=message):
            run(dataclasses.replace(config, task=task), tmp_path / "run", reporter=Reporter())
        assert not (tmp_path / "run").exists()
