"""Arrays that take long to compute from a corpus: computed once, then kept beside the corpora."""

import contextlib
import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from posenc_jax.data.corpora.store import data_directory
from posenc_jax.files.atomic import write_atomically


def derived(key: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """``compute()``, or what it gave when it was last asked for under this key.

    ``key`` must name all that decides the arrays. They are kept in ``derived/`` of the data directory; a damaged file
    (each array has a checksum) is computed again, and where nothing can be written nothing is kept.
    """
    path = path_of(key)
    with contextlib.suppress(OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        found = np.load(io.BytesIO(path.read_bytes()))
        return {name: found[name] for name in found.files}
    arrays = compute()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        write_atomically(path, file.getvalue())
    return arrays


def path_of(key: str) -> Path:
    """The file that is kept under a key."""
    return data_directory() / "derived" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
