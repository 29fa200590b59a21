"""A checkpoint as a finished run: other commands take it, bad ones leave nothing behind."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import text_runs
from make_huggingface_reference import CASES, sources, tensor
from marian_files import marian_files
from tiny_checkpoints import LETTERS, REFERENCE, checkpoint_of, differing, tensors_of, whole, write_tensors
from trained_runs import Notes

from posenc_jax import Evaluation, Training, run
from posenc_jax.cli import main
from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.checkpoint_tokenizers import MarianTokenizer, tokenizer_from_bytes
from posenc_jax.data.errors import DataError
from posenc_jax.data.text.loading import load as load_data
from posenc_jax.encodings import parse, spec
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.huggingface.safetensors import read_header
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.importing import export_checkpoint, import_checkpoint
from posenc_jax.runs.inference import TextOutput, load_run, summarize, translate
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.state import replica_params
from posenc_jax.runs.weights import export_weights, load_weights
from posenc_jax.show import trained


def test_a_run_of_a_checkpoint_serves_other_commands(tmp_path, refusal):
    source, run = whole(tmp_path / "hf"), tmp_path / "run"
    config = import_checkpoint(source, run)
    assert config.task.data.tokenizer == "checkpoint"
    params = replica_params(run, 0, print)
    np.testing.assert_array_equal(params["embedding"]["table"], tensor("model.embed_tokens.weight", (48, 32)))
    loaded = load_run(run)
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("abc")) == "abc"
    assert loaded.tokenizer.bos == 1
    export_weights(run, tmp_path / "w.safetensors")
    again, metadata = load_weights(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(again["embedding"]["table"], params["embedding"]["table"])
    assert metadata["tokenizer"] == loaded.tokenizer.sha256
    origin = json.loads((run / "origin.json").read_text())
    assert origin["family"] == "llama"
    assert set(origin["files"]) == {"config.json", "model.safetensors"}
    assert "exists: choose another directory" in refusal("weights", "import", str(source), "-o", str(run))


def refused(tmp_path: Path, match: str) -> None:
    """One line, and nothing is left behind."""
    with pytest.raises((DataError, RefusedError), match=match) as error:
        import_checkpoint(tmp_path / "hf", tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()
    assert not list(tmp_path.glob(".run*"))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"model_type": "lama", "auto_map": {"AutoModel": "x.y"}},
            r"'lama', whose code \(auto_map\) is never run, is not read, and llama, .*: did you mean 'llama'\?",
        ),
        (
            {"quantization_config": {"quant_method": "gptq"}},
            r"quantization_config is there \('gptq'\), and quantised weights are read from GGUF alone: name",
        ),
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu', and 'silu' is read"),
        (
            {"model_type": "qwen2", "layer_types": ["linear_attention"] * 3},
            "layers of linear_attention are not computed here",
        ),
        ({"eos_token_id": 48}, "config.json: eos_token_id = 48 must be a token of the 48 that there are: mend the"),
    ],
)
def test_configs_that_are_refused(tmp_path, changes, match):
    path = whole(tmp_path / "hf")
    (path / "config.json").write_text(json.dumps(CASES["llama"] | changes))
    refused(tmp_path, match)


def test_files_that_are_refused(tmp_path, monkeypatch):
    path = whole(tmp_path / "hf")
    weights = path / "model.safetensors"
    for content in (b"", weights.read_bytes()[:-4], b"\x80\x02PK" + weights.read_bytes()):
        weights.write_bytes(content)
        refused(tmp_path, "no whole safetensors file")
    weights.unlink()
    (path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refused(tmp_path, "pytorch_model.bin is a pickle, which may run any code when it is read, and is never opened")
    index = {"weight_map": {"model.norm.weight": "../model.safetensors"}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(tmp_path, "names '../model.safetensors', which is no file beside it")
    (tmp_path / "more").mkdir()
    path = whole(tmp_path / "more" / "hf")
    with monkeypatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
        refused(tmp_path / "more", r"needs [\d,]+ bytes, and 1,000 are free")
    (path / "tokenizer.json").unlink()
    refused(tmp_path / "more", "has no tokenizer.json")


def test_a_file_alone_names_its_folder(tmp_path):
    path = whole(tmp_path / "hf")
    for name in ("config.json", "model.safetensors"):
        with pytest.raises(DataError, match=rf"{name} alone is no checkpoint: name its folder, .*hf, which has config"):
            load(path / name)


def test_code_that_a_config_names_is_noted(tmp_path):
    notes = []
    source = whole(tmp_path / "hf", "llama", auto_map={"AutoModelForCausalLM": "own.Model"})
    import_checkpoint(source, tmp_path / "run", notes.append)
    assert len(notes) == 1
    assert "auto_map names code beside the weights; it is not run, and the model is computed as transf" in notes[0]


def test_a_length_that_a_config_leaves_out_is_noted(tmp_path):
    notes = []
    source = whole(tmp_path / "hf", "llama", max_position_embeddings=None)
    assert import_checkpoint(source, tmp_path / "run", notes.append).task.max_length == 2048
    assert [note.partition(": ")[2] for note in notes] == ["max_position_embeddings is missing, and 2,048 is taken"]


def test_names_with_and_without_their_prefix(tmp_path):
    path = checkpoint_of("gpt2", tmp_path)
    long = tensors_of(path)
    short = {name.removeprefix("transformer."): tensor for name, tensor in long.items()}
    write_tensors(path, short)
    assert load(path).tensors.keys() == long.keys()
    write_tensors(path, short | {"transformer.ln_f.bias": short["ln_f.bias"]})
    with pytest.raises(DataError, match=r"has transformer.ln_f.bias twice"):
        load(path)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_export_gives_the_checkpoint_back_bit_for_bit(tmp_path, monkeypatch, name):
    source = whole(tmp_path / "hf", name)
    import_checkpoint(source, tmp_path / "run")
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    before, after = (read_header(path / "model.safetensors")[0] for path in (source, tmp_path / "again"))
    assert after.keys() == before.keys()
    for key, stored in before.items():
        np.testing.assert_array_equal(after[key].read(), stored.read(), err_msg=key)
    own = json.loads((tmp_path / "again" / "config.json").read_text())
    assert own == CASES[name] | {"architectures": own["architectures"], "torch_dtype": "float32"}
    assert (tmp_path / "again" / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()
    with pytest.raises(RefusedError, match="exists: choose another directory"):
        export_checkpoint(tmp_path / "run", tmp_path / "again")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(RefusedError, match=r"third needs [\d,]+ bytes, and 1,000 are free"):
        export_checkpoint(tmp_path / "run", tmp_path / "third")
    assert not (tmp_path / "third").exists()


# Imported runs in other commands: measured with other positions, started from, drawn.


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imported")
    import_checkpoint(whole(folder / "hf", "llama"), folder / "run")
    with text_runs.small_corpus("own/python-docs", text_runs.letters(24, 4), folder / "data"):
        yield folder / "run"


def test_it_is_measured_with_other_positions(imported):
    losses = {}
    for text in ("rope(base=500000.0, layout='half')", "nope"):
        notes = Notes()
        _, rows = evaluate(imported, (16,), parse(text), reporter=notes)
        losses[text] = rows[0]["loss"]
        assert not [line for line in notes.notes if "not recorded" in line]
    assert len(set(losses.values())) == 2


def test_a_model_of_images_is_a_run_of_its_text(tmp_path):
    """In which M-RoPE is RoPE."""
    source, run = whole(tmp_path / "hf", "qwen2_vl"), tmp_path / "run"
    config = import_checkpoint(source, run)
    assert spec(config.posenc) == "mrope(sections=(1, 1, 2), scaling=yarn(factor=8.0, original_length=64))"
    rope = parse("rope(base=1e6, layout='half', scaling=yarn(factor=8, original_length=64))")
    with text_runs.small_corpus("own/python-docs", text_runs.letters(24, 4), tmp_path / "data"):
        losses = [evaluate(run, (16,), *other)[1][0]["loss"] for other in ((), (rope,))]
    assert losses[0] == losses[1]
    export_checkpoint(run, tmp_path / "again")
    assert all(name.startswith("model.") for name in tensors_of(tmp_path / "again"))
    assert load(tmp_path / "again").model == load(source).model
    assert json.loads((tmp_path / "again" / "config.json").read_text())["vision_config"]["depth"] == 1


# Imported encoders as runs of masked language modelling: measured, drawn, gone on with, written back equal.


NAMES = ["bert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("roberta", "modernbert", "deberta_v2"))]
MASK = 47


def with_mask(folder, name, **changes):
    """A checkpoint whose tokenizer has a mask, its last token."""
    path = whole(folder, name, **changes)
    file = path / "tokenizer.json"
    content = json.loads(file.read_text())
    vocabulary = content["model"]["vocab"]
    vocabulary["[MASK]"] = vocabulary.pop(next(word for word, number in vocabulary.items() if number == MASK))
    file.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_loss_of_hidden_tokens(tmp_path, name):
    """That of the checkpoint's own model on each window by itself."""
    path = with_mask(tmp_path / "hf", name)
    config = import_checkpoint(path, tmp_path / "run")
    assert (config.task.mask, config.posenc) == (MASK, load(path).slots.encoder)
    with text_runs.small_corpus("own/python-docs", text_runs.letters(8, 4), tmp_path / "data"):
        _, (row,) = evaluate(tmp_path / "run", (24,))
        data = load_data(config.task, tokenizer=load_run(tmp_path / "run").tokenizer, splits=("test",))
        batch = config.task.test_batch(data.arrays, None, np.int32(24), np.arange(row["count"]), 24)
    model, losses = load(path).build(), []
    types = {"token_types": np.zeros((1, 24), np.int32)} if model.config.token_types else {}
    for tokens, targets, weights in zip(batch.inputs, batch.targets, batch.weights, strict=True):
        logits = np.asarray(model(tokens[None], **types)[0], np.float64)
        found = np.log(np.exp(logits).sum(-1)) - logits[np.arange(24), targets]
        losses += found[np.asarray(weights) > 0].tolist()
    assert len(losses) > 20
    np.testing.assert_allclose(row["loss"], np.mean(losses), rtol=1e-5)
    np.testing.assert_allclose(row["perplexity"], np.exp(row["loss"]), rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_export_gives_an_encoder_back(tmp_path, name):
    source = with_mask(tmp_path / "hf", name)
    import_checkpoint(source, tmp_path / "run")
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    assert differing(source, tmp_path / "again") == []
    own = json.loads((tmp_path / "again" / "config.json").read_text())
    added = {"architectures": own["architectures"], "torch_dtype": "float32"}
    assert own == CASES[name] | added | FAMILIES[CASES[name]["model_type"]].written


def test_maps_of_attention_have_both_ends(tmp_path):
    import_checkpoint(with_mask(tmp_path / "hf", "bert"), tmp_path / "run")
    found = trained.input_of(trained.load(tmp_path / "run", None, print), "cd")
    assert (found.inputs, found.types) == ([1, 5, 6, 2], [0] * 4)


def test_encoders_that_give_no_run(tmp_path):
    for path, match in (
        (whole(tmp_path / "a", "bert"), r"its tokenizer.json has neither \[MASK\] nor <mask>, which hides the tokens"),
        (
            checkpoint_of("bert_model", tmp_path / "b"),
            "is BertModel, an encoder without the head of a masked language model, .* in Python, by posenc_jax.hugging",
        ),
    ):
        with pytest.raises(DataError, match=match) as error:
            import_checkpoint(path, tmp_path / "run")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "run").exists()


# Imported encoder-decoders as runs: they answer as `generate` of transformers does, and are written back equal.


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
    with pytest.raises(RefusedError, match="is a run of task 'translation': name one of task 'summarization'"):
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
        ((source, target, b"["), "vocab.json is no JSON"),
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
