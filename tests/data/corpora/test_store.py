"""Prepared data is whole or not there, whatever ends its preparation; damage is found; other text noted or refused."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from posenc_jax.data.corpora import CORPORA, builders, store
from posenc_jax.data.corpora.corpus import Corpus, DataError, read_text, split_of, split_rows
from posenc_jax.data.corpora.store import MANIFEST, manifest, prepare, rows_sha256

NAME = "tiny/en-de"
ROOT = Path(__file__).parents[3]


def extract(folder: Path) -> dict:
    lines = read_text(folder / "tiny-doc" / "lines", folder).splitlines()
    return split_rows([{"en": f"line {i}", "de": f"Zeile „{line}“\n", "doc": str(i)} for i, line in enumerate(lines)])


def corpus(**changes) -> Corpus:
    fields = {
        "name": NAME,
        "kind": "translation",
        "columns": ("en", "de", "doc"),
        "licence": "CC0",
        "extract": extract,
        "packages": ("tiny-doc",),
    }
    return Corpus(**(fields | changes))


@pytest.fixture
def unpacked(tmp_path, monkeypatch) -> Path:
    monkeypatch.setitem(CORPORA, NAME, corpus())
    return write_package(tmp_path / "unpacked")


def write_package(folder: Path, last: str = "ü", version: str = "1.0-1") -> Path:
    (folder / "tiny-doc" / "DEBIAN").mkdir(parents=True, exist_ok=True)
    (folder / "tiny-doc" / "DEBIAN" / "control").write_text(f"Package: tiny-doc\nVersion: {version}\n")
    (folder / "tiny-doc" / "lines").write_text("\n".join([*map(str, range(99)), last]))
    return folder


def test_splits_by_the_hash_of_the_document():
    share = [int(hashlib.sha256(str(i).encode()).hexdigest()[:16], 16) / 16**16 for i in range(500)]
    wanted = ["train" if s < 0.92 else "validation" if s < 0.96 else "test" for s in share]
    assert [split_of(str(i)) for i in range(500)] == wanted
    assert set(wanted) == {"train", "validation", "test"}


def test_what_is_prepared_reads_back_and_is_recorded(unpacked, tmp_path):
    notes: list[str] = []
    home = prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, note=notes.append)
    assert home == tmp_path / "data" / NAME
    rows, found = extract(unpacked), manifest(NAME, tmp_path / "data")
    total = hashlib.sha256()
    for split, part in rows.items():
        lines = [json.dumps([row["en"], row["de"], row["doc"]], ensure_ascii=False) + "\n" for row in part]
        own = hashlib.sha256("".join(lines).encode())
        assert found["splits"][split] == {"count": len(part), "sha256": own.hexdigest()}
        total.update((f"{split}\n" + "".join(lines)).encode())
        source = builders.read(home, split)
        read = [{column: value.decode() for column, value in source[i].items()} for i in range(len(source))]
        assert read == part
    assert found["sha256"] == total.hexdigest()
    assert found["packages"] == {"tiny-doc": "1.0-1"}
    assert (found["kind"], found["columns"], found["licence"]) == ("translation", ["en", "de", "doc"], "CC0")
    assert "tensorflow" not in sys.modules
    assert notes[-1] == f"{NAME} is prepared in {home}: train 95, validation 2, test 3"
    # Again: it stays, without being read anew from the packages.
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    prepare(NAME, directory=tmp_path / "data", from_dir=tmp_path, note=notes.append)
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
    assert notes[-1] == notes[-2]


def test_labels_of_a_classification_are_recorded(unpacked, tmp_path, monkeypatch):
    def labelled(folder: Path) -> dict:
        texts = [dict.fromkeys(("header", "body", "footer"), "x") for _ in range(100)]
        return split_rows([text | {"label": "zya"[i % 3], "doc": str(i)} for i, text in enumerate(texts)])

    columns = ("header", "body", "footer", "label", "doc")
    monkeypatch.setitem(CORPORA, NAME, corpus(kind="classification", columns=columns, extract=labelled))
    prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, note=str)
    assert manifest(NAME, tmp_path / "data")["labels"] == ["a", "y", "z"]


def test_every_damaged_file_is_named_and_rebuilt_only_when_told(unpacked, tmp_path):
    home = prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, note=str)
    whole = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert len(whole) == 6  # three splits, two descriptions, the manifest
    for path, data in whole.items():
        altered = data.replace(b"95", b"96") if path.name == MANIFEST else bytes([data[0] ^ 1]) + data[1:]
        for damage in (altered, data[:-9], None):
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            with pytest.raises(DataError, match=rf"{path.name} is damaged .*posenc data prepare {NAME} .*--rebuild"):
                manifest(NAME, tmp_path / "data")
            path.write_bytes(data)
    path = next(iter(whole))
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is damaged"):
        prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, note=str)
    prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, rebuild=True, note=str)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == whole


def test_other_text_is_noted_and_recorded_and_refused_when_strict(unpacked, tmp_path, monkeypatch):
    expected = rows_sha256(extract(unpacked), ("en", "de", "doc"))[0]
    monkeypatch.setitem(CORPORA, NAME, corpus(sha256=expected))
    prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, strict=True, note=str)
    write_package(unpacked, last="u", version="1.0-2")
    with pytest.raises(DataError, match=rf"{NAME}: the text has sha256 .* not {expected[:16]}.*strict refuses that"):
        prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, strict=True, rebuild=True, note=str)
    assert manifest(NAME, tmp_path / "data")["sha256"] == expected  # what was there is still there
    notes: list[str] = []
    prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, rebuild=True, note=notes.append)
    assert any("another revision of a package" in note for note in notes)
    found = manifest(NAME, tmp_path / "data")
    assert found["sha256"] != found["expected_sha256"] == expected
    assert found["packages"] == {"tiny-doc": "1.0-2"}
    with pytest.raises(DataError, match="strict refuses that"):
        prepare(NAME, directory=tmp_path / "data", strict=True, note=str)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "tiny-doc/lines").write_text("1"), r"no rows for the split .*unpack tiny-doc again"),
        (lambda folder: (folder / "tiny-doc/lines").write_bytes(b"ab\xffc"), r"lines is not UTF-8: .* at offset 2"),
        (
            lambda folder: (folder / "tiny-doc/DEBIAN/md5sums").write_text(f"{'0' * 32}  lines\n"),
            r"tiny-doc/lines is missing or altered",
        ),
        (
            lambda folder: (folder / "tiny-doc").rename(folder / "x") and (folder / "tiny-doc_1_all.deb").touch(),
            r"holds tiny-doc_1_all\.deb.*dpkg-deb -x",
        ),
    ],
)
def test_files_that_are_not_as_they_should_be_leave_nothing(unpacked, tmp_path, change, message):
    change(unpacked)
    with pytest.raises(DataError, match=message):
        prepare(NAME, directory=tmp_path / "data", from_dir=unpacked, note=str)
    assert [path.name for path in (tmp_path / "data").rglob("*") if path.name not in ("tiny", "lock")] == []


def test_what_cannot_be_is_refused_in_words(unpacked, tmp_path):
    with pytest.raises(DataError, match=rf"there is no corpus 'tiny/en-d'; did you mean '{NAME}'\? .*help/en-de"):
        prepare("tiny/en-d", directory=tmp_path)
    with pytest.raises(DataError, match=rf"{NAME} is not prepared in {tmp_path}: posenc data prepare {NAME}"):
        manifest(NAME, tmp_path)
    with pytest.raises(DataError, match=r"gone is no folder: from_dir names"):
        prepare(NAME, directory=tmp_path, from_dir=tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot be prepared in .*file .* choose another folder .directory, or"):
        prepare(NAME, directory=tmp_path / "file", from_dir=unpacked)


def test_the_default_directory(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.delenv("POSENC_DATA", raising=False)
    assert store.data_directory() == Path("/cache/posenc_jax/data")
    monkeypatch.setenv("POSENC_DATA", "~/texts")
    assert store.data_directory() == Path.home() / "texts"
    monkeypatch.delenv("POSENC_DATA")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store.data_directory() == Path.home() / ".cache/posenc_jax/data"


def work(folder: str, die_at: str = "", rebuild: bool = False, together: bool = False) -> None:
    """In a process of its own: prepares, counts its work, and dies at a point of it; ``together`` with another, which
    it gives a minute to come and wait.
    """
    here, latest = Path(folder), time.monotonic() + 60 * together

    def note(text: str) -> None:
        print(text)
        if "waiting for it" in text:
            (here / "another waits").touch()

    def reached(point: str) -> None:
        if point == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def slow_extract(unpacked: Path) -> dict:
        with (here / "extractions").open("a") as file:
            file.write("one\n")
        reached("extract")
        while time.monotonic() < latest and not (here / "another waits").exists():
            time.sleep(0.01)
        return extract(unpacked)

    def write(rows: dict, columns: tuple, directory: Path) -> None:
        for split, part in rows.items():
            (directory / split).write_text(json.dumps(part))
            reached(f"written {split}")

    def rename(path: Path, target: Path) -> Path:
        reached(f"before {path.name}")
        os.replace(path, target)
        reached(f"after {path.name}")
        return target

    CORPORA[NAME] = corpus(extract=slow_extract)
    builders.write, Path.rename = write, rename
    prepare(NAME, directory=here / "data", from_dir=here / "unpacked", rebuild=rebuild, note=note)
    manifest(NAME, here / "data")


def kills(folder: str) -> None:
    """In a process of its own: everything is there afterwards, or nothing, wherever a process is killed."""

    def run(point: str, rebuild: bool = False) -> None:
        pid = os.fork()
        if not pid:
            try:
                work(folder, point, rebuild)
            finally:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == (signal.SIGKILL if point else 0), point

    CORPORA[NAME] = corpus()
    home = Path(folder) / "data" / NAME
    for point in ("extract", "written train", "before new"):
        run(point)
        assert not home.exists(), point
    run("")
    whole = manifest(NAME, Path(folder) / "data")
    assert [path.name for path in home.parent.iterdir()] == ["en-de"]  # nothing is left of the killed ones
    # And when it is made anew: the old one, none between two renames, or the new one.
    for point, there in (("written train", True), ("after new", True), ("after en-de", False)):
        run(point, rebuild=True)
        assert home.exists() == there, point
        if there:
            assert manifest(NAME, Path(folder) / "data") == whole
    run("")
    assert manifest(NAME, Path(folder) / "data") == whole
    assert [path.name for path in home.parent.iterdir()] == ["en-de"]


def start(call: str) -> subprocess.Popen:
    places = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    return subprocess.Popen(
        [sys.executable, "-c", f"import test_store; test_store.{call}"],
        env=os.environ | {"PYTHONPATH": places},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_process_killed_anywhere_leaves_all_or_nothing(unpacked, tmp_path):
    process = start(f"kills({str(tmp_path)!r})")
    said = process.communicate(timeout=100)[0]
    assert process.returncode == 0, said


def test_of_two_processes_one_prepares_and_the_other_waits(unpacked, tmp_path):
    first, second = (start(f"work({str(tmp_path)!r}, together=True)") for _ in range(2))
    said = sorted([first.communicate(timeout=100)[0], second.communicate(timeout=100)[0]], key=len)
    assert (first.returncode, second.returncode) == (0, 0), said
    assert (tmp_path / "extractions").read_text() == "one\n"
    assert sum("waiting for it" in text for text in said) == 1
    assert all(f"{NAME} is prepared in" in text for text in said)
