"""Every encoding of the registry through the whole engine: configured, trained, evaluated at a new length, written
down.
"""

import numpy as np
import pytest
from registry_slots import TRAINED

import posenc_jax
from posenc_jax import Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import is_pattern, parse


@pytest.mark.slow
@pytest.mark.parametrize("text", TRAINED)
def test_every_encoding_trains(text, tmp_path):
    layers = len(parse(text)) if is_pattern(parse(text)) else 2
    run = Run(
        task=Copying(kind="cmc", max_length=4, num_symbols=12),
        model=Transformer(d_model=32, num_layers=layers, num_heads=4, num_kv_heads=2),
        posenc=parse(text),
        training=Training(steps=2, steps_per_call=2, log_every=2, batch_size=4, validation_batches=1),
        evaluation=Evaluation(lengths=(4, 6), num_examples=2),
        execution=Execution(mode="map"),
        seeds=(0,),
    )
    [group] = posenc_jax.run(run, tmp_path)
    [replica] = group["replicas"]
    assert replica["diverged_at"] is None
    assert [row["length"] for row in replica["evaluation"]] == [4, 6]
    assert all(np.isfinite(row["loss"]) for row in replica["evaluation"])
