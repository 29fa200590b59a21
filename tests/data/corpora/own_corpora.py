"""Texts and files for tests of own corpora."""

from __future__ import annotations

import hashlib
import json
import random

from posenc_jax.data.corpora.fields import Fields
from posenc_jax.data.corpora.reading import Malformed

WORDS = tuple("abcdefghijklmnop")
PAIR = Fields(source="q", target="a")


def sentence(number, words=6):
    draw = random.Random(number)
    return " ".join([*(draw.choice(WORDS) for _ in range(words)), str(number)])


def pairs(count, start=0):
    return [{"q": sentence(i), "a": sentence(i).upper(), "page": f"p{i // 4}"} for i in range(start, start + count)]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def hashes(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "data" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read(reader):
    return [(place.rpartition("/")[2], record) for place, record in reader]


def why(reader):
    return [(place, record.why) for place, record in read(reader) if isinstance(record, Malformed)]


def said(capsys):
    return capsys.readouterr().err


def records(rows):
    return [(f"f:{i}", row) for i, row in enumerate(rows, 1)]
