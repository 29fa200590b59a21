"""``posenc new``: a commented file for an encoding, a task or a metric of one's own, and its test."""

import importlib.resources
import keyword
import re
from pathlib import Path
from typing import Annotated, Literal

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show


def _new(
    kind: Literal["encoding", "task", "metric", "config"],
    name: str | None = None,
    *,
    on: Annotated[str | None, "CORPUS"] = None,
) -> None:
    """Write NAME.py and test_NAME.py into this folder: an encoding, task or metric that works as it is, with
    comments on what to change, and a test that it passes. Refer to it on command lines as `NAME.py:Class`. With
    `posenc new config --on CORPUS`, write the config of a run instead, sized to a text corpus and this machine;
    `posenc train NAME.py` trains it.

    Args:
      kind: what to write
      name: its name, a Python module name such as my_window
      on: config: the corpus; for own/notes, NAME is notes by default

    Examples:
      posenc new encoding my_window
          write my_window.py and its test
      posenc new config --on own/plays
          write plays.py, the run of `posenc train --on own/plays`, to edit
    """
    if (kind == "config") != (on is not None):
        raise UsageError("a config is written on a corpus, and nothing else is: posenc new config --on own/notes")
    if on is None:
        _class(kind, name)
    else:
        _config(name, on)


def _config(name: str | None, corpus: str) -> None:
    from posenc_jax.cli.session import prepare_jax
    from posenc_jax.cli.sized_to_corpus import about, on_corpus
    from posenc_jax.config import source_of

    name = re.sub(r"\W", "_", corpus.removeprefix("own/")) if name is None else name
    _check(name)
    prepare_jax()
    path = Path(f"{name}.py")
    run = on_corpus(corpus)
    _write({path: source_of(run, about(run, corpus, path))})
    show(f"wrote {path}, a config of {run.task.name.replace('_', ' ')}: posenc train {path}")


def _class(kind: str, name: str | None) -> None:
    from posenc_jax.config.own_names import wrong_word

    if name is None:
        raise UsageError(f"{kind} needs a name, as in posenc new {kind} my_{kind}")
    _check(name)
    cls = class_name(name)
    if wrong := wrong_word(name, kind):
        raise UsageError(f"{name}.py:{cls} would have name = {wrong}")
    folder = importlib.resources.files("posenc_jax.cli") / "templates"
    files = {}
    for start in ("", "test_"):
        template = (folder / f"{start}{kind}.txt").read_text(encoding="utf-8")
        files[Path(f"{start}{name}.py")] = template.replace("@NAME@", name).replace("@CLASS@", cls)
    _write(files)
    show(f"wrote {' and '.join(map(str, files))}: a working {kind} to change, {name}.py:{cls}")


def _write(files: dict[Path, str]) -> None:
    for path in files:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} is there already, and nothing is overwritten: choose another name")
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")


def class_name(name: str) -> str:
    """``my_window`` as a class: ``MyWindow``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _check(name: str) -> None:
    """UsageError for what is no name of a module, or the name of another one."""
    from posenc_jax.runs.own_code import is_installed

    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or not class_name(name).isidentifier():
        raise UsageError(f"{name!r} is no name of a Python module: letters, digits and _, as in my_window")
    if is_installed(name):
        raise UsageError(f"{name} is the name of an installed module, which it would hide: choose another")


main = command(_new)
