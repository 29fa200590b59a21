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
    if name is None and on is None:
        raise UsageError(f"{kind} needs a name, as in posenc new {kind} my_{kind}")
    name = re.sub(r"\W", "_", str(on).removeprefix("own/")) if name is None else name
    _check(name)
    files = _class(kind, name) if on is None else _config(name, on)
    for path in files:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} is there already, and nothing is overwritten: choose another name")
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    how = f"a config: posenc train {name}.py" if on else f"a working {kind} to change, {name}.py:{class_name(name)}"
    how += f"; next: posenc audit {name}.py:{class_name(name)}" * (kind == "encoding")
    show(f"wrote {' and '.join(map(str, files))}: {how}")


def _config(name: str, corpus: str) -> dict[Path, str]:
    from posenc_jax.cli.session import prepare_jax
    from posenc_jax.cli.sized_to_corpus import about, on_corpus
    from posenc_jax.config import source_of

    prepare_jax()
    path, run = Path(f"{name}.py"), on_corpus(corpus)
    return {path: source_of(run, about(run, corpus, path))}


def _class(kind: str, name: str) -> dict[Path, str]:
    from posenc_jax.config.own_names import wrong_word

    cls, files = class_name(name), {}
    if wrong := wrong_word(name, kind):
        raise UsageError(f"{name}.py:{cls} would have name = {wrong}")
    for start in ("", "test_"):
        template = importlib.resources.files("posenc_jax.cli") / "templates" / f"{start}{kind}.txt"
        text = template.read_text(encoding="utf-8").replace("@NAME@", name).replace("@CLASS@", cls)
        files[Path(f"{start}{name}.py")] = text
    return files


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
