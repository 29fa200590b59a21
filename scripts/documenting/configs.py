"""The reference of configs: every class that a run or an ablation holds, with all its fields."""

from __future__ import annotations

from documenting.api import described, summaries


def page() -> str:
    """The page of the classes of a config."""
    parts = [
        "# Configs, all fields",
        "A config is a Python file that ends with a `config`: a "
        "{py:class}`Run <posenc_jax.config.run.Run>` or an {py:class}`Ablation <posenc_jax.config.run.Ablation>`. "
        "Every field can be given on the command line, as in `--training.steps 2000`. The tasks are on "
        "[a page of their own](tasks.md).",
        *map(_section, classes()),
    ]
    return "\n\n".join(parts) + "\n"


def tasks() -> str:
    """The page of all tasks."""
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.data.text import TEXT_TASKS

    lists = [
        f"**{title}**\n\n{summaries(f'{cls.__module__}.{cls.__qualname__}' for cls in found.values())}"
        for title, found in (("Generated", TASKS), ("On text", TEXT_TASKS))
    ]
    about = "The word in a list of `posenc list tasks` is the class's `name`; the docstring says what chance is."
    sections = map(_section, [*TASKS.values(), *TEXT_TASKS.values()])
    return "\n\n".join(["# Tasks, all fields", about, *lists, *sections]) + "\n"


def classes() -> list[type]:
    """The classes of a config; tasks and encodings are not among them."""
    from posenc_jax.config.reading import KNOWN
    from posenc_jax.data.tasks.base import Task
    from posenc_jax.encodings import PositionalEncoding, RoPEScaling

    return [cls for cls in KNOWN.values() if not issubclass(cls, Task | PositionalEncoding | RoPEScaling)]


def _section(cls: type) -> str:
    return f"## {cls.__name__}\n\n{described(cls)}"
