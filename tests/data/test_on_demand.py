"""Training text that is read in turn against the same text in memory."""

import contextlib
import dataclasses
import threading
import time

import jax
import numpy as np
import pytest
import tensorflow_datasets as tfds
from text_runs import CONFIGS, ROWS, TASKS, small_corpus, texts

from posenc_jax.config import Evaluation
from posenc_jax.data.corpora import source
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.corpora.store import add
from posenc_jax.data.plan import Plain
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.text import Data, LanguageModel, Translation, loading, on_demand
from posenc_jax.data.text.loading import check_source, load
from posenc_jax.data.text.on_demand import Feed
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import StoppedError

COUNT = 3
# In the names of threads that read.
READING = "grain"
TEXT = {
    split: [{"text": " ".join(parts), "doc": f"{split}{i}"} for i, parts in enumerate(documents)]
    for split, documents in {
        # Long, short and empty documents: windows within one, over two, over many.
        "train": [texts(30, 3, 0), ["red"], [], ["sun"], [""], *[texts(4, 3, i) for i in range(20)], texts(25, 4, 9)],
        "validation": [texts(20, 3, 5)],
        "test": [texts(30, 3, 7)],
    }.items()
}
WINDOWS = LanguageModel(data=Data(name="own/python-docs", tokenizer="bytes"), max_length=24, row=24)
# Some pairs and documents are too long.
PAIRS = dataclasses.replace(TASKS["translation"], max_length=10)
TASKS_AND_ROWS = {
    "translation": (PAIRS, ROWS["translation"]),
    "translation in buckets": (dataclasses.replace(PAIRS, batching="buckets"), ROWS["translation"]),
    "translation of mixed words": (
        dataclasses.replace(PAIRS, data=dataclasses.replace(PAIRS.data, shuffle_words="always", max_examples=70)),
        ROWS["translation"],
    ),
    "language model": (WINDOWS, TEXT),
}


def read_on_demand(task):
    return dataclasses.replace(task, data=dataclasses.replace(task.data, in_memory=False))


def quiet(text):
    pass


def threads_end(threads):
    assert threads
    deadline = time.monotonic() + 20
    while threads & set(threading.enumerate()):  # some may only be starting, and could not be joined
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Rows that are packed, rows in buckets, and windows; the other tasks are read in the same ways.
@pytest.mark.parametrize("name", TASKS_AND_ROWS)
def test_batches_are_those_of_the_corpus_in_memory(name, tmp_path, monkeypatch):
    task, rows = TASKS_AND_ROWS[name]
    monkeypatch.setattr(on_demand, "CHUNK", 10)
    monkeypatch.setattr(on_demand, "REMEMBERED_TOKENS", 200)
    with small_corpus(task.data.name, rows, tmp_path):
        whole, parts = load(task, quiet), load(read_on_demand(task), quiet)
        assert "train" not in parts.arrays
        np.testing.assert_array_equal(parts.sizes, whole.sizes)
        assert parts.identity == whole.identity
        assert parts.identity["train"]["left_out"] or name != "translation"
        key = jax.random.key(0)
        of_whole = jax.jit(lambda data, ids: task.train_batch(data, ids, key, 4))
        of_parts = jax.jit(lambda data, fed: read_on_demand(task).train_batch(data, fed, key, 4))
        shapes = set()
        plan = task.plan(whole.sizes, 3, 4)
        feed = Feed(parts.on_demand, plan, task.row, COUNT)
        with contextlib.closing(feed):
            # On into later epochs; back to the start; and from a later step, as a run that is resumed.
            for start, stop in ((0, 45), (0, 6), (30, 36)):
                for step in range(start, stop, COUNT):
                    ids, fed = task.feed(plan, step, COUNT), feed(step)
                    assert feed(step) is fed
                    shapes.add((ids.shape, *(leaf.shape for leaf in jax.tree.leaves(fed))))
                    for i in range(COUNT):
                        expected = of_whole(whole.arrays, ids[i])
                        got = of_parts(parts.arrays, jax.tree.map(lambda leaf, i=i: leaf[i], fed))
                        jax.tree.map(np.testing.assert_array_equal, got, expected)
                        assert np.any(got.weights)
        assert len(shapes) == len({shape for shape, *_ in shapes}), "one shape for each of the batches"


@pytest.mark.slow
def test_a_run_gives_the_same_parameters_also_when_resumed(tmp_path):
    config, rows = CONFIGS["translation"], ROWS["translation"]
    config = dataclasses.replace(
        config,
        posenc=(),
        training=dataclasses.replace(config.training, steps=15, batch_size=4, steps_per_call=3, log_every=3),
        evaluation=Evaluation(lengths=(12,), num_examples=4),
    )
    asked, running = [], []

    def stop_at_second_call():
        asked.append(None)
        running.append(set(threading.enumerate()) - before)
        return 15 if len(asked) == 2 else None

    with small_corpus(config.task.data.name, rows, tmp_path):
        expected = run(config, tmp_path / "whole")
        config = dataclasses.replace(config, task=read_on_demand(config.task))
        before = set(threading.enumerate())
        with pytest.raises(StoppedError, match="stopped at step 6 of 15"):
            run(config, tmp_path / "parts", stop=stop_at_second_call)
        threads_end({thread for thread in running[0] if READING in thread.name})
        got = run(config, tmp_path / "parts")
    assert len(got[0]["replicas"]) == 2
    assert got[0]["replicas"] == expected[0]["replicas"]
    logs = [next(tmp_path.glob(f"{name}/group-*/metrics.jsonl")).read_text() for name in ("whole", "parts")]
    assert logs[0] == logs[1]


def test_an_error_of_the_corpus_reaches_the_trainer_and_threads_end():
    plan = Plain(200, 4, 0)

    class Broken:
        def records(self, indices):
            if {*indices} & {*plan.batches(9, 3).ravel().tolist()}:
                raise OSError("the disk is gone")
            return Records(Ragged.of([[5, 6]] * len(indices)))

    before = set(threading.enumerate())
    feed = Feed(Broken(), plan, 16, COUNT)
    with contextlib.closing(feed):
        jax.tree.map(np.testing.assert_array_equal, feed(0), feed.read(0))
        ahead = set(threading.enumerate()) - before
    threads_end(ahead)

    feed(0)
    ahead = set(threading.enumerate()) - before
    with pytest.raises(OSError, match="the disk is gone") as error:
        [feed(step) for step in range(0, 60, COUNT)]
    threads_end(ahead)  # though the traceback still holds all frames
    assert error.tb is not None


def test_examples_are_measured_once(tmp_path, monkeypatch):
    task, rows = read_on_demand(PAIRS), ROWS["translation"]
    notes: list[str] = []
    with small_corpus(task.data.name, rows, tmp_path):
        first = load(task, notes.append)
        [file] = (tmp_path / "derived").iterdir()
        kept = file.read_bytes()
        measuring = "own/help-en-de: reading 96 training examples once, to measure them"
        assert notes.count(measuring) == 1
        again = load(task, notes.append)
        assert notes.count(measuring) == 1
        np.testing.assert_array_equal(again.sizes, first.sizes)
        assert again.identity == first.identity
        for damage in (kept[: len(kept) // 2], b"", kept[:200] + bytes([kept[200] ^ 1]) + kept[201:]):
            file.write_bytes(damage)
            np.testing.assert_array_equal(load(task, notes.append).sizes, first.sizes)
            assert file.read_bytes() == kept
        assert notes.count(measuring) == 4
        longer = load(dataclasses.replace(task, max_length=12), notes.append)
        assert notes.count(measuring) == 5
        assert len(longer.sizes) > len(first.sizes)


def test_text_that_changed_under_its_name_is_refused(tmp_path):
    task, rows = read_on_demand(PAIRS), ROWS["translation"]
    changed = {**rows, "train": [{**row, "de": row["de"] + "!"} for row in rows["train"]]}
    with small_corpus(task.data.name, rows, tmp_path / "one"):
        stream = load(task, quiet).on_demand
    with small_corpus(task.data.name, changed, tmp_path / "other"):
        stream = dataclasses.replace(stream, split=load(task, quiet).on_demand.split)
        with pytest.raises(
            DataError, match=r"'own/help-en-de' have other lengths .* remove .*other/derived to have it"
        ):
            stream.records(np.array([3]))
    with small_corpus("own/python-docs", TEXT, tmp_path / "text"):
        windows = load(read_on_demand(WINDOWS), quiet).on_demand
        starts = windows.starts.copy()
        starts[1:] += 1
        with pytest.raises(DataError, match="'own/python-docs' have other lengths than"):
            dataclasses.replace(windows, starts=starts).records(np.array([0]))


def test_what_is_used_of_a_large_corpus(tmp_path, monkeypatch):
    # Half of the training examples for the tokenizer, eight examples of the other splits.
    monkeypatch.setattr(loading, "TOKENIZER_EXAMPLES", 48)
    monkeypatch.setattr(loading, "HELD_EXAMPLES", 8)
    heard = []
    monkeypatch.setattr(
        loading, "make_tokenizer", lambda task, rows: heard.append(list(rows)) or loading.ByteTokenizer()
    )
    task, rows = PAIRS, ROWS["translation"]
    with small_corpus(task.data.name, rows, tmp_path):
        parts, whole = load(read_on_demand(task), quiet), load(task, quiet)
        assert heard == [rows["train"][:48], rows["train"]]
        for data, count in ((parts, 8), (whole, 16)):
            for split in ("validation", "test"):
                assert data.identity[split]["examples"] + data.identity[split]["left_out"] == count
        assert len(parts.on_demand) == len(whole.arrays["train"])
        only = load(read_on_demand(task), quiet, parts.tokenizer, ("test",))
        assert only.on_demand is None
        assert {row["doc"] for row in only.test_rows} == {f"test{i}" for i in range(8)}


def test_other_columns_are_refused_with_the_fields_that_name_them(tmp_path, monkeypatch):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path))
    rows = {
        split: [{"left": f"one {n}", "right": f"zwei {n}", "doc": ""} for n in range(9)]
        for split in ("train", "validation", "test")
    }
    add("own/pairs", rows, ("left", "right", "doc"), {"kind": "pairs", "licence": "", "sources": {}}, note=str)
    message = "choose another corpus, or say by task.source and task.target which of its columns to read"
    with pytest.raises(DataError, match=rf"columns left, right, doc, and task 'translation' reads en, de: {message}"):
        check_source(Translation(data=Data(name="own/pairs")))


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Data sets of the hub, prepared, of 120 random rows in each split."""
    monkeypatch.setattr(source, "reachable", lambda url: True)
    monkeypatch.setenv("POSENC_DATA", str(tmp_path))
    # The stand-in for files of rows knows how to give one, not several.
    several = tfds.core.data_sources.array_record.ArrayRecordDataSource
    monkeypatch.setattr(several, "__getitems__", lambda self, keys: [self[key] for key in keys])
    with tfds.testing.mock_data(num_examples=120):
        yield lambda *splits: monkeypatch.setattr(
            tfds.core.DatasetInfo, "splits", property(lambda self: dict.fromkeys(splits))
        )


def test_splits_that_a_data_set_of_the_hub_has_not_are_held_out(hub):
    hub("train", "test")
    task = Translation(
        Data(name="scan", tokenizer="bytes"), source="commands", target="actions", max_length=400, row=700
    )
    whole = source.load_source("scan", "train")
    train, validation, test = (load_split("scan", split) for split in ("train", "validation", "test"))
    held = [0, 50, 100]
    assert list(validation) == [validation[i] for i in range(3)] == [whole[i] for i in held]
    assert list(train) == [whole[i] for i in range(120) if i not in held]
    assert len(test) == 120
    hub("train")
    assert list(load_split("scan", "validation")) == [whole[i] for i in held]
    assert list(load_split("scan", "test")) == [whole[i] for i in (1, 51, 101)]
    assert list(load_split("scan", "train")) == [whole[i] for i in range(120) if i % 50 > 1]
    hub("train", "test")
    for in_memory in (True, False):
        notes = []
        data = load(task if in_memory else read_on_demand(task), notes.append)
        assert len(data.sizes) == 117
        assert data.identity["held_out"] == ["validation"]
        assert data.identity["validation"]["examples"] == 3
        assert "scan has no validation split: one in 50 rows of training is held out for it" in notes
    hub("test")
    assert len(load_split("scan", "test")) == 120
    with pytest.raises(DataError, match="scan has no split 'train': use one of test"):
        load_split("scan", "train")
