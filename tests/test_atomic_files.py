"""Writing by rename and holding a directory: two writers, killed writers, somebody else's lock."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

from posenc_jax.files.atomic import (
    DiskFullError,
    HeldError,
    LinkError,
    LockingError,
    append,
    held,
    new_folder,
    read_regular,
    refuse_links,
    remove_unfinished,
    unwritable,
    write_atomically,
    write_changed,
)

WRITER = """
import sys
from pathlib import Path
from posenc_jax.files.atomic import write_atomically
for _ in range(100):
    write_atomically(Path(sys.argv[1]), sys.argv[2] * 100_000)
"""
HOLDER = """
import sys, time
from pathlib import Path
from posenc_jax.files.atomic import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(100)
"""


def start(code, *arguments):
    root = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    path = tmp_path / "x.json"
    writers = [start(WRITER, path, letter) for letter in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            seen.add(path.read_text())
    for writer in writers:
        assert writer.returncode == 0, writer.stderr.read()
    assert seen | {path.read_text()} <= {"a" * 100_000, "b" * 100_000}, "never a part, never a mixture"
    assert list(tmp_path.iterdir()) == [path]


def test_an_equal_file_is_not_touched(tmp_path):
    path = tmp_path / "x"
    write_changed(path, "é")
    before = path.stat().st_mtime_ns
    write_changed(path, "é")
    assert path.stat().st_mtime_ns == before
    write_changed(path, "e")
    assert path.read_text() == "e"


def test_what_killed_writers_left_goes_with_the_next_holder(tmp_path):
    (tmp_path / "x.json.123-abcd.unfinished").write_text("half")
    (tmp_path / "x.json").write_text("whole")
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_held_directory_is_refused_waited_for_and_free_when_its_process_is_killed(tmp_path):
    holder = start(HOLDER, tmp_path / "run")
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(HeldError, match=f"process {holder.pid}"), held(tmp_path / "run"):
        pass
    heard = []

    def wait(who):
        heard.append(who)
        threading.Timer(0.2, holder.kill).start()

    with held(tmp_path / "run", wait=wait):
        assert heard == [f"process {holder.pid}"]
        with pytest.raises(HeldError, match=f"process {os.getpid()}"), held(tmp_path / "run"):
            pass
    holder.wait()
    with held(tmp_path / "run"):
        pass


def test_links_are_replaced_or_refused_never_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious\n")
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("config.json", "timing.jsonl", "lock", "holder"):
        (folder / name).symlink_to(outside)
    write_atomically(folder / "config.json", "ours")
    assert (folder / "config.json").read_text() == "ours"
    assert not (folder / "config.json").is_symlink()
    with pytest.raises(LinkError, match=r"not written through links: .*timing\.jsonl"):
        append(folder / "timing.jsonl", "{}\n")
    with pytest.raises(LockingError, match="lock is a link, which is not followed"), held(folder):
        pass
    assert outside.read_text() == "precious\n"


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(OSError, match="no regular file"):
            read_regular(tmp_path / name, 10)
        with pytest.raises(LinkError):
            append(tmp_path / name, "x")
    with pytest.raises(OSError, match="it is a device, and would be replaced by a file"):
        write_atomically(tmp_path / "zero", "x")
    write_changed(tmp_path / "pipe", "x")
    assert (tmp_path / "pipe").read_text() == "x"
    with pytest.raises(OSError, match="more than 0 bytes"):
        read_regular(tmp_path / "pipe", 0)
    with pytest.raises(IsADirectoryError, match="it is a directory") as refused:
        read_regular(tmp_path)
    assert refused.value.filename == str(tmp_path)


def test_a_directory_on_the_way_that_is_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "named").symlink_to("elsewhere")  # by the user, who may
    refuse_links(tmp_path / "named", tmp_path / "named" / "group-000" / "checkpoints")
    (tmp_path / "named" / "group-000").mkdir()
    (tmp_path / "named" / "group-000" / "checkpoints").symlink_to(tmp_path)
    with pytest.raises(LinkError, match="group-000/checkpoints"):
        refuse_links(tmp_path / "named", tmp_path / "named" / "group-000" / "checkpoints" / "8")


@contextlib.contextmanager
def room(size):
    """Files of this process end at a size, as on a full disk."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_the_old_file_and_says_what_is_needed(tmp_path, monkeypatch):
    path = tmp_path / "x"
    write_atomically(path, "old")
    monkeypatch.setattr("shutil.disk_usage", lambda place: types.SimpleNamespace(free=1000))
    with room(100), pytest.raises(DiskFullError, match=r"it needs 3,000 bytes, 1,000 are free, 2,000 are missing.*/x"):
        write_atomically(path, "n" * 3000)
    with room(100), pytest.raises(DiskFullError, match="it needs 101 bytes"):
        append(tmp_path / "rows", "n" * 101)
    assert path.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows", "x"]


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone/a\.txt'$"):
        write_atomically(tmp_path / "gone" / "a.txt", "a")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"file/new'$"), new_folder(tmp_path / "file" / "new"):
        pass


FILLER = """
import sys, time
from pathlib import Path
from posenc_jax.files.atomic import new_folder
with new_folder(Path(sys.argv[1])) as folder:
    (folder / "config.json").write_text("of another")
    print("half", flush=True)
    time.sleep(100)
"""


def test_a_folder_is_filled_by_one_process_and_what_a_killed_one_left_goes(tmp_path):
    def fill():
        with new_folder(tmp_path / "out") as folder:
            assert not list(folder.iterdir())
            (folder / "config.json").write_text("ours")

    filler = start(FILLER, tmp_path / "out")
    assert filler.stdout.readline() == "half\n"
    with pytest.raises(OSError, match=rf"process {filler.pid} is making it: '.*/out'"):
        fill()
    filler.kill()
    filler.wait()
    assert [path.name for path in tmp_path.iterdir()] == [".out.preparing"]
    fill()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["config.json"]
    with pytest.raises(OSError, match=r"not empty: '.*/out'"):  # made since it was looked for
        fill()
    with new_folder(tmp_path / "out", replace=True):
        pass
    assert not list((tmp_path / "out").iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_where_no_file_can_be_made(tmp_path):
    (tmp_path / "file").touch()
    assert unwritable(tmp_path / "new" / "newer") is None
    assert unwritable(tmp_path / "file" / "new") == f"{tmp_path / 'file'} is no directory"
    assert unwritable(Path("/proc/new")).startswith("no file can be made in /proc (")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
