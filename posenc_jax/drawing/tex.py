"""Names as text in LaTeX and BibTeX."""

import re

from posenc_jax.drawing.plain import plain

_SIGNS = {character: "\\" + character for character in "&%$#_"}
_SIGNS |= {"{": r"\textbraceleft{}", "}": r"\textbraceright{}"}  # BibTeX counts braces
_SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
_SIGNS |= {"<": r"\textless{}", ">": r"\textgreater{}", "*": "{*}", '"': r"{\ttfamily\char34}", "\u00a0": "~"}
_SIGNS |= {"±": r"$\pm$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "\n": " "}
_LIGATURE = re.compile("[-',`?!](?=[-',`])")
_KNOWN = {*"–—‘’‚“”„†‡•…‰‹›€™", *_SIGNS}


def escaped(text: str) -> str:
    r"""Text as it is: no command, and no two signs that become one, as two hyphens a dash.

    >>> escaped("50 % of $x_1$, --a"), escaped("^2")
    ('50 \\% of \\$x\\_1\\$, -{}-a', '\\textasciicircum{}2')
    """
    apart = _LIGATURE.sub("\\g<0>\0", plain(text))  # which plain text does not have
    return "".join(_SIGNS.get(character, character) for character in apart).replace("\0", "{}")


def unknown(text: str) -> list[str]:
    """The characters that pdfTeX has no signs for without further packages; XeTeX and LuaTeX take them from fonts."""
    return sorted({character for character in plain(text) if character > "\u017f" and character not in _KNOWN})
