"""What people depend on does not go without a word: names in Python, commands, words of configs, members of files.

`public_names.txt` has all of it, a line each: names of `posenc_jax` and `posenc_jax.encodings`, attributes of classes,
and arguments with plain defaults, as ``RoPE.frequencies_for`` and ``attend(cap=None)``; ``posenc train --seeds``; what
configs may name, as ``type rope(base=10000.0)``; ``result.json replicas[].seed``; rows of golden files with a digest of
their values.
``python tests/test_public_names.py`` adds new ones. What goes, or is called otherwise, stays in the file, and the
changelog has a line with it and what to write instead.
"""

import functools
import hashlib
import importlib
import inspect
import json
import re
import tempfile
from pathlib import Path

import pytest
import session
import trained_runs

import posenc_jax
from posenc_jax import encodings, lazy
from posenc_jax.cli import COMMANDS
from posenc_jax.cli.completion import options_of
from posenc_jax.config import Ablation
from posenc_jax.config.reading import KNOWN
from posenc_jax.runs.ablation import ablate

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("public_names.txt")
CHANGES = ROOT / ".github" / "CHANGELOG.md"
PAGES = ROOT / "scripts" / "docs" / "reference"
BASES = (encodings.PositionalEncoding, encodings.Value)
TYPES = ("Callable", "Mapping")  # imported for annotations
PLAIN = (bool, int, float, str, tuple, type(None))
PUBLIC = {name: value for name, value in vars(encodings).items() if name[0] != "_" and name not in TYPES}
PUBLIC |= {name: getattr(posenc_jax, name) for name in posenc_jax.__all__}
PUBLIC = {name: value for name, value in PUBLIC.items() if not inspect.ismodule(value)}


def arguments(name, value):
    """Of a function or class, those that are called by their names (fields of a dataclass), with plain defaults."""
    named = inspect.signature(value).parameters.values() if inspect.isroutine(value) or inspect.isclass(value) else ()
    named = [p for p in named if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {f"{name}({p.name}={p.default!r})" if isinstance(p.default, PLAIN) else f"{name}({p.name}=)" for p in named}


def in_python():
    names = {*PUBLIC}.union(*(arguments(name, value) for name, value in PUBLIC.items()))
    for name, value in PUBLIC.items():
        known = set() if value in BASES else {*dir(BASES[0]), *dir(BASES[1])}  # hooks, and facts of the class
        own = set(vars(value)) - known if inspect.isclass(value) else set()
        fields = {argument.partition("(")[2].partition("=")[0] for argument in arguments(name, value)}
        own = {a for a in own - fields if a[0] != "_"}
        names |= {f"{name}.{attribute}" for attribute in own}
        names = names.union(*(arguments(f"{name}.{a}", getattr(value, a)) for a in own))
    for name in (name for name in posenc_jax.__all__ if inspect.ismodule(getattr(posenc_jax, name))):
        module = getattr(posenc_jax, name)
        own = {one for one in dir(module) if one[0] != "_" and one not in TYPES} if name != "encodings" else set()
        own = {one for one in own if not inspect.ismodule(getattr(module, one))}  # there once anything imported it
        names |= {f"posenc_jax.{name}"} | {f"posenc_jax.{name}.{one}" for one in own}
    return {name for name in names if not name.endswith("(self=)")}


def on_the_command_line():
    return {f"posenc {name}{option}" for name in COMMANDS for option in ("", *(f" --{o}" for o in options_of(name)))}


def in_configs():
    """The words that name a class in a spec or a file, with its fields."""
    types = {f"type {name}": cls for name, cls in KNOWN.items()}
    return {*types}.union(*(arguments(name, cls) for name, cls in types.items()))


def members(file, value, place=""):
    """Those of a JSON value, with dots."""
    inner = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        return set().union(*(members(file, own, f"{place}[]") for own in value))
    dot = f"{place}." if place else ""
    return {f"{file} {place}"}.union(*(members(file, own, f"{dot}{name}") for name, own in inner)) - {f"{file} "}


def in_files():
    """Members of what a run and an ablation write; those of a card are on its page (test_card_members.py)."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "ablation"
        trained_runs.copy_of_the_run(directory / trained_runs.CONFIG.directory_name)
        ablate(Ablation("tiny", (trained_runs.CONFIG,), baseline="rope|learned"), directory)
        result = json.loads(next(directory.rglob("group-000/result.json")).read_text())
        rows = (directory / "results.jsonl").read_text().splitlines()
    page = (PAGES / "files.md").read_text().partition("## The card of a verdict")[2]
    tables = re.findall(r"^\| member of an? (\w+) \|.*\n\|--\|--\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    firsts = ((kind, re.sub(r"(?m)(?<=`) \|.*", "", lines)) for kind, lines in tables)
    card = {f"card.json, {kind}: {name}" for kind, names in firsts for name in re.findall(r"`([\w.\[\]]+)`", names)}
    return card.union(members("result.json", result), *(members("results.jsonl", json.loads(row)) for row in rows))


def golden():
    """The golden files with their members, and a digest of the values of each row: it is another where one changed."""
    found = set()
    for path in sorted((ROOT / "posenc_jax" / "golden").rglob("*-v?.json")):
        data = json.loads(path.read_text())
        rows = next(v for v in data.values() if isinstance(v, list) and isinstance(v[0], dict) and "name" in v[0])
        found |= {f"{path.name} {name}" for name in data} | {f"{path.name} rows {name}" for row in rows for name in row}
        values = {name: data[name] for name in ("dims", "inputs", "positions", "distances") if name in data}
        for row in rows:
            own = row.get("outputs") or row["groups"]
            if "tables" in data:
                own = [group | {"tables": [data["tables"][p["table"]] for p in group["points"]]} for group in own]
                own = [{name: own for name, own in group.items() if name != "points"} for group in own]
            values[row["name"]] = own
        for name, own in values.items():
            digest = hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()
            found.add(f"{path.name} {name}: {digest[:8]}")
    return found


PARTS = (in_python, on_the_command_line, in_configs, in_files, golden)
COMMAND = "PYTHONPATH=.:scripts python tests/test_public_names.py"


def is_there(name):
    """A name that is found, or one that a class has from another."""
    path, _, parameter = name.removesuffix("=)").partition("(")
    first, *rest = path.split(".")
    try:
        value = functools.reduce(getattr, rest, PUBLIC[first])
    except (AttributeError, KeyError):
        return False
    return not parameter or parameter in inspect.signature(value).parameters


def test_what_is_public_is_there_or_the_changelog_says_what_to_write_instead():
    kept, text = FILE.read_text().splitlines(), CHANGES.read_text()
    found = set().union(*(part() for part in PARTS))
    gone = [name for name in kept if name not in found and not is_there(name)]
    assert [name for name in gone if f"`{name}`" not in text] == []
    answering = {old.rpartition(".")[2] for old in lazy.GONE}
    assert [name for name in gone if name.isidentifier() and name not in answering] == []
    assert sorted(found - {*kept}) == [], COMMAND


@pytest.mark.parametrize("package", ["posenc_jax", "posenc_jax.encodings"])
def test_a_name_that_went_answers_for_a_minor_version(package, monkeypatch):
    old = f"{package}.with_attention"
    monkeypatch.setitem(lazy.GONE, old, "posenc_jax.encodings.attend")
    with pytest.warns(DeprecationWarning, match=f"{old} goes with .*: write posenc_jax.encodings.attend") as seen:
        assert importlib.import_module(package).with_attention is encodings.attend
    assert seen[0].filename == __file__
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'atend'"):
        importlib.import_module(package).atend  # noqa: B018


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as shared:
        session.share(Path(shared))
        names = set().union(*(part() for part in PARTS), FILE.read_text().splitlines())
    FILE.write_text("\n".join(sorted(names)) + "\n")
