"""Files of the user that a class depends on: its own, and all that those import, by any import anywhere in them.

Only sources are read, nothing is run. Installed packages, this one and Python's own are recorded by their versions
instead; data that a file opens is not seen.
"""

import ast
import functools
import hashlib
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import posenc_jax
from posenc_jax.encodings.parsing import syntax_tree
from posenc_jax.files.user_paths import real
from posenc_jax.runs.errors import RefusedError

Files = dict[str, Path]
"""Module -> the user's file that it is."""


def digest_of(files: Iterable[Path]) -> str:
    """SHA-256 of the names and the whole content of files, in whatever order and folders."""
    return hashlib.sha256(repr(sorted((path.name, path.read_text()) for path in files)).encode()).hexdigest()


def files_of(cls: type) -> Files:
    """The files that a class of this process stands on; RefusedError for one without a source file."""
    path = user_file(sys.modules.get(cls.__module__))
    if path is None:
        raise RefusedError(
            f"{cls.__qualname__} has no source file, so a run could not say later what it stood on: define it in a "
            "Python file"
        )
    try:
        return followed(cls.__module__, path, located)
    except (SyntaxError, ValueError, RecursionError) as error:  # ValueError: bytes that are no text
        raise RefusedError(
            f"{cls.__qualname__} imports a file that is no Python ({error}): mend it, or take the import out"
        ) from None


def followed(module: str, path: Path, find: Callable[[str], Path | None]) -> Files:
    """A file and all that it imports of those that ``find`` knows."""
    found, todo = {module: path}, [(module, path)]
    for module, path in todo:  # grows
        for name in imported(module, path):
            file = None if name in found else find(name)
            if file is not None:
                found[name] = file
                todo.append((name, file))
    return found


def imported(module: str, path: Path) -> Iterator[str]:
    """Every module that an import in a file may name, those of its packages before it."""
    for node in ast.walk(_parsed(path.read_text(), str(path))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            if node.level and package:
                try:
                    base = importlib.util.resolve_name("." * node.level + base, package)
                except ImportError:  # no package is so far up
                    continue
            names = [f"{base}.{alias.name}" for alias in node.names] if base else []
        for name in names:
            yield from with_packages(name)


def with_packages(module: str) -> list[str]:
    """The packages that a module lies in, from the top, and the module."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


@functools.lru_cache(maxsize=64)
def _parsed(source: str, path: str) -> ast.Module:
    return syntax_tree(source, path)


def file_in(folder: Path, module: str) -> Path | None:
    """The file of a module in a folder."""
    base = folder.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def located(module: str) -> Path | None:
    """The user's file of a module: of the imported one, or of that which would be imported; nothing is run."""
    file, locations = None, None
    for name in with_packages(module):
        if name in sys.modules:
            file, locations = user_file(sys.modules[name]), getattr(sys.modules[name], "__path__", ())
        elif locations == () or (spec := _spec(name, locations)) is None:
            return None
        else:
            source = spec.has_location and str(spec.origin).endswith(".py")
            file = _users(Path(str(spec.origin))) if source else None
            locations = () if spec.submodule_search_locations is None else spec.submodule_search_locations
    return file


def _spec(name: str, locations: Any) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            if (spec := finder.find_spec(name, locations)) is not None:
                return spec
        except ImportError:  # as an import would end
            return None
    return None


def user_file(module: ModuleType | None) -> Path | None:
    """The file of a module that is the user's: not of this package, the standard library or an installed one."""
    try:
        file = inspect.getsourcefile(module) if module is not None else None
    except TypeError:  # built in
        return None
    return _users(Path(file)) if file is not None else None


def _users(file: Path) -> Path | None:
    path = real(file)
    return path if path.is_file() and not _is_installed_in(path) else None


def is_installed(name: str) -> bool:
    """True if a top-level module of this name belongs to Python, this package or an installed package."""
    if name in sys.stdlib_module_names or name == "posenc_jax":
        return True
    installed = [entry for entry in sys.path if entry and _is_installed_in(real(entry))]
    return importlib.machinery.PathFinder.find_spec(name, installed) is not None


def _is_installed_in(path: Path) -> bool:
    elsewhere = {real(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib")}
    elsewhere.add(Path(posenc_jax.__file__).resolve().parent)
    installed = {"site-packages", "dist-packages"}.intersection(path.parts)
    return bool(installed) or any(path.is_relative_to(folder) for folder in elsewhere)
