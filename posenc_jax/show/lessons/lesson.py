"""A lesson: a page of Markdown with Python in it, and its facts in front."""

import dataclasses
import importlib.resources
import json
from typing import Literal, NamedTuple

Verdict = Literal["confirmed", "refuted", "holds under a condition", "cannot be told here", "several claims"]


class TestedClaim(NamedTuple):
    """A claim in one sentence of ours, the verdict on it, and the reason in one sentence."""

    claim: str
    verdict: Verdict
    because: str


@dataclasses.dataclass(frozen=True, eq=False)
class Lesson:
    """One step of the path; its number is its place in `posenc_jax.show.lessons.LESSONS`.

    Attributes:
      name: what it is asked for by, and its file without ``.md``.
      title: of its page.
      where: in which texts its claims stand.
      findings: of the claims that it tests; a page with several has lists in place of ``claim`` and so on.
      seconds: what all of it takes, about.
      pictures: presets of ``posenc show`` that show it.
      body: the page below its facts, as `running` reads it; its answer stands between ``<details>`` and ``</details>``.
    """

    name: str
    title: str
    where: str
    findings: tuple[TestedClaim, ...]
    seconds: int
    pictures: tuple[str, ...]
    body: str


def read(name: str) -> Lesson:
    """The lesson of a name. Its facts are lines of ``key: JSON``, which is YAML too."""
    text = (importlib.resources.files(__package__) / f"{name}.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    facts = {key: json.loads(value) for key, _, value in (line.partition(": ") for line in front.splitlines())}
    of_jupyter = {"file_format", "kernelspec"}
    own = {key: value for key, value in facts.items() if key not in of_jupyter}
    said = [value if isinstance(value := own.pop(key), list) else [value] for key in TestedClaim._fields]
    findings = tuple(map(TestedClaim, *said))
    return Lesson(**own | {"findings": findings, "pictures": tuple(facts["pictures"]), "body": body.strip() + "\n"})
