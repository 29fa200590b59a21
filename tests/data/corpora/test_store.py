"""A corpus is whole or not there, whatever ends its making; damage is found, and nothing leads out of its folder."""

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
from posenc_jax.data.corpora.corpus import Corpus, DataError, split_of, split_rows
from posenc_jax.data.corpora.store import MANIFEST, add, manifest
from posenc_jax.files.checksums import sha256_of

NAME = "tiny/en-de"
COLUMNS = ("en", "de", "doc")
ROOT = Path(__file__).parents[3]


def made() -> dict:
    return split_rows([{"en": f"line {i}", "de": f"Zeile „ü{i}“\n", "doc": str(i)} for i in range(100)])


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.setitem(CORPORA, NAME, Corpus(NAME, "translation", COLUMNS, made))
    return tmp_path / "data"


def test_splits_by_the_hash_of_the_document():
    share = [int(hashlib.sha256(str(i).encode()).hexdigest()[:16], 16) / 16**16 for i in range(500)]
    wanted = ["train" if s < 0.92 else "validation" if s < 0.96 else "test" for s in share]
    assert [split_of(str(i)) for i in range(500)] == wanted
    assert set(wanted) == {"train", "validation", "test"}


def test_a_corpus_of_the_package_is_made_once_and_reads_back(data):
    rows, found, home = made(), manifest(NAME, data), data / NAME
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
    assert (found["kind"], found["columns"]) == ("translation", ["en", "de", "doc"])
    assert "tensorflow" not in sys.modules
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    assert manifest(NAME, data) == found
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


@pytest.mark.parametrize(("name", "way"), [(NAME, "remove .*en-de, and"), ("own/tiny", "posenc data add tiny .*--reb")])
def test_every_damaged_file_is_named(data, name, way):
    if name != NAME:
        add(name, made(), COLUMNS, {"kind": "pairs"}, directory=data, note=str)
    manifest(name, data)
    whole = {path: path.read_bytes() for path in (data / name).rglob("*") if path.is_file()}
    assert len(whole) == 6  # three splits, two descriptions, the manifest
    for path, content in whole.items():
        altered = content.replace(b"95", b"96") if path.name == MANIFEST else bytes([content[0] ^ 1]) + content[1:]
        for damage in (altered, content[:-9], None):
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            with pytest.raises(DataError, match=rf"{path.name} is damaged .*{way}"):
                manifest(name, data)
            path.write_bytes(content)


def test_what_cannot_be_is_refused_in_words(data, tmp_path):
    with pytest.raises(DataError, match=rf"there is no corpus 'tiny/en-d'; did you mean '{NAME}'\? .*grammar/en-de"):
        manifest("tiny/en-d", data)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot be prepared in .*file .* choose another folder .directory, or"):
        manifest(NAME, tmp_path / "file")


def test_a_corpus_that_moved_says_where_it_is(data):
    message = r"help/en-de is own/help-en-de now: .*python -m experiments\.corpora\.make help-en-de`"
    with pytest.raises(DataError, match=message):
        manifest("help/en-de", data)


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
    """In a process of its own: adds a corpus, counts its work, and dies at a point of it; ``together`` with another,
    which it gives a minute to come and wait.
    """
    here, latest = Path(folder), time.monotonic() + 60 * together

    def note(text: str) -> None:
        print(text)
        if "waiting for it" in text:
            (here / "another waits").touch()

    def reached(point: str) -> None:
        if point == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(rows: dict, columns: tuple, directory: Path) -> None:
        with (here / "begun").open("a") as file:
            file.write("one\n")
        while time.monotonic() < latest and not (here / "another waits").exists():
            time.sleep(0.01)
        for split, part in rows.items():
            (directory / split).write_text(json.dumps(part))
            reached(f"written {split}")

    def rename(path: Path, target: Path) -> Path:
        reached(f"before {path.name}")
        os.replace(path, target)
        reached(f"after {path.name}")
        return target

    builders.write, Path.rename = write, rename
    facts = {"kind": "pairs"}
    try:
        add("own/tiny", made(), COLUMNS, facts, directory=here / "data", rebuild=rebuild, note=note)
    except DataError as error:
        print(error)
    manifest("own/tiny", here / "data")


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

    home = Path(folder) / "data" / "own" / "tiny"
    for point in ("written train", "before new"):
        run(point)
        assert not home.exists(), point
    run("")
    whole = manifest("own/tiny", Path(folder) / "data")
    assert [path.name for path in home.parent.iterdir()] == ["tiny"]  # nothing is left of the killed ones
    # And when it is made anew: the old one, none between two renames, or the new one.
    for point, there in (("written train", True), ("after new", True), ("after tiny", False)):
        run(point, rebuild=True)
        assert home.exists() == there, point
        if there:
            assert manifest("own/tiny", Path(folder) / "data") == whole
    run("")
    assert manifest("own/tiny", Path(folder) / "data") == whole
    assert [path.name for path in home.parent.iterdir()] == ["tiny"]


def start(call: str) -> subprocess.Popen:
    places = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    return subprocess.Popen(
        [sys.executable, "-c", f"import test_store; test_store.{call}"],
        env=os.environ | {"PYTHONPATH": places},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_process_killed_anywhere_leaves_all_or_nothing(tmp_path):
    process = start(f"kills({str(tmp_path)!r})")
    said = process.communicate(timeout=100)[0]
    assert process.returncode == 0, said


def test_of_two_processes_one_writes_and_the_other_waits(tmp_path):
    first, second = (start(f"work({str(tmp_path)!r}, together=True)") for _ in range(2))
    said = sorted([first.communicate(timeout=100)[0], second.communicate(timeout=100)[0]], key=len)
    assert (first.returncode, second.returncode) == (0, 0), said
    assert (tmp_path / "begun").read_text() == "one\n"
    assert sum("waiting for it" in text for text in said) == 1
    assert all("own/tiny is prepared in" in text for text in said)


@pytest.fixture
def home(tmp_path) -> Path:
    return add("own/tiny", made(), COLUMNS, {"kind": "pairs"}, directory=tmp_path / "data", note=str)


def test_classes_that_a_prepared_corpus_names_are_not_imported(home, tmp_path, monkeypatch):
    (tmp_path / "harm").mkdir()
    (tmp_path / "harm" / "harmful.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.syspath_prepend(str(tmp_path / "harm"))
    path = home / "corpus/1.0.0/features.json"
    path.write_text(path.read_text().replace("tensorflow_datasets.core.features.text_feature.Text", "harmful.Text", 1))
    with pytest.raises(DataError, match=r"features\.json names harmful\.Text, which no corpus of ours has"):
        builders.read(home, "test")
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
def test_a_manifest_of_others(home, tmp_path, change, message):
    os.mkfifo(home / "pipe")
    found = json.loads((home / MANIFEST).read_text())
    del found["checksum"]
    found = change(found)
    (home / MANIFEST).write_text(json.dumps(found | {"checksum": sha256_of(found)}))
    with pytest.raises(DataError, match=message):
        manifest("own/tiny", tmp_path / "data")
