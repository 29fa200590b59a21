"""``posenc translate``, ``summarize`` and ``classify``: what they print, where, and how they refuse."""

import io
import json
import os
import subprocess
import sys
from argparse import Namespace

import pytest
from session import compilation_cache
from text_runs import LABELS, trained

from posenc_jax.cli import main
from posenc_jax.data.corpora import reading
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.fields import Fields
from posenc_jax.data.corpora.reading import read_file
from posenc_jax.data.text import Classification, Data
from posenc_jax.data.text.given import document_of
from posenc_jax.data.text.pieces import document_pieces, text_pieces
from posenc_jax.data.tokenizer import ByteTokenizer
from posenc_jax.models import Beam, Sampling
from posenc_jax.runs import inference
from posenc_jax.runs.inference import classify, load_run, summarize, translate

TEXT = "sun ice\n\nred sun\n\n\nice\nice\n\nend\n"
LONG = "owl sun ice. " * 4


@pytest.fixture(autouse=True)
def _prepared(monkeypatch, tmp_path):
    """There is no corpus here."""
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    for name, content in {"a.txt": TEXT, "long.txt": LONG, "empty": " \n", "bad": "aé".encode("latin-1")}.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, content in {
        "a.json": {"header": "sun ice", "body": "red"},
        "list.json": ["sun"],
        "number.json": {"header": 1},
        "title.json": {"title": "sun"},
        "empty.json": {"header": " "},
        "spans.json": {"text": "sun", "spans": []},
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "no.json").write_text('{"header":\n"sun",}')
    (tmp_path / "folder").mkdir()


def given(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def posenc(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out, err


# First what test_inference.py needs last: each of the two trains what the other does not wait for.


def test_classify(capsys):
    run = trained("classification")
    loaded = load_run(run)
    for name, document in {
        "a.txt": {"body": TEXT.strip()},
        "a.json": {"header": "sun ice", "body": "red"},
    }.items():
        (found,) = classify(loaded, [document])
        best = max(found, key=found.get)
        other = LABELS[1 - LABELS.index(best)]
        wanted = f"{best}  {found[best]:.4f}\n{other}  {found[other]:.4f}\n"
        assert posenc(capsys, "classify", run, name) == (wanted, "")


def test_translate(capsys, monkeypatch):
    run = trained("translation")
    loaded = load_run(run)
    first, second = translate(loaded, ["owl sun", "sun red"])
    assert first.text != second.text
    assert posenc(capsys, "translate", run, "owl sun", "sun red") == (f"{first.text}\n{second.text}\n", "")
    given(monkeypatch, b"owl sun\r\n\nsun red")
    assert posenc(capsys, "translate", run)[0] == f"{first.text}\n\n{second.text}\n"
    beam = translate(load_run(run, 1), ["owl sun"], Beam(2, length_penalty="huggingface", alpha=0.3))[0]
    options = ["--seed", 1, "--beam", 2, "--length-penalty", "huggingface", "--alpha", 0.3, "--scores"]
    assert posenc(capsys, "translate", run, *options, "owl sun")[0] == f"{beam.log_prob:.4f}\t{beam.text}\n"
    hot = Sampling(temperature=3.0, top_k=50, top_p=0.9)
    drawn = [output.text for output in translate(loaded, ["owl sun", "sun red"], hot, random_seed=5)]
    options = ["--sample", "--temperature", 3, "--top-k", 50, "--top-p", 0.9, "--random-seed", 5]
    out, _ = posenc(capsys, "translate", run, "owl sun", *options, "sun red")
    assert out == "".join(" ".join(text.splitlines()) + "\n" for text in drawn)
    (joined,) = translate(loaded, [LONG], too_long="window")
    out, err = posenc(capsys, "translate", run, LONG, "--too-long", "window")
    assert (out, err) == (
        f"{joined.text}\n",
        "text 1 ('owl sun ice. owl sun ...') is read in 2 windows of at most 47 tokens\n",
    )


@pytest.mark.slow  # trains a run of its own; `translate` is the same path
def test_summarize(capsys):
    run = trained("summarization")
    (output,) = summarize(load_run(run), [LONG.strip()], too_long="truncate")
    out, err = posenc(capsys, "summarize", run, "long.txt", "--too-long", "truncate", "--scores")
    assert out == f"{output.log_prob:.4f}\t{output.text}\n"
    assert "4 of its 51 tokens are cut, 47 are left" in err


def test_an_output_that_was_cut_off_is_noted(capsys):
    _, err = posenc(capsys, "summarize", trained("summarization"), "a.txt", "--sample", "--temperature", 1e4)
    foreign, cut = err.splitlines()
    assert foreign.startswith("1 of 7 words occur in none of the 96 training examples that were looked through (end): ")
    assert cut == "cut off at the largest number of tokens: output 1"


AS_PEOPLE_WRITE = {
    "one paragraph.txt": b"sun ice\n",
    "three.txt": b"sun ice\n\nred sun\n\nend\n",
    "blanks around.md": b"\n  # sun\n\n\nice \n\n",
    "of Windows": b"\xef\xbb\xbfsun\r\n\r\nice\r\n\r\nend",
}


@pytest.mark.parametrize("sections", [("body",), ("header", "body", "footer")])
@pytest.mark.parametrize("name", AS_PEOPLE_WRITE)
def test_a_file_is_read_as_training_read_it(tmp_path, name, sections):
    """By `posenc data add --folder`, or as a field of JSON lines."""
    task = Classification(data=Data("own/t", tokenizer="bytes"), sections=sections, labels=("a", "b"))
    for label in task.labels:
        (tmp_path / "texts" / label).mkdir(parents=True)
        (tmp_path / "texts" / label / name).write_bytes(AS_PEOPLE_WRITE[name])
    (_, record), _ = reading.classes(tmp_path / "texts")
    row = Fields(text="text", label="label").row(record, "")
    trained_on = task.encode(ByteTokenizer(), [row], training=False).records.inputs.tokens.tolist()
    (tmp_path / "same.json").write_text(json.dumps({"body": f" {record['text']}\n"}))
    for path in (tmp_path / "texts" / "a" / name, tmp_path / "same.json"):
        given = document_of(task, path, read_file(path))
        (read,) = document_pieces(given, "x", "refuse", task=task, tokenizer=ByteTokenizer(), limit=99, note=print)
        assert read.tokens == trained_on


def test_one_section_of_any_name_is_the_whole_text(tmp_path):
    one, two = (Classification(data=Data("imdb_reviews"), sections=names) for names in (("text",), ("text", "title")))
    for name in ("a.txt", "a.md"):
        assert document_of(one, tmp_path / name, TEXT) == {"text": TEXT}
    assert document_of(one, tmp_path / "a.md", "# Text\nsun\n# More\nice") == {"text": "sun"}
    with pytest.raises(DataError, match=r"a\.txt is one text, and this run reads the sections text, title: name them"):
        document_of(two, tmp_path / "a.txt", TEXT)


def test_blanks_around_a_sentence_are_not_read():
    options = {"tokenizer": ByteTokenizer(), "limit": 9, "note": print}
    assert text_pieces("\t sun ice\r\n", "x", "refuse", **options) == [ByteTokenizer().encode("sun ice")]


T, S, C = "translation", "summarization", "classification"


@pytest.mark.parametrize(
    ("command", "kind", "arguments", "message"),
    [
        ("translate", T, [LONG], "has 51 tokens, and this run was trained and evaluated with at most 47: shorten it"),
        ("translate", T, ["sun", " "], "posenc: text 2 (' ') is empty: give it at least one word, or leave it out\n"),
        (
            *("translate", T, [f"zebra {LONG}"]),
            "--too-long window (in pieces); 1 of 13 words occur in none of the 96 training examples that were looked "
            "through (zebra): ",
        ),
        (
            *("translate", T, [LONG, "sun", " ", "gnu"]),
            "posenc: 2 of 4 are refused: text 1 ('owl sun ice. owl sun ...') has 51 tokens, and this run was trained "
            "and evaluated with at most 47: shorten it, or choose --too-long truncate (drop its end) or --too-long "
            "window (in pieces); text 3 (' ') is empty: give it at least one word, or leave it out; 1 of 14 words "
            "occur in none of the 96 training examples that were looked through (gnu; in text 4 ('gnu')): ",
        ),
        ("translate", T, ["sun", *[LONG, " "] * 3], "; and for such reasons text 7 (' ')\n"),
        ("translate", T, ["sun\udce9"], "is no Unicode text: character 3 is the lone surrogate U+DCE9"),
        ("translate", T, ["sun", "--seed", "7"], "has no finished replica of seed 7"),
        ("translate", T, ["sun", "--beam", "0"], "Beam.size = 0 must be at least 1"),
        ("translate", T, ["sun", "--beam", "2", "--sample"], "--beam and --sample are two ways"),
        ("translate", T, ["sun", "--alpha", "1"], "--length-penalty and --alpha need --beam"),
        ("translate", T, ["sun", "--sample", "--top-p", "2"], "Sampling.top_p = 2.0 is outside (0, 1]"),
        ("translate", T, ["sun", "--too-long", "cut"], "invalid choice: 'cut'"),
        ("translate", S, ["sun"], "is a run of task 'summarization': name one of task 'translation'"),
        ("summarize", S, ["gone"], "gone cannot be read or written (No such file or directory)"),
        ("summarize", S, ["folder"], "folder cannot be read or written (Is a directory)"),
        ("summarize", S, ["empty"], "empty is empty: it has no text to read"),
        (
            "summarize",
            S,
            ["bad"],
            "bad is no UTF-8 text ('utf-8' codec can't decode byte 0xe9 in position 1: unexpected end of data): save",
        ),
        ("summarize", S, ["long.txt"], "long.txt ('owl sun ice. owl sun ...') has 51 tokens"),
        ("summarize", S, ["long.txt"], "or choose --too-long truncate (drop its end)\n"),
        ("summarize", S, ["a.txt", "--max-new-tokens", "99"], "; for longer ones train with a larger task.max_summary"),
        ("translate", T, ["sun", "--max-new-tokens", "99"], "; for longer ones train with a larger task.max_length"),
        ("summarize", S, ["a.txt", "--too-long", "window"], "invalid choice: 'window'"),
        ("summarize", C, ["a.txt"], "name one of task 'summarization'"),
        ("classify", C, ["list.json"], "list.json must hold an object of strings"),
        ("classify", C, ["title.json"], "title.json has the section 'title': the sections are header, body, footer"),
        ("classify", C, ["empty.json"], "empty.json is empty: this run reads its header, body, footer"),
        ("classify", C, ["spans.json"], "spans.json must hold an object of strings"),
        ("classify", C, ["no.json"], "no.json is no document: "),
        ("classify", C, ["long.txt"], "long.txt has 51 tokens"),
        (
            "classify",
            C,
            ["long.txt"],
            "or choose --too-long truncate (drop its end) or --too-long window (in pieces)",
        ),
        ("classify", T, ["a.txt"], "is a run of task 'translation': name one of task 'classification'"),
    ],
)
def test_refused_in_one_line(refusal, command, kind, arguments, message):
    assert message in refusal(command, *([] if kind is None else [str(trained(kind))]), *arguments)


@pytest.mark.parametrize(
    ("name", "text", "part"), [("nul.json", '{"body": "sun\\u0000"}', "body"), ("nul.txt", "sun\0", "body")]
)
def test_a_nul_is_refused_in_one_line(refusal, tmp_path, name, text, part):
    (tmp_path / name).write_text(text)
    said = f"posenc: {tmp_path / name}, {part}, has a NUL character at 3, and text has none: leave it out\n"
    assert refusal("classify", str(trained("classification")), str(tmp_path / name)) == said


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "standard input is empty"),
        (b"\n \n", "standard input is empty"),
        (
            b"\xef\xbb\xbfsun\nb\xff\n",
            "standard input is no UTF-8 text ('utf-8' codec can't decode byte 0xff in position 5",
        ),
    ],
)
def test_standard_input_refused(refusal, monkeypatch, data, message):
    given(monkeypatch, data)
    assert message in refusal("translate", "nowhere")


def test_lines_of_standard_input_are_refused_by_their_numbers(refusal, monkeypatch):
    """An empty one, which is passed over, counts."""
    given(monkeypatch, f"sun\n\n{LONG}\nice\n{LONG}\n".encode())
    said = refusal("translate", str(trained("translation")))
    assert said.startswith("posenc: 2 of 4 are refused: line 3 ('owl sun ice. owl sun ...') has 51 tokens, ")
    assert "; line 5 ('owl sun ice. owl sun ...') has 51 tokens, " in said


@pytest.mark.slow
def test_as_a_process():
    """Where the backend is set up by the command itself."""
    command = [sys.executable, "-m", "posenc_jax", "translate", str(trained("translation"))]
    environment = os.environ | compilation_cache()
    done = subprocess.run(command, input="owl sun\n", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{translate(load_run(trained('translation')), ['owl sun'])[0].text}\n"
    assert done.stderr == ""


def test_a_document_with_spans_is_given_as_it_is(printed, tmp_path, monkeypatch):
    """Though it is called *.json, as a document in sections is."""
    file = tmp_path / "spans.json"
    file.write_text(json.dumps({"text": "sun ice", "spans": [[0, 7, "section", "weather"]]}))
    asked = []
    task = Classification(structure="spans")
    monkeypatch.setattr(inference, "load_run", lambda *_, **__: Namespace(config=Namespace(task=task)))
    monkeypatch.setattr(inference, "classify", lambda loaded, documents, **_: asked.extend(documents) or [{"hot": 1.0}])
    assert printed("classify", "run", str(file)) == "hot  1.0000\n"
    assert asked == [file.read_text()]


@pytest.mark.parametrize(
    ("structure", "name", "form"),
    [
        ("html", "a.md", "markdown"),
        ("markdown", "a.HTML", "html"),
        ("markdown", "spans.json", "spans"),
        ("html", "a.txt", None),
        ("html", "a", None),
        ("html", "a.htm", None),
    ],
)
def test_a_file_of_another_structure_is_refused_by_its_name(capsys, tmp_path, monkeypatch, structure, name, form):
    file = tmp_path / name
    file.write_text(json.dumps({"text": "sun ice", "spans": []}))
    task = Classification(structure=structure)
    monkeypatch.setattr(inference, "load_run", lambda *_, **__: Namespace(config=Namespace(task=task)))
    monkeypatch.setattr(inference, "classify", lambda loaded, documents, **_: [{"hot": 1.0}])
    assert main(["classify", "run", str(file)]) == (0 if form is None else 2)
    said = f"posenc: {file} is {form} by its name, and this run reads {structure} (task.structure): give a document in"
    assert capsys.readouterr().err == ("" if form is None else f"{said} {structure}; if it is one, call it .txt\n")
