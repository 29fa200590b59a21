"""The code that a user brings to a run: a digest of the whole files that each class stands on (`own_sources`), and the
copy of them that the run keeps.
"""

import dataclasses
import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import posenc_jax
from posenc_jax.config import is_own, type_name, values_in
from posenc_jax.files.atomic import refuse_links, write_changed
from posenc_jax.files.user_paths import real
from posenc_jax.refusals.own_exits import SourceLoader, exits_as_errors
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.own_sources import (
    Files,
    digest_of,
    file_in,
    files_of,
    followed,
    imported,
    is_installed,
    located,
    user_file,
    with_packages,
)

Digests = dict[str, str]
"""``"file.py:Class"`` -> SHA-256 of the files that it stands on."""


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
    return digest_of(files_of(cls).values())


def changes(before: Digests, now: Digests) -> list[str]:
    """Classes of both that differ, in words."""
    return [
        f"{name} has changed: its source was {_brief(before[name])}, now it is {_brief(now[name])}"
        for name in before
        if name in now and before[name] != now[name]
    ]


def _brief(digest: str) -> str:
    return digest if digest == _UNREADABLE else digest[:8]


def save(config: Any, directory: Path) -> None:
    """Keeps a copy of every file that the own classes of a config stand on."""
    folder = _folder(directory, digests(config))
    for cls in own_classes(config).values():
        for module, path in files_of(cls).items():
            copy = folder / _place(module, path)
            refuse_links(directory, copy.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_changed(copy, path.read_text())


def load(directory: Path, wanted: Digests) -> dict[str, type]:
    """The classes that a run brought, as far as this process has imported them: nothing is run here, see `trust`.

    Raises:
      RefusedError: one is not there, or is another one than the run was made with.
    """
    return _found(directory, wanted, lambda cls, digest: _digest(cls) == digest)


def load_here(directory: Path, wanted: Digests) -> dict[str, type]:
    """The classes as this process has them, whatever they were when the run was made; otherwise like `load`."""
    return _found(directory, wanted, lambda cls, digest: True)


def _found(directory: Path, wanted: Digests, fits: Callable[[type, str], bool]) -> dict[str, type]:
    found = {}
    for name, digest in wanted.items():
        cls = next((cls for cls in _loaded(name) if fits(cls, digest)), None)
        if cls is None:
            raise RefusedError(
                f"{directory} needs {name}, which it brought along, and no file of a run is run unasked: read "
                f"{_listed(_files(_folder(directory, wanted)).values())}, and if you trust it say --trust {directory} "
                "(in Python: own_code.trust)"
            )
        found[name] = cls
    return found


def changed_here(directory: Path, wanted: Digests) -> Digests:
    """Classes of a run that differ in this process, or in the files of this folder that the run's were copied from."""
    folder, found = _folder(directory, wanted), {}

    def find(module: str) -> Path | None:
        ours = module.partition(".")[0] == posenc_jax.__name__  # which lies in this folder where it is a checkout
        return None if ours else file_in(Path.cwd(), module) or located(module)

    for name, digest in wanted.items():
        here = [_digest(cls) for cls in _loaded(name)]
        for copy in folder.rglob(name.partition(":")[0]):
            file = Path.cwd() / copy.relative_to(folder)
            if file.is_file():
                here.append(_digest_in(_module_of(copy.relative_to(folder)), file, find))
        if others := [other for other in here if other != digest]:
            found[name] = others[0]
    return found


def _digest_in(module: str, path: Path, find: Callable[[str], Path | None]) -> str:
    """Digest of a file and its imports, which are only read; `_UNREADABLE` if one is not valid Python."""
    try:
        return digest_of(followed(module, path, find).values())
    except (SyntaxError, ValueError, RecursionError):  # also bytes that are no text
        return _UNREADABLE


_UNREADABLE = "no valid Python"


def _loaded(name: str) -> list[type]:
    """The classes of this name that this process has imported."""
    file, _, word = name.partition(":")
    found = []
    for module in list(sys.modules.values()):
        if Path(getattr(module, "__file__", None) or "").name == file:
            cls = getattr(module, word, None)
            if isinstance(cls, type) and cls.__module__ == module.__name__ and user_file(module):
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
    files = {module: path for module, path in _files(folder).items() if not is_installed(_top(module))}
    absent = {name for module, path in files.items() for name in imported(module, path) if not is_installed(_top(name))}
    absent -= {name for module in files for name in with_packages(module)}
    if here:
        now = {module: Path.cwd() / path.relative_to(folder) for module, path in files.items()}
        files, absent = files | {module: path for module, path in now.items() if path.is_file()}, set()
    _refuse_others_in_use(directory, files, absent)
    note(f"running what {directory} brought along: {_listed(files.values())}")
    finder = _Finder(files, absent, here)
    sys.meta_path.insert(0, finder)
    try:
        for module, word in copies:
            if not isinstance(getattr(_imported(module, files[module]), word, None), type):
                raise RefusedError(f"{files[module]} has no class {word}, which this run needs: restore it")
    except RefusedError:
        sys.meta_path.remove(finder)
        raise


def _copy(folder: Path, name: str, digest: str) -> tuple[str, str]:
    """The module of a copied class and its name in it; the files that it stands on are compared."""
    file, _, word = name.partition(":")
    own = {module: path for module, path in _files(folder).items() if path.name == file}
    for module, path in own.items():
        if _digest_in(module, path, functools.partial(file_in, folder)) == digest:
            return module, word
    if own:
        raise RefusedError(
            f"{next(iter(own.values()))} and what it imports there is not the code that the run was made with: restore "
            "it from where the run was made"
        )
    raise RefusedError(f"{folder} has no {file}, which this run needs: restore it from where the run was made")


def _refuse_others_in_use(directory: Path, files: Files, absent: set[str]) -> None:
    """Refuses what would be a second module of its name: what holds classes of the first would lose them."""
    for module, path in files.items():
        present = [getattr(sys.modules[module], "__file__", None)] if module in sys.modules else []
        present += [f.files[module] for f in sys.meta_path if isinstance(f, _Finder) and module in f.files]
        for file in present:
            if file is None or not Path(file).is_file() or Path(file).read_bytes() != path.read_bytes():
                raise _another_module(directory, module, file, f"{path}, which {directory} brought along")
    for module in sorted(absent):
        if (file := user_file(sys.modules.get(module))) is not None:
            raise _another_module(directory, module, file, f"none, as {directory} was made")


def _another_module(directory: Path, module: str, file: Any, than: str) -> RefusedError:
    return RefusedError(
        f"this process has another module {module}, from {file}, than {than}: work with that run in a process of its "
        "own, or rename the other file"
    )


def _top(module: str) -> str:
    return module.partition(".")[0]


@dataclasses.dataclass(frozen=True)
class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules in given files, and packages that lead to them, and says of the ``absent`` that there are none.

    It stays on `sys.meta_path`, for functions import when they are called. Nothing plainer serves: files import each
    other by the names that they had, so they cannot be put under others; `sys.modules` alone would run all of them at
    once, `importlib.util.LazyLoader` when `inspect` looks at them; and with the copy on `sys.path`, files of this
    folder, or of installed names, or bytecode would be taken for it.

    Attributes:
      here: whether the packages have what lies in this folder too.
    """

    files: Files
    absent: set[str]
    here: bool

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Finds a module of the files; Python's import system calls it."""
        if name in self.files:
            file = str(self.files[name])
            inner = [str(self.files[name].parent)] if file.endswith("__init__.py") else None
            loader = SourceLoader(name, file)
            return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=inner)
        if any(module.startswith(f"{name}.") for module in self.files):
            package = importlib.machinery.ModuleSpec(name, None, is_package=True)
            package.submodule_search_locations = [str(Path.cwd().joinpath(*name.split(".")))] if self.here else []
            return package
        if name in self.absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def _imported(name: str, path: Path) -> Any:
    try:
        with exits_as_errors():
            return importlib.import_module(name)
    except Exception as error:
        raise RefusedError(
            f"{path} does not run here ({type(error).__name__}: {error}): install what it needs"
        ) from None
