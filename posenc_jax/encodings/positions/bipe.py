"""BiPE: the position of a token in its segment of text, and the index of the segment."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.runs import check_ids, check_reading, check_tokens, index_after, kinds, sum_before


class _BySeparators(PositionalEncoding):
    """The common part of the two levels: a segment of text ends with a separator, which belongs to it.

    Packed sequences and padding start anew. A token's neighbours decide, so chunks with a cache look back into it.
    """

    separators: tuple[int, ...]

    paper = "arXiv:2401.16421"
    citation = """@inproceedings{he2024stones, author = {He, Z. and Feng, G. and Luo, S. and Yang, K. and Wang, L.
        and Xu, J. and Zhang, Z. and Yang, H. and He, D.}, title = {{Two Stones Hit One Bird: Bilevel Positional
        Encoding for Better Length Extrapolation}}, booktitle = {ICML}, year = {2024}, eprint = {2401.16421}}"""
    shift_invariant = True
    position_axes = "any"

    def check_fields(self) -> None:
        check_ids(f"{type(self).__name__}.separators", self.separators, "the ids of '.' and of the end of a line")

    def check(self, dims: Dims) -> None:
        check_reading(f"{type(self).__name__}.separators", self.separators, dims)


@dataclasses.dataclass(frozen=True)
class WithinSegment(_BySeparators):
    """The position of each token in its segment of text, 0, 1, 2, ..., for the elements after it in the slot.

    The lower level of bilevel encoding (He et al. 2024, section 3): an absolute encoding reads these positions and
    another the index of the segment, see `SegmentIndex`. BiPE-RoPE is the slot
    ``(WithinSegment(separators), Learned(), SegmentIndex(separators), RoPE())``.

    Definition as in `get_bilevel_ids` of the authors' code: a segment ends with a separator, there "." and the end of a
    line, which is its last token; larger positions than ``max_length - 1`` become that one.

    Attributes:
      separators: the ids of the tokens that end a segment.
      max_length: the number of positions, 1024 in the authors' code, or None for no limit.

    >>> sequence = Sequence.of_length(6, tokens=jnp.array([[3, 4, 1, 5, 1, 6]]))
    >>> WithinSegment(separators=(1, 2)).map_positions(sequence, key=None, train=False).tolist()
    [[0, 1, 2, 0, 1, 0]]
    """

    separators: tuple[int, ...]
    max_length: int | None = 1024

    name = "within_segment"
    limits = limited(max_length=at_least(1, ", or None for no limit"))

    def mapped_max_len(self, max_len: int) -> int:
        return max_len if self.max_length is None else min(max_len, self.max_length)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("WithinSegment", sequence)

        def indices(whole: Sequence) -> Array:
            segments, separator = kinds(whole, self.separators)
            return index_after(separator, segments)

        index = sequence.from_context(indices)
        return index if self.max_length is None else jnp.minimum(index, self.max_length - 1)


@dataclasses.dataclass(frozen=True)
class SegmentIndex(_BySeparators):
    """The number of each token's segment of text, 0, 1, 2, ..., for the elements after it in the slot.

    The upper level of bilevel encoding (He et al. 2024, section 3), read by a relative encoding; see `WithinSegment`.
    In BiPE-ALiBi the authors' code multiplies the slopes by 96, for which ``Interpolated(1 / 96)`` may stand between
    this and `ALiBi`.

    Attributes:
      separators: the ids of the tokens that end a segment.

    >>> sequence = Sequence.of_length(6, tokens=jnp.array([[3, 4, 1, 5, 1, 6]]))
    >>> SegmentIndex(separators=(1, 2)).map_positions(sequence, key=None, train=False).tolist()
    [[0, 0, 0, 1, 1, 2]]
    """

    separators: tuple[int, ...]

    name = "segment_index"
    methods = (
        Method(
            "positions",
            "BiPE-RoPE",
            "within_segment(separators=(1, 2))|learned|segment_index(separators=(1, 2))|rope",
            "He et al. 2024",
            "arXiv:2401.16421",
            "the token ids of the separators are those of the tokenizer",
        ),
        Method(
            "positions",
            "BiPE-ALiBi",
            "within_segment(separators=(1, 2))|learned|segment_index(separators=(1, 2))"
            "|interpolated(factor=0.010416666666666666)|alibi",
            "He et al. 2024",
            "arXiv:2401.16421",
            "the authors multiply the slopes by 96",
        ),
    )

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("SegmentIndex", sequence)

        def counts(whole: Sequence) -> Array:
            segments, separator = kinds(whole, self.separators)
            return sum_before(separator, segments)

        return sequence.from_context(counts)
