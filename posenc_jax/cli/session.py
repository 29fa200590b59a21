"""The common part of `train`, `ablate` and `evaluate`: config files, the state of JAX, signals."""

import contextlib
import dataclasses
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.own_files import imported, nearest_file
from posenc_jax.cli.screen import tell
from posenc_jax.cli.signals import answered
from posenc_jax.cli.sized_to_corpus import on_corpus
from posenc_jax.config import Run
from posenc_jax.extras import MissingExtraError
from posenc_jax.files.shipped import shipped_config
from posenc_jax.files.user_paths import cache_directory, full
from posenc_jax.runs.trackers import TrackerName


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kept:
    """Where results are kept, and what may be read.

    Attributes:
      directory: where results are kept (default: a folder in runs/ named after the config)
      track: trackers that receive metrics as they are written, in the folder tracking
      trust: runs named by init_from whose own Python files may be run (by default they are not)
      accept_changed_code: continue even if your own encoding, task or metric has changed; results that are computed
        then are marked
    """

    directory: Annotated[Path | None, "DIR"] = None
    track: Annotated[tuple[TrackerName, ...], "TRACKER"] = ()
    trust: Annotated[tuple[Path, ...], "RUN"] = ()
    accept_changed_code: bool = False

    def trust_runs(self) -> None:
        """`trust` each run."""
        for source in self.trust:
            trust(source)


def asked_config(
    command: str, text: str, corpus: str | None, words: Sequence[str], kind: type | tuple[type, ...]
) -> Any:
    """The ``config`` of the file ``text``, or the run that is sized to a corpus and this machine; UsageError where both
    or neither is given. Without any, and where a package is missing that reads the corpus, a help among the other
    ``words`` is of the overrides that every config has.
    """
    if corpus is None and text:
        return load_config(text, kind, command)
    asks = not {"-h", "--help"}.isdisjoint(words)
    if corpus is not None and not text:
        try:
            return on_corpus(corpus)
        except MissingExtraError:
            if not asks:
                raise
    if asks:
        from posenc_jax.cli.overrides import override
        from posenc_jax.data.tasks.copying import Copying

        override(Run(task=Copying()), ["--help"], command, "")
    example = f"posenc {command} CONFIG [overrides], or posenc {command} --on CORPUS [overrides]"
    raise UsageError(f"{command}: one config file or one corpus comes first, as in {example}")


def load_config(text: str, kind: type | tuple[type, ...], command: str) -> Any:
    """The ``config`` of a Python file; UsageError when the file or its ``config`` is not what ``command`` needs.

    ``configs/NAME.py`` is a file of this folder, or, where there is none, the package's own.
    """
    path = full(text)
    if not path.is_file() and (shipped := shipped_config(text)) is not None:
        path = shipped
        package = ModuleType(path.parent.name)  # they import each other by it
        package.__path__ = [str(path.parent)]
        sys.modules.setdefault(package.__name__, package)
    if not path.is_file() or path.suffix != ".py":
        near = nearest_file(path, path.parent if path.parent.is_dir() else Path("configs"))
        raise UsageError(f"there is no config file {text}{near}; a config is a Python file")
    config = getattr(imported(path.absolute(), text), "config", None)
    if not isinstance(config, kind):
        kinds = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        what = "has no variable called config" if config is None else f"holds a value of type {type(config).__name__}"
        other = {"Run": "train", "Ablation": "ablate"}.get(type(config).__name__)
        way_out = f"use `posenc {other} {text}`" if other else "assign one to it"
        way_out += f", or name a task in it, {text}:Task" if command == "verdict" else ""
        raise UsageError(f"{text} {what}, and posenc {command} needs one of type {kinds}: {way_out}")
    return config


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


def prepare_jax(*, runs: bool = True) -> None:
    """One host device per core, equal bits from run to run on GPUs, and a persistent compilation cache without
    thresholds; before a device is touched.
    """
    import jax

    from posenc_jax.runs.environment import threads

    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")  # it costs time alone
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
