"""The files of pictures: made in memory, then written all or none."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from posenc_jax.drawing import printed
from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.extras import check
from posenc_jax.files.atomic import replaced, unwritable
from posenc_jax.refusals.system import or_else
from posenc_jax.show.page import page

KINDS = ("png", "pdf")
"""Of figures for a paper."""
FILES = (".html", *(f".{kind}" for kind in KINDS))


def check_output(output: Path) -> None:
    """Refuses (ValueError), before anything is computed, what could not be written."""
    misspelt = output.suffix.lower() in FILES and output.suffix not in FILES
    if misspelt or output.suffix.lower() in (".svg", ".jpg", ".jpeg", ".eps", ".htm", ".gif", ".json"):
        raise ValueError(f"{output}: a file ends in {', '.join(FILES)}; anything else is a directory")
    if output.suffix in FILES and output.is_dir():
        raise ValueError(f"{output} is a directory: name a file, or a directory without that ending")
    if reason := unwritable(output.parent if output.suffix in FILES else output):
        raise ValueError(f"{output}: {reason}: name another directory")


def check_packages(
    output: Path, views: Sequence[str], figure: str = "a figure for a paper", *, figures: bool = False
) -> None:
    """MissingExtraError, before anything is computed, for a package that what is asked for needs.

    Args:
      figure: how the message calls what is drawn; figures: with figures beside the page of a directory.
    """
    alone = output.suffix in FILES[1:]
    needs = {"plotly": not alone, "matplotlib": alone or figures, "sklearn": "tsne" in views}
    words = {"plotly": "the HTML report", "matplotlib": figure, "sklearn": "t-SNE"}
    for module in (name for name, is_so in needs.items() if is_so):
        check("report", module, words[module])


def check_fits(output: Path, plots: Sequence[Plot]) -> None:
    """Refuses (ValueError) one file of a figure for several plots."""
    if output.suffix in FILES[1:] and len(plots) != 1:
        names = ", ".join(plot.slug for plot in plots)
        raise ValueError(
            f"{output} holds one figure, and these are {len(plots)} ({names}): name a directory, or draw a view and an "
            "encoding (of a run: a stack) with one"
        )


def make(
    output: Path,
    title: str,
    facts: str,
    plots: Sequence[Plot],
    properties: list[TextTable],
    kinds: tuple[str, ...] = KINDS,
) -> Iterator[tuple[Path, bytes]]:
    """The bytes of every file, one after another: for a directory the page and the figures of ``kinds``, for a file
    itself.
    """
    kind = output.suffix
    if kind in FILES[1:]:
        yield output, printed.render(plots[0], (kind[1:],))[kind[1:]]
        return
    yield output if kind == ".html" else output / "show.html", page(title, facts, plots, properties).encode()
    for plot in plots if kinds and kind != ".html" else ():
        for ending, data in printed.render(plot, kinds).items():
            yield output / f"{plot.slug}.{ending}", data


def write(files: dict[Path, bytes]) -> None:
    """Writes all files under other names, then renames them; if that fails (ValueError) nothing is left but
    what was there."""
    for path in files:
        if path.is_dir():
            raise ValueError(f"{path} is a directory, where a file would be written; nothing was written")
    made: list[Path] = []
    named: Path | None = None
    try:
        with contextlib.ExitStack() as stack:  # files are renamed when all are written
            for path, data in files.items():
                named = path
                missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
                for folder in reversed(missing):
                    folder.mkdir()
                    made.append(folder)
                stack.enter_context(replaced(path)).write(data)
    except OSError as error:
        for folder in reversed(made):
            if not any(folder.iterdir()):
                folder.rmdir()
        way_out = or_else(error, "name another directory")
        name = error.filename or named
        raise ValueError(f"cannot write {name} ({error.strerror}); nothing was written: {way_out}") from None
