"""Names as text in HTML, and in plotly's figures, which read some HTML and a language of templates in every text."""

import html
import re

from posenc_jax.drawing.plain import plain


def escaped(text: str, *, quote: bool = True) -> str:
    """Text in HTML, between tags and, with ``quote``, in attributes."""
    return html.escape(plain(text), quote=quote)


# What begins a value in a template, or is one of the colours that a dark page has others for.
_READ = re.compile(r"(?<=%)\{|#(?=[0-9a-fA-F]{6})|(?<=rgba)\(")


def in_figure(text: str) -> str:
    """Text in a figure of plotly: a name, a tick, a note, a template; it knows entities of numbers and few others.

    >>> in_figure("%{y} of <b>'a' & b</b>")
    "%&#123;y} of &lt;b&gt;'a' &amp; b&lt;/b&gt;"
    """
    return _READ.sub(lambda found: f"&#{ord(found[0])};", html.escape(plain(text), quote=False))
