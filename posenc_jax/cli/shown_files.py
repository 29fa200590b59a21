"""The files of `posenc show`: made in memory, then written all or none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError

FILES = (".html", ".png", ".pdf")


def check_output(output: Path) -> None:
    """Refuses, before anything is computed, what could not be written."""
    misspelt = output.suffix.lower() in FILES and output.suffix not in FILES
    if misspelt or output.suffix.lower() in (".svg", ".jpg", ".jpeg", ".eps", ".htm", ".gif", ".json"):
        raise UsageError(f"--output {output}: a file ends in {', '.join(FILES)}; anything else is a directory")
    if output.suffix in FILES and output.is_dir():
        raise UsageError(f"--output {output} is a directory: name a file, or a directory without that ending")
    there = (output.parent if output.suffix in FILES else output).absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise UsageError(f"--output {output}: {there} is no directory: name another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--output {output}: no permission to write in {there}: name another place")


def make(output: Path, title: str, facts: str, plots: list[Any], properties: list[Any]) -> dict[Path, bytes]:
    """The bytes of every file: for a directory the page and all figures, for a file itself."""
    from posenc_jax.report import shown_figures, shown_page

    kind = output.suffix
    if kind == ".html":
        return {output: shown_page.page(title, facts, plots, properties).encode()}
    if kind in FILES:
        if len(plots) != 1:
            names = ", ".join(plot.slug for plot in plots)
            raise UsageError(
                f"--output {output} holds one figure, and these are {len(plots)} ({names}): name a directory, or a "
                "--view and encoding with one"
            )
        return {output: shown_figures.render(plots[0], (kind[1:],))[kind[1:]]}
    files = {output / "show.html": shown_page.page(title, facts, plots, properties).encode()}
    for plot in plots:
        for ending, data in shown_figures.render(plot).items():
            files[output / f"{plot.slug}.{ending}"] = data
    return files


def write(files: dict[Path, bytes]) -> None:
    """Writes all files beside their places, then renames them; where that fails nothing is left but what was there."""
    for path in files:
        if path.is_dir():
            raise UsageError(f"{path} is a directory, where a file would be written; nothing was written")
    aside = {path: path.with_name(f".{path.name}.{os.getpid()}") for path in files}
    made: list[Path] = []
    try:
        for path, data in files.items():
            missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir()
                made.append(folder)
            aside[path].write_bytes(data)
        for path in files:
            os.replace(aside[path], path)
    except OSError as error:
        for path in aside.values():
            path.unlink(missing_ok=True)
        for folder in reversed(made):
            if not any(folder.iterdir()):
                folder.rmdir()
        raise UsageError(f"cannot write {error.filename} ({error.strerror}); nothing was written") from None
