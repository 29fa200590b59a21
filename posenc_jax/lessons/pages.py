"""Lessons as Markdown: for a terminal, and as the pages of the site.

Links of a lesson are ``[words](lesson:NAME)``, to another one, and ``[words](file:PATH)``, to a file of the repository.
"""

import re
from collections.abc import Callable, Sequence

from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

FOLDER = "scripts/docs/start/lessons"
INDEX = f"{FOLDER}.md"
PICTURES = "scripts/docs/pictures"
_LINK = re.compile(r"\[([^\]]*)\]\((lesson|file):([^)]*)\)")
_NAMED = {"confirmed": "Confirmed.", "refuted": "**Refuted.**", "holds under a condition": "*Only under a condition.*"}


def for_terminal(number: int, lesson: Lesson, *, answer: bool) -> str:
    """A lesson for a reader at a terminal, its answer only if asked for."""
    end = lesson.answer() if answer else f"`posenc lesson {lesson.name} --answer` shows the answer."
    drawn = ", ".join(f"`posenc show --preset {name}`" for name in lesson.pictures)
    shown = [f"The picture{'s' * (len(lesson.pictures) > 1)}: {drawn}."] if drawn else []
    told = "\n\n".join([*_parts(number, lesson), *shown, lesson.body(), f"## Exercise\n\n{lesson.question}", end])
    return _LINK.sub(lambda m: f"{m[1]} (`posenc lesson {m[3]}`)" if m[2] == "lesson" else m[1], told) + "\n"


def page(lessons: Sequence[Lesson], number: int) -> str:
    """The page of the lesson of a number, its answer behind a click."""
    lesson = lessons[number - 1]
    hidden = f"<details>\n<summary>Answer</summary>\n\n{lesson.answer()}\n\n</details>"
    ways = [
        f"{word}: [{other}, {lessons[other - 1].title}](lesson:{lessons[other - 1].name})"
        for word, other in (("Previous", number - 1), ("Next", number + 1))
        if 1 <= other <= len(lessons)
    ]
    end = f"{'. '.join([*ways, '[All steps](../lessons.md)'])}."
    typeset = [f"```math\n{lesson.formula}\n```"] if lesson.formula else []
    shown = [
        f"![{name}](file:{PICTURES}/{name}.png)\n\n*`posenc show --preset {name}` draws it and says how to read it.*"
        for name in lesson.pictures
    ]
    parts = [*_parts(number, lesson), *typeset, *shown, lesson.body()]
    told = [*parts, f"## Exercise\n\n{lesson.question}", hidden, end]
    return _LINK.sub(_led("", 4), "\n\n".join(told)) + "\n"


def index(lessons: Sequence[Lesson], texts: str) -> str:
    """The page of all lessons. ``texts``: what they go through."""
    counts = {verdict: sum(own.verdict == verdict for own in lessons) for verdict in _NAMED}
    rows = [
        (number, f"[{own.title}](lesson:{own.name})", own.claim, f"{_NAMED[own.verdict]} {own.because}")
        for number, own in enumerate(lessons, 1)
    ]
    entries = "\n".join(f"lessons/{own.name}" for own in lessons)
    text = f"""# Lessons: the sinusoidal encoding, claim by claim

{texts}

`posenc lesson` lists the steps; `posenc lesson 1` or `posenc lesson {lessons[0].name}` runs one in seconds, in any \
folder and without training. Results that take seconds are computed on the spot; those that took hours of training \
are quoted from the experiments. Of {len(lessons)} claims, \
{counts["confirmed"]} are confirmed, {counts["refuted"]} refuted, and {counts["holds under a condition"]} hold under a \
condition that is left out.

{table(["", "step", "claim", "finding"], rows)}

```{{toctree}}
:hidden:

{entries}
```
"""
    return _LINK.sub(_led("lessons/", 3), text)


def _parts(number: int, lesson: Lesson) -> list[str]:
    parts = [
        f"# {number}. {lesson.title}",
        f"*{lesson.where}*",
        f"**Claim.** {lesson.claim}",
        f"**{lesson.verdict.capitalize()}.** {lesson.because}",
    ]
    if lesson.code:
        parts.append(f"```python\n{lesson.code.strip()}\n```")
        parts.append(f"It prints\n\n```text\n{lesson.output()}\n```")
    if lesson.commands:
        parts.append(f"```sh\n{lesson.commands.strip()}\n```")
    return parts


def _led(folder: str, depth: int) -> Callable[[re.Match[str]], str]:
    """A function from a link to its address, seen from ``depth`` folders below the top; lessons are in ``folder``."""

    def led(match: re.Match[str]) -> str:
        words, kind, target = match.groups()
        return f"[{words}]({f'{folder}{target}.md' if kind == 'lesson' else '../' * depth + target})"

    return led
