"""The catalogue: every published method that is here, and the string that makes it.

A method is not always a class: partial RoPE is a field of `RoPE`, Position Interpolation a value in another, BiPE four
elements of a slot. `posenc list`, `posenc audit`, the table of the README and the golden values all read this list.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Method:
    """One row.

    Attributes:
      name: the method's name in the literature. spec: what `parse` reads, with the paper's settings where they are
        fields, sized so that it serves any model.
      paper: authors and year. link: arXiv number or another address of the definition.
      note: what a reader must know beside it, or "".
    """

    name: str
    spec: str
    paper: str
    link: str
    note: str = ""


ABSOLUTE = (
    Method("Sinusoidal", "sinusoidal", "Vaswani et al. 2017", "arXiv:1706.03762"),
    Method(
        "Sinusoidal, tensor2tensor's form",
        "sinusoidal(frequencies='tensor2tensor', layout='half', odd='zero')",
        "Vaswani et al. 2018",
        "arXiv:1803.07416",
    ),
    Method("Learned absolute", "learned", "Gehring et al. 2017", "arXiv:1705.03122"),
    Method("2-D sinusoidal", "grid(width=8)|sinusoidal_axes", "Wang & Liu 2019", "arXiv:1908.11415"),
    Method(
        "3-D sinusoidal",
        "grid(width=4, height=4)|sinusoidal_axes(axes=3)",
        "tatp22 2020",
        "github.com/tatp22/multidim-positional-encoding",
    ),
)

ROTARY = (
    Method("RoPE", "rope", "Su et al. 2021", "arXiv:2104.09864"),
    Method("Partial RoPE", "rope(rotary_dim=0.25, layout='half')", "Black et al. 2022", "arXiv:2204.06745"),
)

ADDITIVE = (
    Method("ALiBi", "alibi", "Press et al. 2021", "arXiv:2108.12409"),
    Method("T5 bias", "t5", "Raffel et al. 2019", "arXiv:1910.10683"),
)

RELATIVE = (
    Method("Shaw", "shaw", "Shaw et al. 2018", "arXiv:1803.02155"),
    Method("Transformer-XL", "transformer_xl", "Dai et al. 2019", "arXiv:1901.02860"),
)

DATA_DEPENDENT: tuple[Method, ...] = ()

POSITIONS = (
    Method("Randomized positions", "randomized|rope", "Ruoss et al. 2023", "arXiv:2305.16843"),
)

NONE = (Method("NoPE", "nope", "Haviv et al. 2022", "arXiv:2203.16634"),)

# By family, in the order of tables.
CATALOGUE: dict[str, tuple[Method, ...]] = {
    "none": NONE,
    "absolute": ABSOLUTE,
    "rotary": ROTARY,
    "additive": ADDITIVE,
    "relative": RELATIVE,
    "data-dependent": DATA_DEPENDENT,
    "positions": POSITIONS,
}
