"""Every part of scripts/bench runs, in miniature; what is measured elsewhere in a process runs here in this one."""

import dataclasses
import json
import sys

import pytest
from benchmarks import commands, decoding, long, processes, sizes, study, throughput, torch_training
from torch_live import torch_python


class Here:
    """`benchmarks.processes.Process` without the process."""

    def __init__(self, name, arguments, python=sys.executable, env=None):
        self._values = processes.values(name, json.loads(json.dumps(arguments)))
        self.first = self.end()

    def begin(self):
        """Nothing to start."""

    def end(self):
        return next(self._values)

    def close(self):
        self._values.close()


@pytest.fixture
def size():
    return sizes.Size(d_model=8, num_layers=1, num_heads=2, tokens=6, batch=2, microbatches=1, steps=2)


def rows(tables):
    """The rows of some tables, by name."""
    return {name: values for table in tables for name, values in table.rows.items()}


@pytest.mark.slow
def test_throughput(size):
    found = rows(throughput.throughput(1, None, ("map",), {"tiny": size}, Here))
    assert list(found) == ["posenc_jax map", "posenc_jax devices, no microbatches"]
    assert all(ms > 0 and speed is None for ms, speed in found.values())


def test_throughput_beside_torch(size):
    def here_but_torch(name, *arguments, **options):
        return (processes.Process if name.startswith("torch") else Here)(name, *arguments, **options)

    found = rows(throughput.throughput(1, torch_python(), (), {"tiny": size}, here_but_torch))
    assert next(iter(found)) == "torch eager, all cores"
    assert all(ms > 0 < speed for ms, speed in found.values())


@pytest.mark.slow
def test_an_encoder_decoder_trains(size):
    pairs = dataclasses.replace(size, kind="encoder_decoder")
    (table,) = throughput.throughput(1, None, ("map",), {"tiny": pairs}, Here)
    assert "1 + 1 layers" in table.about
    assert table.rows["posenc_jax map"][0] > 0


@pytest.mark.slow
def test_decoding():
    def here_but_marian(name, *arguments, **options):
        return (processes.Process if "marian" in name else Here)(name, *arguments, **options)

    small = sizes.DecodingSize(d_model=8, num_layers=1, num_heads=2, vocab=11, batch=2, source=3, new_tokens=4)
    python = torch_training.python_with("torch", "transformers")
    (table,) = decoding.decoding(1, python, small, here_but_marian)
    assert list(table.rows) == ["posenc_jax", *(["transformers, Marian"] if python else []), "ratio"]
    assert all(rate > 0 for rate in table.rows["posenc_jax"])
    assert [ratio is not None for ratio in table.rows["ratio"]] == [bool(python)] * 2


@pytest.mark.slow
def test_the_study():
    small = {
        "training": {"batch_size": 4, "microbatches": 2, "validation_batches": 1},
        "model": {"num_layers": 1, "d_model": 8, "num_heads": 2, "mlp_dim": 8},
        "evaluation": {"lengths": (41, 42), "num_examples": 2},
    }
    (table,) = study.study(3, 100, Here, 2, ("reverse string",), **small)
    assert list(table.rows) == ["reverse string, sinusoidal", "reverse string, randomized"]
    for each, rest, whole, peer in table.rows.values():
        assert each > 0
        assert rest > 0
        assert whole == 100 * each + rest
        assert peer is None  # its time is that of even pairs


def test_long_rows():
    times, memory = long.long(1, None, lengths=(16,), start=Here, one_core=False)
    assert list(times.rows) == list(memory.rows) == ["forward, 16 tokens", "value and gradient, 16 tokens"]
    assert list(times.columns) == list(memory.columns) == ["dense", "blockwise"]
    assert all(number > 0 for table in (times, memory) for row in table.rows.values() for number in row)


def test_commands_beyond_their_imports():
    (table,) = commands.commands(1, chosen=("aliases sinusoidal",))
    whole, imports, rest = table.rows["aliases sinusoidal"]
    assert whole > 0 < imports
    assert rest == pytest.approx(whole - imports)


def test_a_process_answers_round_by_round():
    table = {"title": "t", "about": "", "first": "f", "columns": ["a", "b", "c"], "rows": {"row": [1, 2, 3]}}
    process, answers = processes.Process("results.numbers", {"tables": [table]}), []
    for _ in range(2):
        process.begin()
        answers.append(process.end())
    process.close()
    assert [process.first, *answers] == [["t  f", "row", column] for column in "abc"]
