"""Finished runs at work: the outputs that were measured, alone or in company, and what is refused."""

import dataclasses
import json
import random
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sealed_files
from processes import python
from text_runs import CONFIGS, LABELS, ROWS, TASKS, trained
from trained_runs import Notes

from posenc_jax.config import to_json
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.tasks import Copying
from posenc_jax.data.text import words
from posenc_jax.data.tokenizer import BOS, EOS, ByteTokenizer
from posenc_jax.models import Beam, Greedy, Sampling
from posenc_jax.runs import inference
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.inference import TextOutput, classify, load_run, summarize, translate
from posenc_jax.runs.supply import foreign_words, read_tokenizer
from posenc_jax.training.step import model_of

SENTENCES = ["owl sun", "ice", "sun ice ice sun red", "red sun owl", "sun", "ice sun sun ice ice ice owl"]
SHORT = ["owl sun", "ice sun red", "red sun owl", "sun ice"]  # all of one width
PIECES = ["owl sun ice. owl sun ice.", "ice sun."]


@pytest.fixture(autouse=True)
def _no_corpus(monkeypatch, tmp_path):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "nowhere"))


@pytest.fixture(params=["translation", pytest.param("summarization", marks=pytest.mark.slow)])
def writing(request):
    """A run that writes text, and what makes it write."""
    directory = trained(request.param)
    return directory, {"translation": translate, "summarization": summarize}[request.param]


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_the_outputs_that_were_measured(writing, seed):
    directory, write = writing
    loaded = load_run(directory, seed)
    column = {"translation": "en", "summarization": "document"}[loaded.config.task.name]
    written = (directory / "group-000" / "decoded.jsonl").read_text(encoding="utf-8").splitlines()
    lines = [line for line in map(json.loads, written) if line["seed"] == seed]
    assert len({line["output"] for line in lines}) > 3
    assert {line["length"] for line in lines} == set(loaded.config.evaluation.lengths)
    outputs = write(loaded, [line[column] for line in lines])
    assert [output.text for output in outputs] == [line["output"] for line in lines]
    assert (loaded.seed, loaded.learning_rate, loaded.limit) == (seed, 2e-2, 47)


@pytest.mark.parametrize(
    "decoding",
    [Greedy(), pytest.param(Beam(3), marks=pytest.mark.slow), Sampling(temperature=2.0)],
    ids=lambda d: type(d).__name__,
)
def test_one_by_one_or_together(decoding):
    loaded = load_run(trained("translation"))
    sentences = SENTENCES if isinstance(decoding, Greedy) else SHORT
    texts = [sentences[i % len(sentences)] for i in range(20)]  # more than one batch
    together = translate(loaded, texts, decoding)
    alone = {text: translate(loaded, [text], decoding)[0] for text in sentences}
    assert together == [alone[text] for text in texts]
    assert together[::-1] == translate(loaded, texts[::-1], decoding)
    if isinstance(decoding, Sampling):
        again = translate(loaded, sentences, decoding, random_seed=1)
        assert again != together[: len(sentences)]
        assert again == translate(loaded, sentences, decoding, random_seed=1)


ON_SEVERAL_DEVICES = """
import dataclasses, json
import jax
from posenc_jax.models import Beam
from posenc_jax.runs import inference
given, used, batches = GIVEN, set(), inference.batches
def counted(*arguments):
    for found in batches(*arguments):
        used.add(found[2])
        yield found
inference.batches = counted
loaded = inference.load_run(given["run"])
found = [dataclasses.astuple(output) for output in inference.translate(loaded, given["texts"], Beam(2))]
print(json.dumps([len(jax.local_devices()), sorted(used), found]))
"""


def test_several_devices_write_what_one_writes():
    given = {"run": str(trained("translation")), "texts": [SENTENCES[i % len(SENTENCES)] for i in range(20)]}
    code = ON_SEVERAL_DEVICES.replace("GIVEN", repr(given))
    (one, on_one, alone), (three, on_three, together) = (python(code, devices=count) for count in (1, 3))
    assert (one, on_one) == (1, [1])
    assert three == 3
    assert max(on_three) > 1
    assert alone == together


def test_log_probabilities_and_ends():
    """Against the whole model on one unpadded pair."""
    loaded = load_run(trained("translation"))
    text, output = SENTENCES[2], translate(loaded, SENTENCES)[2]
    source, target = ([*ByteTokenizer().encode(own), EOS] for own in (text, output.text))
    length = jnp.array([1 + TASKS["translation"].decoder_width(47)])

    @jax.jit
    def whole(tokens, decoder_tokens):
        return model_of(loaded.config, loaded.params)(tokens, decoder_tokens, decoder_length=length)

    steps = jax.nn.log_softmax(whole(jnp.array([source]), jnp.array([[BOS, *target[:-1]]]))[0])
    assert output.log_prob == pytest.approx(float(sum(steps[i, token] for i, token in enumerate(target))), abs=1e-4)
    assert output.finished


def documents():
    return [{name: row[name] for name in ("header", "body", "footer")} for row in ROWS["classification"]["test"][:15]]


def test_classes():
    """Against the labels, and against the whole model on one unpadded document."""
    loaded = load_run(trained("classification"))
    found = classify(loaded, documents())
    assert [max(own, key=own.get) for own in found] == [row["label"] for row in ROWS["classification"]["test"][:15]]
    assert all(list(own) == list(LABELS) and sum(own.values()) == pytest.approx(1, abs=1e-6) for own in found)
    assert found == [classify(loaded, [document])[0] for document in documents()]
    document = {"header": "sun", "body": "owl", "footer": "end ice red"}  # near the border of the classes
    tokens = {name: ByteTokenizer().encode(text) for name, text in document.items()}
    types = [number for number, part in enumerate(tokens.values(), 1) for _ in part]
    whole = jax.jit(lambda *given: model_of(loaded.config, loaded.params)(given[0], token_types=given[1]))
    (logits,) = whole(jnp.array([[token for part in tokens.values() for token in part]]), jnp.array([types]))
    wanted = jax.nn.softmax(logits)
    np.testing.assert_allclose(list(classify(loaded, [document])[0].values()), wanted, atol=1e-5)


def test_too_long_texts():
    loaded = load_run(trained("translation"))
    text = " ".join(PIECES * 2)
    reporter = Notes()
    (whole,) = translate(loaded, [text], too_long="window", reporter=reporter)
    first, second = translate(loaded, [text[:47], text[48:]])
    assert whole == TextOutput(f"{first.text} {second.text}", first.log_prob + second.log_prob, True)
    (cut,) = translate(loaded, ["ice", text], too_long="truncate", reporter=reporter)[1:]
    assert cut == translate(loaded, [text[:47]])[0]
    assert reporter.notes == [
        "text 1 ('owl sun ice. owl sun ...') is read in 2 windows of at most 47 tokens",
        "text 2 ('owl sun ice. owl sun ...'): 22 of its 69 tokens are cut, 47 are left",
    ]
    with pytest.raises(DataError, match=r"text 2 \('owl sun ice. owl sun ...'\) has 69 tokens, .* at most 47"):
        translate(loaded, ["ice", text])


def test_too_long_documents():
    loaded = load_run(trained("classification"))
    parts = ["sun ice sun red sun.", "owl ice red owl owl."]
    # What is left ends with a letter: a blank at the end of a text that is given is not read.
    document = {"header": "owl ice.", "body": " ".join(parts), "footer": "end"}
    (found,) = classify(loaded, [document], too_long="window")
    pieces = classify(loaded, [{**document, "body": part} for part in parts])
    for label in LABELS:
        assert found[label] == pytest.approx(np.mean([piece[label] for piece in pieces]), abs=1e-9)
    (cut,) = classify(loaded, [document], too_long="truncate")
    assert cut == classify(loaded, [{**document, "body": document["body"][:36]}])[0]
    with pytest.raises(RefusedError, match=r"summaries of the parts .* take 'truncate'"):
        summarize(load_run(trained("summarization")), ["owl"], too_long="window")


def copied(tmp_path, kind="translation"):
    return shutil.copytree(trained(kind), tmp_path / "run")


def diverge(directory, *seeds):
    path = directory / "group-000" / "result.json"
    result = sealed_files.read(path)
    for replica in result["replicas"]:
        replica["diverged_at"] = 20 if replica["seed"] in seeds else None
    sealed_files.write(path, result)


def test_the_first_seed_that_did_not_diverge(tmp_path):
    directory = copied(tmp_path)
    assert load_run(directory).seed == 0
    assert load_run(directory / "group-000").seed == 0
    diverge(directory, 0)
    assert load_run(directory).seed == 1
    with pytest.raises(RefusedError, match="no finished replica of seed 0 that did not diverge"):
        load_run(directory, 0)
    diverge(directory, 0, 1)
    with pytest.raises(RefusedError, match=r"every replica of .* diverged: train it with a smaller learning rate"):
        load_run(directory)


def spoil(directory, what):
    if what == "result":
        (directory / "group-000" / "result.json").unlink()
    elif what == "tokenizer":
        sealed_files.rewrite(directory / "data.json", lambda data: data.update(tokenizer="0" * 64))
    elif what == "generated":
        config = to_json(CONFIGS["translation"]) | {"task": to_json(Copying(kind="rsc")), "posenc": []}
        config["evaluation"] |= {"decoded_examples": 0}
        sealed_files.write_config(directory, config)
    else:
        (directory / what).unlink()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("config.json", "is no run: it has no config.json"),
        ("result", "group-000 is not finished: run it to the end first"),
        ("data.json", r"there is no .*data.json: copy it again from where the run was made"),
        ("tokenizer", r"tokenizer.model is not the tokenizer of this run: .* data.json has 000000000000"),
        ("generated", "is a run of task 'copying', which is not about text"),
    ],
)
def test_runs_that_cannot_work(tmp_path, what, message):
    directory = copied(tmp_path)
    spoil(directory, what)
    with pytest.raises(RefusedError, match=message):
        load_run(directory)


def test_words_that_training_did_not_have_are_said():
    loaded, notes = load_run(trained("translation")), Notes()
    translate(loaded, ["owl sun"], reporter=notes)
    assert notes.notes == []
    translate(loaded, ["Owl zebra"], reporter=notes)
    (said,) = notes.notes
    assert said.startswith("1 of 2 words occur in none of the 96 training examples that were looked through (zebra): ")


@pytest.mark.parametrize("name", ["data.json", "tokenizer.model", words.FILE])
def test_no_flipped_bit_in_the_data_of_a_run_is_silent(tmp_path, name):
    directory = copied(tmp_path)

    def read():
        texts = {"text 1": "zebra owl"}
        return read_tokenizer(directory).sha256, read_json(directory / "data.json"), foreign_words(directory, texts)

    path, sound = directory / name, read()
    original, rng = path.read_bytes(), random.Random(name)
    for _ in range(20):
        content = bytearray(original)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        try:
            same = read() == sound
        except RefusedError as error:
            same = str(path) in str(error) and "\n" not in str(error)
        assert same, bytes(content)


def test_runs_of_other_tasks():
    loaded = load_run(trained("translation"))
    with pytest.raises(RefusedError, match=r"is a run of task 'translation': name one of task 'classification'"):
        classify(loaded, documents())
    with pytest.raises(ValueError, match="'owl' is one text: give a list"):
        translate(loaded, "owl")
    assert translate(loaded, []) == []


@pytest.mark.parametrize(
    ("evaluated", "widths"),
    [((8, 70, 300), {1: 8, 8: 8, 9: 70, 12: 70, 70: 70, 71: 300, 300: 300}), ((6,), {1: 6, 6: 6, 7: 12, 12: 12})],
)
def test_every_text_has_the_width_that_its_length_was_measured_at(evaluated, widths):
    config = CONFIGS["translation"]
    config = dataclasses.replace(config, evaluation=dataclasses.replace(config.evaluation, lengths=evaluated))
    inputs = [[7] * length for length in widths for _ in range(9)]  # one more than a batch holds
    found = list(inference.batches(config, inputs, Notes(), "translate"))
    assert len({len(batch) for _, batch, _ in found}) == 1
    assert {number for _, batch, _ in found for number in batch} == set(range(len(inputs)))
    for length, batch, devices in found:
        assert {widths[len(inputs[number])] for number in batch} == {length}
        assert devices == 1
