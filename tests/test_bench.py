"""Every part of scripts/bench runs, in miniature; what is measured elsewhere in a process runs here in this one."""

import dataclasses
import json
import runpy
import sys
import types
from pathlib import Path

import pytest
from benchmarks import (
    commands,
    compilation,
    decoding,
    importing,
    long,
    loop,
    padding,
    processes,
    profiling,
    sizes,
    study,
    tables,
    throughput,
)
from torch_live import torch_python

from posenc_jax import Training, parse

SCRIPTS = Path(__file__).parent.parent / "scripts"


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


class Slower:
    """`Here` with times of its own: the first one started takes a millisecond, each next one a millisecond more."""

    started = ()

    def __init__(self, name, arguments, env=None):
        Slower.started += ((name, arguments["posenc"], env.get("JAX_COMPILATION_CACHE_DIR")),)
        self.first = len(Slower.started)

    def begin(self):
        """Nothing to start."""

    def end(self):
        return self.first

    close = begin


@pytest.fixture
def slower(monkeypatch):
    monkeypatch.setattr(Slower, "started", ())
    return Slower


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


def test_encodings_beside_none(size, slower):
    assert all(parse(name) is not None for name in throughput.ENCODINGS)
    (table,) = throughput.encodings(1, ("nope", "rope", "randomized|rope"), {"tiny": size}, slower)
    assert table.rows == {"nope": (1.0,), "rope": (2.0,), "randomized|rope": (3.0,)}
    assert list(table.lines())[-1] == r"| randomized\|rope | 3.00 |"  # a bar of the spec would end a cell
    assert [posenc for _, posenc, _ in slower.started] == ["nope", "rope", "randomized|rope"]


def test_gradients_of_linear_layers(size):
    from posenc_jax.models import product

    used, seen = product.backend, []

    def here(name, *arguments, **options):
        seen.append(name)
        return Here(name, *arguments, **options)

    (table,) = throughput.gradients(1, {"tiny": size}, here)
    assert seen == ["jax_training.with_plain_gradients", "jax_training.milliseconds"]
    ((plain,), (copied,), (ratio,)) = table.rows.values()
    assert ratio == copied / plain > 0
    assert product.backend is used


def test_the_second_first_step_has_the_cache_of_the_first(size, slower):
    (table,) = compilation.compilation({"tiny": size}, slower)
    assert "\n".join(table.lines()).endswith("| tiny | 1.0 s | 2.0 s |")
    cold, warm = slower.started
    assert cold == warm
    assert Path(cold[-1]).is_absolute()


@pytest.mark.slow
def test_a_step_with_an_encoding(size):
    found = rows(throughput.encodings(1, ("nope", "randomized|rope"), {"tiny": size}, Here))
    assert found["randomized|rope"][-1] > 0
    ((cold, warm),) = rows(compilation.compilation({"tiny": size}, Here)).values()
    assert cold > 0 < warm


@pytest.mark.slow
def test_the_programs_of_an_ablation():
    (table,) = compilation.programs(("rope",), seeds=1, lengths=(3,), start=Here)
    assert table.rows == {"all cells": (3, 1, 3)}
    assert table.about.startswith("With 1 encodings, 1 seeds in 1 groups each, and 1 lengths: ")


def test_kinds_of_work_of_a_program():
    import jax
    import jax.numpy as jnp

    def loss(w, x):
        scores = jnp.einsum("bqd,bkd->bqk", x @ w, x)
        return jnp.sum(jax.nn.softmax(scores) ** 2)

    args = jnp.ones((4, 4)), jnp.ones((2, 3, 4))
    found = profiling.kinds(jax.jit(jax.grad(loss)).lower(*args).compile().as_text())
    assert (
        {profiling.KINDS[0], profiling.KINDS[2], profiling.KINDS[3], profiling.KINDS[5]}
        <= set(found.values())
        <= set(profiling.KINDS)
    )


@pytest.mark.slow
def test_profile(size):
    shares, step = profiling.profile({"tiny": size}, "rope", Here)
    assert list(shares.rows) == list(profiling.KINDS)
    assert sum(share for (share,) in shares.rows.values()) == pytest.approx(1)
    assert shares.rows["matmul, forward"] > (0,)
    assert min(value for (value,) in step.rows.values()) >= 0
    assert step.rows["ms"] > (0,) < step.rows["ms of processor"]


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
    python = decoding.python_with_marian()
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


def test_the_share_of_the_host_in_a_loop(size):
    class Quick(Here):
        def __init__(self, name, arguments, **rest):
            assert name == "loop.shares"
            plain = not arguments["cadences"]
            self._values = loop.shares(**arguments) if plain else iter([(1.0, 2.0)])
            self.first = self.end()

        def close(self):
            """Nothing to end."""

    (table,) = loop.loop(2, 2, {"tiny": size}, Quick)
    assert list(table.rows) == [f"tiny, {words}" for words in loop.CADENCES]
    ms, share = table.rows["tiny, rows only"]
    assert ms > 0 < share < 100


def test_the_study_is_the_sum_of_its_parts():
    """Of cells that take 7 s besides 2 s a step, or 4 s a step without strata."""

    class Known(Here):
        def __init__(self, name, arguments, env):
            assert name == "study.seconds"
            assert arguments["then"] == (arguments["strata"] == 1)
            self.first = (4 if arguments["then"] else 2), 7

        def close(self):
            """Nothing to end."""

    (table,) = study.study(30, 1000, Known)
    slower = 4 / study.OURS_THERE
    theirs = slower * (1000 * study.PEER["step"] + study.PEER["compile"])
    assert {row for name, row in table.rows.items() if "even" in name} == {(2, 7, 2007, theirs / 2007)}
    assert {row for name, row in table.rows.items() if "even" not in name} == {(2, 7, 2007, None)}


def test_padding(tmp_path, monkeypatch):
    import text_runs

    config = text_runs.CONFIGS["classification"]
    with text_runs.small_corpus(config.task.data.name, text_runs.ROWS["classification"], tmp_path):
        (table,) = padding.padding({"pages": (config.task, Training(batch_size=2))}, (1,))
    ((plain, buckets, fitted, packed),) = table.rows.values()
    assert 0 <= fitted <= buckets <= plain < 1
    assert packed is None
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "nothing"))
    with pytest.raises(SystemExit, match="posenc data add"):
        list(padding.padding({"pages": (config.task, Training(batch_size=2))}))


def test_padding_is_that_of_the_plan_of_a_run():
    """For each way of batching; 6 rows of 32 places in 3 parts hold other widths than in one."""
    import numpy as np
    import text_runs

    from posenc_jax.runs.supply import Supply
    from posenc_jax.training.replicas import make_mesh

    config = text_runs.CONFIGS["classification"]
    sizes = np.random.default_rng(0).integers(1, 30, 500)
    task = dataclasses.replace(config.task, max_length=32, row=32)
    found = {}
    for way in ("buckets", "fitted"):
        for parts in (1, 3):
            training = dataclasses.replace(config.training, batch_size=6, microbatches=parts)
            run = dataclasses.replace(config, task=dataclasses.replace(task, batching=way), training=training)
            supply = Supply(run, types.SimpleNamespace(sizes=sizes, on_demand=None))
            supply.feed((0,), 0, make_mesh(run.execution, 1))
            found[way, parts] = supply._plans[0].padding_fraction(1)
            assert padding.empty(task, way, training, 1, sizes) == found[way, parts]
    assert found["fitted", 1] != found["fitted", 3]


def test_padding_is_measured_with_the_settings_of_the_experiments():
    for (task, training), name in zip(
        padding.TASKS.values(), ("translation", "summarization", "classification"), strict=True
    ):
        of_file = runpy.run_path(str(SCRIPTS.parent / "experiments" / name / "small.py"))
        run = of_file["config"].runs[0]
        assert task == dataclasses.replace(run.task, batching=task.batching)
        assert (training.batch_size, training.microbatches) == (run.training.batch_size, run.training.microbatches)


def test_tables():
    found = rows(tables.tables(1, lengths=(8,), limits=(2,), batch=2, width=4))
    assert [len(times) for times in found.values()] == [3, 2]
    assert list(found) == ["L = 8", "k = 2"]
    assert all(ms > 0 for times in found.values() for ms in times)


def test_long_rows():
    times, memory = long.long(1, None, lengths=(16,), start=Here, one_core=False)
    assert list(times.rows) == list(memory.rows) == ["forward, 16 tokens", "value and gradient, 16 tokens"]
    assert list(times.columns) == list(memory.columns) == ["dense", "blockwise"]
    assert all(number > 0 for table in (times, memory) for row in table.rows.values() for number in row)


def test_commands_beyond_their_imports():
    (table,) = commands.commands(1, chosen=("vectors sinusoidal",))
    whole, imports, rest = table.rows["vectors sinusoidal"]
    assert whole > 0 < imports
    assert rest == pytest.approx(whole - imports)


def test_the_memory_of_an_import():
    (table,) = importing.importing(width=32, layers=2, vocab_size=64)
    weights, peak, over, seconds = table.rows["posenc import"]
    assert weights == pytest.approx(4 * (64 * 32 + 2 * (4 * 32 * 32 + 3 * 32 * 96 + 2 * 32) + 32) / 1e6)
    assert over == pytest.approx(peak / weights)
    assert seconds > 0


def test_a_process_answers_round_by_round():
    table = {"title": "t", "about": "", "first": "f", "columns": ["a", "b", "c"], "rows": {"row": [1, 2, 3]}}
    process, answers = processes.Process("results.numbers", {"tables": [table]}), []
    for _ in range(2):
        process.begin()
        answers.append(process.end())
    process.close()
    assert [process.first, *answers] == [["t  f", "row", column] for column in "abc"]


@pytest.mark.slow
def test_training_in_a_process_of_its_own(size):
    process = throughput.ours(processes.Process, size, mode="map")
    assert process.first > 0
    process.begin()
    assert process.end() > 0
    process.close()
