"""A lesson, and what it prints."""

import contextlib
import dataclasses
import io
from collections.abc import Callable
from typing import Any, Literal

Verdict = Literal["confirmed", "refuted", "holds under a condition"]


@dataclasses.dataclass(frozen=True, eq=False)
class Lesson:
    """One step of the path; its number is its place in `posenc_jax.lessons.LESSONS`.

    Attributes:
      name: what it is asked for by.
      title: of its page.
      where: in which texts its claim stands.
      claim: in one sentence of ours.
      verdict: on the claim.
      because: the finding in one sentence.
      body: what shows it, as Markdown, computed when it is called; links as in `pages`.
      question: the exercise.
      answer: to it, as Markdown, computed when it is called.
      seconds: what all of it takes, about.
      code: some lines of Python that show the claim; they are run, and what they print is shown.
      commands: lines for a shell that show more.
      pictures: presets of ``posenc show`` that show it.
      formula: what its page has typeset, in LaTeX.
    """

    name: str
    title: str
    where: str
    claim: str
    verdict: Verdict
    because: str
    body: Callable[[], str]
    question: str
    answer: Callable[[], str]
    seconds: int
    code: str = ""
    commands: str = ""
    pictures: tuple[str, ...] = ()
    formula: str = ""

    def output(self) -> str:
        """The text that `code` prints."""
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(self.code, names)
        return printed.getvalue().rstrip()
