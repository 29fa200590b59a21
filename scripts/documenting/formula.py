"""Formulas in LaTeX: as MathML, which browsers set without scripts or fonts of ours, and the symbols in them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
COMMON = ROOT / "scripts" / "docs" / "encodings" / "symbols.toml"

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|'+|\S")
_ALPHABETS = {r"\mathbf", r"\mathcal"}
_ACCENTS = {r"\hat", r"\tilde", r"\bar"}
_WORDS = {r"\text", r"\mathrm", r"\mathbb", r"\begin", r"\end"}
_GREEK = re.compile(
    r"\\(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|rho|sigma|tau|phi|varphi|chi|psi|omega|"
    r"Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|ell)"
)
_NAME = re.compile(r"<m[io]>(?!mod<)([A-Za-z]{2,})</m[io]>")
_SIGN = re.compile(r"(&#x000(?:28|5B|2C|3D);</mo>(?:<mspace[^>]*/>)?)<mo>&#x02212;</mo>")
_APPLIED = re.compile(_NAME.pattern + r"(<m\w+>[^<]*</m\w+></msub>)?(?=<mo[^>]*>(?:\(|&#x00028;)|<mrow><mo[^>]*fence)")
# Functions that need no explanation.
_KNOWN = ("clip", "mean", "round", "sign", "softmax", "softplus", "sigmoid", "ReLU", "GELU", "SiLU", "LeakyReLU")
_PARTS = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


def lines(math: str) -> str:
    """Several lines as rows that are aligned at their ``&``; one line as it is."""
    rows = math.strip().splitlines()
    return rows[0] if len(rows) == 1 else "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def mathml(latex: str, *, block: bool = False) -> str:
    """The MathML of a formula.

    Raises:
      ValueError: LaTeX that is wrong, or that the converter does not know; it leaves such words in its result.
    """
    from latex2mathml.converter import convert

    if latex.count("{") - latex.count("\\{") != latex.count("}") - latex.count("\\}"):
        raise ValueError(f"{latex}: its braces do not match")
    aligned = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{align*}", latex)
    try:
        made = convert(aligned, display="block" if block else "inline")
    except Exception as error:  # of many classes, most of them without words
        raise ValueError(f"{latex}: {type(error).__name__} {error}".rstrip()) from None
    if unknown := re.search(r"\\[A-Za-z]*|<mi>&</mi>", made):
        raise ValueError(f"{latex}: {unknown[0]} is not known")
    for element in ElementTree.fromstring(made).iter():
        kind = element.tag.rpartition("}")[2]
        if len(element) != _PARTS.get(kind, len(element)):
            raise ValueError(f"{latex}: a part of a {kind} is missing")
    # Spaces: none inside of |x| and ||x||, some around ~, none behind a minus that is a sign.
    made = made.replace('<mo stretchy="false">&#x0007C;</mo>', '<mo stretchy="false" lspace="0" rspace="0">|</mo>')
    made = made.replace("<mo>&#x02016;</mo>", '<mo stretchy="false" lspace="0" rspace="0">&#x02016;</mo>')
    made = _SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', made.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>"))
    # Names of functions stand apart from what they are applied to, unless that is in parentheses.
    made = _APPLIED.sub(r'<mo lspace="0.1em" rspace="0">\1</mo>\2', made)
    return _NAME.sub(r'<mo lspace="0.1em" rspace="0.17em">\1</mo>', made)


def symbols(latex: str) -> dict[str, bool]:
    """The letters and names that mean something, in their order, and whether they stand in indices alone.

    A bold or accented letter, or one with a prime, is another symbol than the letter; words in ``\\text`` and
    ``\\mathrm`` are none.

    >>> symbols(r"\\mathbf{q}'_i = \\hat{\\theta} \\operatorname{f}(k)")
    {"\\\\mathbf{q}'": False, 'i': True, '\\\\hat{\\\\theta}': False, 'f': False, 'k': False}
    """
    found: dict[str, bool] = {}
    _collect(_TOKEN.findall(latex), False, found)
    return found


def _collect(tokens: list[str], inside: bool, found: dict[str, bool]) -> None:
    at = 0
    while at < len(tokens):
        token, symbol = tokens[at], ""
        at += 1
        if token in ("_", "^"):
            argument, at = _argument(tokens, at)
            _collect(argument, True, found)
        elif token in _WORDS:
            _, at = _argument(tokens, at)
        elif token == r"\operatorname":
            argument, at = _argument(tokens, at)
            symbol = "".join(argument)
        elif token in _ALPHABETS or token in _ACCENTS:
            argument, at = _argument(tokens, at)
            symbol = f"{token}{{{''.join(argument)}}}"
        elif _GREEK.fullmatch(token) or (len(token) == 1 and token.isalpha()):
            symbol = token
        if symbol and symbol not in _KNOWN:
            if at < len(tokens) and tokens[at].startswith("'"):
                symbol += tokens[at]
                at += 1
            found[symbol] = found.get(symbol, True) and inside


def _argument(tokens: list[str], at: int) -> tuple[list[str], int]:
    """What a command at ``at`` is applied to, without its braces, and where that ends; ValueError where it does not."""
    depth, end = 0, at
    while end < len(tokens):
        depth += {"{": 1, "}": -1}.get(tokens[end], 0)
        end += 1
        if not depth:
            return (tokens[at + 1 : end - 1] if tokens[at] == "{" else tokens[at:end]), end
    raise ValueError(f"{''.join(tokens)} ends too early, or its braces do not match")


def heads(key: str) -> list[str]:
    """The symbols that a key such as ``\\mathbf{q}_i, \\mathbf{k}_j`` explains: those that are no indices."""
    return [symbol for symbol, inside in symbols(key).items() if not inside]


def explained(math: str, own: Mapping[str, str], common: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the symbols of a formula mean, in the order in which it has them: its own words, else the common ones.

    Raises:
      ValueError: a symbol that nothing explains, or words for one that the formula does not have.
    """
    common = tomllib.loads(COMMON.read_text()) if common is None else common
    order = list(symbols(math))
    if strangers := [key for key in own if not symbols(key).keys() <= set(order)]:
        raise ValueError(f"symbols explains {strangers[0]}, which its formula does not have")
    words = {head: (key, text) for key, text in own.items() for head in heads(key)}
    for key, text in common.items():
        if symbols(key).keys() <= set(order) and not set(heads(key)) & words.keys():
            words |= dict.fromkeys(heads(key), (key, text))
    if bare := [symbol for symbol in order if symbol not in words]:
        raise ValueError(f"nothing says what {', '.join(bare)} is: write it in its symbols, or in symbols.toml")
    return dict(words[symbol] for symbol in order)
