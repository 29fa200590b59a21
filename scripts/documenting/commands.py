"""The reference of the command line: what every command says of itself."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys


def page(*, asks: bool = True) -> str:
    """The page of all commands; ``asks``: each is run for its help.

    Raises:
      ValueError: naming the commands whose ``--help`` fails.
    """
    from posenc_jax.cli import COMMANDS, usage

    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1))) as pool:
        texts = dict(zip(COMMANDS, pool.map(help_of, COMMANDS) if asks else COMMANDS))
    failed = [name for name, text in texts.items() if not text]
    if failed:
        raise ValueError(f"reference/commands: posenc {', '.join(failed)} --help fails")
    sections = [
        f"## posenc {name}\n\n{line[0].upper()}{line[1:]}\n\n```text\n{texts[name]}\n```"
        for name, line in COMMANDS.items()
    ]
    return "\n\n".join(["# Command line", f"```text\n{usage()}\n```", *sections]) + "\n"


def help_of(name: str) -> str:
    """Output of ``posenc NAME --help``; "" if it fails."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "posenc_jax", name, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
