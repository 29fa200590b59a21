"""The documentation of Python: any version's sources are found, each page once, in the split of its path."""

import os
import shutil
from pathlib import Path

import pytest

from posenc_jax.data.corpora import debian
from posenc_jax.data.corpora.corpus import DataError, split_of
from posenc_jax.data.corpora.python_docs import documents


def write(folder: Path, version: str, pages: dict[str, str]) -> Path:
    root = folder / f"python{version}-doc/usr/share/doc/python{version}/html/_sources"
    for name, text in pages.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_pages_of_any_version_are_documents_by_the_split_of_their_path(tmp_path):
    pages = {f"library/m{i}.rst.txt": f"Module {i}\n========\n\n  é\n" for i in range(60)} | {"a.rst.txt": "A\n"}
    root = write(tmp_path, "3.99", pages)
    (root.parent / "library").mkdir()
    (root.parent / "library/m1.html").write_text("<html>")
    (tmp_path / "python3.99-doc/usr/share/doc/python3.99-doc").symlink_to("python3.99")  # as the package has it
    rows = documents(tmp_path)
    assert set(rows) == {"train", "validation", "test"}
    assert {row["doc"]: row["text"] for split in rows for row in rows[split]} == pages
    assert sum(map(len, rows.values())) == 61
    assert all(split_of(row["doc"]) == split for split in rows for row in rows[split])
    assert [row["doc"] for row in rows["train"]] == sorted(row["doc"] for row in rows["train"])


def test_no_source_is_an_error_that_names_the_pattern_and_the_package(tmp_path):
    (tmp_path / "index.rst.txt").write_text("not below _sources")
    with pytest.raises(DataError, match=r"holds no file _sources/\*\*/\*\.rst\.txt.* unpacks the package python3") as e:
        documents(tmp_path)
    assert str(tmp_path) in str(e.value)


def test_two_versions_are_an_error(tmp_path):
    write(tmp_path, "3.11", {"a.rst.txt": "A"})
    write(tmp_path, "3.13", {"a.rst.txt": "A"})
    with pytest.raises(DataError, match=r"holds 2 versions, .*3\.11.* and .*3\.13.*: keep the folder of one"):
        documents(tmp_path)


def test_an_empty_page_is_an_error(tmp_path):
    write(tmp_path, "3.11", {"a.rst.txt": "A", "b/c.rst.txt": " \n"})
    with pytest.raises(DataError, match=r"b/c\.rst\.txt is empty.*: unpack its package again"):
        documents(tmp_path)


def test_a_byte_that_is_not_utf_8_is_an_error(tmp_path):
    (write(tmp_path, "3.11", {"a.rst.txt": "A"}) / "b.rst.txt").write_bytes(b"caf\xe9 au lait")
    with pytest.raises(DataError, match="byte 0xe9 at offset 3"):
        documents(tmp_path)


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="builds packages, as Debian does")
def test_the_package_of_the_distributions_version_is_downloaded(tmp_path, monkeypatch):
    archive, cache = tmp_path / "archive", tmp_path / "cache"
    write(archive, "3.99", {f"m{i}.rst.txt": f"Module {i}" for i in range(9)})
    wanted = {"python3-doc": "python3.99-doc (>= 3.99.1), sensible-utils", "python3.99-doc": "fonts"}
    for name, depends in wanted.items():
        (archive / name / "DEBIAN").mkdir(parents=True)
        (archive / name / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: {len(depends)}\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\n"
            f"Depends: {depends}\nDescription: test\n"
        )

    apt_get = tmp_path / "bin" / "apt-get"
    apt_get.parent.mkdir()
    apt_get.write_text(
        '#!/bin/sh\nwhile [ "$1" != download ]; do shift; done; shift\n'
        f'for name; do dpkg-deb --build "{archive}/$name" "${{name}}_1_all.deb" || exit; done\n'
    )
    apt_get.chmod(0o755)
    monkeypatch.setenv("PATH", str(apt_get.parent), prepend=os.pathsep)
    debian.download_packages(["python3-doc"], cache, note=lambda text: None)
    assert [path.name for path in cache.iterdir()] == ["python3-doc"]
    assert debian.versions(["python3-doc"], cache) == {"python3-doc": "5"}
    assert sum(map(len, documents(cache).values())) == 9
