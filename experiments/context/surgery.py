"""The rotation of a published model turned off, layer by layer and plane by plane, or with another base in some layers:
what the loss of plain text loses by it.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.context.surgery runs/smollm2

Expected before it was measured: every layer costs something, the first ones most, as heads that read the token before
theirs stand there; no rotation in every fourth layer, which models are trained with, costs an untrained one much; and
none at all leaves nothing.

Expected of planes and bases, written down before these were measured and after the layers were: the fastest quarter of
the planes (wavelengths of 6 to 78 tokens) costs most when it does not turn, far more than any other quarter, as heads
that read one place use it (Barbero et al. 2024, arXiv:2410.06205, who drop the slowest quarter in p-RoPE); the slowest
one (35,000 tokens and more) costs nothing that can be seen. Base 1e4 instead of 1e5, of Gemma 3's local layers, costs a
model that is not trained with it: in every second layer something, in all of them more, and more than twice as much,
yet less than turning off every fourth layer.

One program serves all: what a plane of a layer does is a parameter.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.context.texts import of_corpus
from experiments.records import short
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.encodings import Dims, RoPE
from posenc_jax.encodings.interface.base import Array, Params, at_least_float32
from posenc_jax.encodings.shared.phase import Turns, sincos_of_turns, turns, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import turn
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import mean_interval
from posenc_jax.statistics.comparison import paired_comparison
from posenc_jax.training.step import model_of

RECORD = Path(__file__).with_name("surgery.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- surgery: surgery.json -->", "<!-- end of surgery -->"
TEXTS, LENGTH = 6, 128

OFF, OWN, OTHER = 0, 1, 2
"""What a plane of a layer does: it does not turn, it turns as trained, or as with base 1e4."""


@dataclasses.dataclass(frozen=True)
class SwitchedRoPE(RoPE):
    """RoPE with a parameter of the layer that says of each plane which frequency it has."""

    other: float = 1e4

    name = "switched_rope"
    methods = ()
    per_layer = True

    def init(self, key: Any, dims: Dims) -> Params:
        return {"planes": jnp.full(dims.head_dim // 2, float(OWN))}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        own, other = (vaswani_frequencies(x.shape[-1], base) for base in (self.base, self.other))
        tables = turns(np.stack([0 * own, own, other]))
        which = params["planes"].astype(jnp.int32), np.arange(len(own))
        chosen = Turns(*(jnp.asarray(table)[which] for table in tables))
        sin, cos = sincos_of_turns(positions, chosen, at_least_float32(x))
        return turn(x, sin[:, None], cos[:, None], self.layout)


def losses(loaded: Loaded, tokens: np.ndarray, cases: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """For each case, what planes do ``[layers, planes]``, the mean loss of each row of ``tokens [B, S]``, in nats."""
    (rope,) = loaded.config.posenc
    config = dataclasses.replace(loaded.config, posenc=(SwitchedRoPE(base=rope.base, layout=rope.layout),))

    @jax.jit
    def measured(params: Params, planes: Array) -> Array:
        params = {**params, "posenc": {"decoder": (tuple({"planes": own} for own in planes),)}}
        logits = model_of(config, params)(tokens)
        found = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.take_along_axis(found, tokens[:, 1:, None], axis=2)[..., 0].mean(axis=1)

    found = {}
    for name, planes in cases.items():
        found[name] = np.asarray(measured(loaded.params, planes.astype(np.float32)), np.float64).tolist()
        print(name, sum(found[name]) / len(found[name]), flush=True)
    return found


def cases_of(layers: int, planes: int) -> dict[str, np.ndarray]:
    """Names of cases, and what each plane of each layer does: first all of them as trained."""
    whole = np.full((layers, planes), OWN)
    layer, quarter = np.arange(layers)[:, None], np.arange(planes) * 4 // planes
    found = {
        "all layers rotate": whole,
        "no layer rotates": np.full_like(whole, OFF),
        "every fourth does not": np.where(layer % 4 == 3, OFF, whole),
        **{f"layer {own} does not": np.where(layer == own, OFF, whole) for own in range(layers)},
    }
    for part in range(4):
        first, last = np.flatnonzero(quarter == part)[[0, -1]]
        found[f"planes {first} to {last} do not"] = np.where(quarter == part, OFF, whole)
    found["base 1e4 in every second layer"] = np.where(layer % 2 == 0, OTHER, whole)
    found["base 1e4 in all layers"] = np.full_like(whole, OTHER)
    return found


def page(found: dict[str, Any]) -> str:
    """The loss of each case, and its difference to the whole model, paired by text."""
    first, *others = found["losses"]
    whole = found["losses"][first]
    rows = [[first, f"{mean_interval(whole).mean:.3f}", ""]]
    for name in others:
        own = found["losses"][name]
        cost = paired_comparison(own, whole, -np.inf, np.inf)
        rows.append(
            [name, f"{mean_interval(own).mean:.3f}", f"{cost.difference:+.3f} [{cost.low:.3f}, {cost.high:.3f}]"]
        )
    return grid(["rotation", "nats a token", "difference [95 %]"], "lrr", rows) + "\n"


def main(run: str) -> None:
    """Measures all cases, keeps them and fills the page."""
    loaded = load_run(run)
    texts = of_corpus(loaded.tokenizer, LENGTH, TEXTS)
    dims = loaded.config.dims
    cases = cases_of(dims.num_layers, dims.head_dim // 2)
    found = losses(loaded, np.stack(texts), cases)
    record = short({"note": loaded.config.note, "texts": TEXTS, "length": LENGTH, "losses": found})
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(json.loads(RECORD.read_text())), END))


if __name__ == "__main__":
    main(sys.argv[1])
