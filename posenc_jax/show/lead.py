"""Summaries of encodings, from their docstrings."""

import inspect

from posenc_jax.config import values_in
from posenc_jax.encodings import PositionalEncoding, Slot, for_layer, is_pattern


def summary(cls: type) -> str:
    """The `first_paragraph` of a class in plain words; "" for a class without a docstring of its own."""
    doc = cls.__doc__ or ""
    if doc.startswith(f"{cls.__name__}("):  # the fields, which dataclasses write where nothing stands
        return ""
    return first_paragraph(doc.replace("``", ""))


def first_paragraph(doc: str) -> str:
    """The first paragraph of a docstring as one line; where it leads to a formula, without its colon."""
    first = inspect.cleandoc(doc).partition("\n\n")[0].partition("::")[0]
    line = " ".join(first.split()).rstrip(":.,")
    return f"{line}." if line else ""


def what_it_does(slot: Slot) -> str:
    """A sentence for each class that the encodings are made of; of a pattern layer by layer."""
    if is_pattern(slot):
        return " ".join(f"Layer {n}: {_of_layer(for_layer(slot, n - 1))}" for n in range(1, 1 + len(slot)))
    return _of_layer(for_layer(slot, 0))


def _of_layer(encodings: tuple[PositionalEncoding, ...]) -> str:
    if not encodings:
        return "No positional encoding: only the mask tells positions apart."
    made_of = dict.fromkeys(type(value) for value in values_in(encodings))
    return " ".join(filter(None, map(summary, made_of)))
