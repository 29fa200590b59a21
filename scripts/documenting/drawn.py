"""The pictures of encodings as files, drawn by several processes and kept until the code behind them changes."""

from __future__ import annotations

import base64
import concurrent.futures
import functools
import json
import multiprocessing
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from documenting.picture import plots
from documenting.rows import page_name
from posenc_jax.drawing.plots import Plot

SMALL = 400  # pixels, of the pictures of the index

Drawn = list[tuple[str, str, str]]  # file, title and caption
Plots = Callable[[str, str], list[Plot]]


def pictures(methods: Sequence[tuple[str, str]], folder: Path, digest: str, workers: int = 1) -> dict[str, Drawn]:
    """The pictures of methods (name and spec), by page; those that are in ``folder`` already are not drawn again, if
    they were drawn by code of the same ``digest``.

    Raises:
      ValueError: naming the pages without one.
    """
    if not (folder / digest).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / digest).touch()
    named = [page_name(name) for name, _ in methods]
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        found = dict(zip(named, pool.map(functools.partial(draw, folder), methods)))
    return checked(found)


def stand_ins(methods: Sequence[tuple[str, str]], folder: Path) -> dict[str, Drawn]:
    """An empty picture for each method, where nothing is to be drawn."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = [page_name(name) for name, _ in methods]
    for page in pages:
        for kind in ("0", "small"):
            (folder / f"{page}-{kind}.png").write_bytes(_EMPTY)
    return {page: [(f"{page}-0.png", "not drawn", "Nothing was drawn in this build.")] for page in pages}


_EMPTY = base64.b64decode(  # one white pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
)


def checked(found: dict[str, Drawn | str]) -> dict[str, Drawn]:
    """The pictures of pages, if all have some; ValueError with the names of the others."""
    problems = [f"encodings/{page}: no picture: {made}" for page, made in found.items() if isinstance(made, str)]
    if problems:
        raise ValueError("\n".join(problems))
    return {page: made for page, made in found.items() if not isinstance(made, str)}


def draw(folder: Path, method: tuple[str, str], plots: Plots = plots) -> Drawn | str:
    """The pictures of one method as files in ``folder``; or in words why there is none."""
    name, spec = method
    about = folder / f"{page_name(name)}.json"
    if about.exists():
        return [tuple(one) for one in json.loads(about.read_text())]
    try:
        made = _written(folder, page_name(name), plots(name, spec))
    except Exception as error:  # whatever an encoding does wrong, or lacks, is said with its page
        return f"{type(error).__name__}: {error}".splitlines()[0]
    if not made:
        return "nothing of it can be drawn"
    about.write_text(json.dumps(made))
    return made


def _written(folder: Path, page: str, plots: list[Plot]) -> Drawn:
    """Plots as files, and the first of them once more, small."""
    from posenc_jax.drawing.printed import render

    made = []
    for number, plot in enumerate(plots):
        file = f"{page}-{number}.png"
        (folder / file).write_bytes(render(plot, ("png",))["png"])
        made.append((file, plot.title, plot.caption))
    if made:
        from PIL import Image  # matplotlib brings it along

        with Image.open(folder / f"{page}-0.png") as image:
            image.thumbnail((SMALL, SMALL))
            image.save(folder / f"{page}-small.png")
    return made
