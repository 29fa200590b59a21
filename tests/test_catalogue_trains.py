"""Every row of the catalogue through the whole engine: configured, trained, evaluated at a new length, written down."""

import numpy as np
import pytest
from registry_slots import reads_attributes

import posenc_jax
from posenc_jax import Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import elements, is_pattern, parse
from posenc_jax.encodings.catalogue import CATALOGUE

ROWS = list(dict.fromkeys(method.spec for family in CATALOGUE.values() for method in family))
# Those that read token types, which this task has not, or attributes are refused (see test_config).
ROWS = [spec for spec in ROWS if not any(element.needs_token_types for element in elements(parse(spec)))]
ROWS = [spec for spec in ROWS if not reads_attributes(parse(spec))]


@pytest.mark.slow
@pytest.mark.parametrize("text", ROWS)
def test_every_row_trains(text, tmp_path):
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
