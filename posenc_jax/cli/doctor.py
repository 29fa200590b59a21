"""``posenc doctor``: what this machine has for runs, what it lacks, what is slow and why."""

import argparse

from posenc_jax.cli.errors import Parser, guarded
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import prepare_jax

DESCRIPTION = """Report which versions are installed, which devices jax sees, how many threads a run has, where compiled
programs and corpora are kept, which optional parts are installed, what makes runs slow on this machine,
and how to fix it. Nothing is changed."""


def main(arguments: list[str]) -> int:
    parser = Parser("posenc doctor", description=DESCRIPTION)
    return guarded(lambda: _doctor(parser.parse_args(arguments)))


def _doctor(_: argparse.Namespace) -> None:
    prepare_jax(runs=False)
    from posenc_jax.data.corpora.store import data_directory
    from posenc_jax.runs import health

    machine = health.this_machine()
    _section("Versions", health.versions())
    kinds = {kind: machine.devices.count(kind) for kind in machine.devices}
    _section(
        "Devices",
        {
            machine.platform: ", ".join(f"{count} x {kind}" for kind, count in kinds.items()),
            "threads": f"{machine.threads} of {machine.cores} cores (NPROC sets it)",
            "load": "unknown" if machine.load is None else f"{machine.load:.1f}",
        },
    )
    kept = "none" if machine.cache is None else f"{machine.cache}, {machine.programs} programs"
    data = data_directory()
    _section(
        "Caches",
        {
            "compiled": f"{kept} (JAX_COMPILATION_CACHE_DIR sets it)",
            "corpora": f"{data}{'' if data.is_dir() else ', not created yet'} (POSENC_DATA sets it)",
            "disk": f"{machine.room / 1e9:.1f} GB free here",
        },
    )
    _section(
        "Optional parts",
        {
            extra: f"no {', '.join(missing)}: pip install 'posenc-jax[{extra}]'" if missing else "installed"
            for extra, missing in health.optional().items()
        },
    )
    found = health.findings(machine)
    show("What is slow, and why")
    for finding in found:
        show(f"  - {finding.what}\n    fix: {finding.way_out}")
    if not found:
        show("  nothing found; `posenc tune CONFIG` times the settings of a config")


def _section(title: str, entries: dict[str, str]) -> None:
    width = max(map(len, entries))
    show("\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in entries.items()), ""]))
