"""Encodings on command lines: a name of the catalogue, or a spec."""

from __future__ import annotations

import difflib
from typing import Any

from posenc_jax.cli.errors import UsageError
from posenc_jax.drawing.plain import short


def named(text: str) -> tuple[Any, Any]:
    """The row of the catalogue with that name (None for a spec) and the slot; UsageError when it is neither."""
    from posenc_jax.cli.own_files import read_slot
    from posenc_jax.encodings.catalogue import CATALOGUE

    methods = {method.name.lower(): method for family in CATALOGUE.values() for method in family}
    method = methods.get(text.strip().lower())
    try:
        return method, read_slot(text if method is None else method.spec)
    except ValueError as error:
        if ".py" in text:
            raise UsageError(str(error)) from None
        near = (
            [] if "(" in text or ":" in text else difflib.get_close_matches(text.lower(), methods, n=1)
        )  # else a field or a file is wrong
        hint = f"; did you mean {methods[near[0]].name!r}?" if near else f": {error}"
        raise UsageError(f"{short(text)!r} is neither a name of the catalogue nor a spec{hint}") from None
