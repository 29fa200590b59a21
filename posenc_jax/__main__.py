"""``python -m posenc_jax`` is ``posenc``."""

import os
import sys

# Python has put the current folder before the installed packages: a file there called like one of them would run.
if not sys.flags.safe_path:
    del sys.path[0]
    if os.path.dirname(os.path.dirname(__file__)) == os.getcwd():  # this package lies there itself
        sys.path.append(os.getcwd())

from posenc_jax.cli import console

console()
