"""What `train`, `ablate` and `evaluate` share: loading a config file, overrides, the state of JAX, signals, and how errors end."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.encodings import parse, spec
from posenc_jax.encodings.slots import Slot


class UsageError(ValueError):
    """The command line asks for something impossible."""


def load_config(text: str, kind: type, command: str) -> Any:
    """The ``config`` of a Python file; UsageError when the file or its ``config`` is not what ``command`` needs."""
    path = Path(text).expanduser()
    if not path.is_file():
        near = difflib.get_close_matches(path.name, [p.name for p in _folder(path).glob("*.py")], n=1)
        hint = f"; did you mean {_folder(path) / near[0]}?" if near else ""
        raise UsageError(f"there is no config file {text}{hint}")
    path = path.absolute()
    # Classes that a config defines are found again by module name, so it is imported under its dotted path from here.
    here = Path.cwd()
    if str(here) not in sys.path:
        sys.path.insert(0, str(here))
    name = ".".join(path.relative_to(here).with_suffix("").parts) if path.is_relative_to(here) else path.stem
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from None
    config = getattr(module, "config", None)
    if not isinstance(config, kind):
        what = "has no variable called config" if config is None else f"holds a {type(config).__name__}"
        other = {"Run": "train", "Ablation": "ablate"}.get(type(config).__name__)
        way_out = f"use `posenc {other} {text}`" if other else f"assign a posenc_jax.{kind.__name__} to config"
        raise UsageError(f"{text} {what}, and posenc {command} needs a {kind.__name__}: {way_out}")
    return config


def override(kind: Any, default: Any, arguments: list[str], program: str, description: str) -> Any:
    """``default`` with typed overrides from the command line (tyro); encodings are written as strings."""
    import tyro

    registry = tyro.constructors.ConstructorRegistry()

    @registry.primitive_rule
    def _slots(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
        optional = info.type == (Slot | None)
        if info.type != Slot and not optional:
            return None
        return tyro.constructors.PrimitiveConstructorSpec(
            nargs=1,
            metavar="ENCODINGS",
            instance_from_str=lambda words: parse(words[0]),
            is_instance=lambda value: isinstance(value, tuple) or (optional and value is None),
            str_from_instance=lambda value: ["None" if value is None else spec(value)],
        )

    with registry:
        return tyro.cli(kind, default=default, args=arguments, prog=program, description=description)


def prepare_jax() -> None:
    """One host device per core, and a persistent compilation cache without thresholds; before anything touches a device."""
    import jax

    from posenc_jax.environment import threads

    if "host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        jax.config.update("jax_num_cpu_devices", threads())
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "posenc_jax" / "compiled"
    if jax.config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@contextlib.contextmanager
def stoppable() -> Iterator[Callable[[], int | None]]:
    """A function that gives the number of the signal (interrupt or terminate) that asked to stop, or None; a second interrupt ends the process at once."""
    received: list[int] = []

    def receive(number: int, frame: Any) -> None:
        if received and number == signal.SIGINT:
            os._exit(130)
        received.append(number)
        print("\nstopping at the next boundary, to save; interrupt again to leave at once", file=sys.stderr)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: received[0] if received else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def guarded(work: Callable[[], int]) -> int:
    """Runs ``work``; an error that a user can mend becomes one message and an exit code, any other keeps its traceback."""
    try:
        return work()
    except UsageError as error:
        return _refuse(error)
    except Exception as error:
        from posenc_jax.ablation import FailedCellsError
        from posenc_jax.cell import RefusedError, StoppedError
        from posenc_jax.training.checkpoint import CheckpointError

        if isinstance(error, (RefusedError, CheckpointError)):
            return _refuse(error)
        if isinstance(error, StoppedError):
            print(f"posenc: {error}. Run the same command again to go on.", file=sys.stderr)
            return 128 + error.signal
        if isinstance(error, FailedCellsError):
            print(f"posenc: {error}", file=sys.stderr)
            return 1
        raise


def _refuse(error: Exception) -> int:
    print(f"posenc: {error}", file=sys.stderr)
    return 2


def _folder(path: Path) -> Path:
    return path.parent if path.parent.is_dir() else Path("configs")
