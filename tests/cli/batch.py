"""Runs several command lines in this one process, in the folder it is started in: JSON in, JSON out.

Importing JAX costs more than refusing a command; and only in a process of its own can a test see that nothing started a
backend.
"""

import contextlib
import io
import json
import os
import sys
import traceback

from effort import counted
from jax._src.xla_bridge import backends_are_initialized

from posenc_jax.cli import main


def files() -> list[str]:
    found = [os.path.join(folder, name) for folder, inner, names in os.walk(".") for name in [*inner, *names]]
    return sorted(name for name in found if "__pycache__" not in name)


def run(argv: list[str]) -> dict:
    before, out, err = files(), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), counted() as effort:
        try:
            code = main(argv)
        except BaseException:
            traceback.print_exc(file=err)
            code = -1
    return {
        "code": code,
        "out": out.getvalue(),
        "err": err.getvalue(),
        "calls": effort.calls,
        "made": [name for name in files() if name not in before],
        "backend": backends_are_initialized(),
    }


json.dump([run(argv) for argv in json.load(sys.stdin)], sys.stdout)
