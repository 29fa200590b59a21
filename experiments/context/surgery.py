"""The rotation of each layer of a published model, turned off by itself: what the loss of plain text loses by it.

    posenc import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.context.surgery runs/smollm2

Expected before it was measured: every layer costs something, the first ones most, as heads that read the token before
theirs stand there; no rotation in every fourth layer, which models are trained with, costs an untrained one much; and
none at all leaves nothing.

One program serves all: the rotation of a layer is a parameter, 1 or 0.
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

from experiments.records import short
from posenc_jax.context.texts import of_corpus
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.encodings import Dims, RoPE
from posenc_jax.encodings.base import Array, Params
from posenc_jax.models.config import Slots
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import mean_interval
from posenc_jax.statistics.comparison import paired_comparison
from posenc_jax.training.step import model_with

RECORD = Path(__file__).with_name("surgery.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- surgery: surgery.json -->", "<!-- end of surgery -->"
TEXTS, LENGTH = 6, 128


@dataclasses.dataclass(frozen=True)
class SwitchedRoPE(RoPE):
    """RoPE whose positions are multiplied by a parameter of the layer."""

    name = "switched_rope"
    methods = ()
    per_layer = True

    def init(self, key: Any, dims: Dims) -> Params:
        return {"on": jnp.ones(())}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        return super().rotated({}, x, positions * (params["on"] > 0).astype(jnp.int32), length)


def losses(loaded: Loaded, tokens: np.ndarray, cases: dict[str, list[int]]) -> dict[str, list[float]]:
    """For each case, the layers that rotate, the mean loss of each row of ``tokens [B, S]``, in nats a token."""
    config = loaded.config
    (rope,) = config.posenc
    slots = Slots(decoder=(SwitchedRoPE(**{f.name: getattr(rope, f.name) for f in dataclasses.fields(rope)}),))
    sizes = {"vocab_size": config.task.vocab_size, "num_classes": config.task.num_classes, "max_len": config.max_len}

    @jax.jit
    def measured(params: Params, on: Array) -> Array:
        switches = tuple({"on": on[layer]} for layer in range(config.model.num_layers))
        params = {**params, "posenc": {"decoder": (switches,)}}
        logits = model_with(params, "decoder_only", config.model, slots, **sizes)(tokens)
        found = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.take_along_axis(found, tokens[:, 1:, None], axis=2)[..., 0].mean(axis=1)

    every = range(config.model.num_layers)
    found = {}
    for name, layers in cases.items():
        on = np.array([layer in layers for layer in every], np.float32)
        found[name] = np.asarray(measured(loaded.params, on), np.float64).tolist()
        print(name, sum(found[name]) / len(found[name]), flush=True)
    return found


def cases_of(layers: int) -> dict[str, list[int]]:
    """Names of cases, and the layers that rotate."""
    every = list(range(layers))
    return {
        "all layers rotate": every,
        "no layer rotates": [],
        "every fourth does not": [layer for layer in every if layer % 4 != 3],
        **{f"layer {own} does not": [layer for layer in every if layer != own] for own in every},
    }


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
    found = losses(loaded, np.stack([text.tokens for text in texts]), cases_of(loaded.config.model.num_layers))
    record = short({"note": loaded.config.note, "texts": TEXTS, "length": LENGTH, "losses": found})
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(json.loads(RECORD.read_text())), END))


if __name__ == "__main__":
    main(sys.argv[1])
