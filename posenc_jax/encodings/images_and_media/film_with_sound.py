"""Positions of films whose sound stands between their frames, as in Qwen2.5-Omni."""

import dataclasses
import math

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.runs import index_in_run, sum_before


@dataclasses.dataclass(frozen=True)
class FilmWithSound(PositionalEncoding):
    """Reads plain positions of a text with films as time, row and column, where both the frames of a film and its sound
    begin at the film's first position, for the elements after it in the slot::

        text                              (p, p, p)
        frame f of a film, row r, col. c  (s + floor(f w),  s + r,  s + c)
        token m of its sound              (s + m,  s + m,  s + m)

    (Xu et al. 2025, Qwen2.5-Omni, section 2.2, TMRoPE, and ``get_rope_index`` of transformers.) A run of neighbouring
    tokens of the types ``visual`` and ``sound`` is one film, in any order: Qwen2.5-Omni puts the frames of two seconds
    before their sound. So a frame and the sound of the same moment have about the same time. s is the position of the
    first token of the film, p that of the text as the model counts it, moved by the films before it: the text behind a
    film goes on at one more than its largest number. Sound without a film is numbered as text is.

    transformers goes on behind the last piece of sound, which is the same unless a frame has more rows or columns than
    the sound has tokens, and gives the two marks before a film the same position, and the two behind it: here marks are
    text, numbered by the positions that the model is given.

    Positions ``[#B, S]`` become ``[B, S, 3]``, integers if the given ones are.

    Attributes:
      width: tokens in a row.
      height: rows of a frame.
      stride: w, positions from frame to frame: 25 times the seconds between them in Qwen2.5-Omni, whose sound has 25
        tokens a second.
      visual, sound: the types of the tokens of frames and of sound (`Sequence.token_types`).

    Raises:
      ValueError: for a sequence without token types, and where frames and sound are of one type.
    """

    width: int
    height: int
    stride: float = 50.0
    visual: int = 1
    sound: int = 2

    name = "film_with_sound"
    paper = "arXiv:2503.20215"
    citation = """@misc{xu2025qwen, author = {Xu, J. and Guo, Z. and He, J. and Hu, H. and He, T. and Bai, S. and
        others}, title = {{Qwen2.5-Omni Technical Report}}, year = {2025}, eprint = {2503.20215}}"""
    methods = (
        Method(
            "rotary",
            "TMRoPE (Qwen2.5-Omni)",
            "film_with_sound(width=2, height=1, stride=2)|mrope",
            "Xu et al. 2025",
            note="stride: 25 positions a second there; a frame is one row of two tokens here",
            use="W",
        ),
    )
    shift_invariant = True
    needs_token_types = True
    limits = limited(
        width=at_least(1, ": the number of tokens in a row"),
        height=at_least(1, ": the number of rows of a frame"),
        stride=above(0, ": Qwen2.5-Omni has 50 at a frame every two seconds"),
    )

    def check_fields(self) -> None:
        if self.visual == self.sound:
            raise ValueError(
                f"FilmWithSound.sound = {self.sound} must be another type of token than visual, which tells frames "
                "from sound"
            )

    def mapped_max_len(self, max_len: int) -> int:
        return math.ceil(max(self.stride, 1) * max_len)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        if sequence.token_types is None:
            raise ValueError(
                f"FilmWithSound tells films from text by token types, and the sequence has none: pass token_types= "
                f"(here {self.visual} for tokens of frames and {self.sound} for sound)"
            )
        found = sequence.from_context(self._read)
        inside, seen, heard, is_sound, moved = (found[..., i] for i in range(5))
        text = sequence.positions + moved
        start = text - inside
        frame, row = seen // (self.width * self.height), seen // self.width % self.height
        shown = [start + self._time(frame).astype(start.dtype), start + row, start + seen % self.width]
        axes = [jnp.where(is_sound == 1, start + heard, jnp.where(inside < 0, text, axis)) for axis in shown]
        return jnp.stack(axes, axis=-1)

    def _read(self, whole: Sequence) -> Array:
        """``[#B, S, 5]``: of each token the index in its film (-1 for text), the numbers of tokens of frames and of
        sound before it in the film, whether it is sound, and by how much the films before it move it.
        """
        types = jnp.asarray(whole.token_types)
        segments = jnp.ones((1, 1), jnp.int32) if whole.segment_ids is None else jnp.asarray(whole.segment_ids)
        types, segments = jnp.broadcast_arrays(types, segments)
        visual, sound = ((types == kind).astype(jnp.int32) for kind in (self.visual, self.sound))
        member = (visual | sound) == 1
        index = index_in_run(member, segments)
        inside = jnp.maximum(index - 1, 0)
        before = sum_before(visual, segments)
        places = jnp.broadcast_to(jnp.arange(types.shape[1], dtype=jnp.int32)[None], types.shape)
        seen = before - jnp.take_along_axis(before, places - inside, axis=1)
        heard = inside - seen
        last = index_in_run(member, segments, from_end=True) == 1
        moved = jnp.where(last, self._advance(seen + visual, heard + sound) - index, 0)
        return jnp.stack([index - 1, seen, heard, sound, sum_before(moved, segments)], axis=-1)

    def _time(self, frames: Array) -> Array:
        return jnp.floor(frames.astype(jnp.result_type(float)) * self.stride).astype(jnp.int32)

    def _advance(self, seen: Array, heard: Array) -> Array:
        """The number of positions by which a film of these tokens of frames and of sound moves the text behind it."""
        rows_seen = -(-seen // self.width)
        frames = -(-rows_seen // self.height)
        time = self._time(frames - 1) + 1
        rows = jnp.minimum(rows_seen, self.height)
        shown = jnp.maximum(jnp.maximum(time, rows), jnp.minimum(seen, self.width))
        return jnp.maximum(jnp.where(seen > 0, shown, 0), heard)
