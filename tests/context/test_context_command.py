"""``posenc context`` on a tiny imported model: what it measures, that it goes on, what it refuses."""

import json
import os
import shutil

import jax
import numpy as np
import pytest
import tokenizers
from tiny_checkpoints import checkpoint_of

from posenc_jax.cli import main
from posenc_jax.context import study
from posenc_jax.context.reading import Reader
from posenc_jax.context.table import record, table
from posenc_jax.encodings import parse
from posenc_jax.runs.errors import DamagedFileError
from posenc_jax.runs.files import locked
from posenc_jax.runs.importing import import_checkpoint
from posenc_jax.runs.inference import load_run
from posenc_jax.runs.reporter import Reporter
from posenc_jax.training.step import model_of

TRAINED = 192


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a model for 192 words, a text of 400, and a pipe."""
    folder = tmp_path_factory.mktemp("context")
    path = checkpoint_of("qwen2", folder / "hf", max_position_embeddings=TRAINED)
    names = ("grass", "green", "sky", "blue", "sun", "yellow", "go", "back", "again", "pass", "key", "5", "7")
    vocabulary = {"<s>": 0, "<b>": 1, "<e>": 2} | {word: i + 3 for i, word in enumerate(names)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<s>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(path / "tokenizer.json"))
    import_checkpoint(path, folder / "run")
    drawn = np.random.default_rng(0).choice(names, 400)
    (folder / "text.txt").write_text(" ".join(drawn))
    os.mkfifo(folder / "pipe")
    return folder / "run"


def test_chunks_and_steps_are_the_full_pass(run, monkeypatch):
    monkeypatch.setattr("posenc_jax.context.reading.CHUNK", 16)
    loaded = load_run(run)
    reader = Reader.of(loaded, parse("rope(layout='half', scaling=dynamic_ntk(original_length=20))"), 64)
    tokens = np.random.default_rng(1).integers(3, 16, 41).astype(np.int32)  # the last chunk has 9 of 16
    model = jax.jit(lambda tokens, length: model_of(reader.run, reader.params)(tokens, length=length))

    def full(tokens, length):
        padded = np.zeros((1, 48), np.int32)
        padded[0, : len(tokens)] = tokens
        return np.asarray(jax.nn.log_softmax(model(padded, np.array([length]))[0]))[: len(tokens)]

    expected = -full(tokens, 41)[np.arange(40), tokens[1:]]
    np.testing.assert_allclose(reader.losses(tokens), expected, rtol=1e-4, atol=1e-4)
    written = list(tokens)
    for _ in range(6):
        written.append(int(full(written, 47)[-1].argmax()))
    assert reader.continued(tokens, 6, lambda found: False) == written[41:]
    assert reader.continued(tokens, 6, lambda found: len(found) == 2) == written[41:43]


def test_windows_count_each_token_once():
    tokens = np.arange(100, 151)
    for size in (8, 51, 60):
        counted = [token for first, window in study.windows(tokens, size) for token in window[first:]]
        assert counted == tokens.tolist()
        assert all(window[0] == 100 and len(window) <= size for _, window in study.windows(tokens, size))


@pytest.mark.slow
def test_a_study(run, capsys, monkeypatch):
    words = ["context", str(run), "--lengths", "2x", "--change", "none", "yarn", "nope"]
    words += ["--measure", "perplexity", "far", "passkey", "--text", str(run.parent / "text.txt"), "--examples", "5"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "19 answers, " in said.err
    assert "for parameters, cache and logits" in said.err
    assert "perplexity" in said.out
    entries = json.loads((run / "context" / "record.json").read_text())
    assert [(own["change"], own["length"]) for own in entries] == [("none", 384), ("yarn", 384), ("nope", 384)]
    for own in entries:
        assert len(own["buckets"][0]) == 8
        assert np.average(own["buckets"][0], weights=[48] * 7 + [47]) == pytest.approx(own["loss"][0], abs=1e-4)
        assert own["depths"] == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert 0 <= min(own["passkey"]) <= max(own["passkey"]) <= 1
    assert len({own["loss"][0] for own in entries}) == 3
    assert len({own["far_tokens"][0] for own in entries}) == 1
    assert {path.stem for path in (run / "context").glob("*.png")} == {"loss", "passkey"}
    table = (run / "context" / "table.md").read_bytes()

    next((run / "context").glob("perplexity-*.json")).unlink()
    assert main(words) == 0
    monkeypatch.setattr(Reader, "_read", lambda *_: pytest.fail("read again"))
    assert main(words) == 0
    assert (run / "context" / "table.md").read_bytes() == table


def test_a_damaged_answer_is_named_with_the_way_out(run, tmp_path):
    loaded = load_run(run)
    cell = study.StudyCell("perplexity", "none", loaded.config.posenc, 64, 0, np.arange(3, 16, dtype=np.int32))
    path = study.path_of(tmp_path, cell, study.parameters_digest(loaded))
    path.write_text("{}")
    with pytest.raises(DamagedFileError, match=rf"{path.name}.*: remove it, and the same command answers it again"):
        study.answer(loaded, [cell], tmp_path, Reporter())


def test_an_answer_in_the_place_of_another_is_refused(run, tmp_path, monkeypatch):
    loaded, tokens = load_run(run), np.arange(3, 16, dtype=np.int32)
    asked = [study.StudyCell("perplexity", "", loaded.config.posenc, 64, i, tokens + i) for i in range(2)]
    monkeypatch.setattr(Reader, "losses", lambda *_: np.ones(12))
    study.answer(loaded, asked, tmp_path, Reporter())
    own, other = (study.path_of(tmp_path, cell, study.parameters_digest(loaded)) for cell in asked)
    shutil.copy(own, other)
    with pytest.raises(DamagedFileError, match=rf"{other.name} is damaged .it answers another question.: remove it"):
        study.answer(loaded, asked, tmp_path, Reporter())


def test_the_folder_is_held_until_its_table_is_written(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Reader, "losses", lambda reader, tokens: np.ones(len(tokens) - 1))
    words = ["--lengths", "64", "--change", "none", "--measure", "perplexity", "--text", str(run.parent / "text.txt")]
    with locked(tmp_path):
        assert main(["context", str(run), *words, "--output", str(tmp_path)]) == 2
    monkeypatch.setattr("posenc_jax.context.table.heat_maps", lambda _: locked(tmp_path).__enter__())
    assert main(["context", str(run), *words, "--output", str(tmp_path)]) == 2
    assert not (tmp_path / "table.md").exists()


def test_answers_of_another_environment_are_said(run, tmp_path, monkeypatch):
    loaded, here = load_run(run), {"jax": "1", "cpu": "a"}
    slot, tokens = loaded.config.posenc, np.arange(3, 16, dtype=np.int32)
    asked = [study.StudyCell("perplexity", word, slot, length, 0, tokens) for word, length in (("none", 64), ("b", 48))]
    monkeypatch.setattr(study, "environment", lambda: dict(here))
    monkeypatch.setattr(Reader, "losses", lambda *_: np.ones(12))
    notes = []
    reporter = Reporter()
    reporter.note = notes.append
    study.answer(loaded, asked[:1], tmp_path, reporter)
    here["jax"] = "2"
    rows = study.answer(loaded, asked, tmp_path, reporter)
    assert [row["environment"]["jax"] for row in rows] == ["1", "2"]
    assert len(notes) == 1
    assert notes[0].startswith("1 of 2 answers in ")
    assert "may differ from its own by rounding: jax: 1 -> 2; not recorded: " in notes[0]
    entries = record(rows)
    assert "elsewhere" not in entries[0]
    assert entries[1]["elsewhere"][0] == "jax: 1 -> 2"
    first, second = ([own] for own in entries)
    assert "first answer's environment" not in " ".join(table(first, "").notes)
    assert "b at 48: not known to be of the first answer's environment" in " ".join(table(second, "").notes)
    rows[0]["environment"] = {}  # as older answers are
    assert record(rows)[1]["elsewhere"] == ["not recorded: what it ran in"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--lengths 3", "--lengths 3: write tokens (from 16 on) or times the trained 192, as in 2x"),
        ("--measure passkey far", "--measure far reads texts: name their files with --text"),
        ("--change yarn(0.5)", "--change: yarn(0.5): a factor must be at least 1"),
        ("--change yearn", "(`posenc list` shows all)"),
        (
            "--change rope",
            "layout='interleaved', and the run was trained with 'half': write layout='half'",
        ),
        ("--change learned --lengths 2x", "learned has no positions beyond 192: choose shorter lengths"),
        ("--measure passkey --lengths 64", "passkey needs 3"),
        ("--text TEXT --lengths 4x", "text.txt has 401 tokens, and the longest length is 768: give a longer text"),
        ("--text RUN/group-000/weights.safetensors", "is no UTF-8 text"),
    ],
)
def test_what_is_refused(run, refusal, words, said):
    words = words.replace("TEXT", str(run.parent / "text.txt")).replace("PIPE", str(run.parent / "pipe"))
    words = words.replace("RUN", str(run)).split()
    assert said in refusal("context", str(run), *words, "--output", str(run.parent / "none"))
    assert not (run.parent / "none").exists()


def test_what_needs_more_memory_than_there_is_is_refused(run, capsys, monkeypatch):
    monkeypatch.setattr("posenc_jax.runs.targets.host_memory", lambda: 10**6)
    words = ["--lengths", "400", "--text", str(run.parent / "text.txt"), "--output", str(run.parent / "none")]
    assert main(["context", str(run), *words]) == 2
    assert "a length of 400 needs about" in (err := capsys.readouterr().err)
    assert "for parameters, cache and logits, and 1 MB are there: read shorter texts" in err
