"""Packages of each extra of the install, and a message of one line for a missing one.

The plain install trains, measures and ablates on generated tasks. `needed` stands around all other imports::

    with needed("text", "a vocabulary of pieces"):
        import sentencepiece
"""

import contextlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

PLAIN = {
    "jax": "jax",
    "numpy": "numpy",
    "flax": "flax",
    "optax": "optax",
    "orbax": "orbax-checkpoint",
    "tensorflow_datasets": "tensorflow-datasets",
    "importlib_resources": "importlib_resources",
    "tyro": "tyro",
    "rich": "rich",
    "filelock": "filelock",
}
"""Modules of the plain install: the distribution that has each."""
EXTRAS = {
    "text": {
        "sentencepiece": "sentencepiece",
        "tokenizers": "tokenizers",
        "grain": "grain",
        "sacrebleu": "sacrebleu",
        "safetensors": "safetensors",
        "gguf": "gguf",
    },
    "report": {
        "plotly": "plotly",
        "matplotlib": "matplotlib",
        "sklearn": "scikit-learn",
        "pyarrow": "pyarrow",
    },
    "cluster": {"submitit": "submitit"},
    "tracking": {"tensorboardX": "tensorboardX", "wandb": "wandb"},
}
"""The modules of each extra: the distribution that has each."""


class MissingExtraError(ModuleNotFoundError):
    """A package is not installed; the message names it, what needs it, and the extra that brings it."""


@contextlib.contextmanager
def needed(extra: str, what: str) -> Iterator[None]:
    """Around imports: `MissingExtraError` where a module is not there. ``what`` needs it, "the HTML report"."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing(extra, what, (error.name or "a package").partition(".")[0]) from error


def check(extra: str, module: str, what: str) -> None:
    """`MissingExtraError` unless ``module`` is there; nothing is imported."""
    if not is_there(module):
        raise _missing(extra, what, module)


def is_there(module: str) -> bool:
    """True if a module can be found; it is not imported."""
    return importlib.util.find_spec(module) is not None


def plain_one(error: ModuleNotFoundError) -> str | None:
    """A message for a missing module of the plain install (``pip install --no-deps``); else None."""
    module = (error.name or "").partition(".")[0]
    if module not in PLAIN:
        return None
    source = _source() or PLAIN[module]
    return f"this needs {PLAIN[module]}, which is not installed: pip install {source}, without --no-deps"


def install_command(extra: str) -> str:
    """The command that adds an extra to this copy: from the folder or archive that it was installed from, or is in; or
    else of the extra's packages by name. No index has this package.
    """
    source = _source()
    if source is None:
        return f"pip install {' '.join(EXTRAS[extra].values())}"
    editable = "-e " * Path(source, "pyproject.toml").is_file()  # results keep the commit of a checkout
    return f"pip install {editable}'{source}[{extra}]'"


def _source() -> str | None:
    checkout = Path(__file__).parent.parent
    if (checkout / "pyproject.toml").is_file():
        return str(checkout)
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        record = importlib.metadata.distribution("posenc-jax").read_text("direct_url.json")  # PEP 610
        path = unquote(urlparse(json.loads(record or "{}").get("url", "")).path)
        return path if path and Path(path).exists() else None
    return None


def _missing(extra: str, what: str, module: str) -> MissingExtraError:
    distribution = EXTRAS[extra].get(module, module)
    return MissingExtraError(
        f"{what} needs {distribution}, which is not installed: {install_command(extra)}", name=module
    )
