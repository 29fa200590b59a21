"""Effects of positions on attention: of shifts, and of positions beyond the model's ``max_len``."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.layer import DIMS, AttentionLayer, Encodings, compiled, noise, seen_by
from posenc_jax.encodings import Geometry, PositionalEncoding, Sequence, attend, embed, token_terms
from posenc_jax.encodings.interface.base import Array, Params, Terms

SHIFTS = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
TOKENS = 16
FAR = 10**5
# The last position of a sequence and its length: max_len, few, then more and far more.
_L = DIMS.max_len
_ENDS = (
    (_L - 1, _L),
    (TOKENS - 1, TOKENS),
    (_L - 1, 4 * _L),
    (4 * _L - 1, 4 * _L),
    (FAR, FAR + 1),
    (2 * FAR, 2 * FAR + 1),
    (_L, _L + 1),
)
assert len(_ENDS) == len(SHIFTS) + 1, "both are the rows of one program"


@dataclasses.dataclass(frozen=True)
class Reveal(PositionalEncoding):
    """Gives the logits where attention asks for its weights."""

    name = "reveal"
    position_axes = "any"

    def normalize(self, params: Params, logits: Array, geometry: Geometry) -> Array:
        """The logits themselves."""
        return logits


class LayerProgram:
    """Causal self-attention of one layer over `TOKENS` tokens, for rows of positions and lengths, compiled.

    ``program(positions [B, S], length [B], dtype)`` gives the logits ``[B, H, S, S]`` minus that of the query's own
    key (softmax ignores a constant), 0 where masked, or the weights where an encoding replaces the softmax; and the
    output ``[B, H, S, D]`` where an encoding adds to it, or None.
    Parameters are the layer's, perturbed; every row has the same tokens.
    """

    def __init__(self, layer: AttentionLayer) -> None:
        self.layer = layer
        self._run = compiled(self._call)

    def tokens(self, positions: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, Sequence]:
        """Inputs ``[B, S, M]`` and their sequence."""
        rows = positions.shape[0]
        x = np.broadcast_to(noise(1, TOKENS, DIMS.d_model), (rows, TOKENS, DIMS.d_model))
        return x, self.layer.sequence(x, positions, np.ones((rows, TOKENS), np.int32), length)

    def __call__(self, positions: np.ndarray, length: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """See the class."""
        x, tokens = self.tokens(positions, length)
        logits, out = self._run(self._params(), x.astype(dtype), tokens)
        return np.asarray(logits, np.float64), None if out is None else np.asarray(out, np.float64)

    def known(self, positions: np.ndarray, length: np.ndarray) -> None:
        """Traces the call with positions known on the host, where an encoding may raise; computes nothing."""
        x, tokens = self.tokens(positions, length)
        jax.eval_shape(lambda params, x: self._call(params, x, tokens), self._params(), x.astype(np.float32))

    def _params(self) -> tuple[Params, ...]:
        return jax.tree.map(lambda a: a.astype(np.float32), self.layer.params)

    def _call(self, params: tuple[Params, ...], x: Array, tokens: Sequence) -> tuple[Array, Array | None]:
        layer, encodings = self.layer, self.layer.encodings
        x = embed(encodings, params, x, tokens, key=layer.key)
        seen = seen_by(encodings, tokens, tokens, True, layer.key)
        q, k, v = (layer.heads(x, which) for which in range(3))
        terms = token_terms(encodings, params, x, tokens)
        own_softmax = any("normalize" in e.acts_on for e in encodings)
        adds = any(e.acts_on & {"value_term", "encode_values"} for e in encodings)

        def run(
            encodings: Encodings, params: tuple[Params, ...], seen: tuple[Geometry, ...], terms: tuple[Terms, ...]
        ) -> tuple[Array, Array]:
            found = attend(q, k, v, encodings, params, seen, terms, return_weights=True)
            assert isinstance(found, tuple)
            return found

        out = shown = None
        if own_softmax or adds:
            out, shown = run(encodings, params, seen, terms)
        if not own_softmax:
            _, shown = run((*encodings, Reveal()), (*params, {}), (*seen, seen[-1]), (*terms, None))
        mask = seen[0].mask
        assert shown is not None
        assert mask is not None
        if not own_softmax:
            shown = shown - jnp.diagonal(shown, axis1=2, axis2=3)[..., None]
        return jnp.where(mask, shown, 0), out if adds else None


def shift_errors(program: LayerProgram) -> dict[str, dict[str, float]]:
    """The largest change of a logit, up to a constant of the query, by dtype and shift; or of an output, if an encoding
    adds to outputs and they change more.
    """
    positions = np.arange(TOKENS, dtype=np.int32) + np.array((0, *SHIFTS), np.int32)[:, None]
    length = np.full(len(positions), TOKENS, np.int32)
    found = {}
    for dtype in (jnp.float32, jnp.bfloat16):
        results = [a for a in program(positions, length, dtype) if a is not None]
        errors = [max(float(np.abs(a[i] - a[0]).max()) for a in results) for i in range(1, len(positions))]
        found[jnp.dtype(dtype).name] = {f"{shift}": error for shift, error in zip(SHIFTS, errors)}
    return found


def beyond(program: LayerProgram) -> str | None:
    """The effect of positions past the model's ``max_len``, measured by queries at the end of ever longer sequences.

    - "error": positions known on the host raise a ValueError, and "nan" where they are traced;
    - "nan": no number from ``max_len`` on, or from where the word after it says;
    - "rescales": what earlier positions give depends on the length;
    - "clamps": positions or distances far enough out are all alike (a table's last row, a last bucket);
    - "extrapolates": none of these. None: no position changes anything.
    """
    ends, length = np.array(_ENDS, np.int32).T
    positions = np.round(ends[:, None] * np.linspace(0, 1, TOKENS)).astype(np.int32)
    results = [a for a in program(positions, length, jnp.float32) if a is not None]
    # What the last query sees and gives.
    last = np.concatenate([a[:, :, -1].reshape(len(ends), -1) for a in results], axis=1)
    inside, short, of_longer, past, far, farther, first = last
    if np.array_equal(inside, short):
        return None
    try:
        program.known(positions[3:4], length[3:4])
    except ValueError:
        return "error; nan if traced" if np.isnan(past).any() else "error"
    for row, where in ((first, ""), (past, ""), (far, f" at {FAR:.0e}"), (farther, f" at {2 * FAR:.0e}")):
        if not np.isfinite(row).all():
            return f"nan{where}".replace("e+0", "e")
    if not _alike(inside, of_longer):
        return "rescales"
    return "clamps" if _alike(far, farther) else "extrapolates"


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= 1e-5 * max(1.0, np.abs(a).max()))
