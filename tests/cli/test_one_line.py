"""Whatever a command is given, or the system does to it: one line with the way out, and never a traceback."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import processes
import pytest
import sealed_files
from trained_runs import CONFIG, copy_of_the_run

from posenc_jax.cli import main, noise
from posenc_jax.cli.errors import UsageError, guarded
from posenc_jax.config import to_json
from posenc_jax.drawing.plain import plain, short
from posenc_jax.files.atomic import DiskFullError
from posenc_jax.runs.directory import FORMAT

ROOT = Path(__file__).parents[2]
DEEP = "[" * 100_000 + "]" * 100_000
RUN = """
from trained_runs import CONFIG as config
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one_line")
    copy_of_the_run(folder / "run")
    (folder / "config.py").write_text(RUN)
    return folder


RESULT, GROUP, OWN = "group-000/result.json", "group-000/config.json", "config.json"
HEAD = {"format": FORMAT, "code": {}}
INFINITE = {"config": to_json(CONFIG), "replicas": [[math.inf, 1]], "group_size": 1, "config_hash": ""}
DAMAGED = [
    (RESULT, {}, "result.json is damaged (it lacks"),
    (RESULT, {"replicas": [1]}, "result.json is damaged ("),
    (RESULT, f'{{"a": {DEEP}}}', "nested deeper than 50 levels"),
    (RESULT, "{}", "result.json is damaged (it has no checksum, so it was changed, or an earlier ver"),
    (RESULT, None, "result.json cannot be read or written (it is no regular file): mend that"),
    (GROUP, {"format": FORMAT}, "group-000/config.json is damaged (it lacks 'config')"),
    (GROUP, {}, f"is of format None, and this version reads format {FORMAT} alone: choose another"),
    (GROUP, {**HEAD, **INFINITE}, "is no group's (cannot convert float infinity to integer)"),
    (GROUP, f'{{"group_size": {"9" * 400}}}', "a whole number of more than 64 bits"),
    (OWN, {"format": FORMAT, "config": {}}, "config.json is damaged (it lacks 'code')"),
    (OWN, {**HEAD, "config": {}}, "cannot be read as a config"),
    (OWN, {**HEAD, "config": []}, "config.json is damaged (con"),
    (OWN, {**HEAD, "config": {"type": "rope"}}, "it holds RoPE, neither a run nor"),
    (OWN, {**HEAD, "config": {**to_json(CONFIG), "seeds": {"type": "rope"}}}, "cannot be read as"),
]


@pytest.mark.parametrize(("file", "content", "message"), DAMAGED, ids=[message[:40] for *_, message in DAMAGED])
def test_files_of_a_run_without_what_they_should_have(folder, refusal, tmp_path, file, content, message):
    directory = Path(shutil.copytree(folder / "run", tmp_path / "run"))
    if content is None:  # a pipe: who reads it waits for ever
        (directory / file).unlink()
        os.mkfifo(directory / file)
    elif isinstance(content, str):
        (directory / file).write_text(content)
    else:
        (directory / file).write_text(sealed_files.line(content).replace("Infinity", "1e999"))
    assert message in refusal("evaluate", str(directory))


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
def test_directories_of_others():
    """One that may not be searched, and one that may only be read."""
    code = (
        "import os, sys; from pathlib import Path; from posenc_jax.cli.errors import guarded\n"
        "from posenc_jax.runs.identity import check_writable\n"
        "from posenc_jax.runs.directory import load_config\n"
        "os.setuid(65534)\n"
        "codes = [guarded(lambda: load_config(Path(sys.argv[1]) / 'closed' / 'run') and 0),\n"
        "         guarded(lambda: check_writable(Path(sys.argv[1]) / 'others' / 'evaluations') or 0)]\n"
        "print(codes)"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        Path(folder, "closed").mkdir(mode=0o700)
        Path(folder, "others").mkdir(mode=0o755)
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
    assert done.stdout == "[2, 2]\n", done.stderr
    closed, others = done.stderr.splitlines()
    assert closed == (
        f"posenc: {folder}/closed/run/config.json cannot be read or written (Permission denied): change its "
        "permissions, or name another directory"
    )
    assert (
        f"cannot write in {folder}/others/evaluations (no file can be made in {folder}/others (Permission denied))"
        in others
    )


def test_what_libraries_say_is_filed(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def work():
        for _ in range(50):
            logging.getLogger("absl").error("an operation\nof many lines")
        logging.getLogger("asyncio").error("never retrieved")
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        raise DiskFullError(OSError(28, "No space left on device"), tmp_path / "x", 10**15)

    assert guarded(work) == 1
    err = capsys.readouterr().err
    (file,) = tmp_path.glob("posenc-*.log")
    assert err.count("\n") == 1
    assert "are missing" in err
    assert f"(messages of libraries: {file})" in err
    said = file.read_text()
    assert said.count("of many lines") == 50
    assert "never retrieved" in said
    assert "ZeroDivisionError" in said
    file.unlink()
    assert guarded(lambda: 0) == 0
    assert list(tmp_path.iterdir()) == []


def test_other_loggers_and_hooks_are_as_before(caplog):
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    with noise.captured() as said:
        logging.getLogger("mine").warning("heard")
    assert said.getvalue() == ""
    assert "heard" in caplog.text
    assert hooks == (sys.excepthook, threading.excepthook, sys.unraisablehook)


def test_a_damaged_step_is_said_in_one_line(folder, capfd, tmp_path, monkeypatch):
    """Libraries have a hundred lines to say about it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    directory = Path(shutil.copytree(folder / "run", tmp_path / "run"))
    for path in directory.glob("group-000/checkpoints/*/state/manifest.ocdbt"):
        path.write_bytes(path.read_bytes()[:10])
    assert main(["evaluate", str(directory)]) == 2
    err = capfd.readouterr().err
    lines = [line for line in err.splitlines() if not line.startswith("checkpoint ")]
    assert len(lines) == 1
    assert lines[0].startswith("posenc: no valid checkpoint in")
    assert "(messages of libraries: " in lines[0]


FULL = """
import resource, signal, sys
from posenc_jax.cli import main
from posenc_jax.runs import checkpoint
size = int(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
write = checkpoint.Checkpoints._write
def limited(*arguments):  # the disk fills while the first checkpoint is written
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    write(*arguments)
checkpoint.Checkpoints._write = limited
sys.exit(main(["train", "config.py", "--directory", "full"]))
"""


@pytest.mark.slow
def test_a_full_disk_leaves_a_run_that_goes_on(folder, tmp_path):
    (tmp_path / "config.py").write_text(RUN)
    environment = processes.environment() | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    command = [sys.executable, "-c", FULL, "4000"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if ": train: " not in line]
    assert len(lines) == 1, done.stderr
    assert "could not save a checkpoint in" in lines[0]
    assert "it needs at least" in lines[0]
    assert "bytes, " in lines[0]
    assert "run the same command again to go on" in lines[0]
    command = [sys.executable, "-m", "posenc_jax", "train", "config.py", "--directory", "full"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, whole = (json.loads((place / RESULT).read_text()) for place in (tmp_path / "full", folder / "run"))
    assert len(found["replicas"]) == len(whole["replicas"])


IMPORTS = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "posenc_jax.config":
            os.kill(os.getpid(), int(sys.argv[1]))
            sum(range(10**6))
sys.meta_path.insert(0, Finder())
from posenc_jax.cli import main
sys.exit(main(["train", "config.py"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_it_imports(folder, number):
    done = subprocess.run([sys.executable, "-c", IMPORTS, str(int(number))], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "posenc: stopped\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_it_works(monkeypatch, capsys, number):
    cleared = []

    def work(arguments):
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            cleared.append(True)

    monkeypatch.setattr("posenc_jax.cli._run", work)
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    assert main(["list"]) == 128 + number
    assert capsys.readouterr().err == "posenc: stopped\n"
    assert cleared == [True]
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


COMPUTES = """
import hashlib, sys, threading
from posenc_jax import cli
def compute(arguments):
    threading.Timer(0.5, lambda: print("computes", flush=True)).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # for minutes, without Python, as a compiled program
def measure(arguments):
    from posenc_jax.cli.session import stoppable
    with stoppable():
        compute(arguments)
cli.signals.TOGETHER = 1.0
cli._run = {work}
sys.exit(cli.main(["list"]))
"""


@pytest.mark.parametrize(("work", "number"), [("compute", signal.SIGINT), ("measure", signal.SIGTERM)])
def test_signals_while_a_compiled_program_runs(work, number):
    command = [sys.executable, "-c", COMPUTES.replace("{work}", work)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process, contextlib.ExitStack() as ending:
        ending.callback(process.kill)
        assert process.stdout.readline() == "computes\n"
        for _ in range(3):  # at once, as schedulers may
            process.send_signal(signal.SIGTERM)
        said = process.stderr.readline().strip() or process.stderr.readline()
        assert said.startswith(("posenc: stopping when the program that runs is done", "stopping when the program"))
        assert "a second signal ends it at once" in said
        while process.poll() is None:
            process.send_signal(number)
            time.sleep(0.1)
        assert process.returncode == 128 + number


def test_commands_for_a_terminal_are_shown():
    assert plain("a\x1b[2Jb\r\x07\n\tc\u202ed\x9b31m\ud800é日") == "a\\x1b[2Jb\\r\\x07\n\tc\\u202ed\\x9b31m\\ud800é日"
    assert plain("\u200eU\u200f\u061c\u200b\ufeff می\u200cخواهم 👩\u200d🔬") == (
        "\\u200eU\\u200f\\u061c\\u200b\\ufeff می\u200cخواهم 👩\u200d🔬"
    )
    assert short("x" * 200) == "x" * 200
    assert short("x" * 1000).endswith("xxx (1,000 characters)")


@pytest.mark.parametrize("names", ["x" * 10**6, ", ".join(map(str, range(10**5))), "a\n" + "x" * 10**6])
def test_a_refusal_repeats_no_long_name_whole(capsys, names):
    def work():
        raise UsageError(f"tensor {names} is not read: leave it out")

    assert guarded(work) == 2
    said = capsys.readouterr().err
    assert said.startswith("posenc: tensor ")
    assert ": leave it out" in said
    assert "characters)" in said
    assert len(said) < 3000


def test_labels_that_command_a_terminal_are_shown_by_tables(capsys):
    from posenc_jax.cli.scores import score_table
    from posenc_jax.drawing.latex import latex_table
    from posenc_jax.drawing.text_table import TextTable, markdown_table, text

    table = TextTable("t\x1b[2J", ("a\x07",), "l", (("b\x1b]0;x\nposenc: done",),), ("n\x9b",))
    for shown in (text(table), markdown_table(table), latex_table(table, "x")):
        assert not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 for c in shown)
    assert "b\\x1b]0;x posenc: done\n" in text(table)
    label = dataclasses.replace(CONFIG, label="x\x1b[31m")
    assert "x\\x1b[31m" in score_table(label, [])


def test_devices_that_are_not_there_are_one_line():
    """In a process of its own: jax chooses its devices once."""
    environment = {**os.environ, "JAX_PLATFORMS": "nonsense"}
    command = [sys.executable, "-m", "posenc_jax", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("posenc: Unable to initialize backend 'nonsense'")
    assert done.stderr.count("\n") == 1
