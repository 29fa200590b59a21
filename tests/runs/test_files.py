"""Rows on disk: each step once, torn lines repaired, numbers that come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sealed_files

from posenc_jax.runs.errors import DamagedFileError
from posenc_jax.runs.files import Log, dumps


def rows(*steps):
    return [{"step": step, "seed": seed, "loss": np.float32(0.1) * step} for step in steps for seed in (0, 1)]


def test_float32_is_written_as_its_shortest_decimal():
    assert dumps(np.float32(0.1)) == "0.1"
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * np.float32(10) ** np.arange(
        -25, 25
    ).repeat(20)
    for value in values.astype(np.float32):
        assert np.float32(json.loads(dumps({"x": value}))["x"]) == value


def test_what_is_not_finite_is_null():
    assert dumps({"a": float("nan"), "b": [np.float32("inf")], "c": np.int32(3)}) == '{"a": null, "b": [null], "c": 3}'


def read(path):
    return sealed_files.read_rows(path)


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "metrics.jsonl")


def test_each_step_stands_once_and_in_order(log):
    log.append(rows(10, 20, 30))
    whole, digest = log.path.read_bytes(), log.digest
    log.cut_back(20)
    assert [row["step"] for row in read(log.path)] == [10, 10, 20, 20]
    log.append(rows(30))
    assert log.path.read_bytes() == whole
    assert log.digest == digest == log.digest_up_to(30)


@pytest.mark.parametrize("cut", [2, 40])
def test_a_torn_last_line_is_repaired(log, cut):
    log.append(rows(10, 20))
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-cut])
    log.cut_back(10)
    log.append(rows(20))
    assert log.path.read_bytes() == whole


def test_a_line_torn_just_before_its_end_is_kept_and_closed(log):
    log.append(rows(10))
    log.path.write_bytes(log.path.read_bytes()[:-1])
    log.cut_back(10)
    log.append(rows(20))
    assert [row["step"] for row in read(log.path)] == [10, 10, 20, 20]


def test_a_log_knows_what_it_was_at_a_step(log):
    """Going on from any step the digest is what it was then; rows that were lost, changed or added since change it."""
    known = {}
    for step in (10, 20, 30):
        log.append(rows(step))
        known[step] = log.digest
    whole = log.path.read_bytes()
    with log.path.open("a") as file:
        file.write('{"step": 40, "se')
    assert {step: log.digest_up_to(step) for step in known} == known
    lines = whole.splitlines(keepends=True)
    for other in (lines[1:], lines[:1] + lines, lines[1::-1] + lines[2:]):
        log.path.write_bytes(b"".join(other))
        assert not set(known.values()) & {log.digest_up_to(step) for step in known}
    log.path.write_bytes(b"".join(lines[:-1]))
    assert [step for step in known if log.digest_up_to(step) == known[step]] == [10, 20]


@pytest.mark.parametrize(
    ("old", "new"), [(b'"loss": 1', b'"loss": 3'), (b'"step"', b'"steq"'), (b'"checksum"', b'"chEcksum"'), (b"{", b"[")]
)
def test_a_damaged_row_is_refused_by_its_line(log, old, new):
    log.append(rows(10, 20))
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([lines[0], lines[1].replace(old, new), *lines[2:]]))
    with pytest.raises(DamagedFileError, match=r"metrics\.jsonl is damaged \(line 2: .*: restore it, or move .* away"):
        log.cut_back(20)
    log.cut_back(0)
