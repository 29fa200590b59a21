"""The code that a user brings to a run: which of it a result stands on, its digest, and the copy that the run keeps.

A class stands on the top-level statements of its file that it reaches by name (other classes, functions, constants,
imports, assignments to them), and on those that these reach in other files of the user's. Installed packages, this one
among them, are recorded by their versions instead.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import posenc_jax
from posenc_jax.config import is_own, type_name, values_in
from posenc_jax.files import refuse_links, write_changed
from posenc_jax.runs.errors import RefusedError

Digests = dict[str, str]
"""``"file.py:Class"`` -> SHA-256 of the source that it stands on."""


def own_classes(config: Any) -> dict[str, type]:
    """The user's own classes in a config by `type_name`; RefusedError when two have the same."""
    found: dict[str, type] = {}
    for value in values_in(config):
        cls = type(value)
        if is_own(cls) and found.setdefault(type_name(cls), cls) is not cls:
            raise RefusedError(
                f"{type_name(cls)} is the name of two classes of this config, in the modules "
                f"{found[type_name(cls)].__module__} and {cls.__module__}: rename one of the files"
            )
    return found


def digests(config: Any) -> Digests:
    """What every own class of a config stands on; RefusedError for one without a source file."""
    return {name: _digest(_stands_on(cls)) for name, cls in sorted(own_classes(config).items())}


def changes(before: Digests, now: Digests) -> list[str]:
    """In words, which of the classes that both have are other ones now."""
    return [
        f"{name} has changed: its source was {before[name][:8]}, now it is {now[name][:8]}"
        for name in before
        if name in now and before[name] != now[name]
    ]


def save(config: Any, directory: Path) -> None:
    """Keeps a copy of every file of the user's that the config stands on."""
    folder = _folder(directory, digests(config))
    for cls in own_classes(config).values():
        for part in _stands_on(cls):
            copy = folder / part.place
            refuse_links(directory, copy.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_changed(copy, part.path.read_text())


def load(directory: Path, wanted: Digests) -> dict[str, type]:
    """The classes that a run brought, as far as this process has imported them: nothing is run here, see `trust`.

    Raises:
      RefusedError: one is not there, or is another one than the run was made with.
    """
    found = {}
    for name, digest in wanted.items():
        cls = next((cls for cls in _loaded(name) if _digest(_stands_on(cls)) == digest), None)
        if cls is None:
            raise _not_asked_for(directory, wanted, name)
        found[name] = cls
    return found


def trust(
    directory: Path, wanted: Digests, *, here: bool = False, note: Callable[[str], None] = lambda text: None
) -> None:
    """Runs the Python files that a run brought, from the copy that it keeps. From then on this process has its classes,
    and `load` finds them. The files can do whatever the user can.

    A module that this process has from a file with the same content stays: its classes are the run's.

    Args:
      note: hears the names and the digests of the files before they run.
      here: whether the files of the current folder are run that the run's were copied from, as far as they are there.

    Raises:
      RefusedError: a copy is missing, is not what the run was made with, or fails to run; or this process has another
        module of its name, which is in use and cannot be replaced.
    """
    if not wanted:
        note(f"{directory} brought no code along")
        return
    folder = _folder(directory, wanted)
    copies = [_copy(folder, name, digest) for name, digest in wanted.items()]
    files = _files(folder)
    if here:
        now = {module: Path.cwd() / path.relative_to(folder) for module, path in files.items()}
        files |= {module: path for module, path in now.items() if path.is_file()}
    for module, path in files.items():
        _refuse_another_module(directory, module, path)
    note(f"running what {directory} brought along: {_listed(files)}")
    for module, word in copies:
        if not isinstance(getattr(_imported(module, files), word, None), type):
            raise RefusedError(f"{files[module]} has no class {word}, which this run needs: restore it")


def _refuse_another_module(directory: Path, module: str, path: Path) -> None:
    """Refuses a file whose module this process has from elsewhere: what holds classes of that one would lose them."""
    present = getattr(sys.modules.get(module), "__file__", None)
    if module not in sys.modules or is_installed(module.partition(".")[0]):  # those are never taken from a run
        return
    if present is None or not Path(present).is_file() or Path(present).read_bytes() != path.read_bytes():
        raise RefusedError(
            f"this process has another module {module}, from {present}, than {path}, which {directory} brought along: "
            "work with that run in a process of its own, or rename the other file"
        )


def changed_here(directory: Path, wanted: Digests) -> Digests:
    """Those of a run's classes that are other ones in this process, or in the files of this folder that the run's were
    copied from.
    """
    folder, found = _folder(directory, wanted), {}
    for name, digest in wanted.items():
        here = [_digest(_stands_on(cls)) for cls in _loaded(name)]
        file, _, word = name.partition(":")
        for place in (path.relative_to(folder) for path in sorted(folder.rglob("*.py")) if path.name == file):
            if (Path.cwd() / place).is_file():
                here.append(_digest_in(_module_of(place), Path.cwd() / place, word, Path.cwd()))
        # A file of that name that has no such class is another one.
        others = [other for other in here if other not in (digest, _digest([]))]
        if others:
            found[name] = others[0]
    return found


def load_here(directory: Path, wanted: Digests) -> dict[str, type]:
    """As `load`, but the classes as this process has them, whatever they were when the run was made."""
    found = {name: next(iter(_loaded(name)), None) for name in wanted}
    if missing := [name for name, cls in found.items() if cls is None]:
        raise _not_asked_for(directory, wanted, missing[0])
    return {name: cls for name, cls in found.items() if cls is not None}


@dataclasses.dataclass(frozen=True, order=True)
class _Part:
    """A statement that a class stands on."""

    file: str
    line: int
    text: str
    module: str
    path: Path

    @property
    def place(self) -> Path:
        """``a.b`` lies at ``a/b.py``, a package ``a`` at ``a/__init__.py``."""
        if self.module == "__main__":
            return Path(self.file)
        parts = self.module.split(".")
        return Path(*parts, self.file) if self.file == "__init__.py" else Path(*parts[:-1], self.file)


def _folder(directory: Path, code: Digests) -> Path:
    """One for each state of the code: results of another one keep theirs."""
    return directory / "code" / hashlib.sha256(repr(sorted(code.items())).encode()).hexdigest()[:8]


def _module_of(place: Path) -> str:
    parts = place.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _loaded(name: str) -> list[type]:
    """The classes of this name that this process has imported."""
    file, _, word = name.partition(":")
    found = []
    for module in list(sys.modules.values()):
        if Path(getattr(module, "__file__", None) or "").name == file:
            cls = getattr(module, word, None)
            if isinstance(cls, type) and cls.__module__ == module.__name__ and _user_file(module):
                found.append(cls)
    return found


def _not_asked_for(directory: Path, wanted: Digests, name: str) -> RefusedError:
    folder = _folder(directory, wanted)
    return RefusedError(
        f"{directory} needs {name}, which it brought along, and no file of a run is run unasked: read "
        f"{_listed(_files(folder))}, and if you trust it say --trust {directory} (in Python: own_code.trust)"
    )


def _listed(files: dict[str, Path]) -> str:
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files.values()}
    return ", ".join(f"{path} (sha256 {digest})" for path, digest in digests.items())


def _files(folder: Path) -> dict[str, Path]:
    """The Python files in a copy by module; RefusedError for a link, or where there is none."""
    paths = sorted(folder.rglob("*.py"))
    for path in paths:
        if path.resolve() != folder.resolve() / path.relative_to(folder) or not path.is_file():
            raise RefusedError(f"{path} is a link or no file, which no run writes: restore it")
    if not paths:
        raise RefusedError(f"{folder} is not there, which this run needs: restore it from where the run was made")
    return {_module_of(path.relative_to(folder)): path for path in paths}


def _copy(folder: Path, name: str, digest: str) -> tuple[str, str]:
    """The module of a copied class and its name in it; its source is compared."""
    file, _, word = name.partition(":")
    for module, path in _files(folder).items():
        if path.name == file:
            if _digest_in(module, path, word, folder) == digest:
                return module, word
            raise RefusedError(
                f"{path} is not the code that the run was made with: restore it from where the run was made"
            )
    raise RefusedError(f"{folder} has no {file}, which this run needs: restore it from where the run was made")


class _Files(importlib.abc.MetaPathFinder):
    """Finds modules in given files, and packages that lead to them; of installed packages only what lies there."""

    def __init__(self, files: dict[str, Path]) -> None:
        self._files = {module: path for module, path in files.items() if not is_installed(module.partition(".")[0])}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """What Python asks."""
        if name in self._files:
            file = str(self._files[name])
            inner = [str(self._files[name].parent)] if file.endswith("__init__.py") else None
            loader = SourceLoader(name, file)
            return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=inner)
        if any(module.startswith(f"{name}.") for module in self._files):
            return importlib.machinery.ModuleSpec(name, None, is_package=True)
        return None


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Runs the source itself, never bytecode that lies beside it, and leaves none."""

    def get_code(self, fullname: str) -> Any:
        """What Python asks."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def raised_it(error: BaseException) -> bool:
    """Whether a file took part in an error that a command line named, or that a run brought."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(isinstance(frame.f_globals.get("__loader__"), SourceLoader) for frame, _ in frames)


def is_installed(name: str) -> bool:
    """Whether a top-level module of this name is of Python, of this package or of an installed one."""
    if name in sys.stdlib_module_names or name == "posenc_jax":
        return True
    paths = sysconfig.get_paths()
    return importlib.machinery.PathFinder.find_spec(name, [paths["purelib"], paths["platlib"]]) is not None


def _imported(name: str, files: dict[str, Path]) -> ModuleType:
    """A module from its file, and what it imports of the ``files`` from those."""
    finder = _Files(files)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise RefusedError(
            f"{files[name]} does not run here ({type(error).__name__}: {error}): install what it needs"
        ) from None
    finally:
        sys.meta_path.remove(finder)


def _digest(parts: list[_Part]) -> str:
    """SHA-256 of statements, in the order of their files and lines."""
    total = hashlib.sha256()
    for part in sorted(parts):
        total.update(f"{part.file}\0{part.text}\0".encode())
    return total.hexdigest()


def _digest_in(module: str, path: Path, word: str, folder: Path) -> str:
    """Of what ``word`` of a file stands on, which is only read; of a file that is no Python a word of its own."""
    try:
        return _digest(_statements(module, path, word, folder))
    except (SyntaxError, ValueError, RecursionError):  # also bytes that are no text
        return "unreadable"


def _stands_on(cls: type) -> list[_Part]:
    """The statements that a class stands on."""
    path = _user_file(sys.modules.get(cls.__module__))
    if path is None:
        raise RefusedError(
            f"{cls.__qualname__} has no source file, so a run could not say later what it stood on: define it in a "
            "Python file"
        )
    return _statements(cls.__module__, path, cls.__qualname__.partition(".")[0], None)


def _statements(module: str, path: Path, word: str, folder: Path | None) -> list[_Part]:
    """Those that ``word`` of a module stands on; modules are the imported ones or (``folder``) those of a folder."""
    found: dict[tuple[Path, int], _Part] = {}
    todo: list[tuple[str, Path, str | None]] = [(module, path, word)]
    seen = set()
    while todo:
        module, path, name = entry = todo.pop()
        if entry in seen:
            continue
        seen.add(entry)
        source = path.read_text()
        lines = source.splitlines()
        for node in _parsed(source).body:
            if not (name is None or name in _changed(node)):
                continue
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            found[path, first] = _Part(path.name, first, text, module, path)
            if isinstance(node, ast.Import | ast.ImportFrom):
                todo += _reached(node, module, path, name, folder)
            else:
                todo += [(module, path, used) for used in _used(node)]
    return list(found.values())


@functools.lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _changed(node: ast.stmt) -> set[str]:
    """The names that a top-level statement binds, assigns into or calls a method of."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
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


def _used(node: ast.stmt) -> set[str]:
    """The names that a statement reads, those in annotations that are strings too."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _reached(
    node: ast.Import | ast.ImportFrom, module: str, path: Path, name: str | None, folder: Path | None
) -> Iterator[tuple[str, Path, str | None]]:
    """What an import takes from other files of the user's: a name of a file, or (None) all of one."""
    targets: list[tuple[str, str | None]]
    if isinstance(node, ast.Import):
        targets = [(alias.name, None) for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            base = importlib.util.resolve_name("." * node.level + base, package) if package else base
        wanted = [alias.name for alias in node.names if name in (None, alias.asname or alias.name)]
        targets = [(base, None if word == "*" else word) for word in wanted]
        targets += [(f"{base}.{word}", None) for word in wanted]  # a module of a package
    for target, word in targets:
        file = _user_file(sys.modules.get(target)) if folder is None else _file_in(folder, target)
        if file is not None:
            yield target, file, word


def _file_in(folder: Path, module: str) -> Path | None:
    place = folder.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _user_file(module: ModuleType | None) -> Path | None:
    """The file of a module that is the user's: not of this package, the standard library or an installed one."""
    try:
        file = inspect.getsourcefile(module) if module is not None else None
    except TypeError:  # built in
        return None
    if file is None or not Path(file).is_file():
        return None
    path = Path(file).resolve()
    elsewhere = {Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "platstdlib")}
    elsewhere.add(Path(posenc_jax.__file__).resolve().parent)
    installed = {"site-packages", "dist-packages"}.intersection(path.parts)
    return None if installed or any(path.is_relative_to(folder) for folder in elsewhere) else path
