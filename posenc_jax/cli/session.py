"""The common part of `train`, `ablate` and `evaluate`: config files, the state of JAX, signals."""

import contextlib
import dataclasses
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from posenc_jax.cli.errors import UsageError, first_line, guarded
from posenc_jax.cli.own_files import nearest_file, run_file
from posenc_jax.cli.screen import show, tell
from posenc_jax.cli.signals import answered
from posenc_jax.cli.sized_to_corpus import ON, on_corpus, split_first
from posenc_jax.drawing.plain import short
from posenc_jax.encodings.value import Value
from posenc_jax.files.shipped import shipped_config
from posenc_jax.files.user_paths import cache_directory, full
from posenc_jax.refusals.hints import did_you_mean
from posenc_jax.refusals.own_exits import ExitError


def load_config(text: str, kind: type | tuple[type, ...], command: str) -> Any:
    """The ``config`` of a Python file; UsageError when the file or its ``config`` is not what ``command`` needs.

    ``configs/NAME.py`` is a file of this folder, or, where there is none, the package's own. ``--on=CORPUS`` is the run
    that is sized to a corpus and this machine.
    """
    if text.startswith(ON):
        return on_corpus(text.removeprefix(ON))
    if text.startswith("-"):
        raise UsageError(f"the config file comes first, before {short(text)}: posenc {command} CONFIG [overrides]")
    path = full(text)
    if not path.is_file() and (shipped := shipped_config(text)) is not None:
        path = shipped
        package = ModuleType(path.parent.name)  # they import each other by it
        package.__path__ = [str(path.parent)]
        sys.modules.setdefault(package.__name__, package)
    if not path.is_file() or path.suffix != ".py":
        near = nearest_file(path, path.parent if path.parent.is_dir() else Path("configs"))
        raise UsageError(f"there is no config file {text}{near}; a config is a Python file")
    config = getattr(_imported(path.absolute(), text), "config", None)
    if not isinstance(config, kind):
        what = "has no variable called config" if config is None else f"holds {_a(type(config).__name__)}"
        other = {"Run": "train", "Ablation": "ablate"}.get(type(config).__name__)
        kinds = [one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,))]
        way_out = f"use `posenc {other} {text}`" if other else f"assign one (posenc_jax.{kinds[0]}) to it"
        way_out += f", or name a task in it, {text}:Task" if command == "verdict" else ""
        raise UsageError(f"{text} {what}, and posenc {command} needs {' or '.join(map(_a, kinds))}: {way_out}")
    return config


def of_config(
    arguments: list[str], command: str, options: str, about: tuple[str, str], work: Callable[[str, list[str]], int]
) -> int:
    """The exit code of a command whose first argument is a config file or ``--on CORPUS``, and whose others are
    overrides and ``options``.

    Args:
      about: what its help says first and last.
    """
    if not arguments:
        show(
            f"usage: posenc {command} CONFIG {options} [overrides]\n\n{about[0]}\n"
            f"`posenc {command} --help` lists the overrides.\n\n{about[1]}"
        )
        return 2
    if arguments[0] in ("-h", "--help"):
        return guarded(lambda: print_options(command, *about))
    return guarded(lambda: work(*split_first(arguments)))


def print_options(command: str, description: str, more: str = "") -> None:
    """Prints the overrides that every config has, with their defaults, then ``more``."""
    from posenc_jax.cli.overrides import override_run
    from posenc_jax.config import Run
    from posenc_jax.data.tasks.copying import Copying

    about = (
        f"{description} The options below are those of every config, with the defaults of a run that sets none of "
        f"them; `posenc {command} CONFIG --help` also shows those of the task of CONFIG (--task.*, --data.*), with the "
        "defaults of CONFIG. Encodings, another task (--task) and metrics (--metrics) may be classes in your own "
        'files: --task "mine.py:Mine(max_length=8)".'
    )
    try:
        override_run(Run(task=Copying()), ["--help"], f"posenc {command} CONFIG", about, hidden=("task",))
    finally:  # tyro ends the program
        show(more, end="\n" if more else "")


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


def trust(directory: Path | None) -> None:
    """Runs the code that a run, or one of its groups, brought along, as ``--trust`` asks for, and says which it is."""
    if directory is None:
        return
    from posenc_jax.runs import own_code
    from posenc_jax.runs.directory import home_of, read_stored

    home = home_of(full(directory).absolute())
    if not (home / "config.json").is_file():
        raise UsageError(f"--trust {directory}: there is no run, for it has no config.json")
    own_code.trust(home, read_stored(home).code, note=tell)


def _imported(path: Path, text: str) -> Any:
    # Classes that a config defines are found again by module name, so it runs under its dotted path from here.
    try:
        return run_file(path, text)
    except UsageError:
        raise
    except SyntaxError as error:
        raise UsageError(f"{text}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{text}, line {lines[-1]}" if lines else text
        raise UsageError(f"{where}: {_explained(error)}") from error


def _explained(error: Exception) -> str:
    """The message of an error in a config file, with the fields that there are when an unknown one was given."""
    if isinstance(error, ExitError):
        return (
            f"it ends the program ({first_line(error)}): a config file assigns `config`, and nothing else happens in it"
        )
    unknown = re.match(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    cls = next((c for c in _subclasses(Value) if unknown and c.__name__ == unknown[1]), None)
    if unknown and cls:
        fields = [field.name for field in dataclasses.fields(cls)]
        hint = did_you_mean(unknown[2], fields)
        return f"{cls.__name__} has no field {unknown[2]!r}{hint and f': {hint}'} (it has {', '.join(fields)})"
    return str(error) if isinstance(error, ValueError) else first_line(error)


def _subclasses(cls: Any) -> list[Any]:
    return [inner for direct in cls.__subclasses__() for inner in [direct, *_subclasses(direct)]]


def prepare_jax() -> None:
    """One host device per core, equal bits from run to run on GPUs, and a persistent compilation cache without
    thresholds; before a device is touched.
    """
    import jax

    from posenc_jax.runs.environment import threads

    if any(importlib.util.find_spec(plugin) is not None for plugin in _CUDA):
        os.environ["XLA_FLAGS"] = deterministic(os.environ.get("XLA_FLAGS", ""))
    if "host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        jax.config.update("jax_num_cpu_devices", threads())
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        jax.config.update("jax_compilation_cache_dir", str(cache_directory() / "posenc_jax" / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


_CUDA = ("jax_cuda12_plugin", "jax_cuda13_plugin")


def deterministic(flags: str) -> str:
    """XLA's flags with that by which a GPU gives the same bits in every run, unless they say something of it already:
    no sums by atomics, and no kernels chosen by how fast they were just now. What it costs has not been measured.
    """
    said = "xla_gpu_deterministic_ops" in flags or "xla_gpu_exclude_nondeterministic_ops" in flags
    return flags if said else f"{flags} --xla_gpu_deterministic_ops=true".strip()


@contextlib.contextmanager
def stoppable() -> Iterator[Callable[[], int | None]]:
    """A function that gives the number of the signal (interrupt or terminate) that asked to stop, or None."""
    received: list[int] = []
    words = "\nstopping when the program that runs is done and the state is saved; a second signal ends it at once"
    with answered(lambda number, _: received.append(number), words):
        yield lambda: received[0] if received else None
