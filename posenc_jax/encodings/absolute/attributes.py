"""Attributes of tokens as positions: time stamps, columns of a table, degrees, eigenvectors."""

import dataclasses

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited


def read_attributes(encoding: PositionalEncoding, sequence: Sequence) -> Array:
    """`Sequence.attributes`; ValueError where there are fewer than the encoding reads."""
    found = 0 if sequence.attributes is None else sequence.attributes.shape[-1]
    if found < encoding.needs_attributes:
        raise ValueError(
            f"{encoding!r} reads {encoding.needs_attributes} attributes of each token, and the sequence has {found}: "
            "pass attributes= [batch, tokens, attributes]; a cache of a model holds none"
        )
    assert sequence.attributes is not None
    return sequence.attributes


@dataclasses.dataclass(frozen=True)
class Attributes(PositionalEncoding):
    """Gives the elements after it in the slot attributes of the tokens in place of positions::

        without a count   p_t -> a_t[first]
        with one          p_t -> (a_t[first], ..., a_t[first + count - 1])

    so that encodings of positions read numbers from the data instead (`Sequence.attributes`): `RoPE` time stamps in any
    unit, as in RoTHP (Gao and Dai 2024, section 3.2); `LearnedAxes` a row of a table for each column, as in TaPas;
    `LinearPositions` the eigenvectors of a graph. Put elements that read plain positions before it. A model that reads
    one time per token can also take these times as its ``positions``.

    Positions are ``[#B, S]`` or ``[#B, S, count]``, integers or floats as the attributes are.

    Attributes:
      first: the first attribute, from 0.
      count: the number of attributes, or None for one of which positions have no axis.

    Raises:
      ValueError: for a sequence with fewer attributes.

    >>> import numpy as np
    >>> events = Sequence.of_length(3, attributes=np.array([[[0.0, 7], [1.5, 8], [9.25, 7]]]))
    >>> Attributes().map_positions(events, key=None, train=False).tolist()
    [[0.0, 1.5, 9.25]]
    >>> Attributes(count=2).map_positions(events, key=None, train=False).shape
    (1, 3, 2)
    """

    first: int = 0
    count: int | None = None

    name = "attributes"
    paper = "arXiv:2405.06985"
    citation = """@misc{gao2024rothp, author = {Gao, A. and Dai, S.}, title = {{RoTHP: Rotary Position Embedding-based
        Transformer Hawkes Process}}, year = {2024}, eprint = {2405.06985}}"""
    methods = (
        Method(
            "rotary",
            "RoPE at time stamps (RoTHP)",
            "attributes|rope",
            "Gao & Dai 2024",
            note="the first attribute of a token is the time of its event",
        ),
        Method(
            "rotary",
            "RoPE at time stamps (POYO)",
            "attributes|interpolated(factor=1.5915494309189535e-05)|rope(base=4e4, rotary_dim=0.5)",
            "Azabou et al. 2023",
            "arXiv:2310.16046",
            "seconds; periods from 0.1 ms to 4 s; values, which the authors rotate too, are not rotated here",
            use="s",
        ),
        Method(
            "rotary",
            "Directional RoPE (DRoPE)",
            "attributes|rope(base=1)",
            "Zhao et al. 2025",
            "arXiv:2503.15029",
            "the first attribute of a token is its heading in radians; the paper joins it with RoPE of places",
        ),
        Method(
            "absolute",
            "Tables of seven attributes (TaPas)",
            "learned|attributes(count=7)|learned_axes(sizes=(3, 256, 256, 2, 256, 256, 10))",
            "Herzig et al. 2020",
            "arXiv:2004.02349",
            "of a cell its segment, column, row, answer, rank, inverse rank and relation",
            use="W",
        ),
        Method(
            "absolute",
            "Centrality encoding (Graphormer)",
            "attributes(count=2)|learned_axes(sizes=(512, 512))",
            "Ying et al. 2021",
            "arXiv:2106.05234",
            "the attributes are the numbers of edges into and out of a node",
            use="W",
        ),
    )
    shift_invariant = True
    position_axes = "any"
    limits = limited(
        first=at_least(0, ": attributes are counted from 0", most=4095),
        count=at_least(1, ", or None for one attribute, of which positions have no axis", most=4096),
    )

    @property
    def needs_attributes(self) -> int:  # type: ignore[override]
        """Up to the last one."""
        return self.first + (self.count or 1)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        attributes = read_attributes(self, sequence)
        if self.count is None:
            return attributes[..., self.first]
        return attributes[..., self.first : self.first + self.count]
