"""Every part of scripts/bench runs, in miniature; what is measured elsewhere in a process runs here in this one."""

import importlib.util
import json
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from posenc_jax import parse

SCRIPTS = Path(__file__).parent.parent / "scripts"


class Here:
    """`benchmarks.processes.Process` without the process."""

    def __init__(self, name, arguments, python=sys.executable, env=None):
        from benchmarks.processes import values

        self._values = values(name, json.loads(json.dumps(arguments)))
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


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))


@pytest.fixture
def size():
    from benchmarks.sizes import Size

    return Size(d_model=8, num_layers=1, num_heads=2, tokens=6, batch=2, microbatches=1, steps=2)


@pytest.fixture
def script():
    loader = SourceFileLoader("bench", str(SCRIPTS / "bench"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
    loader.exec_module(module)
    return module


def rows(lines):
    """The cells of the table among the lines, without its head."""
    table = [line for line in "\n".join(lines).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1:]]


@pytest.mark.slow
def test_throughput(size):
    from benchmarks.throughput import throughput

    found = rows(throughput(1, None, ("map",), {"tiny": size}, Here))
    assert [name for name, _, _ in found] == ["posenc_jax map", "posenc_jax devices, no microbatches"]
    assert all(float(ms) > 0 and speed == "torch is not there" for _, ms, speed in found)


def test_throughput_beside_torch(size):
    from benchmarks.processes import Process
    from benchmarks.throughput import throughput
    from benchmarks.torch_training import python_with_torch

    def here_but_torch(name, *arguments, **options):
        return (Process if name.startswith("torch") else Here)(name, *arguments, **options)

    python = python_with_torch()
    if python is None:
        pytest.skip("torch is not importable, and TORCH_PYTHON names no Python that has it")
    found = rows(throughput(1, python, (), {"tiny": size}, here_but_torch))
    assert found[0][0] == "torch eager, all cores"
    assert all(float(ms) > 0 < float(speed) for _, ms, speed in found)


def test_encodings_beside_none(size, slower):
    from benchmarks.throughput import ENCODINGS, encodings

    assert all(parse(name) is not None for name in ENCODINGS)
    found = rows(encodings(1, ("nope", "rope", "randomized|rope"), {"tiny": size}, slower))
    assert found[:2] == [["nope", "1.00"], ["rope", "2.00"]]
    assert found[2] == ["randomized\\", "rope", "3.00"]  # a bar of the spec ends a cell
    assert [posenc for _, posenc, _ in slower.started] == ["nope", "rope", "randomized|rope"]


def test_the_second_first_step_has_the_cache_of_the_first(size, slower):
    from benchmarks.compilation import compilation

    assert rows(compilation({"tiny": size}, slower)) == [["tiny", "1.0 s", "2.0 s"]]
    cold, warm = slower.started
    assert cold == warm
    assert Path(cold[-1]).is_absolute()


@pytest.mark.slow
def test_a_step_with_an_encoding(size):
    from benchmarks.compilation import compilation
    from benchmarks.throughput import encodings

    found = rows(encodings(1, ("nope", "randomized|rope"), {"tiny": size}, Here))
    assert float(found[1][-1]) > 0
    ((_, cold, warm),) = rows(compilation({"tiny": size}, Here))
    assert float(cold.removesuffix(" s")) > 0 < float(warm.removesuffix(" s"))


@pytest.mark.slow
def test_the_programs_of_an_ablation():
    from benchmarks.compilation import programs

    (line,) = programs(("rope",), seeds=1, lengths=(3,), start=Here)
    assert "with 1 encodings, 1 seeds in 1 groups each, and 1 lengths: 3 = 1 encodings x 3 programs" in line


def test_tables():
    from benchmarks.tables import tables

    found = rows(tables(1, lengths=(8,), limits=(2,), batch=2, width=4))
    assert [row[0] for row in found] == ["L = 8", "products [8, 4, 4, 2k+1] by distance", "k = 2"]
    assert all(float(ms) > 0 for row in (found[0], found[2]) for ms in row[1:])


def test_the_script_prints_its_parts(script, capsys):
    script.main(["precision"])
    found = rows(capsys.readouterr().out.splitlines())
    assert [int(row[0]) for row in found] == [10**3, 10**6, 2**31 - 1]
    for _, constant, traced, plain in found:
        assert max(float(constant), float(traced)) < 5e-7 < float(plain)
    with pytest.raises(SystemExit):
        script.main(["throughputs"])


def test_a_process_answers_round_by_round():
    from benchmarks.precision import precision
    from benchmarks.processes import Process

    process, answers = Process("precision.precision", {"d_model": 8, "positions": [1000]}), []
    for _ in range(2):
        process.begin()
        answers.append(process.end())
    process.close()
    assert [process.first, *answers] == list(precision(8, (1000,)))


@pytest.mark.slow
def test_training_in_a_process_of_its_own(size):
    from benchmarks.processes import Process
    from benchmarks.throughput import ours

    process = ours(Process, size, mode="map")
    assert process.first > 0
    process.begin()
    assert process.end() > 0
    process.close()


def test_a_process_that_fails_is_named():
    from benchmarks.processes import Process

    with pytest.raises(SystemExit, match=r"a benchmark process ended: .*nowhere\.milliseconds"):
        Process("nowhere.milliseconds", {"size": 3})


def test_every_part_is_known_to_the_script(script, monkeypatch):
    """All parts stand behind a name, with their full sizes and one process each for what is measured in turns."""
    reached = []
    for module, name in (
        ("throughput", "throughput"),
        ("throughput", "encodings"),
        ("compilation", "compilation"),
        ("compilation", "programs"),
        ("tables", "tables"),
        ("precision", "precision"),
    ):
        module = importlib.import_module(f"benchmarks.{module}")
        monkeypatch.setattr(module, name, lambda *arguments, name=name: reached.append(name) or iter([name]))
    script.main([])
    assert sorted(reached) == sorted(["throughput", "encodings", "compilation", "programs", "tables", "precision"])
