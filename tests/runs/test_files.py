"""Rows on disk: each step once, torn lines repaired, numbers that come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest

from posenc_jax.runs.files import append_rows, cut_back, dumps, read_rows, write_atomically


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


def test_each_step_stands_once_and_in_order(tmp_path):
    path = tmp_path / "metrics.jsonl"
    append_rows(path, rows(10, 20, 30))
    whole = path.read_bytes()
    cut_back(path, 20)
    assert [row["step"] for row in read_rows(path)] == [10, 10, 20, 20]
    append_rows(path, rows(30))
    assert path.read_bytes() == whole


@pytest.mark.parametrize("cut", [1, 2, 10, 40])
def test_a_torn_last_line_is_repaired(tmp_path, cut):
    path = tmp_path / "metrics.jsonl"
    append_rows(path, rows(10, 20))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    cut_back(path, 10)
    append_rows(path, rows(20))
    assert path.read_bytes() == whole


def test_a_line_torn_just_before_its_end_is_kept_and_closed(tmp_path):
    path = tmp_path / "metrics.jsonl"
    append_rows(path, rows(10))
    path.write_bytes(path.read_bytes()[:-1])
    cut_back(path, 10)
    append_rows(path, rows(20))
    assert [row["step"] for row in read_rows(path)] == [10, 10, 20, 20]


def test_without_a_file_there_are_no_rows_and_none_is_made(tmp_path):
    cut_back(tmp_path / "metrics.jsonl", 0)
    assert read_rows(tmp_path / "metrics.jsonl") == []
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "result.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
