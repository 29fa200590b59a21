"""Who may attend to whom by the structure of a document: masks that a model takes beside its encodings."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.value import Value

Array = jax.Array | np.ndarray  # NumPy where a value is known at trace time

SECTION, SUBSECTION, PARAGRAPH, SENTENCE = range(4)
"""The axes of an outline, from the outside in."""


class Place(NamedTuple):
    """What a mask sees of the tokens of one side; arrays of queries and keys broadcast to ``[#B, Q, K]``.

    Attributes:
      types: token types, the numbers of named sections, or None.
      outline: nested numbers with a last axis for section, subsection, paragraph and sentence, each from 1 within the
        one around it, 0 for what stands above it (a paragraph 0 is a heading); or None.
    """

    types: Array | None
    outline: Array | None


class StructureMask(Value):
    """Base class of masks from structure; subclass as a frozen dataclass with a ``name`` and `sees`.

    A token sees what `sees` says and what causality, segments and padding leave it; and itself, always.

    >>> import numpy as np
    >>> @dataclasses.dataclass(frozen=True)
    ... class TitleForAll(StructureMask):
    ...     name = "title_for_all"
    ...     def sees(self, query, key):
    ...         return (query.types == key.types) | (key.types == 1)
    >>> types = np.array([[1, 2, 3]])
    >>> query, key = Place(types[:, :, None], None), Place(types[:, None, :], None)
    >>> TitleForAll().sees(query, key).astype(int)[0].tolist()
    [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    """

    name: ClassVar[str]
    needs_outline: ClassVar[bool] = False

    def sees(self, query: Place, key: Place) -> Array:
        """``[#B, Q, K]``, True where a query may attend to a key."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class OwnSection(StructureMask):
    """A token sees its own section and subsection, and as asked for what stands above them, and all headings.

    Fields: ``parents``: the texts that stand directly under the headings above its own, up to the beginning of the
    document. ``headings``: every heading of the document.
    """

    parents: bool = True
    headings: bool = True

    name = "own_section"
    needs_outline = True

    def sees(self, query: Place, key: Place) -> Array:
        """By the outlines of both sides."""
        assert query.outline is not None
        assert key.outline is not None
        seen = None
        for axis in (SECTION, SUBSECTION):
            here = query.outline[..., axis] == key.outline[..., axis]
            if self.parents:
                here = here | (key.outline[..., axis] == 0)
            seen = here if seen is None else seen & here
        assert seen is not None
        return seen | (key.outline[..., PARAGRAPH] == 0) if self.headings else seen


class MaskError(ValueError):
    """A mask says something else than True or False; the message says what."""


def seen_by_structure(mask: StructureMask, query: Place, key: Place) -> Array:
    """``[#B, Q, K]``: what a mask says of queries and keys whose arrays are ``[#B, Q, ...]`` and ``[#B, K, ...]``.

    MaskError: the mask says something else than True or False.
    """

    def along(place: Place, axis: int) -> Place:
        return Place(*(None if array is None else jnp.expand_dims(jnp.asarray(array), axis) for array in place))

    seen = mask.sees(along(query, 2), along(key, 1))
    kind = str(getattr(seen, "dtype", type(seen).__name__))
    if kind != "bool":
        raise MaskError(f"{type(mask).__name__}.sees returns {kind}, and a mask is True or False: compare, as with ==")
    return seen


MASKS: dict[str, type[StructureMask]] = {OwnSection.name: OwnSection}
"""The masks of this package by name."""
