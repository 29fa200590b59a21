"""Outcomes of the contract for an encoding: each clause's outcome, a table of them, and what to do on a failure."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Literal

Findings = Iterator[tuple[float, str]]  # how far two things that must agree are apart, and what they are


class NotApplicable(Exception):
    """Raised by a clause that says nothing about an encoding; the message says why."""


class ContractError(AssertionError):
    """An encoding breaks its contract; the message lists the clauses, and what to do."""


@dataclasses.dataclass(frozen=True)
class ClauseOutcome:
    """One clause: its outcome, the largest error (None where nothing is measured) and what it was found in, or why."""

    name: str
    status: Literal["passed", "failed", "skipped"]
    error: float | None = None
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.status}" + (f" {self.seen}" if self.seen else "")

    @property
    def seen(self) -> str:
        """``by 1.0e-03 (sequence 1 of the row)``: the error of a failure, and the detail."""
        error = f"by {self.error:.1e}" if self.status == "failed" and self.error and self.error < math.inf else ""
        return " ".join(part for part in (error, f"({self.detail})" if self.detail else "") if part)


class Clauses(tuple[ClauseOutcome, ...]):
    """The outcomes of all clauses; printed they are a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [("clause", "outcome", "largest error", "")]
        for clause in self:
            error = "" if clause.error is None or clause.error == math.inf else f"{clause.error:.1e}"
            rows.append((clause.name, clause.status, error, clause.detail))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = ["  ".join([*(f"{word:<{width}}" for word, width in zip(row, widths)), row[3]]) for row in rows]
        return "\n".join(line.rstrip() for line in [lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


OWN_CODE = "own code"
"""Instead of a clause: the user's own code raises, whatever is asked of it."""

WAYS_OUT = {
    "value": "make it a frozen dataclass whose fields are numbers, strings, tuples or other values",
    "parameters": "make each array by jnp, as in jnp.zeros(dims.num_heads), of the key that init is given; keep whole "
    "numbers as fields; name in `frozen` only what init returns",
    "dtype": "end embed and the hooks encode_... with .astype(x.dtype), of their input; compute what is added to "
    "logits or output in jnp.promote_types(x.dtype, jnp.float32), with parameters and positions of that type; "
    "return an array of the shape that the hook's docstring gives",
    "precision": "keep positions and angles in float32 at least; posenc_jax.encodings.sincos keeps a phase exact",
    "jit": "compute with jnp from what the hook is given; no Python branch or NumPy on arrays that may be traced",
    "recompile": "make equality and hash those of the fields; let no Python number depend on lengths or values",
    "vmap": "let no row of the batch see another",
    "cached_decoding": "read q_positions, k_positions and geometry.relative, never array indices: a cache "
    "holds other keys than one call",
    "causality": "let a row read keys up to its own only; a bias needs no mask, for it is masked later",
    "padding": "leave out tokens of segment 0 (geometry.mask, segment_ids), and read length, not an array's size",
    "packing": "leave out tokens of other segments (geometry.mask, segment_ids), and read each token's own length",
    "shift": "read geometry.relative alone, or say shift_invariant = False",
    "blocks": "compute every entry from its own query and key, so that a block is a part of the whole",
    "fused": "let bias read geometry.relative and nothing else, or leave bias_of_distance out; let factors be of what "
    "bias and content_bias add, or say num_factors = 0, and of positions alone where fixed_factors says so",
    "gradients": "keep sqrt, log and division away from 0, as in jnp.sqrt(jnp.where(d > 0, d, 1))",
}
"""What to do where a clause fails, see `way_out`; what a method cannot keep by its nature stands in its ``breaks``."""


def way_out(name: str) -> str:
    """Advice for a clause, or `OWN_CODE`, that fails."""
    return "mend it, then check again: no clause can be asked before it runs" if name == OWN_CODE else WAYS_OUT[name]
