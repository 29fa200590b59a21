"""Attention masks by the structure of a document, which a model takes besides its encodings."""

import dataclasses
import inspect
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.value import Value, WrongReturnError

Array = jax.Array | np.ndarray  # NumPy where a value is known at trace time

# The axes of an outline, from the outside in.
SECTION, SUBSECTION, PARAGRAPH, SENTENCE = range(4)


class Coordinates(NamedTuple):
    """Types and coordinates of the tokens of one side; arrays of queries and keys broadcast to ``[#B, Q, K]``.

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
    >>> query, key = Coordinates(types[:, :, None], None), Coordinates(types[:, None, :], None)
    >>> TitleForAll().sees(query, key).astype(int)[0].tolist()
    [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    """

    name: ClassVar[str]
    needs_outline: ClassVar[bool] = False

    def sees(self, query: Coordinates, key: Coordinates) -> Array:
        """``[#B, Q, K]``, True where a query may attend to a key."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class OwnSection(StructureMask):
    """A token sees its own section and subsection, and as asked for what stands above them, and all headings.

    Attributes:
      parents: a token sees the texts that stand directly under the headings above its own, up to the beginning of the
        document.
      headings: a token sees every heading of the document.
    """

    parents: bool = True
    headings: bool = True

    name = "own_section"
    needs_outline = True

    def sees(self, query: Coordinates, key: Coordinates) -> Array:
        """True where a query may attend to a key, by the outlines of both."""
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


class MaskError(WrongReturnError):
    """A mask cannot be asked, or says something else than True or False of each pair; the message says what."""


def seen_by_structure(mask: StructureMask, query: Coordinates, key: Coordinates) -> Array:
    """``[#B, Q, K]``: what a mask says of queries and keys whose arrays are ``[#B, Q, ...]`` and ``[#B, K, ...]``.

    Raises:
      MaskError: the mask has no method for it, or says something else than True or False of each pair.
    """

    def along(side: Coordinates, axis: int) -> Coordinates:
        return Coordinates(*(None if array is None else jnp.expand_dims(jnp.asarray(array), axis) for array in side))

    sides = along(query, 2), along(key, 1)
    called = f"{type(mask).__name__}.sees"
    _check_method(mask, called, sides)
    seen = mask.sees(*sides)
    kind = str(getattr(seen, "dtype", type(seen).__name__))
    if kind != "bool":
        raise MaskError(f"{called} returns {kind}, and a mask is True or False: compare, as with ==")
    _check_shape(np.shape(seen), called, sides)
    return seen


def check_mask(mask: StructureMask, *, types: bool, outline: bool) -> None:
    """Asks a mask about arrays of shapes alone; ``types`` and ``outline``: which of them the tokens have.

    Raises:
      MaskError: as `seen_by_structure`; and whatever the mask raises.
    """
    shape = (2, 8)
    side = Coordinates(
        np.zeros(shape, np.int32) if types else None, np.zeros((*shape, 4), np.int32) if outline else None
    )
    jax.eval_shape(lambda query, key: jnp.asarray(seen_by_structure(mask, query, key)), side, side)


def _check_method(mask: StructureMask, called: str, sides: tuple[Coordinates, Coordinates]) -> None:
    if type(mask).sees is StructureMask.sees or not callable(mask.sees):
        raise MaskError(f"{called} is no method of its own: write def sees(self, query, key)")
    try:
        inspect.signature(mask.sees).bind(*sides)
    except TypeError as error:
        raise MaskError(f"{called} does not take two arguments ({error}): write def sees(self, query, key)") from None


def _check_shape(shape: tuple[int, ...], called: str, sides: tuple[Coordinates, Coordinates]) -> None:
    """Refuses what is not one answer for each pair, or one that holds for all of an axis."""
    given = [array.shape[:3] for side in sides for array in side if array is not None]
    if not shape or not given:  # one answer for all, or nothing to be asked about
        return
    wanted = np.broadcast_shapes(*given)
    if len(shape) != 3 or any(size not in (1, whole) for size, whole in zip(shape, wanted)):
        raise MaskError(
            f"{called} returns an array of shape {list(shape)}, and a mask has one of [batch, queries, keys], here "
            f"{list(wanted)}: compare arrays of query with arrays of key as they are"
        )


# The masks of this package by name.
MASKS: dict[str, type[StructureMask]] = {OwnSection.name: OwnSection}
