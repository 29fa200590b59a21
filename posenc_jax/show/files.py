"""The files of pictures: one interactive page that needs nothing else, with the tables of properties, and figures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from posenc_jax.drawing import printed
from posenc_jax.drawing.document import document, html_figure, html_table
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.extras import check
from posenc_jax.files.atomic import unwritable, write_atomically
from posenc_jax.refusals import or_else
from posenc_jax.show.views import VIEWS

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
    """Writes the files, each under another name until it is whole; ValueError where one cannot be written."""
    for path in files:
        if path.is_dir():
            raise ValueError(f"{path} is a directory, where a file would be written; nothing was written")
    for path, data in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        except OSError as error:
            way_out = or_else(error, "name another directory")
            raise ValueError(f"cannot write {error.filename or path} ({error.strerror}): {way_out}") from None


def page(title: str, facts: str, plots: Sequence[Plot], properties: list[TextTable]) -> str:
    """The whole document. Needs plotly, for its JavaScript only."""
    body = [f"<h1>{escaped(title)}</h1>"]
    body += [f'<p class="facts">{escaped(facts)}</p>'] if facts != title else []
    body += ['<h2 id="properties">What is measured</h2>']
    for table in properties:
        notes = f'<p class="caption">{escaped(" ".join(table.notes))}</p>'
        body += [f"<h3>{escaped(table.title)}</h3>"]
        body += [f"<p>{escaped(table.lead)}</p>"] if table.lead else []
        body += [html_table(table, table.title) if table.entries else notes]
    for name, view in VIEWS.items():
        own = [plot for plot in plots if plot.view == name]
        if own:
            heading = view.words if view.words.startswith("t-") else view.words[0].upper() + view.words[1:]
            body.append(f'<h2 id="view-{name}">{escaped(heading)}</h2>')
        body += map(html_figure, own)
    body.append("<footer>Written by posenc_jax: posenc show.</footer>")
    return document(title, body, plots)
