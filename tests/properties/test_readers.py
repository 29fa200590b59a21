"""Whatever is read from outside gives a value or a refusal in words, never another error: generated inputs for every
reader (many in the slow tests), and those that once did.
"""

import contextlib
import copy
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.overrides import override_run
from posenc_jax.config import Ablation, Run, from_json, to_json
from posenc_jax.data.checkpoint_tokenizers import tokenizer_from_bytes
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.tasks import Copying
from posenc_jax.data.tokenizer import ByteTokenizer, train_sentencepiece
from posenc_jax.encodings import ENCODINGS, SCALINGS, parse, spec
from posenc_jax.files.checksums import DamagedError, seal, unseal
from posenc_jax.files.shapes import loads
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import Log, read_json, sealed_line

MANY = settings(
    max_examples=1_000, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
RUN = Run(task=Copying(kind="rsc", max_length=8, num_symbols=10), posenc=parse("rope(scaling=yarn(2, 64))|alibi"))
ABLATION = Ablation(name="a", runs=(RUN,))
FOLDER = Path(tempfile.mkdtemp())
SENTENCEPIECE = train_sentencepiece(["a line of text, and another", "the quick brown fox"], 290)

# The readers: each returns nothing, and raises nothing but what it promises.


def read_encodings(text):
    with contextlib.suppress(ValueError):
        slot = parse(text)
        assert parse(spec(slot)) == slot


def read_overrides(words):
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        contextlib.suppress(UsageError, SystemExit),
    ):
        override_run(RUN, words, "train", "x.py")


def read_config(data):
    with contextlib.suppress(ValueError):
        config = from_json(loads(json.dumps(data)))
        if isinstance(config, Run | Ablation):
            assert from_json(json.loads(json.dumps(to_json(config)))) == config


def read_json_file(data):
    path = FOLDER / "result.json"
    path.write_bytes(data)
    with contextlib.suppress(RefusedError):
        assert isinstance(read_json(path), dict)


def read_row_file(data):
    path = FOLDER / "metrics.jsonl"
    path.write_bytes(data)
    with contextlib.suppress(RefusedError):
        Log(path).cut_back(75)


def read_tokenizer(data):
    with contextlib.suppress(ValueError, DataError):
        tokenizer = tokenizer_from_bytes(data)
        assert tokenizer_from_bytes(tokenizer.to_bytes()).vocab_size == tokenizer.vocab_size


# What they are given.

WORDS = (
    """nope base scaling 1 0 -1 1e999 5e5 None True 'half' lambda ** rope( randomized( max_position= 0x 1_0 nan"""
    """ ( ) | / , = - + * [ ] { } . ' " \\"""
)
words = st.sampled_from([*ENCODINGS, *SCALINGS, *WORDS.split(), " ", "\0", "\n", "é"])
encodings = st.lists(words | st.text(max_size=4), max_size=12).map("".join)

OPTIONS = """
    --posenc --training.steps --seeds --learning-rates --task.kind --task.max-length --directory --model.d-model
    --optimizer.schedule --evaluation.lengths --data.name --label --help -- - --training --execution.mode
    --execution.group-size --model.norm-type --optimizer.weight-decay
"""
options = st.sampled_from(OPTIONS.split())
VALUES = "0 1 -1 1.5 1e9 nan inf None rope rsc True é ="
values = st.sampled_from([*VALUES.split(), "", "a b"])
overrides = st.lists(options | values | encodings | st.text(max_size=6), max_size=6)


def json_values(integers):
    """Nested JSON."""
    return st.recursive(
        st.none() | st.booleans() | integers | st.floats() | st.text(max_size=8) | words,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.just("type"), inner, max_size=3)
        ),
        max_leaves=8,
    )


anything = json_values(st.integers())
of_64_bits = json_values(st.integers(-(2**63) + 1, 2**63 - 1))  # others are refused


def paths(value, path=()):
    """Of all members of nested JSON."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from paths(member, (*path, key))


def changed(whole, path, key, value):
    """A copy with the member at ``path`` replaced, or (``key`` not None) with one more field there."""
    whole = copy.deepcopy(whole)
    place = whole
    for step in path[:-1]:
        place = place[step]
    if not path:
        return value if key is None or not isinstance(whole, dict) else whole | {key: value}
    if key is not None and isinstance(place[path[-1]], dict):
        place[path[-1]][key] = value
    else:
        place[path[-1]] = value
    return whole


def damaged(config):
    """A stored config with one member changed."""
    stored = to_json(config)
    return st.builds(
        changed, st.just(stored), st.sampled_from(list(paths(stored))), st.none() | st.text(max_size=4), anything
    )


def mutated(data):
    """Bytes with some of them changed, left out or put in."""

    def change(edits):
        result = bytearray(data)
        for place, kind, byte in edits:
            at = place % (len(result) + 1)
            result[at : at + (kind != "put in")] = b"" if kind == "left out" else bytes([byte])
        return bytes(result)

    edit = st.tuples(st.integers(0, len(data)), st.sampled_from(["changed", "left out", "put in"]), st.integers(0, 255))
    return st.lists(edit, min_size=1, max_size=6).map(change) | st.integers(0, len(data)).map(lambda end: data[:end])


RESULT = sealed_line({"replicas": [{"seed": 0, "evaluation": [{"exact_match": 0.5}], "diverged_at": None}]}).encode()
ROWS = "".join(sealed_line({"step": step, "seed": 0, "loss": 0.25}) for step in (50, 75, 100)).encode()
READERS = {
    "encodings": (read_encodings, encodings),
    "overrides": (read_overrides, overrides),
    "config": (read_config, damaged(RUN) | damaged(ABLATION) | anything),
    "json": (read_json_file, mutated(RESULT) | st.binary(max_size=40)),
    "rows": (read_row_file, mutated(ROWS) | st.binary(max_size=40)),
    "tokenizer": (read_tokenizer, mutated(SENTENCEPIECE.to_bytes()) | mutated(ByteTokenizer().to_bytes())),
}


# Inputs that once ended otherwise.
FOUND = [
    ("encodings", "rope|" * 3000),
    ("encodings", "/" * 5000),
    ("encodings", "-" * 20_000),
    ("encodings", "rope(" * 500),
    ("encodings", "randomized(" + "(" * 200 + ")" * 200 + ")"),
    ("encodings", "rope(base=\0)"),
    ("overrides", ["--posenc", "rope|" * 3000]),
    ("overrides", ["--posenc", "-" * 20_000]),
    ("overrides", ["--label", "a" * 5000]),
    ("config", [[[]]]),
    ("config", {"type": "run", "task": 3}),
    ("config", {"type": "run", "seeds": {"type": "run"}}),
    ("config", {"type": ["run"]}),
    ("json", b"[" * 100_000),
    ("json", b'{"a":' * 50_000),
    ("json", b"{}\x80"),
    ("json", b"[]"),
    ("rows", b"\x80"),
    ("rows", b"[" * 100_000),
    ("rows", b"3\n"),
    ("rows", b'{"step": 1}\n[1]\n'),
    ("tokenizer", b""),
]


@pytest.mark.parametrize(("name", "value"), FOUND, ids=lambda value: f"{str(value)[:16]!r}")
def test_inputs_that_once_ended_otherwise(name, value):
    reader, _ = READERS[name]
    reader(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_whatever_is_read_gives_a_value_or_a_refusal(name):
    reader, inputs = READERS[name]
    MANY(given(inputs)(reader))()


@pytest.mark.slow
def test_every_document_comes_back_and_none_with_a_flipped_bit():
    @MANY
    @given(st.dictionaries(st.text(), of_64_bits, max_size=4), st.integers(0))
    def comes_back(document, bit):
        document = json.loads(json.dumps(document))
        text = bytearray(json.dumps(seal(document)).encode())
        if "checksum" not in document:
            assert repr(unseal(bytes(text))) == repr(document)
        bit %= 8 * len(text)
        text[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(DamagedError):
            assert repr(unseal(bytes(text))) == repr(document)

    comes_back()
