"""Names of `posenc_jax` and `posenc_jax.encodings` that people use do not go without a word.

`public_names.txt` has them, one a line: names, attributes of classes, and arguments, as ``RoPE.frequencies_for`` and
``attend(cap=)``. ``python tests/test_public_names.py`` adds new ones. A name that goes, or that is called otherwise,
stays in the file, and the changelog has a line with it and what to write instead.
"""

import functools
import inspect
from pathlib import Path

import posenc_jax
from posenc_jax import encodings

FILE = Path(__file__).with_name("public_names.txt")
CHANGES = Path(__file__).parents[1] / ".github" / "CHANGELOG.md"
BASES = (encodings.PositionalEncoding, encodings.Value)
TYPES = ("Callable", "Mapping")  # imported for annotations
PUBLIC = {name: value for name, value in vars(encodings).items() if name[0] != "_" and name not in TYPES}
PUBLIC |= {name: getattr(posenc_jax, name) for name in posenc_jax.__all__}
PUBLIC = {name: value for name, value in PUBLIC.items() if not inspect.ismodule(value)}


def arguments(name, value):
    """Of a function or class, those that are called by their names, which are the fields of a dataclass."""
    named = inspect.signature(value).parameters.values() if inspect.isroutine(value) or inspect.isclass(value) else ()
    return {f"{name}({p.name}=)" for p in named if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def found():
    names = {*PUBLIC}.union(*(arguments(name, value) for name, value in PUBLIC.items()))
    for name, value in PUBLIC.items():
        known = set() if value in BASES else {*dir(BASES[0]), *dir(BASES[1])}  # hooks, and facts of the class
        own = set(vars(value)) - known if inspect.isclass(value) else set()
        own = {a for a in own if a[0] != "_" and f"{name}({a}=)" not in names}
        names |= {f"{name}.{attribute}" for attribute in own}
        if value in (encodings.Geometry, encodings.Sequence):
            names = names.union(*(arguments(f"{name}.{a}", getattr(value, a)) for a in own))
    return {name for name in names if not name.endswith("(self=)")}


def is_there(name):
    path, _, parameter = name.removesuffix("=)").partition("(")
    first, *rest = path.split(".")
    try:
        value = functools.reduce(getattr, rest, PUBLIC[first])
    except (AttributeError, KeyError):
        return False
    return not parameter or parameter in inspect.signature(value).parameters


def test_a_public_name_is_there_or_the_changelog_says_what_to_write_instead():
    kept, text = FILE.read_text().split(), CHANGES.read_text()
    assert [name for name in kept if not is_there(name) and f"`{name}`" not in text] == []
    assert sorted(found() - {*kept}) == [], "python tests/test_public_names.py"


if __name__ == "__main__":
    FILE.write_text("\n".join(sorted(found().union(FILE.read_text().split()))) + "\n")
