"""The position of a token in its section of a document, and the index of the section."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field
from posenc_jax.encodings.shared.runs import index_after


class _BySections(PositionalEncoding):
    """The common part of the two mappings: `Sequence.token_types` are sections, such as header, body and footer."""

    shift_invariant = True
    needs_token_types = True
    position_axes = "any"


@dataclasses.dataclass(frozen=True)
class WithinSection(_BySections):
    """The position of each token in its section of the document, 0, 1, 2, ..., for the elements after it in the slot.

    A section is a run of neighbouring tokens of one type (`Sequence.token_types`): neighbouring sections of one type
    are one, and a type that comes back starts a new one. Packed sequences and padding start anew. A token's neighbours
    decide, so chunks with a cache look back into it.

    With `SectionIndex` it makes structured positions of absolute vectors: in the document, in the section, of the
    section::

        x_i + PE[i] + PE[position of i in its section] + table[section of i]

    is the slot ``(Sinusoidal(), WithinSection(), Sinusoidal(), SectionIndex(), Learned(4))``. This composition is the
    library's own. Its parts are known: positions that start anew in every cell of a table, beside embeddings of which
    cell it is (Herzig et al. 2020, ``reset_position_index_per_cell`` of the authors' models); a sum of sinusoids of the
    positions at every level of a document (He et al. 2024, HDT, arXiv:2407.08330).

    Raises:
      ValueError: for a sequence without token types.

    >>> sequence = Sequence.of_length(6, token_types=np.array([[1, 1, 2, 2, 2, 3]]))
    >>> WithinSection().map_positions(sequence, key=None, train=False).tolist()
    [[0, 1, 0, 1, 2, 0]]
    """

    name = "within_section"
    paper = "arXiv:2004.02349"
    citation = """@inproceedings{herzig2020tapas, author = {Herzig, J. and Nowak, P. K. and Mueller, T. and Piccinno,
        F. and Eisenschlos, J. M.}, title = {{TaPas: Weakly Supervised Table Parsing via Pre-training}},
        booktitle = {ACL}, year = {2020}, eprint = {2004.02349}}"""
    methods = (
        Method(
            "positions",
            "Structured document positions",
            "sinusoidal|within_section|sinusoidal|section_index|learned",
            "Herzig et al. 2020; Devlin et al. 2018",
            note="reads token types; of the papers are positions that start anew in every cell and a vector per "
            "segment, their sum with the position in the document is our own",
            use="s",
        ),
    )

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        _check_types("WithinSection", sequence)

        def indices(whole: Sequence) -> Array:
            types = jnp.asarray(whole.token_types)
            segments = jnp.ones_like(types) if whole.segment_ids is None else jnp.asarray(whole.segment_ids)
            types, segments = jnp.broadcast_arrays(types, segments)
            last = jnp.pad(types[:, :-1] != types[:, 1:], ((0, 0), (0, 1)))
            return index_after(last, segments)

        return sequence.from_context(indices)


@dataclasses.dataclass(frozen=True)
class SectionIndex(_BySections):
    """The section of each token, its token type, for the elements after it in the slot: 1 header, 2 body, 3 footer.

    The type, not a count in order of appearance: the body is section 2 in a document without a header too, and a
    learned vector means the same section in every document. ``(SectionIndex(), Learned(4))`` are the segment embeddings
    of Devlin et al. 2018, section 3.2 (BERT), as part of a slot; a model's own are ``Transformer.token_types``.

    Attributes:
      token_types: how many there are: types ``0 .. token_types - 1`` occur, 0 being padding, and a table after it has
        that many rows. Types are not checked against it: beyond its table `Learned` gives NaN.

    Raises:
      ValueError: for a sequence without token types.

    >>> sequence = Sequence.of_length(5, token_types=np.array([[2, 2, 2, 3, 0]]))
    >>> SectionIndex().map_positions(sequence, key=None, train=False).tolist()
    [[2, 2, 2, 3, 0]]
    """

    token_types: int = 4

    name = "section_index"
    paper = "arXiv:1810.04805"
    citation = """@inproceedings{devlin2019bert, author = {Devlin, J. and Chang, M.-W. and Lee, K. and Toutanova,
        K.}, title = {{BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding}},
        booktitle = {NAACL}, year = {2019}, eprint = {1810.04805}}"""
    methods = (
        Method(
            "positions",
            "BERT's positions and segments",
            "learned|section_index|learned(4)",
            "Devlin et al. 2018",
            note="reads token types: 4 here (padding, header, body, footer), 2 in the paper",
            use="W",
        ),
    )
    limits = limited(token_types=at_least(1, ": 4 for header, body, footer and padding"))
    known_token_types = of_field("token_types")

    def mapped_max_len(self, max_len: int) -> int:
        return self.token_types

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        return _check_types("SectionIndex", sequence).astype(np.int32)


def _check_types(name: str, sequence: Sequence) -> Array:
    if sequence.token_types is None:
        raise ValueError(
            f"{name} tells sections by token types, and the sequence has none: pass token_types= (1 = header, 2 = "
            "body, 3 = footer, 0 = padding), as tasks with documents do"
        )
    return sequence.token_types
