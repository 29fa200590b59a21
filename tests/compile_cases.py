"""Cases for scripts/compile_check: an encoding for each hook, every kind of model, every layout of replicas."""

from __future__ import annotations

import dataclasses
from typing import Any

from posenc_jax import Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying, Scan, TokenAt

_MODEL = Transformer(d_model=128, num_layers=1, num_heads=2)
_SMALL: dict[str, Any] = dict(
    training=Training(steps=1, steps_per_call=1, log_every=1, batch_size=8),
    evaluation=Evaluation(lengths=(63,), num_examples=8),
)
_ALL, _TRAIN = ("train", "evaluate", "decode"), ("train",)


def _decoder(encoding: str, **changes: object) -> Run:
    """63 symbols are copied, in rows of 128 tokens."""
    return Run(
        task=Copying(kind="cmc", max_length=63, num_symbols=12),
        model=_MODEL,
        posenc=parse(encoding),
        **_SMALL,
        **changes,
    )


_ROPE = _decoder("rope", seeds=(0, 1))
_BFLOAT16 = dataclasses.replace(_MODEL, dtype="bfloat16")

# name: (run, its programs)
CASES: dict[str, tuple[Run, tuple[str, ...]]] = {
    # A representative of every hook.
    "embed: sinusoidal": (_decoder("sinusoidal", seeds=(0,)), _TRAIN),
    "map_positions: randomized|rope": (_decoder("randomized|rope", seeds=(0,)), _TRAIN),
    "encode: rope": (_decoder("rope", seeds=(0,)), _ALL),
    "bias: t5": (_decoder("t5", seeds=(0,)), _ALL),
    "bias: alibi": (_decoder("alibi", seeds=(0,)), _TRAIN),
    "content_bias, value_term: shaw": (_decoder("shaw", seeds=(0,)), _TRAIN),
    "token_terms: fox": (_decoder("fox", seeds=(0,)), _TRAIN),
    "score: path": (_decoder("path", seeds=(0,)), _TRAIN),
    "encode_values, encode_outputs: rope|rotated_values": (_decoder("rope|rotated_values", seeds=(0,)), _ALL),
    "adjust_logits: kerple|dape": (_decoder("kerple|dape", seeds=(0,)), _TRAIN),
    "normalize: stick_breaking": (_decoder("stick_breaking", seeds=(0,)), _TRAIN),
    # Kinds of models, and bfloat16.
    "encoder: learned": (
        Run(task=TokenAt(length=63), model=_MODEL, posenc=parse("learned"), **_SMALL, seeds=(0,)),
        _TRAIN,
    ),
    "encoder-decoder: rope": (
        Run(
            task=Scan(model="encoder_decoder"),
            model=_MODEL,
            posenc=parse("rope"),
            **_SMALL | {"evaluation": Evaluation(lengths=(48,))},
            seeds=(0,),
        ),
        _TRAIN,
    ),
    "bfloat16: rope": (dataclasses.replace(_ROPE, model=_BFLOAT16, seeds=(0,)), _TRAIN),
    "bfloat16 encoder, padded rows: rope": (
        Run(
            task=TokenAt(length=127),
            model=_BFLOAT16,
            posenc=parse("rope"),
            **_SMALL | {"evaluation": Evaluation(lengths=(127,), num_examples=8)},
            seeds=(0,),
        ),
        _TRAIN,
    ),
    # How replicas lie on devices: eight in one batch on each, four batches, two halves of matrices.
    "vmap: rope, 8 replicas": (dataclasses.replace(_ROPE, seeds=tuple(range(8))), _ALL),
    "split batches: rope": (dataclasses.replace(_ROPE, execution=Execution("vmap", data=2)), _TRAIN),
    "split matrices: rope": (dataclasses.replace(_ROPE, execution=Execution("vmap", model=2)), _TRAIN),
}
