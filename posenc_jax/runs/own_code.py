"""The code that a user brings to a run: a digest of the whole files that each class stands on, its own and all that
those import, and the copy of them that the run keeps.

Only sources are read. Installed packages, this one and Python's own are recorded by their versions instead; data that a
file opens is not seen. A copy is run on demand alone (`trust`), with its folder first on the path.
"""

import ast
import contextlib
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
from posenc_jax.config import is_own, type_name, values_in
from posenc_jax.encodings.interface.parsing import syntax_tree
from posenc_jax.files.atomic import refuse_links, write_changed
from posenc_jax.files.user_paths import real
from posenc_jax.refusals import SourceLoader, exits_as_errors
from posenc_jax.runs.errors import RefusedError

Digests = dict[str, str]
"""``"file.py:Class"`` -> SHA-256 of the files that it stands on."""

Files = dict[str, Path]
"""Module -> the user's file that it is."""


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
    """Digests of the sources of every own class of a config; RefusedError for one without a source file."""
    return {name: _digest(cls) for name, cls in sorted(own_classes(config).items())}


def _digest(cls: type) -> str:
    return _digest_of(_files_of(cls).values())


def changes(before: Digests, now: Digests) -> list[str]:
    """Classes of both that differ, in words."""
    return [
        f"{name} has changed: its source was {before[name][:8]}, now it is {now[name][:8]}"
        for name in before
        if name in now and before[name] != now[name]
    ]


def save(config: Any, directory: Path) -> None:
    """Keeps a copy of every file that the own classes of a config stand on."""
    folder = _folder(directory, digests(config))
    for cls in own_classes(config).values():
        for module, path in _files_of(cls).items():
            copy = folder / _place(module, path)
            refuse_links(directory, copy.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_changed(copy, path.read_text())


def load(directory: Path, wanted: Digests) -> dict[str, type]:
    """The classes that a run brought, as far as this process has imported them: nothing is run here, see `trust`.

    Raises:
      RefusedError: one is not there, or is another one.
    """
    found = {}
    for name, digest in wanted.items():
        cls = next((cls for cls in _loaded(name) if _digest(cls) == digest), None)
        if cls is None:
            raise RefusedError(
                f"{directory} needs {name}, which it brought along, and no file of a run is run unasked: read "
                f"{_listed(_files(_folder(directory, wanted)).values())}, and if you trust it say --trust {directory} "
                "(in Python: own_code.trust)"
            )
        found[name] = cls
    return found


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


def _place(module: str, path: Path) -> Path:
    """``a.b`` lies at ``a/b.py``, a package ``a`` at ``a/__init__.py``."""
    if module == "__main__":
        return Path(path.name)
    parts = module.split(".")
    return Path(*parts, path.name) if path.name == "__init__.py" else Path(*parts[:-1], path.name)


def _module_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _folder(directory: Path, code: Digests) -> Path:
    """The folder of copies, one for each state of the code: results of another state keep theirs."""
    return directory / "code" / hashlib.sha256(repr(sorted(code.items())).encode()).hexdigest()[:8]


def _files(folder: Path) -> Files:
    """The Python files in a copy by module; RefusedError for a link, or where there is none."""
    paths = sorted(folder.rglob("*.py"))
    for path in paths:
        if real(path) != real(folder) / path.relative_to(folder) or not path.is_file():
            raise RefusedError(f"{path} is a link or no file, which no run writes: restore it")
    if not paths:
        raise RefusedError(f"{folder} is not there, which this run needs: restore it from where the run was made")
    return {_module_of(path.relative_to(folder)): path for path in paths}


def _listed(files: Iterable[Path]) -> str:
    return ", ".join(f"{path} (sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]})" for path in files)


def trust(directory: Path, wanted: Digests, note: Callable[[str], None] = lambda text: None) -> None:
    """Runs the Python files that a run brought, from the copy that it keeps, whose folder is first on the path of this
    process from then on. The files can do whatever the user can.

    Args:
      note: hears the names and the digests of the files before they run.

    Raises:
      RefusedError: the copy is not what the run was made with, has other files beside it or fails to run; or this
        process has another module of its name.
    """
    if not wanted:
        note(f"{directory} brought no code along")
        return
    folder = _folder(directory, wanted)
    copies = [_copy(folder, name, digest) for name, digest in wanted.items()]
    files = _files(folder)
    kept = {path for module, _ in copies for path in _followed(module, files[module], _in(folder)).values()}
    if strange := sorted({path for path in folder.rglob("*") if not path.is_dir()} - kept):
        raise RefusedError(f"{strange[0]} is no file that the run brought, and could be imported: remove it")
    for module, path in files.items():
        file = getattr(sys.modules.get(module), "__file__", None)
        if module in sys.modules and (file is None or Path(file).read_bytes() != path.read_bytes()):
            raise RefusedError(
                f"this process has another module {module}, from {file}, than {path}, which {directory} brought along: "
                "work with that run in a process of its own, or rename the other file"
            )
    note(f"running what {directory} brought along: {_listed(files.values())}")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    for (module, word), digest in zip(copies, wanted.values(), strict=True):
        cls = getattr(_imported(module, files[module]), word, None)
        if not isinstance(cls, type):
            raise RefusedError(f"{files[module]} has no class {word}, which this run needs: restore it")
        if _digest(cls) != digest:
            raise RefusedError(f"{files[module]} would import other files here than {folder} has: go to another folder")


def _imported(module: str, path: Path) -> Any:
    if module in sys.modules:
        return sys.modules[module]
    spec = importlib.util.spec_from_file_location(module, path, loader=SourceLoader(module, str(path)))
    assert spec is not None
    assert spec.loader is not None
    found = sys.modules[module] = importlib.util.module_from_spec(spec)
    try:
        with exits_as_errors():
            spec.loader.exec_module(found)
    except Exception as error:
        del sys.modules[module]
        said = f"{type(error).__name__}: {error}"
        raise RefusedError(f"{path} does not run here ({said}): install what it needs") from None
    return found


def _copy(folder: Path, name: str, digest: str) -> tuple[str, str]:
    """The module of a copied class and its name in it; the files that it stands on are compared."""
    file, _, word = name.partition(":")
    for module, path in _files(folder).items():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):  # also bytes that are no text
            if path.name == file and _digest_of(_followed(module, path, _in(folder)).values()) == digest:
                return module, word
    raise RefusedError(
        f"{folder / file} and what it imports there is not the code that the run was made with: restore it from where "
        "the run was made"
    )


def _in(folder: Path) -> Callable[[str], Path | None]:
    return functools.partial(_file_in, folder)


def _digest_of(files: Iterable[Path]) -> str:
    """SHA-256 of the names and the whole content of files, in whatever order and folders."""
    return hashlib.sha256(repr(sorted((path.name, path.read_text()) for path in files)).encode()).hexdigest()


def _files_of(cls: type) -> Files:
    """The files that a class of this process stands on; RefusedError for one without a source file."""
    path = _user_file(sys.modules.get(cls.__module__))
    if path is None:
        raise RefusedError(
            f"{cls.__qualname__} has no source file, so a run could not say later what it stood on: define it in a "
            "Python file"
        )
    try:
        return _followed(cls.__module__, path, _located)
    except (SyntaxError, ValueError, RecursionError) as error:  # ValueError: bytes that are no text
        raise RefusedError(
            f"{cls.__qualname__} imports a file that is no Python ({error}): mend it, or take the import out"
        ) from None


def _followed(module: str, path: Path, find: Callable[[str], Path | None]) -> Files:
    """A file and all that it imports of those that ``find`` knows."""
    found, todo = {module: path}, [(module, path)]
    for module, path in todo:  # grows
        for name in _names_imported(module, path):
            file = None if name in found else find(name)
            if file is not None:
                found[name] = file
                todo.append((name, file))
    return found


def _names_imported(module: str, path: Path) -> Iterator[str]:
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
            yield from _with_packages(name)


def _with_packages(module: str) -> list[str]:
    """The packages that a module lies in, from the top, and the module."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


@functools.lru_cache(maxsize=64)
def _parsed(source: str, path: str) -> ast.Module:
    return syntax_tree(source, path)


def _file_in(folder: Path, module: str) -> Path | None:
    """The file of a module in a folder."""
    base = folder.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _located(module: str) -> Path | None:
    """The user's file of a module: of the imported one, or of that which would be imported; nothing is run."""
    file, locations = None, None
    for name in _with_packages(module):
        if name in sys.modules:
            file, locations = _user_file(sys.modules[name]), getattr(sys.modules[name], "__path__", ())
        elif locations == () or (spec := _spec(name, locations)) is None:
            return None
        else:
            source = spec.has_location and str(spec.origin).endswith(".py")
            file = _users(Path(str(spec.origin))) if source else None
            locations = () if spec.submodule_search_locations is None else spec.submodule_search_locations
    return file


def _spec(name: str, locations: Any) -> importlib.machinery.ModuleSpec | None:
    try:
        if locations is None:
            return importlib.util.find_spec(name)
        return importlib.machinery.PathFinder.find_spec(name, locations)
    except (ImportError, ValueError):  # as an import would end
        return None


def _user_file(module: ModuleType | None) -> Path | None:
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
