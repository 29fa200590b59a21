"""A published method, as the catalogue lists it."""

import dataclasses
import re
from typing import Literal, get_args

MethodFamily = Literal[
    "none", "absolute", "rotary", "additive", "relative", "data-dependent", "positions", "layers", "designs"
]
FAMILIES: tuple[MethodFamily, ...] = get_args(MethodFamily)  # in the order of tables

Use = Literal["W", "s", "p"]
# How widely a method is used.
USES: dict[Use, str] = {
    "W": "in released models or default libraries",
    "s": "in several repositories",
    "p": "in its paper and its authors' code only",
}


@dataclasses.dataclass(frozen=True)
class Method:
    """One row of the catalogue. A method is not always a class: partial RoPE is a field of `RoPE`, BiPE four elements
    of a slot.

    Attributes:
      family: one of `FAMILIES`.
      name: the method's name in the literature.
      spec: what `parse` reads, with the paper's settings where they are fields, sized so that it serves any model.
      paper: authors and year.
      link: arXiv number or another address of the definition, for a design of this project its file; "" for the `paper`
        of the class that has the row.
      note: what a reader must know beside it, or "".
      use: how widely it is used, one of `USES`.

    Raises:
      ValueError: for another family or use, and where a name, spec or paper is empty.
    """

    family: MethodFamily
    name: str
    spec: str
    paper: str
    link: str = ""
    note: str = ""
    use: Use = "p"

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(
                f"the family of {self.name} is {self.family!r}: choose one of {', '.join(FAMILIES)}, or add one to them"
            )
        if self.use not in USES:
            raise ValueError(f"the use of {self.name} is {self.use!r}: choose one of {', '.join(USES)}")
        empty = [field for field in ("name", "spec", "paper") if not getattr(self, field)]
        if empty:
            raise ValueError(f"{self}: {empty[0]} is empty: a row of the catalogue has its name, spec and paper")

    @property
    def year(self) -> int | None:
        """The year of the paper, of several the first; None for a design of this project.

        >>> Method("rotary", "Log-n", "log_scaling", "Su 2021; Chiang and Cholak 2022", "arXiv:2202.12172").year
        2021
        """
        found = re.search(r"\b(?:19|20)\d\d\b", self.paper)
        return int(found[0]) if found else None


def linked(methods: tuple[Method, ...], paper: str) -> tuple[Method, ...]:
    """Rows of a class whose source is ``paper``, each with a link."""
    return tuple(method if method.link else dataclasses.replace(method, link=paper) for method in methods)
