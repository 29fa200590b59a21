"""Tables of committed experiments, which hours of training made: `scripts/quote` writes them from their results."""

import functools
import importlib.resources
import json

FILE = "quoted.json"


@functools.cache
def tables() -> dict[str, str]:
    """All of them as Markdown, by name."""
    found: dict[str, str] = json.loads((importlib.resources.files(__package__) / FILE).read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in found.items()}


def mean(name: str, label: str, column: int) -> str:
    """The mean in a cell of a table, without its interval."""
    (line,) = (line for line in tables()[name].splitlines() if line.startswith(f"| {label} |"))
    return line.strip("| ").split(" | ")[column].split()[0]
