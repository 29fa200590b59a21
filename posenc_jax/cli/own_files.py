"""Classes in Python files that a command line names, as in ``mine.py:Mine(width=2)``.

A file runs because its name was typed; nothing that a file or a directory names is run for that.
"""

import importlib.util
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from posenc_jax.cli.errors import UsageError, first_line, refusing
from posenc_jax.config import Ablation, Run, is_own, values_in
from posenc_jax.config.own_names import check_names, wrong_name
from posenc_jax.data.metric import Metric
from posenc_jax.data.tasks import TASKS, Task
from posenc_jax.data.text import TEXT_TASKS
from posenc_jax.drawing.plain import short
from posenc_jax.encodings import PositionalEncoding, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.parsing import parse_values
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.encodings.interface.structure import MASKS, StructureMask
from posenc_jax.encodings.interface.value import Value
from posenc_jax.files.user_paths import full, real
from posenc_jax.refusals import SourceLoader, did_you_mean, exits_as_errors


def read_slot(text: str) -> Slot:
    """`posenc_jax.encodings.parse`, in which ``FILE.py:Class`` may stand; UsageError where a file cannot be used, and
    for no text, such as an unset variable of a shell gives.
    """
    if not text.strip():
        raise UsageError(f"{text!r} names no encoding: write nope for none")
    return parse(text, own=own_class)


def refuse_unusable(config: Run | Ablation | tuple[Slot, ...]) -> None:
    """UsageError for two of the user's classes of one name, and for an encoding of theirs that no model can use, before
    anything is compiled or written.
    """
    from posenc_jax.analysis.usable import misshapen

    with refusing():
        check_names(config)
    own = (value for value in values_in(config) if isinstance(value, PositionalEncoding) and is_own(type(value)))
    for encoding in dict.fromkeys(own):
        if (said := misshapen((encoding,))) is not None:
            raise UsageError(said)


def read_task(text: str, option: str = "--task") -> Task:
    """A task as ``copying(kind='rsc')`` or ``FILE.py:Task(...)``; UsageError, which names the option, for none."""
    return _one(text, option, "task", {**TASKS, **TEXT_TASKS}, Task)


def read_metrics(text: str) -> tuple[Metric, ...]:
    """Metrics as ``FILE.py:Metric(...)``, joined by ``|``; none for nothing. UsageError for what is none."""
    with refusing("--metrics: "):
        return parse_values(text, "metric", {}, Metric, own_class) if text.strip() else ()


def read_mask(text: str) -> StructureMask:
    """A mask as ``own_section(parents=False)`` or ``FILE.py:Mask(...)``; UsageError for what is none."""
    return _one(text, "--model.mask", "mask", MASKS, StructureMask)


def _one(text: str, option: str, what: str, known: Mapping[str, type[Value]], base: type[Value]) -> Any:
    with refusing(f"{option}: "):
        found = parse_values(text, what, known, base, own_class)
    if len(found) != 1:
        raise UsageError(f"{option} {short(text)}: a run has one {what}, and here are {len(found)}")
    return found[0]


def named(text: str) -> tuple[Method | None, Slot]:
    """The row of the catalogue with that name (None for a spec) and the slot; UsageError when it is neither."""
    methods = {method.name.lower(): method for family in CATALOGUE.values() for method in family}
    method = methods.get(text.strip().lower())
    try:
        return method, read_slot(text if method is None else method.spec)
    except ValueError as error:
        # In a call a field is wrong, and after a colon a file.
        near = did_you_mean(text.lower(), [] if "(" in text or ":" in text else methods, str(error))
        raise UsageError(f"{short(text)!r} is neither a name of the catalogue nor a spec: {near}") from None


def catalogue_row(slot: Slot, text: str = "") -> Method | None:
    """The row of the catalogue whose spec means a slot, of several the first whose name contains ``text``."""
    rows = [row for family in CATALOGUE.values() for row in family if parse(row.spec) == slot]
    return next((row for row in rows if text.strip().lower() in row.name.lower()), rows[0] if rows else None)


def own_class(file: str, name: str) -> type:
    """The class ``name`` of a Python file, which is run unless this process has run it; UsageError says why not."""
    module = _module(full(file).absolute(), file)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        own = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
        classes = [one.__name__ for one in own if issubclass(one, Value)]
        hint = did_you_mean(name, classes, f"it has {', '.join(classes) or 'none'}")
        raise UsageError(f"{file} has no class {name}: {hint}")
    if wrong := wrong_name(found):
        raise UsageError(f"{file}:{name} has name = {wrong}")
    return found


def module_name(path: Path) -> str:
    """The dotted path of a file from here, by which own classes are found again; of one from elsewhere its name."""
    here = Path.cwd()
    return ".".join(path.relative_to(here).with_suffix("").parts) if path.is_relative_to(here) else path.stem


def run_file(path: Path, text: str) -> ModuleType:
    """A Python file as a module of its `module_name`; whatever it raises is raised.

    Its source is run, never bytecode that lies beside it. It may import files of this folder, and of its own where
    that is elsewhere; installed packages come before them.

    Args:
      text: how the user calls the file.

    Raises:
      UsageError: it is called like an installed module.
    """
    name = module_name(path)
    _refuse_installed(name, text)
    here = Path.cwd()
    folders = [here] if path.is_relative_to(here) else [here, path.parent]
    sys.path += [str(folder) for folder in folders if str(folder) not in sys.path]
    loader = SourceLoader(name, str(path))
    found = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert found is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        with exits_as_errors():
            loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def imported(path: Path, text: str) -> ModuleType:
    """`run_file`, whose errors are UsageErrors that name the line of the file."""
    try:
        return run_file(path, text)
    except UsageError:
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        said = str(error) if isinstance(error, ValueError) else first_line(error)
        raise UsageError(f"{text}{f', line {line}' if line else ''}: {said}") from error


def _module(path: Path, text: str) -> ModuleType:
    if not path.is_file():
        between = "; between layers write / with blanks around it" if "/" in text else ""
        raise UsageError(f"there is no file {text}{nearest_file(path, path.parent) or between}")
    if not path.stem.isidentifier():
        raise UsageError(
            f"{path.name} is no name of a module: rename it, as in {re.sub(r'[^a-zA-Z_0-9]', '_', path.stem)}.py"
        )
    _refuse_installed(module_name(path), text)
    present = sys.modules.get(module_name(path))
    if present is None:
        return imported(path, text)
    file = Path(str(present.__file__))
    if real(file) != real(path) and file.read_bytes() != path.read_bytes():
        raise UsageError(f"{text}: this process has another module {present.__name__}, from {file}: rename the file")
    return present


def _refuse_installed(name: str, text: str) -> None:
    from posenc_jax.runs.own_code import is_installed

    if "." not in name and is_installed(name):
        raise UsageError(f"{text} is called like an installed module, which it would hide: rename it")


def nearest_file(path: Path, folder: Path) -> str:
    """A question after the Python file of ``folder`` whose name is nearest to that of ``path``; else nothing."""
    hint = did_you_mean(path.name, [file.name for file in folder.glob("*.py")])
    return hint and f"; {hint}"
