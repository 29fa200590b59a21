"""Lessons for a terminal, for the site and for notebooks."""

import re
from collections.abc import Sequence

from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.show.lessons.lesson import Lesson
from posenc_jax.show.lessons.running import CodeCell, run

BEGIN, END = "<!-- lessons: written by scripts/regenerate from their pages -->", "<!-- end of lessons -->"
PICTURES = "../../../scripts/docs/pictures"
_LINK = re.compile(r"\[([^\]]*)\]\((?:(\w+)\.md|(?:\.\./)*([^)]*))\)")
_ANSWER = re.compile(r"<details>\n<summary>Answer</summary>\n\n(.*?)\n\n</details>", re.DOTALL)
_UNSEEN = re.compile(r"^(```math\n.*?^```|<!--.*?-->)\n", re.MULTILINE | re.DOTALL)
_NAMED = {"confirmed": "Confirmed.", "refuted": "**Refuted.**", "holds under a condition": "*Only under a condition.*"}


def for_terminal(number: int, lesson: Lesson, *, answer: bool) -> str:
    """A lesson for a reader at a terminal, its answer only if asked for."""
    end = r"\1" if answer else f"`posenc lesson {lesson.name} --answer` shows the answer."
    parts = run(_UNSEEN.sub("", _ANSWER.sub(end, lesson.body)), {})
    return _head(number, lesson) + _commands(lesson) + "".join(_unlinked(part) for part in parts)


def for_site(number: int, lesson: Lesson, *, runs: bool) -> tuple[str, str]:
    """A lesson as a page, whose links lead from the folder of this module, and as MyST for a notebook, without links.

    ``runs``: if not, expressions stand where numbers would.
    """
    parts = run(lesson.body, {}, dry=not runs)
    shown = [
        f"![{name}]({PICTURES}/{name}.png)\n\n*`posenc show --preset {name}` draws it and says how to read it.*\n\n"
        for name in lesson.pictures
    ]
    cells = "".join(part.source if isinstance(part, CodeCell) else _unlinked(part) for part in parts)
    notebook = _commands(lesson) + _ANSWER.sub(r"## Answer\n\n\1", cells)
    return _head(number, lesson) + "".join([*shown, *map(str, parts)]), _head(number, lesson) + notebook


def index(text: str, lessons: Sequence[Lesson]) -> str:
    """The page of all lessons with their list, and with the table of contents for the site."""
    rows = [
        (str(number), f"[{own.title}]({own.name}.md)", one.claim, f"{verdict} {one.because}")
        for number, own in enumerate(lessons, 1)
        for one in own.findings
        for verdict in [_NAMED.get(one.verdict, f"*{one.verdict.capitalize()}.*")]
    ]
    found = grid(["", "step", "claim", "finding"], "llll", rows)
    contents = "\n".join(f"lessons/{own.name}" for own in lessons)
    return refilled(text, BEGIN, f"{found}\n\n```{{toctree}}\n:hidden:\n\n{contents}\n```", END)


def _head(number: int, lesson: Lesson) -> str:
    return f"# {number}. {lesson.title}\n\n*{lesson.where}*\n\n" + "".join(
        f"**Claim.** {one.claim}\n\n**{one.verdict.capitalize()}.** {one.because}\n\n" for one in lesson.findings
    )


def _commands(lesson: Lesson) -> str:
    drawn = ", ".join(f"`posenc show --preset {name}`" for name in lesson.pictures)
    return f"The picture{'s' * (len(lesson.pictures) > 1)} (extra `report`): {drawn}.\n\n" if drawn else ""


def _unlinked(part: str | CodeCell) -> str:
    """A part of a page with a lesson's command, or a path in the repository, in place of an address."""
    if isinstance(part, CodeCell):
        return str(part)
    return _LINK.sub(lambda m: f"{m[1]} (`{f'posenc lesson {m[2]}' if m[2] else m[3]}`)", part)
