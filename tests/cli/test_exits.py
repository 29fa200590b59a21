"""Exit codes tell the truth: own code that exits fails a command, and so does output that nobody can be given."""

from __future__ import annotations

import ast
import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained_runs import CONFIG

from posenc_jax.analysis.contract import contract_clauses
from posenc_jax.cli import main, screen
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.own_files import own_class
from posenc_jax.config import Ablation
from posenc_jax.refusals import ExitError
from posenc_jax.runs import ablation
from posenc_jax.runs.errors import FailedCellsError
from posenc_jax.runs.reporter import Reporter

ROOT = Path(__file__).parents[2]
RUN = "from trained_runs import CONFIG as config\n"
SOURCE = """
import asyncio, dataclasses, sys
from posenc_jax.data.tasks import EvenPairs
from posenc_jax.encodings import PositionalEncoding

class Own(BaseException):
    pass

def ends():
    {how}

@dataclasses.dataclass(frozen=True)
class Ends(PositionalEncoding):
    name = "ends"

    def bias(self, params, geometry):
        ends()

@dataclasses.dataclass(frozen=True)
class Begins(PositionalEncoding):
    name = "begins"

    def init(self, key, dims):
        ends()

    def bias(self, params, geometry):
        return None

@dataclasses.dataclass(frozen=True)
class Late(PositionalEncoding):
    name = "late"

    def __post_init__(self):
        ends()

@dataclasses.dataclass(frozen=True)
class Pairs(EvenPairs):
    name = "pairs"

    def example(self, key, length, max_length, split):
        ends()
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a file of the user's that ends ``how``."""
    path = list(sys.path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.py").write_text(RUN)
    yield lambda how="sys.exit(0)": (tmp_path / "ends_own.py").write_text(SOURCE.format(how=how))
    sys.path[:] = path
    for name in ("ends_own", "run"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("sys.exit(0)", "SystemExit: 0"),
        ("sys.exit('some text')", "SystemExit: some text"),
        ("raise asyncio.CancelledError('x')", "CancelledError: x"),
        ("raise Own('y')", "Own: y"),
    ],
)
def test_what_ends_the_program_is_an_error_of_own_code(own, capsys, how, said):
    own(how)
    assert guarded(lambda: own_class("ends_own.py", "Ends")().bias({}, None)) == 1
    *trace, line = capsys.readouterr().err.splitlines()
    assert line == f"posenc: ends_own.py, line 10, in ends failed ({said}): mend it, then run the same command again"
    assert [row.strip() for row in trace if row.startswith("  File")] == [
        f'File "{Path.cwd()}/ends_own.py", line {line}, in {name}' for line, name in ((17, "bias"), (10, "ends"))
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["aliases", "ends_own.py:Ends"],
        ["aliases", "ends_own.py:Late"],
        ["train", "run.py", "--posenc", "ends_own.py:Ends"],
        ["train", "run.py", "--task", "ends_own.py:Pairs(max_length=4)"],
    ],
    ids=" ".join,
)
def test_commands_do_not_succeed_without_their_result(own, capsys, arguments):
    own()
    assert main([*arguments, *(["--directory", "new"] if arguments[0] == "train" else [])]) == 1
    assert "posenc: ends_own.py, line 10, in ends failed (SystemExit: 0): mend it" in capsys.readouterr().err
    assert not list(Path.cwd().rglob("result.json"))


def test_an_audit_finds_it_as_it_finds_other_errors(own):
    own()
    (failed,) = (c for c in contract_clauses((own_class("ends_own.py", "Ends")(),)) if c.status == "failed")
    assert "ends_own.py, line 10, in ends: ExitError: SystemExit: 0" in str(failed)
    with pytest.raises(ExitError, match="SystemExit: 0"):  # before there is anything to judge
        contract_clauses((own_class("ends_own.py", "Begins")(),))


def test_an_interrupt_goes_on_stopping(own):
    own("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        guarded(lambda: own_class("ends_own.py", "Ends")().bias({}, None))


def test_whoever_else_exits_does_not_succeed(capsys):
    assert guarded(lambda: sys.exit(0)) == 1
    assert "would end the program (SystemExit: 0)" in capsys.readouterr().err


def test_parsers_may_exit(capsys):
    assert main(["report", "--help"]) == 0
    assert "usage: posenc report" in capsys.readouterr().out


def test_a_cell_that_exits_costs_the_others_nothing(tmp_path, monkeypatch):
    ran = []

    def run(cell, *arguments, **options):
        ran.append(cell)
        sys.exit(0)

    monkeypatch.setattr(ablation, "run", run)
    two = Ablation("two", (CONFIG, dataclasses.replace(CONFIG, label="b")))
    with pytest.raises(FailedCellsError, match=r"2 of 2 cells failed.*\n.*ExitError: SystemExit: 0"):
        ablation.ablate(two, tmp_path / "a", reporter=Reporter())
    assert len(ran) == 2


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@FULL
@pytest.mark.parametrize(
    ("arguments", "streams", "code", "out", "err"),
    [
        (["--version"], ">/dev/full", 1, "", "posenc: standard output cannot be written (No space left on device)"),
        (["list", "yarn"], ">/dev/full", 1, "", "posenc: standard output cannot be written (No space left on device)"),
        (["list", "x"], "2>/dev/full", 1, "posenc: standard error cannot be written (No space left", ""),
        (["--version"], ">/dev/full 2>&1", 1, "", ""),
        (["--version"], ">&-", 1, "", "posenc: standard output is closed: leave it open, or send it to /dev/null\n"),
        (["--version"], "2>&-", 1, "posenc: standard error is closed: leave it open, or send it to /dev/null\n", ""),
        (["--version"], "<&-", 0, "posenc_jax ", ""),
    ],
)
def test_output_that_cannot_be_written_is_an_error(arguments, streams, code, out, err):
    command = f'"$@" {streams}'
    words = [sys.executable, "-m", "posenc_jax", *arguments]
    done = subprocess.run(["sh", "-c", command, "sh", *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == code
    for found, wanted in ((done.stdout, out), (done.stderr, err)):
        assert found.startswith(wanted)
        assert found.count("\n") == bool(wanted)


def test_help_that_cannot_be_written_is_an_error(monkeypatch, capsys):
    for arguments in (["train", "--help"], ["report", "--help"], ["--help"], []):
        with open(os.devnull) as closed, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", closed)  # which is only read
            assert main(arguments) == 1
        err = capsys.readouterr().err
        assert err.startswith("posenc: ")
        assert "cannot be" in err
        assert err.count("\n") == 1


def test_commands_print_on_one_way():
    """`posenc_jax.cli.screen`, which shows what others wrote and obeys nothing of it."""
    for path in (ROOT / "posenc_jax" / "cli").glob("*.py"):
        calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        printed = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
        assert len(printed) == (path.name == "screen.py"), path


def test_what_others_wrote_is_shown(capsys):
    screen.show("\x1b]0;TITLE\x07red\n\ttext")
    screen.tell("\x9b31m")
    assert capsys.readouterr() == ("\\x1b]0;TITLE\\x07red\n\ttext\n", "\\x9b31m\n")
