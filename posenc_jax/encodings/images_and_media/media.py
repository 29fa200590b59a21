"""Positions of texts with images and films in them, for multimodal rotary encodings."""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.images_and_media.mrope import MRoPE
from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.runs import index_in_run, sum_before


class _WithImages(PositionalEncoding):
    """The common part: a run of neighbouring tokens of type ``visual`` is one image or film, all others are text.

    Every text and packed sequence starts anew. Runs depend on neighbouring tokens, so chunks with a cache look back
    into it.
    """

    visual: int

    shift_invariant = True
    needs_token_types = True

    def advance(self, tokens: Array) -> Array:
        """The number of positions by which an image of ``tokens`` tokens moves the text behind it."""
        raise NotImplementedError

    def runs(self, sequence: Sequence) -> tuple[Array, Array, Array]:
        """``[#B, S]`` each: the index of a token in its image, 0, 1, ..., or -1 for text; by how much the images before
        it move its position; how many these are.
        """
        if sequence.token_types is None:
            raise ValueError(
                f"{type(self).__name__} tells images from text by token types, and the sequence has none: pass "
                f"token_types= (here {self.visual} for tokens of images)"
            )

        def read(whole: Sequence) -> Array:
            member = jnp.asarray(whole.token_types) == self.visual
            segments = jnp.ones((1, 1), jnp.int32) if whole.segment_ids is None else jnp.asarray(whole.segment_ids)
            member, segments = jnp.broadcast_arrays(member, segments)
            index = index_in_run(member, segments)
            last = index_in_run(member, segments, from_end=True) == 1
            advanced = self.advance(index)
            moved = sum_before(jnp.where(last, advanced - index.astype(advanced.dtype), 0), segments)
            return jnp.stack([a.astype(moved.dtype) for a in (index - 1, moved, sum_before(last, segments))], axis=-1)

        found = sequence.from_context(read)
        return found[..., 0].astype(jnp.int32), found[..., 1], found[..., 2].astype(jnp.int32)


def _floating(positions: Array) -> Array:
    return jnp.asarray(positions).astype(jnp.result_type(float))


@dataclasses.dataclass(frozen=True)
class Media(_WithImages):
    """Reads plain positions of a text with images as time, row and column, for the elements after it in the slot::

        text                  (p, p, p)
        image, frame f        mrope      (s + f w,  s + r,  s + c)
        at row r, column c    reset      (s + f w,  r,  c)
                              diagonal   (t,  t + r - (H-1) div 2,  t + c - (W-1) div 2),   t = s + f w
                              indexed    (p,  c,  r,  number of the image)
                              symmetric  (u + r + c,  u + r + c',  u + r' + c,  u + r' + c'),
                                         u = s + f (H + W - 1),   r' = H - 1 - r,   c' = W - 1 - c

    p is the position as the model counts it, moved by the images before it; s that of an image's first token. The text
    behind an image goes on at one more than its largest number; "reset" counts rows and columns from s on for that,
    "diagonal" time alone, "symmetric" goes on behind the last corner, and "indexed" does not move it. So an image takes
    fewer positions than it has tokens: what implementations keep for decoding as ``rope_deltas`` is the sum of these
    differences.

    - "mrope": Qwen2-VL (Wang et al. 2024, section 2.1); with ``stride`` Qwen2.5-VL, whose time is absolute
      (transformers rounds it down, here fractions stay).
    - "reset": rows and columns count from 0 in every image (Huang et al. 2025, section 4, the spatial reset).
    - "diagonal": images stand across the diagonal of the text (Wei et al. 2025, VideoRoPE, section 4, with a stride
      of 2).
    - "indexed": four axes, as in HunyuanOCR's code, for `MRoPE` with four sections. Its rows end with a token of their
      own, a column as all others, which ``width`` counts.
    - "symmetric": four axes, along which an image is read from each of its corners (Liu et al. 2025, VRoPE, by
      the authors' code), for `MRoPE` with ``order=(0, 1, 2, 3)``.

    Positions ``[#B, S]`` become ``[B, S, 3]``, or ``[B, S, 4]`` with "indexed" and "symmetric"; fractions if ``stride``
    is a fraction.

    Attributes:
      width: W, the tokens in a row. All images of a model have this width: for several sizes give the model positions
        of three axes, see `media_positions`.
      height: H, the rows of a frame, with which a run of tokens is a film; None is one frame of as many rows as there
        are, which "diagonal" and "symmetric" cannot use.
      design: one of the five above.
      stride: w, the positions from frame to frame; 1 for "symmetric".
      visual: the type of tokens of images (`Sequence.token_types`); marks around an image are text.

    Raises:
      ValueError: for a sequence without token types.

    >>> sequence = Sequence.of_length(8, token_types=np.array([[0, 0, 1, 1, 1, 1, 1, 1]]))
    >>> Media(width=3).map_positions(sequence, key=None, train=False)[0, 1:6].tolist()
    [[1, 1, 1], [2, 2, 2], [2, 2, 3], [2, 2, 4], [2, 3, 2]]
    """

    width: int
    height: int | None = None
    design: Literal["mrope", "reset", "diagonal", "indexed", "symmetric"] = "mrope"
    stride: float = 1.0
    visual: int = 1

    name = "media"
    paper = MRoPE.paper
    citation = MRoPE.citation
    methods = (
        Method(
            "rotary",
            "M-RoPE at absolute time (Qwen2.5-VL)",
            "media(width=2, height=1, stride=2)|mrope",
            "Bai et al. 2025",
            "arXiv:2502.13923",
            "a film here has frames of one row; stride: positions a second times seconds from frame to frame",
            use="W",
        ),
        Method(
            "rotary",
            "MRoPE-I with spatial reset",
            "media(width=2, design='reset')|mrope(order='interleaved')",
            "Huang et al. 2025",
            "arXiv:2510.23095",
            "without the reset it is Qwen3-VL's",
        ),
        Method(
            "rotary",
            "VideoRoPE",
            "media(width=2, height=1, design='diagonal', stride=2)|mrope(order='space_first')",
            "Wei et al. 2025",
            "arXiv:2502.05173",
            "a frame is one row of two tokens here, an image there",
            use="s",
        ),
        Method(
            "rotary",
            "HoPE, hybrid, of images and films",
            "media(width=2, height=1, design='diagonal')|mrope(order='space_first', still_time=True)",
            "Li et al. 2025",
            "arXiv:2505.20444",
            "the stride of a film is drawn in training, from 0.5 to 1.5, and chosen outside of it",
        ),
        Method(
            "rotary",
            "XD-RoPE (HunyuanOCR)",
            "media(width=2, design='indexed')|mrope(sections=(1, 1, 1, 1), base=10000.0, scaling=ntk(factor=1000))",
            "Tencent 2025",
            "arXiv:2511.19575",
            "sections of 16 planes each there; here for head_dim 8",
            use="W",
        ),
        Method(
            "rotary",
            "VRoPE",
            "media(width=2, height=2, design='symmetric')|mrope(order=(0, 1, 2, 3))",
            "Liu et al. 2025",
            "arXiv:2502.11664",
        ),
        Method(
            "rotary",
            "Omni-RoPE (OmniGen2)",
            "media(width=2, design='reset')|axial_rope(axes=3, base=1e4, rows_first=True, rest_first=True)",
            "Wu et al. 2025",
            "arXiv:2506.18871",
            "40 dimensions of a head for each axis there",
            use="W",
        ),
    )
    limits = limited(
        width=at_least(1, ": the number of tokens in a row"),
        height=at_least(1, ", or None for images of one frame"),
        stride=above(0, ": VideoRoPE has 2.0, images need none"),
    )

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """True if an image's rows and columns move with the text around it."""
        return self.design in ("mrope", "diagonal", "symmetric")

    def check_fields(self) -> None:
        if self.design in ("diagonal", "symmetric") and self.height is None:
            known = "middle row stands on the diagonal" if self.design == "diagonal" else "rows count from both ends"
            raise ValueError(
                f"Media.height = None must be the number of rows of a frame with design={self.design!r}, whose {known}"
            )
        if self.design == "symmetric" and self.stride != 1:
            raise ValueError(
                f"Media.stride = {self.stride} must be 1 with design='symmetric', where a frame follows the corner of "
                "the one before"
            )

    def mapped_max_len(self, max_len: int) -> int:
        last = self.width + (self.height or 1) - 2 if self.design == "symmetric" else 0  # of a frame just begun
        return math.ceil(max(self.stride, 1) * max_len) + last

    def _cells(self, index: Array) -> tuple[Array, Array, Array]:
        row = index // self.width
        frame, row = (row * 0, row) if self.height is None else (row // self.height, row % self.height)
        return frame, row, index % self.width

    def advance(self, tokens: Array) -> Array:
        if self.design == "indexed":
            return tokens
        frame, row, column = self._cells(tokens - 1)
        if self.design == "symmetric":
            return jnp.asarray((frame + 1) * self._corner)
        time = frame * self._step
        if self.design == "diagonal":
            return jnp.asarray(time + 1)
        rows = jnp.where(frame > 0, (self.height or 1) - 1, row)
        columns = jnp.where(tokens > self.width, self.width - 1, column)
        return jnp.maximum(jnp.maximum(time, rows), columns) + 1

    @property
    def _corner(self) -> int:
        """The positions from corner to corner of a frame."""
        return self.width + (self.height or 1) - 1

    @property
    def _step(self) -> int | float:
        return int(self.stride) if self.stride == int(self.stride) else self.stride

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        index, moved, before = self.runs(sequence)
        text = sequence.positions + moved
        frame, row, column = (jnp.where(index < 0, 0, cell) for cell in self._cells(index))
        if self.design == "indexed":
            cells = [jnp.where(index < 0, text, cell) for cell in (column, row, before)]
            return jnp.stack([jnp.broadcast_to(text, cells[0].shape), *cells], axis=-1)
        start = text - jnp.maximum(index, 0)
        if self.design == "symmetric":
            inside = index >= 0
            rows = row, jnp.where(inside, (self.height or 1) - 1 - row, 0)
            columns = column, jnp.where(inside, self.width - 1 - column, 0)
            return jnp.stack([start + frame * self._corner + r + c for r in rows for c in columns], axis=-1)
        time = start + frame * self._step
        if self.design == "mrope":
            across = start + row, start + column
        elif self.design == "reset":
            across = jnp.where(index < 0, text, row), jnp.where(index < 0, text, column)
        else:
            middle_row, middle_column = ((self.height or 1) - 1) // 2, (self.width - 1) // 2
            across = (
                time + jnp.where(index < 0, 0, row - middle_row),
                time + jnp.where(index < 0, 0, column - middle_column),
            )
        return jnp.stack([time, *(axis.astype(time.dtype) for axis in across)], axis=-1)


@dataclasses.dataclass(frozen=True)
class V2PE(_WithImages):
    """Positions that grow more slowly through images, for the elements after it in the slot::

        p_i = p_(i-1) + 1          text;   p_(i-1) rounded up behind an image
              p_(i-1) + increment  a token of an image

    (Ge et al. 2024, V2PE, section 3.2; the rounding up is the authors' code, ``OpenGVLab/V2PE``, which divides a span
    of positions by the 256 tokens of an image.) So many images fit into the positions that a model was trained on,
    along a single axis. The authors draw the increment of every image in training from 1, 1/2, ..., 1/256, and choose
    one outside of it.

    Positions become fractions, which are exact up to 2^16 for the authors' increments.

    Attributes:
      increment: the step of a token of an image.
      visual: the type of tokens of images (`Sequence.token_types`).

    Raises:
      ValueError: for a sequence without token types.

    >>> sequence = Sequence.of_length(6, token_types=np.array([[0, 0, 1, 1, 1, 0]]))
    >>> V2PE(increment=0.25).map_positions(sequence, key=None, train=False).tolist()
    [[0.0, 1.0, 1.25, 1.5, 1.75, 3.0]]
    """

    increment: float = 1 / 16
    visual: int = 1

    name = "v2pe"
    paper = "arXiv:2412.09616"
    citation = """@misc{ge2024v2pe, author = {Ge, J. and Chen, Z. and Lin, J. and Zhu, J. and Liu, X. and Dai, J. and
        Zhu, X.}, title = {{V2PE: Improving Multimodal Long-Context Capability of Vision-Language Models with Variable
        Visual Position Encoding}}, year = {2024}, eprint = {2412.09616}}"""
    methods = (Method("positions", "V2PE", "v2pe(increment=0.25)|rope(base=1e6)", "Ge et al. 2024", use="s"),)
    limits = limited(increment=above(0, ": V2PE has 1, 1/2, ..., 1/256"))

    def advance(self, tokens: Array) -> Array:
        return jnp.ceil(_floating(tokens) * self.increment)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        index, moved, _ = self.runs(sequence)
        text = _floating(sequence.positions) + _floating(moved)
        inside = text - _floating(index) - 1 + _floating(index + 1) * self.increment
        return jnp.where(index < 0, text, inside)


@dataclasses.dataclass(frozen=True)
class CirclePositions(_WithImages):
    """Reads plain positions of a text with images as points in space, of which an image's stand on a circle around the
    line of the text, for the elements after it in the slot::

        text    (p, p, p)
        image   (s, s, s) + R (cos(a) u + sin(a) v),   u = (0, 1, -1) / sqrt(2),   v = (2, -1, -1) / sqrt(6)

        a = 2 pi (alpha n(r, c) + (1 - alpha) (r W + c) / (H W)),   n: atan2(r - (H-1)/2, c - (W-1)/2) from 0 to 1

    (Wang et al. 2025, Circle-RoPE, section 4, and the authors' code.) Every text token is equally far from all tokens
    of an image, which differ by their angles: half of an angle is the direction of the cell from the centre, half its
    index in reading order. Coordinates are time, row, column; p and s as in `Media`; the text behind an image goes on
    at one more than its largest coordinate, a fraction.

    A run of tokens longer than an image begins the circle again. The authors' code computes angles in float32. The
    authors' AGE gives some layers these positions and the others those of `Media`: a pattern of layers.

    Attributes:
      width, height: W and H of an image in tokens.
      radius: R, 10 in the authors' config.
      alpha: the weight of a cell's direction in its angle, 0.5 in the authors' config.
      visual: the type of tokens of images (`Sequence.token_types`).

    Raises:
      ValueError: for a sequence without token types.
    """

    width: int
    height: int
    radius: float = 10.0
    alpha: float = 0.5
    visual: int = 1

    name = "circle_positions"
    paper = "arXiv:2505.16416"
    citation = """@misc{wang2025circle, author = {Wang, C. and Guo, J. and Li, H. and Tian, Y. and Nie, Y. and Xu, C.
        and Han, K.}, title = {{Circle-RoPE: Cone-like Decoupled Rotary Positional Embedding for Large Vision-Language
        Models}}, year = {2025}, eprint = {2505.16416}}"""
    methods = (
        Method(
            "rotary",
            "Circle-RoPE",
            "circle_positions(width=2, height=2)|mrope",
            "Wang et al. 2025",
            note="in the layers that have the circle; the others have M-RoPE",
        ),
    )
    limits = limited(
        width=at_least(1, ": the number of tokens in a row", most=1024),
        height=at_least(1, ": the number of rows of an image", most=1024),
        radius=above(0, ": the authors' config has 10.0"),
        alpha=at_least(0, ": 0 is the order of reading, 1 the angle seen from the middle", most=1),
    )

    def mapped_max_len(self, max_len: int) -> int:
        return math.ceil(max_len * (1 + self._points.max()))

    @property
    def _points(self) -> np.ndarray:
        """``[H W, 3]``: from the line of the text to the tokens of an image."""
        rows, columns = np.divmod(np.arange(self.width * self.height), self.width)
        seen = np.arctan2(rows - (self.height - 1) / 2, columns - (self.width - 1) / 2)
        if np.ptp(seen) > 0:
            seen = (seen - seen.min()) / np.ptp(seen) * math.tau
        angle = self.alpha * seen + (1 - self.alpha) * np.arange(len(seen)) / len(seen) * math.tau
        u, v = np.array([[0, 1, -1]]) / math.sqrt(2), np.array([[2, -1, -1]]) / math.sqrt(6)
        return self.radius * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v)

    def advance(self, tokens: Array) -> Array:
        return jnp.full_like(_floating(tokens), self._points.max() + 1)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        index, moved, _ = self.runs(sequence)
        text = _floating(sequence.positions) + _floating(moved)
        points = jnp.asarray(self._points, text.dtype)[index % (self.width * self.height)]
        inside = (text - _floating(index))[..., None] + points
        return jnp.where((index < 0)[..., None], text[..., None], inside)
