"""Imported encoder-decoders as runs: they answer as `generate` of transformers does, and are written back equal."""

import dataclasses
import json

import pytest
import sentencepiece
import text_runs
from make_huggingface_reference import CASES, sources
from marian_files import marian_files
from tiny_checkpoints import LETTERS, REFERENCE, checkpoint_of, differing, whole

from posenc_jax import Evaluation, Training, run
from posenc_jax.cli import main
from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.checkpoint_tokenizers import MarianTokenizer, tokenizer_from_bytes
from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.exporting import export_checkpoint
from posenc_jax.runs.importing import import_checkpoint
from posenc_jax.runs.inference import TextOutput, load_run, summarize, translate
from posenc_jax.runs.reporter import Reporter
from posenc_jax.show import trained


def letters(tokens) -> str:
    return "".join("<s>" if token == 0 else LETTERS[token - 3] for token in tokens)


SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in (("t5", 0, 9), ("umt5", 1, 12), ("marian", 2, 12))]


@pytest.mark.parametrize(("name", "row", "count"), [("t5_1_1", 2, 12), *SLOW])
def test_a_run_answers_as_generate_does(tmp_path, name, row, count):
    """Each source of the reference ends with a token that its checkpoint here has for the end."""
    source, wanted = sources()[row].tolist(), REFERENCE[f"{name}/generated"][row, 1 : 1 + count].tolist()
    eos = source[-1]
    path = whole(tmp_path / "hf", name, eos_token_id=eos)
    config = import_checkpoint(path, tmp_path / "run")
    assert config.task.ids == load(path).answers
    (found,) = translate(load_run(tmp_path / "run"), [letters(source[:-1])], max_new_tokens=count)
    ended = eos in wanted
    assert found.text == letters(wanted[: wanted.index(eos)] if ended else wanted)
    assert found.finished == ended
    assert ended == (name == "t5_1_1")


@pytest.mark.parametrize("name", ["t5", "t5_1_1", "mt5", "marian"])
def test_export_gives_it_back(tmp_path, name):
    source = whole(tmp_path / "hf", name)
    generation = {"bad_words_ids": [[11], [CASES[name]["eos_token_id"]]], "eos_token_id": None}
    (source / "generation_config.json").write_text(json.dumps(generation))
    config = import_checkpoint(source, tmp_path / "run")
    assert config.task.ids.never == (11,)
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    assert differing(source, tmp_path / "again") == []
    own = json.loads((tmp_path / "again" / "config.json").read_text())
    assert own == CASES[name] | {"architectures": own["architectures"], "torch_dtype": "float32"}
    for file in ("tokenizer.json", "generation_config.json"):
        assert json.loads((tmp_path / "again" / file).read_text()) == json.loads((source / file).read_text())


def test_what_a_run_of_pairs_refuses_and_notes(tmp_path, capsys):
    path = whole(tmp_path / "hf", "t5_1_1", forced_bos_token_id=0)
    refused = pytest.raises(DataError, match=r"forced_bos_token_id = 0, a first token of every answer, is not written")
    with refused:
        import_checkpoint(path, tmp_path / "run")
    for generation, match in (
        ("[]", "generation_config.json holds a JSON list, and must be an object"),
        ("{", "generation_config.json is no JSON"),
        ('{"bad_words_ids": [[1, 2]]}', r"bad_words_ids has \[1, 2\], and words of one token are kept out"),
        ('{"bad_words_ids": 3}', "bad_words_ids and suppress_tokens must be lists"),
        ('{"suppress_tokens": [48]}', "must be a token of the 48 that there are"),
    ):
        (path / "generation_config.json").write_text(generation)
        with pytest.raises(DataError, match=match) as error:
            load(path)
        assert "\n" not in str(error.value)
    (path / "config.json").write_text(json.dumps(CASES["t5_1_1"]))
    (path / "generation_config.json").write_text('{"no_repeat_ngram_size": 3, "num_beams": 4, "min_length": 0}')
    notes = []
    import_checkpoint(path, tmp_path / "run", notes.append)
    (note,) = notes
    assert note.endswith("no_repeat_ngram_size = 3: not read, answers are the most probable ones without")
    assert not (tmp_path / "run" / "group-000" / "metrics.jsonl").exists()
    with pytest.raises(RefusedError, match="is a run of task 'translation', and `posenc summarize` needs"):
        summarize(load_run(tmp_path / "run"), ["abc"])
    (path / "tokenizer.json").unlink()
    assert main(["weights", "import", str(path), "-o", str(tmp_path / "other")]) == 2
    assert "has no tokenizer.json, without which no text can be read: add it, as transf" in capsys.readouterr().err


def test_maps_of_attention_have_its_own_ends(tmp_path, monkeypatch):
    import_checkpoint(whole(tmp_path / "hf", "t5_1_1"), tmp_path / "run")
    monkeypatch.setattr(trained, "translate", lambda loaded, texts: [TextOutput("ab", 0.0, True)])
    found = trained.input_of(trained.load(tmp_path / "run", None, print), "cd")
    assert (found.inputs, found.decoder_inputs) == ([5, 6, 39], [3, 3, 4])


def test_ids_belong_to_the_tokenizer_of_a_checkpoint(tmp_path):
    config = import_checkpoint(whole(tmp_path / "hf", "t5_1_1"), tmp_path / "run")
    task, tokenizer = config.task, load_run(tmp_path / "run").tokenizer
    (row,) = [{"en": "ab", "de": "cd"}]
    records = task.encode(tokenizer, [row], training=True).records
    assert (records.inputs.tokens.tolist(), records.targets.tokens.tolist()) == ([3, 4, 39], [3, 5, 6, 39])
    with pytest.raises(DataError, match=r"ids.eos = 2, and the end of the tokenizer is 39: set task.ids to those of"):
        type(task)(data=task.data).encode(tokenizer, [row], training=True)
    with pytest.raises(ValueError, match=r"has ids of ours: leave task.ids out"):
        type(task)(ids=AnswerIds(eos=7))
    with pytest.raises(ValueError, match=r"task.ids.start = 48 must be a token of the 48"):
        type(task)(data=task.data, ids=AnswerIds(start=48))
    with pytest.raises(ValueError, match=r"has 7, and an answer ends with task.ids.eos = 7"):
        AnswerIds(eos=7, never=(7,))


def test_the_three_files_of_marian(tmp_path):
    """Ids are places in one list, whichever model of pieces a text is cut by."""
    files = marian_files()
    source, target, vocabulary = files.values()
    ids = json.loads(vocabulary)
    path = checkpoint_of("marian", tmp_path / "hf", eos_token_id=0)
    for name, data in files.items():
        (path / name).write_bytes(data)
    tokenizer = load(path).tokenizer
    own = sentencepiece.SentencePieceProcessor(model_proto=source)
    wanted = [ids.get(piece, 1) for piece in own.encode("red owl", out_type=str)]
    assert tokenizer.encode(">>fra<<red owl") == [2, *wanted]
    assert tokenizer.target.decode([*tokenizer.target.encode("rote Sonne"), 0, 5]) == "rote Sonne"
    again = tokenizer_from_bytes(tokenizer.to_bytes())
    assert (again.encode("red owl"), again.sha256, again.files) == (wanted, tokenizer.sha256, files)
    (path / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "fr"}')
    task = import_checkpoint(path, tmp_path / "run").task
    assert (task.source, task.target) == ("en", "fr")
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    assert {name: (tmp_path / "again" / name).read_bytes() for name in files} == files

    sizes = {"vocab_size": 48, "bos": 0, "eos": 0}
    for wrong, match in (
        ((b"", target, vocabulary), "source.spm is no model of SentencePiece"),
        ((source, b"x", vocabulary), "target.spm is no model of SentencePiece"),
        ((source, target, b"["), "vocab.json is no JSON"),
        ((source, target, b"[]"), "vocab.json is no list of pieces"),
        ((source, target, b'{"<pad>": 0, "</s>": 1}'), "vocab.json has no <unk>"),
        ((source, target, json.dumps(ids | {"x": 48}).encode()), "vocab.json has 48 for 'x', and there are 48 tokens"),
    ):
        with pytest.raises(DataError, match=match):
            MarianTokenizer(*wrong, **sizes)


@pytest.mark.slow
def test_it_is_measured_on_pairs_and_started_from(tmp_path):
    """Sources and targets end as the checkpoint has them, and what is decoded does too."""
    config = import_checkpoint(whole(tmp_path / "hf", "t5_1_1"), tmp_path / "run")
    lines = [line["text"] for rows in text_runs.letters(24, 4).values() for line in rows]
    rows = {
        split: [{"en": line[:20], "de": line[20 : 30 + number], "doc": f"{split}{number}"} for number, line in part]
        for split, part in zip(
            ("train", "validation", "test"), (enumerate(lines[i::3][:8]) for i in range(3)), strict=True
        )
    }
    with text_runs.small_corpus("own/help-en-de", rows, tmp_path / "data"):
        path, (row,) = evaluate(tmp_path / "run", (32,))
        assert row["count"] > 0
        written = [json.loads(line) for line in path.with_name(f"{path.stem}-decoded.jsonl").read_text().splitlines()]
        alone = translate(load_run(tmp_path / "run"), [line["en"] for line in written])
        assert [line["output"] for line in written] == [output.text for output in alone]
        further = dataclasses.replace(
            config,
            task=dataclasses.replace(config.task, max_length=32, row=128),
            training=Training(steps=1, batch_size=2, steps_per_call=1, log_every=1, validate_every=0),
            evaluation=Evaluation(lengths=(32,), num_examples=4),
            init_from=str(tmp_path / "run"),
            note="",
        )
        run(further, tmp_path / "further", reporter=Reporter())
    export_checkpoint(tmp_path / "further", tmp_path / "again")
    assert load(tmp_path / "again").answers == config.task.ids
