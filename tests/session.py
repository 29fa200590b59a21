"""What all processes of one run of the tests share: a folder of things that are made once, and compiled programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import jax
from filelock import FileLock

_FOLDER = "POSENC_TESTS_SHARED"


def share(folder: Path) -> None:
    """Makes ``folder`` the one that is shared, with a cache of compiled programs in it where none is set."""
    os.environ[_FOLDER] = str(folder)
    if jax.config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(folder / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The directory ``name`` as ``make`` left it: the first process that asks makes it, the others wait for it."""
    place = Path(os.environ[_FOLDER]) / name
    made = place.with_name(f"{name}.made")
    with FileLock(place.with_name(f"{name}.lock")):
        if not made.exists():
            make(place)
            made.touch()
    return place


def compilation_cache(directory: Path | None = None) -> dict[str, str]:
    """The variables of a process that keeps its compiled programs in ``directory``, or with those of this one."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(directory or jax.config.jax_compilation_cache_dir),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
