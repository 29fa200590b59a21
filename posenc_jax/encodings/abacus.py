"""Abacus: the position of a digit in its number."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import Per, draw_keys
from posenc_jax.encodings.shared.runs import check_ids, check_reading, check_tokens, index_in_run, kinds
from posenc_jax.encodings.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class Abacus(PositionalEncoding):
    """Positions of digits within their number, for the elements after it in the slot::

        a digit -> its index in the run of digits, 1, 2, 3, ...,   plus u ~ U{0, ..., max_offset} in training
        any other token -> 0

    (McLeish et al. 2024, section 3; the authors' abacus.py). The paper's embedding is
    ``(Abacus(digits), Learned())``. With numbers written least significant digit first, which is what it is for, digits
    of equal significance share a row. An element that shall see plain positions stands before it:
    ``(RoPE(), Abacus(digits), Learned())``.

    Packed sequences and padding end a number. A token's neighbours decide, so chunks with a cache look back into it.
    The number of rows that a table needs is bounded by `mapped_max_len`, and `Learned` refuses a shorter one; in the
    authors' code nothing guards its 1024 rows.

    Attributes:
      digits: the token ids of the ten digits.
      max_offset: the largest u, 99 in the authors' code (max_k).
      per: one u for a "batch", as in the authors' code, or for each "example".

    >>> sequence = Sequence.of_length(6, tokens=jnp.array([[11, 3, 5, 12, 3, 10]]))
    >>> Abacus(digits=tuple(range(1, 11))).map_positions(sequence, key=None, train=False).tolist()
    [[0, 1, 2, 0, 1, 2]]
    """

    digits: tuple[int, ...]
    max_offset: int = 99
    per: Per = "batch"

    name = "abacus"
    paper = "arXiv:2405.17399"
    citation = """@inproceedings{mcleish2024transformers, author = {McLeish, S. and Bansal, A. and Stein, A. and
        Jain, N. and Kirchenbauer, J. and Bartoldson, B. R. and Kailkhura, B. and Bhatele, A. and Geiping, J. and
        Schwarzschild, A. and Goldstein, T.}, title = {{Transformers Can Do Arithmetic with the Right Embeddings}},
        booktitle = {NeurIPS}, year = {2024}, eprint = {2405.17399}}"""
    methods = (
        Method(
            "positions",
            "Abacus",
            "abacus(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))|learned",
            "McLeish et al. 2024",
            note="the token ids of the digits are those of the task",
        ),
    )
    shift_invariant = True
    random = True
    position_axes = "any"
    limits = limited(max_offset=at_least(0, ": the paper has 99, 0 is none"))

    def check_fields(self) -> None:
        check_ids("Abacus.digits", self.digits, "the ids of '0' to '9'")

    def check(self, dims: Dims) -> None:
        check_reading("Abacus.digits", self.digits, dims)

    def mapped_max_len(self, max_len: int) -> int:
        return max_len + 1 + self.max_offset

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("Abacus", sequence)

        def indices(whole: Sequence) -> Array:
            segments, digit = kinds(whole, self.digits)
            return index_in_run(digit, segments)

        index = sequence.from_context(indices)
        if not train:
            return index
        keys = draw_keys(key, sequence, self.per, "Abacus")
        offset = jax.vmap(lambda k: jax.random.randint(k, (), 0, self.max_offset + 1, jnp.int32))(keys)
        return jnp.where(index > 0, index + offset[:, None], 0)
