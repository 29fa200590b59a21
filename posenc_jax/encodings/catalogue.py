"""The catalogue: the published methods that are here, and the string that makes it.

Its rows stand with the encodings and scalings that bring them, in ``methods``. `posenc list`, `posenc audit`, the table
of scripts/docs/guides/catalogue.md and the golden values all read this list; ``scripts/regenerate`` writes what is kept
of it in files.
"""

from posenc_jax.encodings import REGISTERED
from posenc_jax.encodings.method import FAMILIES, Method, MethodFamily

# Attention without any encoding.
_NONE = (
    Method("none", "NoPE", "nope", "Haviv et al. 2022", "arXiv:2203.16634"),
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
_METHODS = dict.fromkeys([*_NONE, *(m for cls in REGISTERED for m in cls.methods)])

# By family, in the order of tables.
CATALOGUE: dict[MethodFamily, tuple[Method, ...]] = {
    family: tuple(method for method in _METHODS if method.family == family) for family in FAMILIES
}
