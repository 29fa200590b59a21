"""Strictness for all tests: arrays of different ranks never mix unnoticed. And their memory, kept within bounds."""

import gc
import os
import threading
from pathlib import Path

import jax
import pytest
import session
from browser import Browser
from jax._src.interpreters import mlir
from synthetic_ablation import write_ablation

import posenc_jax.cli.session
from posenc_jax.data.tasks import floors
from posenc_jax.runs.environment import threads

# A command sets up JAX for a process of its own. This one is set up already, perhaps with other devices: commands
# (they import this later) get one that only refuses what it would refuse.
posenc_jax.cli.session.prepare_jax = lambda **options: threads()

# The floors of most tests' tasks are not looked at.
counted, floors.COUNTED = floors.COUNTED, 256

jax.config.update("jax_numpy_rank_promotion", "raise")

# JAX makes an MLIR context, with all its dialects, for every program that it lowers: of the small programs of tests a
# fifth of the time. Here the programs of a file share one in each thread. What is lowered is the same. (The function is
# private to JAX; where a version has none of the name, nothing is shared.)
_make_context = getattr(mlir, "make_ir_context", None)
_contexts = threading.local()


def _shared_context():
    if not hasattr(_contexts, "own"):
        _contexts.own = _make_context()
    return _contexts.own


if _make_context is not None:
    mlir.make_ir_context = _shared_context

# The files that take longest, in this order: begun last, one would keep a single process busy at the end.
LONGEST = (
    "training/test_memory.py",
    "test_compiling.py",
    "training/test_costs.py",
    "runs/test_local.py",
    "test_pages.py",
    "training/test_precision.py",
    "report/test_report_files.py",
    "runs/test_own_code.py",
    "verdict/test_fields.py",
)
_PLACES = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}


# Cases that are slow without a mark of their own.
SLOW = {
    line
    for line in (Path(__file__).parent / "slow_tests.txt").read_text().splitlines()
    if line and not line.startswith("#")
}


@pytest.hookimpl(tryfirst=True)  # before marks select
def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: _PLACES.get(item.path, len(_PLACES)))
    found = {name for item in items for name in (item.nodeid, item.nodeid.partition("[")[0])}
    for item in items:
        if not SLOW.isdisjoint((item.nodeid, item.nodeid.partition("[")[0])):
            item.add_marker(pytest.mark.slow)
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1200))
    if not any("::" in argument for argument in config.args):  # whole files
        files = {item.nodeid.partition("::")[0] for item in items}
        gone = [name for name in sorted(SLOW) if name.partition("::")[0] in files and name not in found]
        if gone:
            raise pytest.UsageError(f"tests/slow_tests.txt names tests that are not there: {', '.join(gone)}")


def pytest_collectstart():
    """Hundreds of modules are imported, of which nothing is garbage."""
    gc.disable()


def pytest_collection_finish():
    """Tracing makes objects by the million: with fewer collections tests take a tenth less."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _shared_by_all_processes(tmp_path_factory):
    own = tmp_path_factory.getbasetemp()
    session.share(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_end_with_their_file():
    """A worker would hold those of all its files, gigabytes in the end."""
    yield
    jax.clear_caches()
    vars(_contexts).clear()


@pytest.fixture
def measured_floors(monkeypatch):
    """Floors are measured with as many examples as elsewhere."""
    monkeypatch.setattr(floors, "COUNTED", counted)


@pytest.fixture
def with_cudnn(monkeypatch):
    """JAX asks for cuDNN's version before it traces a call of it, and says nothing else of it until it is compiled."""
    monkeypatch.setattr("jax._src.cudnn.fused_attention_stablehlo.check_cudnn_version", lambda: 91000)


@pytest.fixture
def refusal(capsys):
    """A function that runs a command line, which is refused, and gives the one line that is said."""
    from posenc_jax.cli import main

    def said(*arguments: str, code: int = 2) -> str:
        assert main(list(arguments)) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("posenc: ")
        assert err.count("\n") == 1
        return err

    return said


@pytest.fixture
def printed(capsys):
    """A function that runs a command line, which succeeds, and gives what it prints."""
    from posenc_jax.cli import main

    def said(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    return said


@pytest.fixture
def ablation(tmp_path):
    """The directory of a small ablation, see `synthetic_ablation.write_ablation`."""
    return write_ablation(tmp_path / "ablation")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()
