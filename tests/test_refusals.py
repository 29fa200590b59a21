"""A full disk and its like are one line with the way out, however a library wraps what the system said."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from posenc_jax.cli.errors import guarded
from posenc_jax.refusals import of_the_system
from posenc_jax.show.files import write

FULL = os.strerror(errno.ENOSPC)


def chained():
    try:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), "/a/b")
    except OSError as error:
        raise RuntimeError("could not write") from error


def raised(error):
    raise error


CASES = {
    "tfds": (lambda: raised(RuntimeError(f'Failed "train": write() failed: {FULL}; writing d/x-1/c')), "d/x-1/c"),
    "copies": (lambda: raised(shutil.Error([("/a/b", "/c/d", f"[Errno 28] {FULL}: '/c/d'")] * 50)), "/c/d"),
    "orbax": (lambda: raised(ValueError(f"UNKNOWN: Error writing /r/x [OS error 28: {FULL}]")), "/r/x"),
    "arrow": (lambda: raised(OSError(f"Error writing bytes to file. Detail: [errno 28] {FULL}")), "a file"),
    "chain": (chained, "/a/b"),
}


@pytest.mark.parametrize("name", CASES)
def test_whoever_says_it(capsys, name):
    work, place = CASES[name]
    assert guarded(work) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"posenc: {place} cannot be read or written (")
    assert err.endswith("): make room, then run the same command again to go on\n")
    assert err.count("\n") == 1
    assert len(err) < 300


@pytest.mark.parametrize(
    ("number", "code", "way_out"),
    [
        (errno.EMFILE, 1, "raise the limit on open files (ulimit -n), then run"),
        (errno.EROFS, 2, "name a directory that can be written"),
        (errno.EFBIG, 1, "raise the limit on the size of files, then"),
    ],
)
def test_other_limits_have_ways_out_of_their_own(capsys, number, code, way_out):
    assert guarded(lambda: raised(RuntimeError(f"failed: {os.strerror(number)}: x/y"))) == code
    assert f"x/y cannot be read or written ({os.strerror(number)}): {way_out}" in capsys.readouterr().err


def test_nothing_of_the_system_in_other_errors():
    assert of_the_system(ValueError("no room for another encoding")) is None
    assert of_the_system(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) is None
    with pytest.raises(RuntimeError, match="ours"):
        guarded(lambda: raised(RuntimeError("ours")))


def test_figures_say_it(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "mkdir", lambda *a, **b: raised(OSError(errno.ENOSPC, FULL, "x")))
    with pytest.raises(ValueError, match="make room, or name another directory"):
        write({tmp_path / "new" / "a.png": b""})
