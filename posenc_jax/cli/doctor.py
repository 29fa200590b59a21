"""``posenc doctor``: versions, devices, caches and optional parts of this machine."""

import os
import sys

from posenc_jax import extras
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import prepare_jax


def _doctor() -> None:
    """Report which versions are installed, which devices jax sees, how many threads a run has, where compiled
    programs and corpora are kept, and which optional parts are installed. Nothing is changed.

    Examples:
      posenc doctor
          report versions, devices, caches and optional parts
    """
    prepare_jax()
    import jax

    from posenc_jax.data.corpora.store import data_directory
    from posenc_jax.runs.environment import threads

    kinds = [device.device_kind for device in jax.devices()]
    devices = {jax.default_backend(): ", ".join(f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds))}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    compiled = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    _section("Versions", versions())
    _section("Devices", {**devices, "threads": f"{threads()} of {cores} cores (NPROC sets it)"})
    kept = {"compiled": f"{compiled or 'none'} (JAX_COMPILATION_CACHE_DIR sets it)"}
    _section("Caches", {**kept, "corpora": f"{data_directory()} (POSENC_DATA sets it)"})
    absent = {
        extra: ", ".join(name for module, name in modules.items() if not extras.is_there(module))
        for extra, modules in extras.EXTRAS.items()
    }
    parts = {extra: f"no {names}: {extras.install_command(extra)}" for extra, names in absent.items() if names}
    _section("Optional parts", {**dict.fromkeys(absent, "installed"), **parts})


def versions() -> dict[str, str]:
    """Versions of Python, this package and its dependencies."""
    from posenc_jax.runs.environment import code, version

    own = code()
    commit = f", commit {str(own['commit'])[:12]}" if own["commit"] else ""
    found = {name: version(name) or "not installed" for name in (*extras.PLAIN.values(), "jaxlib")}
    changed = ", changed" if own["dirty"] else ""
    return {"posenc_jax": f"{own['version']}{commit}{changed}", "Python": sys.version.split()[0], **found}


def _section(title: str, entries: dict[str, str]) -> None:
    width = max(map(len, entries))
    show("\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in entries.items()), ""]))


main = command(_doctor)
