"""The catalogue: published methods, each with the string that makes it.

Encodings and scalings hold their rows in ``methods``; `layer_patterns` holds patterns of layers. `posenc list`,
`posenc audit`, scripts/docs/guides/catalogue.md and the golden values read this list; ``scripts/regenerate`` writes the
files made from it.
"""

from posenc_jax.encodings import REGISTERED, elements, parse
from posenc_jax.encodings.interface.method import FAMILIES, Method, MethodFamily, Use, linked
from posenc_jax.encodings.layer_patterns import PATTERNS

# Attention without any encoding.
_NONE = (
    Method("none", "NoPE", "nope", "Haviv et al. 2022", "arXiv:2203.16634", use="W"),
    Method(
        "none",
        "DroPE",
        "nope",
        "Gelberg et al. 2025",
        "arXiv:2512.12167",
        "train with RoPE, drop it, and train on for a short while at the same length: "
        "posenc train CONFIG --posenc nope --init-from RUN",
    ),
)
_METHODS = dict.fromkeys([*_NONE, *PATTERNS, *(m for cls in REGISTERED for m in linked(cls.methods, cls.paper))])

# By family, in the order of tables.
CATALOGUE: dict[MethodFamily, tuple[Method, ...]] = {
    family: tuple(method for method in _METHODS if method.family == family) for family in FAMILIES
}


def num_axes(method: Method) -> int:
    """The number of axes of the positions that a row is about: 1 in texts, 2 in images, 3 in films; 1 where attributes
    of tokens take their place.

    >>> [num_axes(method) for method in CATALOGUE["rotary"] if method.name in ("RoPE", "Axial 2-D RoPE", "M-RoPE")]
    [1, 2, 3]
    """
    encodings = elements(parse(method.spec))
    axes = [] if any(e.needs_attributes for e in encodings) else [e.position_axes for e in encodings]
    return max((own for own in axes if isinstance(own, int)), default=1)


def selected(
    *, family: MethodFamily | None = None, use: Use | None = None, axes: int | None = None, since: int | None = None
) -> dict[MethodFamily, tuple[Method, ...]]:
    """The rows with all that is asked for, by family; None asks for nothing, ``since`` for a paper of that year or
    later, ``axes`` for `num_axes`.
    """

    def fits(method: Method) -> bool:
        return (
            (family is None or method.family == family)
            and (use is None or method.use == use)
            and (axes is None or num_axes(method) == axes)
            and (since is None or (method.year or 0) >= since)
        )

    found = {name: tuple(filter(fits, rows)) for name, rows in CATALOGUE.items()}
    return {name: rows for name, rows in found.items() if rows}
