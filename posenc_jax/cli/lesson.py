"""``posenc lesson``: the path through what is taught of the sinusoidal encoding, step by step."""

from __future__ import annotations

import contextlib
import importlib.resources
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from posenc_jax.cli.errors import refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import columns, show, tell

if TYPE_CHECKING:
    from posenc_jax.show.lessons.lesson import Lesson


def _lesson(
    lesson: Annotated[str | None, "N|NAME"] = None,
    *,
    answer: bool = False,
    output: Annotated[Path | None, "FOLDER"] = None,
) -> int:
    """Test what is taught about the sinusoidal encoding, claim by claim. Without an argument, list the
    lessons with their claims and verdicts. With one, run that lesson, in seconds and without training, and
    draw its picture if it has one.

    Args:
      lesson: lesson to run, by number or name
      answer: also show the answer to its exercise
      output: folder for its picture (default: lessons/NAME)

    Examples:
      posenc lesson
          list the lessons with their claims and verdicts
      posenc lesson 1
          run the first lesson
      posenc lesson clusters --output pictures
          run a lesson by name and save its pictures
      posenc lesson aliases --answer
          run a lesson and show the answer to its exercise
    """
    from posenc_jax.show.lessons import LESSONS, numbered

    if lesson is None:
        show(_listed(LESSONS))
        return 0
    with refusing("lesson: "):
        number, found = numbered(lesson)
    from posenc_jax.cli.session import prepare_jax
    from posenc_jax.show.files import check_output
    from posenc_jax.show.lessons.pages import for_terminal

    folder = output or Path("lessons") / found.name
    if found.pictures:
        with refusing("--output "):
            check_output(folder)
    prepare_jax()
    show(_rendered(for_terminal(number, found, answer=answer)))
    return _draw(found, folder) if found.pictures else 0


def _draw(lesson: Lesson, folder: Path) -> int:
    from posenc_jax import extras
    from posenc_jax.cli import show as pictures

    if lacking := [name for name in ("matplotlib", "sklearn") if not extras.is_there(name)]:
        tell(f"posenc: no picture without {lacking[0]}: {extras.install_command('report')}")
        return 0
    for name in lesson.pictures:
        with contextlib.redirect_stdout(io.StringIO()):  # which has the properties of the vectors
            if code := pictures.main(["--preset", name, "--output", str(folder / f"{name}.png")]):
                return code
        show(f"wrote {folder / name}.png")
    return 0


def _listed(lessons: tuple[Lesson, ...]) -> str:
    from posenc_jax.drawing.text_table import TextTable, text
    from posenc_jax.show.lessons import tally

    entries = [
        (str(n), own.name, one.claim, one.verdict, f"{own.seconds} s")
        for n, own in enumerate(lessons, 1)
        for one in own.findings
    ]
    each = ", ".join(f"{verdict} {count}" for verdict, count in tally().most_common())
    notes = (
        f"Claims of these texts: {tally().total()} ({each}).",
        "`posenc lesson 1` runs the first lesson. What took minutes or an hour of training is quoted.",
    )
    title, names = "Lessons: the sinusoidal encoding, claim by claim", ("", "lesson", "claim", "verdict", "time")
    page = importlib.resources.files("posenc_jax.show.lessons") / "README.md"
    sources = page.read_text(encoding="utf-8").split("\n\n")[1]
    return text(TextTable(title, names, "rlllr", tuple(entries), notes, lead=sources), columns())


def _rendered(markdown: str) -> str:
    """Markdown that begins with its title as plain text of the terminal's width, but for code, which can be copied."""
    from rich.console import Console
    from rich.markdown import Markdown

    drawn = io.StringIO()
    console = Console(file=drawn, width=min(columns(), 120), color_system=None, force_terminal=False)
    parts = re.split(r"^```\w*\n(.*?)^```$", f"#{markdown}", flags=re.MULTILINE | re.DOTALL)  # level 1 is centred
    for number, part in enumerate(parts):
        drawn.write(f"\n{part}\n") if number % 2 else console.print(Markdown(part))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", drawn.getvalue(), flags=re.MULTILINE))


main = command(_lesson)
