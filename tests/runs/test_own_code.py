"""What a result stands on: the code that the user brought. Changed code is never taken for finished work."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import json
import os
import sys
import types
from pathlib import Path

import pytest
from trained_runs import CONFIG, Notes

from posenc_jax import Ablation
from posenc_jax.config import Evaluation
from posenc_jax.runs import own_code
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import load_config, read_stored
from posenc_jax.runs.errors import FailedCellsError, RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.identity import claim

SOURCE = '''"""An encoding of the user's own."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings import PositionalEncoding
from {package}.shapes import window

SIGN = -1.0
UNUSED = 3


@dataclasses.dataclass(frozen=True)
class Window(PositionalEncoding):
    """Nearer is larger."""

    width: float = 2.0
    name = "window"
    paper = ""
    citation = ""
    shift_invariant = True

    def bias(self, params, geometry):
        return SIGN * window(jnp.asarray(geometry.relative, jnp.float32), self.width)[:, None]
'''
HELPER = """def window(relative, width):
    return relative**2 / (2 * width**2)


def unused(x):
    return x
"""

# A few small programs, for every change of the code has its own.
MODEL = dataclasses.replace(CONFIG.model, dropout=0.0)
EVALUATION = Evaluation(lengths=(2,), num_examples=8)


class Brought:
    """A folder of the user's, on the path, with an encoding in two files."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.package = folder, f"own_{folder.name.replace('-', '_')}"
        (folder / self.package).mkdir()
        self.encoding, self.helper = (folder / self.package / name for name in ("window.py", "shapes.py"))
        self.encoding.write_text(SOURCE.format(package=self.package))
        self.helper.write_text(HELPER)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.chdir(folder)

    def config(self, **changes):
        """The tiny run with the encoding as the files have it now."""
        self.forget()
        importlib.invalidate_caches()
        cls = importlib.import_module(f"{self.package}.window").Window
        cell = dataclasses.replace(
            CONFIG, posenc=(cls(),), model=MODEL, evaluation=EVALUATION, seeds=(0,), label="own", table="copies"
        )
        return dataclasses.replace(cell, **changes)

    def forget(self):
        for name in [name for name in sys.modules if name.partition(".")[0] == self.package]:
            del sys.modules[name]
        sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(self.folder / "run" / "code"))]
        importlib.invalidate_caches()

    def reach(self, *lines, scale="SCALE"):
        """The encoding gets its scale from ``scale_of.py``, by these lines at its top."""
        (self.folder / self.package / "scale_of.py").write_text("SCALE = -0.5\n")
        top = "\n".join(lines).format(package=self.package)
        self.change(self.encoding, "SIGN = -1.0", f"{top}\nSIGN = -1.0")
        self.change(self.encoding, "return SIGN", f"return {scale} * SIGN")

    def change(self, path, old, new):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        os.utime(path, (1, path.stat().st_mtime_ns % 1000))  # never taken from a cache of bytecode


@pytest.fixture
def brought(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = Brought(tmp_path, monkeypatch)
    yield found
    found.forget()


def test_a_flipped_sign_is_never_finished_work(brought):
    config, directory = Ablation("a", (brought.config(),)), brought.folder / "runs"
    ablate(config, directory)
    record = json.loads((directory / "ablation.json").read_text())["cells"][0]
    assert record["changed_code"] is False
    assert [sorted(part["own"]) for part in record["code"]] == [["window.py:Window"]]
    brought.change(brought.encoding, "SIGN = -1.0", "SIGN = 1.0")
    changed = Ablation("a", (brought.config(),))
    reporter = Notes()
    with pytest.raises(RefusedError) as error:
        ablate(changed, directory, reporter=reporter)
    assert "window.py:Window has changed: its source was" in str(error.value)
    assert "accept the change (accept_changed_code)" in str(error.value)
    assert not any("complete" in note for note in reporter.notes)
    (cell,) = directory.glob("copies-*")
    with pytest.raises(RefusedError, match=r"window\.py:Window has changed"):
        run(changed.runs[0], cell)
    with pytest.raises(RefusedError, match=r"needs window\.py:Window, which it brought along"):
        evaluate(cell)

    more = Ablation("a", (dataclasses.replace(changed.runs[0], seeds=(0, 1)),))
    ablate(more, directory, accept_changed_code=True, reporter=reporter)
    record = json.loads((directory / "ablation.json").read_text())["cells"][0]
    assert record["changed_code"] is True
    assert [part["seeds"] for part in record["code"]] == [[0], [1]]
    assert len({part["own"]["window.py:Window"] for part in record["code"]}) == 2
    rows = [json.loads(line) for line in (directory / "results.jsonl").read_text().splitlines()]
    assert {row["seed"]: row["bit_exact"] for row in rows} == {0: True, 1: False}
    assert any("began elsewhere" in note and "window.py:Window has changed" in note for note in reporter.notes)
    assert list(json.loads(evaluate(cell)[0].read_text())["changed_code"]) == ["window.py:Window"]
    with pytest.raises(RefusedError, match=r"window\.py:Window has changed"):  # accepted once is not for ever
        ablate(more, directory)


def test_the_run_keeps_its_code_and_is_measured_with_it(brought):
    directory = brought.folder / "run"
    run(brought.config(), directory)
    rows = evaluate(directory)[1]
    copies = {str(path.relative_to(directory / "code")).partition("/")[2] for path in directory.rglob("code/**/*.py")}
    assert copies == {f"{brought.package}/window.py", f"{brought.package}/shapes.py"}
    brought.forget()
    brought.encoding.unlink()
    brought.helper.unlink()
    (copy,) = directory.rglob("window.py")
    with pytest.raises(RefusedError) as error:
        evaluate(directory)
    assert f"{directory} needs window.py:Window, which it brought along, and no file of a run is run" in str(
        error.value
    )
    assert f"{copy} (sha256 {hashlib.sha256(copy.read_bytes()).hexdigest()[:16]})" in str(error.value)
    assert f"say --trust {directory}" in str(error.value)
    before = sorted(path for path in directory.rglob("*"))
    notes = Notes()
    own_code.trust(directory, read_stored(directory).code, note=notes.note)
    assert f"running what {directory} brought along" in notes.notes[0]
    assert f"{copy} (sha256 " in notes.notes[0]
    assert sorted(path for path in directory.rglob("*")) == before, "no bytecode is left there"
    assert evaluate(directory)[1] == rows
    copy.write_text(copy.read_text().replace("SIGN = -1.0", "raise SystemExit('it ran')\nSIGN = -1.0\nSIGN *= -1"))
    brought.forget()
    with pytest.raises(RefusedError, match="is not the code that the run was made with"):
        own_code.trust(directory, read_stored(directory).code)
    copy.unlink()
    copy.symlink_to(brought.folder / "elsewhere.py")
    with pytest.raises(RefusedError, match=r"window\.py is a link or no file"):
        own_code.trust(directory, read_stored(directory).code)


def test_what_is_trusted_is_the_source_in_the_copy_and_nothing_beside_it(brought):
    """Bytecode that pretends to be of it and modules called like installed ones are refused."""
    directory = brought.folder / "run"
    claim(directory, brought.config())
    brought.forget()
    (copy,) = directory.rglob("window.py")
    harm = f"open({str(brought.folder / 'ran')!r}, 'w')\n"
    cache = Path(importlib.util.cache_from_source(str(copy)))
    cache.parent.mkdir()
    stat = copy.stat()
    code = importlib._bootstrap_external._code_to_timestamp_pyc(compile(harm, "x", "exec"), stat.st_mtime, stat.st_size)
    cache.write_bytes(code)
    brought.change(brought.helper, "def window", f"{harm}def window")
    planted = [copy.parent.parent / "optax.py", copy.parent.parent / "jax" / "planted.py"]
    for path in planted:
        path.parent.mkdir(exist_ok=True)
        path.write_text(harm)
    for path in sorted([cache, *planted]):
        with pytest.raises(RefusedError, match=f"{path.name} is no file that the run brought, and could be imported"):
            own_code.trust(directory, read_stored(directory).code)
        path.unlink()
    own_code.trust(directory, read_stored(directory).code)
    assert load_config(directory).posenc[0].width == 2.0
    assert not (brought.folder / "ran").exists()


def test_a_module_of_the_same_name_that_is_in_use_is_not_replaced(brought):
    directory = brought.folder / "run"
    config = brought.config()
    claim(directory, config)
    wanted = read_stored(directory).code
    module = sys.modules[type(config.posenc[0]).__module__]
    own_code.trust(directory, wanted)  # the same source: what is there stays
    assert sys.modules[module.__name__] is module
    assert load_config(directory) == config
    brought.change(brought.helper, "2 * width**2", "4 * width**2")
    shapes = sys.modules[f"{brought.package}.shapes"]
    notes = Notes()
    with pytest.raises(RefusedError) as error:
        own_code.trust(directory, wanted, note=notes.note)
    assert f"this process has another module {shapes.__name__}, from {brought.helper}, than {directory}" in str(
        error.value
    )
    assert "work with that run in a process of its own, or rename the other file" in str(error.value)
    assert sys.modules[shapes.__name__] is shapes
    assert notes.notes == []


def test_code_that_was_mended_before_it_computed_anything_runs(brought):
    """The first try died in the user's own code, beside a cell that was computed."""
    directory, sizes = brought.folder / "runs", dict(table="copies", seeds=(0,), model=MODEL, evaluation=EVALUATION)
    brought.change(brought.encoding, "SIGN * window", "SIGN * wndow")
    broken = Ablation("a", (dataclasses.replace(CONFIG, label="other", **sizes), brought.config()))
    with pytest.raises(FailedCellsError, match="name 'wndow' is not defined"):
        ablate(broken, directory)
    brought.change(brought.encoding, "SIGN * wndow", "SIGN * window")
    mended = Ablation("a", (broken.runs[0], brought.config()))
    ablate(mended, directory)
    record = json.loads((directory / "ablation.json").read_text())["cells"][1]
    assert (record["changed_code"], record["bit_exact"], len(record["code"])) == (False, True, 1)
    brought.change(brought.encoding, "SIGN = -1.0", "SIGN = 1.0")
    with pytest.raises(RefusedError, match=r"window\.py:Window has changed"):
        ablate(Ablation("a", (broken.runs[0], brought.config())), directory)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("encoding", '"""An encoding of the user\'s own."""', "# a comment"),
        ("helper", "return x", "return 2 * x"),
        ("between", "", "SCALE = 2.0"),
    ],
)
def test_a_digest_is_of_whole_files(brought, file, old, new):
    """That of the class and all that it imports, whatever of them it uses; and of no other."""
    brought.between = brought.folder / brought.package / "between.py"
    brought.between.write_text("")
    before = own_code.digests(brought.config())
    brought.change(getattr(brought, file), old, new)
    now = own_code.digests(brought.config())
    assert list(before) == ["window.py:Window"]
    assert (before == now) == (file == "between")


REACHED = {
    "star": (["from {package}.scale_of import *"], "SCALE"),
    "try": (["try:", "    from {package}.scale_of import SCALE", "except ImportError:", "    SCALE = 1.0"], "SCALE"),
    "relative": (["try:", "    from .scale_of import SCALE as S", "except ImportError:", "    S = 1.0"], "S"),
    "function": (["def scale():", "    import {package}.scale_of as other", "    return other.SCALE"], "scale()"),
    "for effect": (["import {package}.scale_of"], "1"),
    "nested twice": (["from {package}.between import *"], "SCALE"),
}


@pytest.mark.parametrize("form", REACHED)
def test_every_import_counts(brought, form):
    """A file that an encoding takes a number from by any import is in its digest and in the run's copy."""
    lines, scale = REACHED[form]
    (brought.folder / brought.package / "between.py").write_text("if True:\n    from .scale_of import SCALE\n")
    brought.reach(*lines, scale=scale)
    config, directory = brought.config(), brought.folder / "run"
    before = own_code.digests(config)
    own_code.save(config, directory)
    helper = brought.folder / brought.package / "scale_of.py"
    (copy,) = directory.rglob("scale_of.py")
    assert copy.read_bytes() == helper.read_bytes()
    brought.change(helper, "-0.5", "-5.0")
    assert own_code.digests(brought.config()) != before


@pytest.mark.parametrize("form", ["star", "function"])
def test_what_is_trusted_imports_the_kept_files(brought, form):
    """Those of the copy, also when a function imports them, and neither those of this folder nor none."""
    lines, scale = REACHED[form]
    brought.reach(*lines, scale=f"VALUES.append({scale}) or {scale}")
    brought.change(brought.encoding, "UNUSED = 3", "VALUES = []")
    config, directory = brought.config(), brought.folder / "run"
    wanted = own_code.digests(config)
    own_code.save(config, directory)
    brought.forget()
    brought.change(brought.folder / brought.package / "scale_of.py", "-0.5", "-5.0")
    own_code.trust(directory, wanted)
    (cls,) = own_code.load(directory, wanted).values()
    cls().bias({}, types.SimpleNamespace(relative=[[0]]))
    module = sys.modules[cls.__module__]
    assert module.VALUES == [-0.5]
    scale_of = sys.modules[f"{brought.package}.scale_of"]
    assert Path(scale_of.__file__).is_relative_to(directory)


def test_a_file_that_was_not_there_is_not_imported_in_silence(brought):
    """An import that found nothing when the run was made, and would find a file of this folder now."""
    brought.reach(*REACHED["try"][0])
    helper = brought.folder / brought.package / "scale_of.py"
    helper.unlink()
    config, directory = brought.config(), brought.folder / "run"
    wanted = own_code.digests(config)
    own_code.save(config, directory)
    brought.forget()
    helper.write_text("SCALE = -5.0\n")
    with pytest.raises(RefusedError, match="would import other files here than"):
        own_code.trust(directory, wanted)


def test_a_file_that_is_no_python_is_refused(brought):
    brought.reach("def later():", "    import {package}.scale_of")
    (brought.folder / brought.package / "scale_of.py").write_text("print 1\n")
    with pytest.raises(RefusedError, match=r"Window imports a file that is no Python \(.*scale_of.py, line 1\)"):
        own_code.digests(brought.config())


def test_a_class_without_a_source_file_is_refused(monkeypatch):
    module = types.ModuleType("typed_in")
    monkeypatch.setitem(sys.modules, "typed_in", module)
    exec(SOURCE.replace("from {package}.shapes import window\n", "window = None\n"), vars(module))
    config = dataclasses.replace(CONFIG, posenc=(module.Window(),))
    with pytest.raises(RefusedError, match="Window has no source file, so a run could not say later what it stood on"):
        own_code.digests(config)
