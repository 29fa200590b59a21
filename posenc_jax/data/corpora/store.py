"""The folder of prepared corpora, with checksums that find damage.

    DIRECTORY/own/NAME/         a corpus that was added: manifest.json, and the files that it lists with their hashes
    DIRECTORY/grammar/en-de/    one that this package makes, likewise
    DIRECTORY/derived/          what was measured of corpora, and is measured again when it is removed

A corpus is prepared in a folder beside its own and renamed; one process at a time prepares in a directory.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora import CORPORA, builders
from posenc_jax.data.corpora.corpus import Corpus, DataError, Rows, content_of
from posenc_jax.files.atomic import LockingError, held, new_folder
from posenc_jax.files.checksums import sha256_of, sha256_of_files
from posenc_jax.files.shapes import loads, problem
from posenc_jax.files.user_paths import cache_directory, from_environment, real
from posenc_jax.refusals import did_you_mean, or_else

Note = Callable[[str], None]
# Of manifests and of the files beside them.
FORMAT = 1
MANIFEST = "manifest.json"
# Beside it, of documents: SHA-256 of the text -> its location.
ORIGINS = "origins.json"
# Beside it, of texts of the user's: where each line that could not be used stands, and why, an object a line.
LEFT_OUT = "left_out.jsonl"
OWN = "own/"
_OWN_NAME = re.compile(f"{OWN}[a-z0-9][a-z0-9_-]{{,63}}")


def data_directory() -> Path:
    """$POSENC_DATA, else posenc_jax/data in $XDG_CACHE_HOME or ~/.cache."""
    return from_environment("POSENC_DATA") or cache_directory() / "posenc_jax" / "data"


def corpus_of(name: str) -> Corpus:
    """The corpus of this package of a name; DataError names those there are."""
    if name in CORPORA:
        return CORPORA[name]
    refuse_path(name)
    hint = did_you_mean(name, [*CORPORA, *own_names()])
    hint = f"; {hint}" if hint else ":"
    raise DataError(
        f"there is no corpus {name!r}{hint} the local ones are {', '.join([*CORPORA, *own_names()])}; data sets of the "
        "hub of TensorFlow Datasets are fetched when they are first read"
    )


def refuse_path(name: str) -> None:
    """DataError for the name of a file, of which a corpus is made first, and for one that is made elsewhere now."""
    if name.startswith((".", "/", "~")) or name.endswith((".txt", ".jsonl", ".csv", ".parquet", ".md")):
        raise DataError(
            f"{name!r} is a file's name, not a corpus's: `posenc data add NAME --text {name}` (or --jsonl, --csv, "
            "--parquet, --folder) makes a corpus of it, which is then named own/NAME"
        )
    if name.startswith(("help/", "descriptions/")) or name == "python_docs":  # their names until now; for one release
        now = name.replace("/", "-").replace("_", "-")
        raise DataError(
            f"{name} is {OWN}{now} now: in a checkout, `python -m experiments.corpora.make {now}` makes it, with the "
            "same rows"
        )


def is_own(name: str) -> bool:
    """True if the name is that of a user's corpus, made by `add`: ``own/NAME``."""
    return name.startswith(OWN)


def own_names(directory: Path | None = None) -> list[str]:
    """The corpora that were added."""
    return sorted(f"{OWN}{home.name}" for home in (directory or data_directory()).glob(f"{OWN}[!.]*"))


def check_own(name: str) -> None:
    """Refuses (DataError) what is no name of a corpus of the user's."""
    if not _OWN_NAME.fullmatch(name):
        raise DataError(
            f"{name!r} is no name of a corpus of your own: {OWN} and lower-case letters, digits, _ and -, as in "
            f"{OWN}my_texts"
        )


def home_of(name: str, directory: Path | None = None) -> Path:
    """The folder of a prepared corpus."""
    return (directory or data_directory()) / name


def is_prepared(name: str, directory: Path | None = None) -> bool:
    """True if there is a corpus of that name, whole or damaged."""
    return home_of(name, directory).is_dir()


def manifest(name: str, directory: Path | None = None, *, verify: bool = True) -> dict[str, Any]:
    """The manifest of a corpus: name, kind, columns, splits, hashes; DataError if absent or damaged.

    One of this package is made if it is not there. ``verify`` reads every file and compares its hash.
    """
    home = home_of(name, directory)
    rebuild = f"remove {home}, and it is made anew"
    if is_own(name):
        check_own(name)
        where = "" if directory is None else f" --directory {directory}"
        make = f"posenc data add {name.removeprefix(OWN)} ...{where}"
        rebuild = f"prepare it anew: {make} --rebuild"
        if not home.is_dir():
            near = did_you_mean(name, own_names(directory))
            near = f"{near} Else " if near else ""
            raise DataError(f"{name} is not prepared in {home.parents[1]}: {near}{make}")
    elif (corpus := corpus_of(name)) and not home.is_dir():
        _put(name, directory, functools.partial(_make, corpus), rebuild=False, note=lambda text: None)
    try:
        found = loads(content_of(home / MANIFEST, home))
        if not isinstance(found, dict) or found.pop("checksum", None) != sha256_of(found):
            raise ValueError("its checksum is not that of its content")
        if wrong := problem(found, _SHAPE):
            raise ValueError(wrong)
    except (DataError, ValueError) as error:
        raise DataError(f"{home / MANIFEST} is damaged ({error}); {rebuild}") from None
    if found["format"] != FORMAT:
        raise DataError(f"{home} has format {found['format']}, this version reads {FORMAT}: {rebuild}")
    for path, sha256 in found["files"].items() if verify else ():
        try:
            why = _damage(home, path, sha256)
        except OSError as error:
            why = error.strerror or str(error)
        if why:
            raise DataError(f"{home / path} is damaged ({why}); {rebuild}")
    return found


_SHAPE = {
    "format": int,
    **dict.fromkeys(("name", "kind", "sha256", "expected_sha256?", "structure?", "named_as?"), str),
    "columns": [str],
    "labels?": [str],
    "files": {str: str},
    "splits": {str: {"count": int, "sha256": str}},
}


def _damage(home: Path, name: str, sha256: str) -> str:
    path = home / name
    if not real(path).is_relative_to(real(home)):
        return f"it leads out of {home}"
    if path.exists() and not path.is_file():
        return "it is no file"
    return "" if sha256_of_files(path) == sha256 else "its hash is not that of the manifest"


def add(
    name: str,
    rows: Rows,
    columns: tuple[str, ...],
    facts: dict[str, Any],
    *,
    directory: Path | None = None,
    rebuild: bool = False,
    note: Note = print,
    origins: Mapping[str, str] | None = None,
    left_out: Sequence[tuple[str, str]] = (),
) -> Path:
    """Keeps rows of the user's as the corpus ``own/NAME`` and gives its folder; all of them, or nothing.

    ``facts`` are kept in its manifest: kind, licence, where the rows come from. ``rebuild`` replaces one that is there,
    which is refused otherwise. ``origins`` says where texts came from, for `origin_of`; ``left_out`` what could not be
    used, as (location, why). Errors: DataError.
    """
    check_own(name)

    def build(working: Path) -> None:
        _write(working, rows, columns, {"name": name, **facts}, origins, left_out)

    home, kept = _put(name, directory, build, rebuild=rebuild, note=note)
    if kept:
        raise DataError(f"{name} is there already: choose another name, or say --rebuild to replace it")
    return home


def origin_of(name: str, text: str, directory: Path | None = None) -> tuple[str, bool] | None:
    """The location (``FILE:LINE``) of a document of a user's corpus, and whether its lines are those of that file; None
    if the location was not kept.
    """
    if not is_own(name):
        return None
    found = manifest(name, directory)
    if ORIGINS not in found["files"]:
        return None
    home = home_of(name, directory)
    location = json.loads(content_of(home / ORIGINS, home)).get(_sha256(text))
    return None if location is None else (location, found.get("read_as") == "folder")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _put(
    name: str, directory: Path | None, build: Callable[[Path], None], *, rebuild: bool, note: Note
) -> tuple[Path, bool]:
    """The folder of a corpus, and whether it was there and is whole; else ``build`` fills it."""
    root, home = directory or data_directory(), home_of(name, directory)
    try:
        with held(root, wait=lambda who: note(f"{who} prepares data in {root}: waiting for it")):
            kept = home.is_dir() and not rebuild
            if not kept:
                with new_folder(home, replace=True) as working:
                    build(working)
            found = manifest(name, directory)
            counts = ", ".join(f"{part['count']:,} {split}" for split, part in found["splits"].items())
            what = "pairs of texts" if found["kind"] in ("translation", "summarization", "pairs") else "texts"
            note(f"{name} is prepared in {home}: {counts} {what}")
            return home, kept
    except (OSError, LockingError) as error:
        why, way_out = str(error), "choose another folder (directory, or the variable POSENC_DATA)"
        if isinstance(error, OSError):
            way_out = or_else(error, way_out)
            why = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        raise DataError(f"{name} cannot be prepared in {root} ({why}): {way_out}") from None


def rows_sha256(rows: Rows, columns: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The hash of all rows, and of those of each split: of JSON lists of their columns, one a line."""
    total, parts = hashlib.sha256(), {}
    for split, part in rows.items():
        lines = "".join(json.dumps([row[c] for c in columns], ensure_ascii=False) + "\n" for row in part).encode()
        parts[split] = hashlib.sha256(lines).hexdigest()
        total.update(f"{split}\n".encode() + lines)
    return total.hexdigest(), parts


def _make(corpus: Corpus, working: Path) -> None:
    facts = {"name": corpus.name, "kind": corpus.kind, "licence": "that of this package"}
    _write(working, corpus.rows(), corpus.columns, facts)


def _write(
    working: Path,
    rows: Rows,
    columns: tuple[str, ...],
    facts: dict[str, Any],
    origins: Mapping[str, str] | None = None,
    left_out: Sequence[tuple[str, str]] = (),
) -> None:
    """The rows and their manifest, which comes last, in an empty folder."""
    sha256, parts = rows_sha256(rows, columns)
    builders.write(rows, columns, working)
    if origins:
        locations = {_sha256(text): location for text, location in origins.items()}
        (working / ORIGINS).write_text(json.dumps(locations, indent=0) + "\n")
    if left_out:
        lines = (json.dumps({"place": location, "why": why}) + "\n" for location, why in left_out)
        (working / LEFT_OUT).write_text("".join(lines))
    found: dict[str, Any] = {
        "format": FORMAT,
        **facts,
        "columns": columns,
        "sha256": sha256,
        "splits": {split: {"count": len(part), "sha256": parts[split]} for split, part in rows.items()},
    }
    if found["kind"] == "classification":
        found["labels"] = sorted({row["label"] for part in rows.values() for row in part})
    paths = sorted(path for path in working.rglob("*") if path.is_file())
    found["files"] = {path.relative_to(working).as_posix(): sha256_of_files(path) for path in paths}
    found["checksum"] = sha256_of(found)
    (working / MANIFEST).write_text(json.dumps(found, indent=1) + "\n")
