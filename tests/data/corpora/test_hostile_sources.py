"""A folder of sources, or a prepared corpus, that somebody else made: nothing leads out of it, ends never or grows."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from posenc_jax.data.corpora import CORPORA, builders, indexes, python_docs
from posenc_jax.data.corpora.corpus import MOST_BYTES, Corpus, DataError, read_text
from posenc_jax.data.corpora.debian import verify, version
from posenc_jax.data.corpora.indexes import stanzas
from posenc_jax.data.corpora.store import MANIFEST, manifest, prepare
from posenc_jax.files.checksums import sha256_of

BOMB = """
import sys
from pathlib import Path
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.indexes import stanzas
try:
    list(stanzas(Path(sys.argv[1]), "Packages"))
except DataError as error:
    print(error)
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory there was")
def test_an_archive_that_unpacks_to_gigabytes_is_refused_before_it_has(tmp_path):
    """3 GB in 450 kB."""
    (tmp_path / "Packages.xz").write_bytes(lzma.compress(bytes(2**26)) * 48)
    begun = os.times()
    done = subprocess.run([sys.executable, "-c", BOMB, str(tmp_path)], capture_output=True, text=True, check=True)
    ended = os.times()
    said, megabytes = done.stdout.splitlines()
    assert said.startswith(f"{tmp_path}/Packages.xz unpacks to more than 268,435,456 bytes, which no index does: fetch")
    assert int(megabytes) < 3 * MOST_BYTES / 2**20
    assert ended.children_user + ended.children_system - begun.children_user - begun.children_system < 2


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_every_packing_is_bounded_and_read_up_to_the_bound(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(indexes, "MOST_BYTES", 1000)
    path = tmp_path / f"Packages.{ {'gzip': 'gz', 'bz2': 'bz2', 'lzma': 'xz'}[pack.__module__] }"
    text = b"Package: " + b"x" * (1000 - 9)
    path.write_bytes(pack(text))
    assert list(stanzas(tmp_path, "Packages")) == [{"Package": "x" * 991}]
    path.write_bytes(pack(text[:500]) + pack(text[:501]))
    with pytest.raises(DataError, match="unpacks to more than 1,000 bytes"):
        list(stanzas(tmp_path, "Packages"))


def test_a_program_that_unpacks_is_stopped_at_the_bound(tmp_path, monkeypatch):
    helper = tmp_path / "helper"
    helper.write_text("#!/bin/sh\nexec yes\n")
    helper.chmod(0o755)
    monkeypatch.setattr(indexes, "APT_HELPER", str(helper))
    monkeypatch.setattr(indexes, "MOST_BYTES", 100_000)
    (tmp_path / "Packages.lz4").touch()
    with pytest.raises(DataError, match="unpacks to more than 100,000 bytes"):
        list(stanzas(tmp_path, "Packages"))


@pytest.fixture
def package(tmp_path) -> Path:
    folder = tmp_path / "sources" / "tiny-doc"
    (folder / "DEBIAN").mkdir(parents=True)
    (folder / "DEBIAN" / "control").write_text("Version: 1\n")
    return folder


def test_links_that_leave_the_folder_pipes_and_devices_are_refused(package, tmp_path):
    (tmp_path / "secret").write_text("Package: secret\n")
    root = package.parent
    (root / "Packages").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match=r"Packages leads out of .*/sources, to .*/secret: put the file itself there"):
        list(stanzas(root, "Packages"))
    for name, target in (("out", tmp_path / "secret"), ("endless", Path("/dev/zero"))):
        (package / name).symlink_to(target)
        with pytest.raises(DataError, match=f"{name} leads out of"):
            read_text(package / name, root)
    os.mkfifo(package / "pipe")
    with pytest.raises(DataError, match=r"pipe cannot be read .*no regular file"):
        read_text(package / "pipe", root)
    (package / "inside").symlink_to("DEBIAN/control")
    assert read_text(package / "inside", root) == "Version: 1\n"
    (package / "html").mkdir()
    (tmp_path / "pages").mkdir()
    (package / "html" / "_sources").symlink_to(tmp_path / "pages")
    with pytest.raises(DataError, match=r"a link in .*/sources leads out of it, to .*/pages"):
        python_docs.documents(root)


@pytest.mark.parametrize("name", ["../../secret", "/etc/hostname", "usr/../../../secret", "DEBIAN/zero", "DEBIAN/pipe"])
def test_hashes_of_other_places_are_not_computed(package, tmp_path, name):
    secret = tmp_path / "secret"
    secret.write_text("x")
    (package / "DEBIAN" / "zero").symlink_to("/dev/zero")
    os.mkfifo(package / "DEBIAN" / "pipe")
    digest = hashlib.md5(b"x").hexdigest()
    (package / "DEBIAN" / "md5sums").write_text(f"{digest}  {name}\n")
    with pytest.raises(DataError, match=r"which is not in|leads out of|no regular file"):
        verify(package)


def test_the_files_that_say_the_version_are_bounded_too(package):
    (package / "DEBIAN" / "control").unlink()
    changes = package / "usr/share/doc/x/changelog.Debian.gz"
    changes.parent.mkdir(parents=True)
    changes.write_bytes(gzip.compress(b"x" * 2**27 + b"(1.0)\n"))
    tracemalloc.start()
    assert version(package) is None
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
    (package / "DEBIAN" / "control").symlink_to("/dev/zero")
    with pytest.raises(DataError, match="control leads out of"):
        version(package)


@pytest.fixture
def prepared(tmp_path, monkeypatch) -> Path:
    def extract(folder: Path) -> dict:
        return {"test": [{"en": "one", "de": "eins", "doc": "1"}]}

    tiny = Corpus("tiny/en-de", "translation", ("en", "de", "doc"), "CC0", extract, splits=("test",))
    monkeypatch.setitem(CORPORA, "tiny/en-de", tiny)
    (tmp_path / "sources").mkdir()
    return prepare("tiny/en-de", directory=tmp_path / "data", from_dir=tmp_path / "sources", note=str)


def test_classes_that_a_prepared_corpus_names_are_not_imported(prepared, tmp_path, monkeypatch):
    (tmp_path / "harm").mkdir()
    (tmp_path / "harm" / "harmful.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.syspath_prepend(str(tmp_path / "harm"))
    path = prepared / "corpus/1.0.0/features.json"
    path.write_text(path.read_text().replace("tensorflow_datasets.core.features.text_feature.Text", "harmful.Text", 1))
    with pytest.raises(DataError, match=r"features\.json names harmful\.Text, which no corpus of ours has"):
        builders.read(prepared, "test")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found | {"files": {"../../../secret": "0"}}, "leads out of"),
        (lambda found: found | {"files": {"pipe": "0"}}, "it is no file"),
        (lambda found: found | {"files": []}, "files is a list, not an object"),
        (lambda found: {}, "it lacks 'format'"),
        (lambda found: found | {"splits": {"test": 3}}, "splits.test is a whole number, not an object"),
    ],
)
def test_a_manifest_of_others(prepared, tmp_path, change, message):
    os.mkfifo(prepared / "pipe")
    found = json.loads((prepared / MANIFEST).read_text())
    del found["checksum"]
    found = change(found)
    (prepared / MANIFEST).write_text(json.dumps(found | {"checksum": sha256_of(found)}))
    with pytest.raises(DataError, match=message):
        manifest("tiny/en-de", tmp_path / "data")
