"""A published method, as the catalogue lists it."""

import dataclasses
from typing import Literal, get_args

MethodFamily = Literal["none", "absolute", "rotary", "additive", "relative", "data-dependent", "positions", "designs"]
FAMILIES: tuple[MethodFamily, ...] = get_args(MethodFamily)  # in the order of tables


@dataclasses.dataclass(frozen=True)
class Method:
    """One row of the catalogue. A method is not always a class: partial RoPE is a field of `RoPE`, BiPE four elements
    of a slot.

    Attributes:
      family: one of `FAMILIES`. name: the method's name in the literature. spec: what `parse` reads, with the paper's
        settings where they are fields, sized so that it serves any model.
      paper: authors and year. link: arXiv number or another address of the definition; for a design of this project the
        file in which it is.
      note: what a reader must know beside it, or "".

    Raises ValueError for another family, and where a name, spec, paper or link is empty.
    """

    family: MethodFamily
    name: str
    spec: str
    paper: str
    link: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(
                f"the family of {self.name} is {self.family!r}: choose one of {', '.join(FAMILIES)}, or add one to them"
            )
        empty = [field for field in ("name", "spec", "paper", "link") if not getattr(self, field)]
        if empty:
            raise ValueError(f"{self}: {empty[0]} is empty: a row of the catalogue has its name, spec, paper and link")
