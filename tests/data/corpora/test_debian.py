"""Packages through apt, with programs in its place: what is downloaded once, what goes wrong and how that is said."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.debian import download_indexes, download_packages, verify, version

APT = """#!/bin/sh
echo "$*" >> "$FAKE/calls"
case "$*" in
  *" update") {update};;
  *) {download};;
esac
"""
# `apt-get ... download NAME ...` leaves NAME_VERSION_ARCHITECTURE.deb in the folder that it is started in.
DOWNLOAD = 'for n in "$@"; do case "$n" in one|two) echo whole > "${n}_1%3a2-3_all.deb";; esac; done'
CUT_OFF = DOWNLOAD.replace("echo whole", "echo cut")
DPKG = """#!/bin/sh
[ "$(cat "$2")" = whole ] || { echo "dpkg-deb: error: '$2' is not a Debian format archive" >&2; exit 2; }
mkdir -p "$3/DEBIAN" "$3/usr"
echo text > "$3/usr/text"
printf 'Package: x\\nVersion: 1:2-3\\n' > "$3/DEBIAN/control"
(cd "$3" && md5sum usr/text > DEBIAN/md5sums)
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose apt-get does what a test says; gives what was called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def install(download: str = DOWNLOAD, update: str = "exit 0"):
        for name, text in (("apt-get", APT.format(download=download, update=update)), ("dpkg-deb", DPKG)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        return lambda: (tmp_path / "calls").read_text().splitlines()

    return install


def test_packages_are_downloaded_once_and_again_when_damaged(machine, tmp_path):
    calls = machine()
    cache = tmp_path / "sources"
    cache.mkdir()
    found = download_packages(["one", "two"], cache, str)
    assert found == {"one": cache / "one", "two": cache / "two"}
    assert [call.split(" download ")[1] for call in calls()] == ["one two"]
    assert sorted(path.name for path in cache.iterdir()) == ["one", "two"]  # neither archives nor anything else
    assert {path: version(path) for path in found.values()} == dict.fromkeys(found.values(), "1:2-3")
    download_packages(["two", "one"], cache, str)
    assert len(calls()) == 1
    (cache / "two/usr/text").write_text("tex")
    with pytest.raises(DataError, match="two/usr/text is missing or altered"):
        verify(cache / "two")
    download_packages(["one", "two"], cache, str)
    assert calls()[1].endswith(" download two")
    assert (cache / "two/usr/text").read_text() == "text\n"


@pytest.mark.parametrize(
    ("download", "message"),
    [
        ("echo 'E: Unable to locate package one' >&2; exit 100", r"apt knows no package one: .*from_dir"),
        (
            "echo 'E: Failed to fetch http://x/one.deb  Temporary failure resolving x' >&2; exit 100",
            r"one cannot be downloaded, no network \(Temporary failure resolving x\): .*from_dir",
        ),
        ("echo 'E: Failed to fetch x  Hash Sum mismatch' >&2; exit 100", r"one did not arrive as .*try again"),
        ("echo 'E: No space' >&2; exit 100", r"one cannot be downloaded \(No space\): try again, or .*from_dir"),
        (CUT_OFF, r"one_1%3a2-3_all\.deb is not a whole Debian package \(dpkg-deb: error: .* format archive\): down"),
        ("exit 0", r"apt-get downloaded no one_\*\.deb"),
    ],
)
def test_a_download_that_fails_says_why_and_leaves_nothing(machine, tmp_path, download, message):
    machine(download)
    cache = tmp_path / "sources"
    cache.mkdir()
    with pytest.raises(DataError, match=message):
        download_packages(["one"], cache, str)
    assert list(cache.iterdir()) == []


def test_lists_of_our_own_where_the_system_has_none(machine, tmp_path):
    unknown = "echo 'E: Unable to locate package one' >&2; exit 100"
    calls = machine(f'case "$*" in *Dir::State::lists=*) {DOWNLOAD};; *) {unknown};; esac')
    download_packages(["one"], tmp_path, str)
    assert [call.rpartition(" ")[2] for call in calls()] == ["one", "update", "one"]
    shutil.rmtree(tmp_path / "one")
    machine(unknown, "echo 'W: Could not connect to x' >&2")
    with pytest.raises(DataError, match=r"no network \(Could not connect to x\)"):
        download_packages(["one"], tmp_path, str)


def test_a_machine_without_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match=r"no apt-get on this machine, and one, two come from .*from_dir"):
        download_packages(["one", "two"], tmp_path, str)
    with pytest.raises(DataError, match=r"no apt-get on this machine, and Packages come from .*from_dir"):
        download_indexes(["Packages"], tmp_path, str)


def making_lists(*archives: tuple[str, str, str]) -> str:
    """A shell command that makes the lists of archives: name, origin and suite of each."""
    commands = ['for a in "$@"; do case "$a" in Dir::State::lists=*) l="${a#*=}";; esac; done']
    for name, origin, suite in archives:
        commands.append(f"printf 'Origin: {origin}\\nSuite: {suite}\\n' > $l/{name}_InRelease")
        for index in ("binary-amd64_Packages", "i18n_Translation-de"):
            commands.append(f"echo {name} > $l/{name}_main_{index}")
    return "; ".join(commands)


def test_indexes_are_those_of_the_distribution_itself(machine, tmp_path, monkeypatch):
    update = making_lists(
        ("a.other", "Other", "stable"),
        ("b.updates", "Debian", "stable-updates"),
        ("c.debian", "Debian", "stable"),
        ("d.security", "Debian", "stable-security"),
    )
    calls = machine(update=update)
    for name, text in (("dpkg", "echo amd64"), ("helper", 'cat "$2"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setattr("posenc_jax.data.corpora.indexes.APT_HELPER", str(tmp_path / "bin/helper"))
    cache = tmp_path / "sources"
    cache.mkdir()
    for _ in range(2):
        found = download_indexes(["Packages", "Translation-de"], cache, str)
        assert {path.name: gzip.decompress(path.read_bytes()) for path in found} == {
            "Packages.gz": b"c.debian\n",
            "Translation-de.gz": b"c.debian\n",
        }
    assert len(calls()) == 1
    assert "Acquire::Languages=de" in calls()[0]
    found[0].write_bytes(found[0].read_bytes()[:-9])
    download_indexes(["Packages"], cache, str)
    assert gzip.decompress(found[0].read_bytes()) == b"c.debian\n"
    with pytest.raises(DataError, match=r"the archive's index Translation-xx cannot be downloaded .*from_dir"):
        download_indexes(["Translation-xx"], cache, str)


def test_the_version_of_a_package_unpacked_by_others(tmp_path: Path):
    assert version(tmp_path) is None
    changes = tmp_path / "usr/share/doc/one/changelog.Debian.gz"
    changes.parent.mkdir(parents=True)
    changes.write_bytes(gzip.compress(b"one (4:7.4.7-1+deb12u14) bookworm; urgency=medium\n"))
    assert version(tmp_path) == "4:7.4.7-1+deb12u14"
    changes.write_bytes(b"no gzip")
    assert version(tmp_path) is None
