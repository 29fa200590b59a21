"""Names that people give, as names of files and folders."""

import hashlib
import re

LONGEST = 80
"""Bytes of a name, its ending apart."""

_AS_IT_IS = re.compile(r"[a-z0-9_]([a-z0-9_.-]{,78}[a-z0-9_])?")


def file_name(name: str, distinct: str = "") -> str:
    """The file or folder for what is called ``name``: always one within its folder, of at most 80 bytes.

    A name of lower-case letters, digits and ``_.-`` stays as it is, unless ``.`` or ``-`` begins or ends it. Of any
    other the letters are made lower-case, since file systems may not tell cases apart, whatever is no letter, digit or
    ``_.-`` becomes a hyphen, and 8 hex digits of its SHA-256 follow, so that different names have different files.

    Args:
      distinct: what tells the name from others instead of that digest; it always follows.

    >>> file_name("even_pairs"), file_name("A/B"), file_name("A/B", "0123")
    ('even_pairs', 'a-b-998d3ed8', 'a-b-0123')
    """
    if not distinct and _AS_IT_IS.fullmatch(name):
        return name
    distinct = distinct or hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = re.sub(r"-{2,}", "-", re.sub(r"[^\w.-]", "-", name.lower())).strip(".-")
    room = LONGEST - len(distinct) - 1
    readable = readable.encode("utf-8", "ignore")[:room].decode("utf-8", "ignore").rstrip(".-")
    return f"{readable}-{distinct}" if readable else distinct
