"""Which statements of the user's files a class stands on, and which files those import.

A class stands on the top-level statements of its file that it reaches by name (other classes, functions, constants,
assignments to them), and by a plain ``from other import name`` on what the name stands on there. Every ``*``, every
import in a function, ``try``, ``if`` or ``with`` of a file that is reached, and ``import other`` count all of the
module. Only sources are read: data that they open is not seen.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import posenc_jax
from posenc_jax.encodings.parsing import syntax_tree
from posenc_jax.runs.errors import RefusedError

Find = Callable[[str], Path | None]
"""The file of the user's that a module has, if it is the user's and there."""

Import = ast.Import | ast.ImportFrom


@dataclasses.dataclass(frozen=True, order=True)
class Part:
    """A statement that a class stands on."""

    file: str
    line: int
    text: str
    module: str
    path: Path


def digest_of(parts: list[Part]) -> str:
    """SHA-256 of statements, in the order of their files and lines."""
    total = hashlib.sha256()
    for part in sorted(parts):
        total.update(f"{part.file}\0{part.text}\0".encode())
    return total.hexdigest()


def stands_on(cls: type) -> list[Part]:
    """The statements that a class of this process stands on; RefusedError for one without a source file."""
    path = user_file(sys.modules.get(cls.__module__))
    if path is None:
        raise RefusedError(
            f"{cls.__qualname__} has no source file, so a run could not say later what it stood on: define it in a "
            "Python file"
        )
    with _readable(cls):
        return statements(cls.__module__, path, cls.__qualname__.partition(".")[0], located)


def files_of(cls: type) -> dict[str, Path]:
    """The user's files that running the file of a class may import, that one among them, by module."""
    found = {part.module: part.path for part in stands_on(cls)}
    todo = list(found.items())
    with _readable(cls):
        for module, path in todo:  # grows
            for base, word in _imported(module, path):
                for name in [*_with_packages(base), f"{base}.{word}"]:
                    file = None if name in found else located(name)
                    if file is not None:
                        found[name] = file
                        todo.append((name, file))
    return found


def missing(files: dict[str, Path]) -> set[str]:
    """The modules that files import and that are none of them, the user's or not."""
    there = {name for module in files for name in _with_packages(module)}
    wanted = set()
    for module, path in files.items():
        for base, word in _imported(module, path):
            wanted.update(_with_packages(base))
            if word is not None and base in there and base not in files:  # a folder has files only
                wanted.add(f"{base}.{word}")
    return wanted - there


def statements(module: str, path: Path, word: str | None, find: Find) -> list[Part]:
    """Those that ``word`` of a module stands on, or (None) all of it does."""
    found: dict[tuple[Path, int], Part] = {}
    todo: list[tuple[str, Path, str | None]] = [(module, path, word)]
    seen, opened = set(), set()
    while todo:
        module, path, name = entry = todo.pop()
        if entry in seen:
            continue
        seen.add(entry)
        source = path.read_text()
        tree, lines = _parsed(source, str(path)), source.splitlines()
        for whole in [] if path in opened else _whole(tree):
            todo += _reached(whole, module, path, None, find, whole=True)
        opened.add(path)
        for node in tree.body:
            if not (name is None or name in _changed(node)):
                continue
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            found[path, first] = Part(path.name, first, text, module, path)
            if isinstance(node, Import):
                todo += _reached(node, module, path, name, find)
            else:
                todo += [(module, path, used) for used in _used(node)]
    return list(found.values())


@contextlib.contextmanager
def _readable(cls: type) -> Iterator[None]:
    try:
        yield
    except (SyntaxError, ValueError, RecursionError) as error:  # ValueError: bytes that are no text
        raise RefusedError(
            f"{cls.__qualname__} imports a file that is no Python ({error}): mend it, or take the import out"
        ) from None


@functools.lru_cache(maxsize=64)
def _parsed(source: str, path: str) -> ast.Module:
    found: ast.Module = syntax_tree(source, path)
    return found


def _imports(tree: ast.AST) -> list[Import]:
    return [node for node in ast.walk(tree) if isinstance(node, Import)]


def _imported(module: str, path: Path) -> Iterator[tuple[str, str | None]]:
    """The `_targets` of every import of a file."""
    for node in _imports(_parsed(path.read_text(), str(path))):
        yield from _targets(node, module, path)


def _whole(tree: ast.Module) -> list[Import]:
    """The imports that count all of a module whatever is used of it: all but plain ones whose names are read."""
    top = set(map(id, tree.body))
    nested = [node for node in _imports(tree) if id(node) not in top]
    stars = [node for node in tree.body if isinstance(node, ast.ImportFrom) and "*" in _bound(node)]
    read = _used(tree)
    for_effect = [node for node in tree.body if isinstance(node, ast.Import) and not _bound(node) & read]
    return nested + stars + for_effect


def _bound(node: Import) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _changed(node: ast.stmt) -> set[str]:
    """The names that a top-level statement binds, assigns into or calls a method of."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, Import):
            names |= _bound(inner)
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(inner.name)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store | ast.Del):
            names |= _root(inner)
        elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):  # f(name), name.f()
            call = inner.value
            names |= _root(call.func) if isinstance(call.func, ast.Attribute) else set()
            names |= {argument.id for argument in call.args if isinstance(argument, ast.Name)}
    return names


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _used(node: ast.AST) -> set[str]:
    """The names that stand in code, those that it binds too."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _reached(
    node: Import, module: str, path: Path, name: str | None, find: Find, *, whole: bool = False
) -> Iterator[tuple[str, Path, str | None]]:
    """What an import takes from other files of the user's: a name of a file, or (None) all of one.

    name: the only one that is wanted of those that it binds. whole: whether of a name's file all is taken.
    """
    targets: list[tuple[str, str | None]] = []
    for base, word in _targets(node, module, path, name):
        targets.append((base, None if whole else word))
        if word is not None:
            targets.append((f"{base}.{word}", None))  # a module of a package
        elif isinstance(node, ast.Import):
            targets += [(package, None) for package in _with_packages(base)]
    for target, word in targets:
        if (file := find(target)) is not None:
            yield target, file, word


def _targets(node: Import, module: str, path: Path, name: str | None = None) -> Iterator[tuple[str, str | None]]:
    """The modules that an import names, each with the word that is taken from it, or None."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, None) for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        try:
            base = importlib.util.resolve_name("." * node.level + base, package) if package else base
        except ImportError:  # no package is so far up
            return
    for alias in node.names if base else ():
        if alias.name == "*":
            yield base, None
        elif name in (None, alias.asname or alias.name):
            yield base, alias.name


def _with_packages(module: str) -> list[str]:
    """The packages that a module lies in, from the top, and the module."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def file_in(folder: Path, module: str) -> Path | None:
    """The file of a module in a folder."""
    place = folder.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def located(module: str) -> Path | None:
    """The user's file of a module: of the imported one, or of that which would be imported; nothing is run."""
    file, places = None, None
    for name in _with_packages(module):
        if name in sys.modules:
            file, places = user_file(sys.modules[name]), getattr(sys.modules[name], "__path__", ())
        elif places == () or (spec := _spec(name, places)) is None:
            return None
        else:
            source = spec.has_location and str(spec.origin).endswith(".py")
            file = _users(Path(str(spec.origin))) if source else None
            places = () if spec.submodule_search_locations is None else spec.submodule_search_locations
    return file


def _spec(name: str, places: Any) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        with contextlib.suppress(ImportError):
            if (spec := finder.find_spec(name, places)) is not None:
                return spec
    return None


def is_from_elsewhere(name: str) -> bool:
    """Whether a top-level module would be imported from where the user's files do not lie."""
    spec = _spec(name, None)
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    return all(_is_installed_in(Path(str(place)).resolve()) for place in places)


def user_file(module: ModuleType | None) -> Path | None:
    """The file of a module that is the user's: not of this package, the standard library or an installed one."""
    try:
        file = inspect.getsourcefile(module) if module is not None else None
    except TypeError:  # built in
        return None
    return _users(Path(file)) if file is not None else None


def _users(file: Path) -> Path | None:
    path = file.resolve()
    return path if path.is_file() and not _is_installed_in(path) else None


def _is_installed_in(path: Path) -> bool:
    elsewhere = {Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "platstdlib")}
    elsewhere.add(Path(posenc_jax.__file__).resolve().parent)
    installed = {"site-packages", "dist-packages"}.intersection(path.parts)
    return bool(installed) or any(path.is_relative_to(folder) for folder in elsewhere)
