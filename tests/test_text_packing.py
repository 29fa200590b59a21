"""Text through whole models: a packed batch means what its examples mean one by one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax import Run, Transformer, parse
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records, compose_rows
from posenc_jax.data.scoring import scores
from posenc_jax.data.text import Data, Summarization, Translation
from posenc_jax.models import Streams
from posenc_jax.training.step import forward, init_params

BYTES = Data(tokenizer="bytes")
MODEL = Transformer(d_model=16, num_layers=1, num_heads=2)
TRANSLATION = Translation(data=BYTES, max_length=8, row=24, target_ratio=1.5)
SUMMARIES = Summarization(data=BYTES, max_length=6, max_summary=4, row=24)


def texts(count, longest, seed):
    draw = np.random.default_rng(seed)
    return [draw.integers(5, 60, draw.integers(2, longest + 1)).tolist() for _ in range(count)]


RECORDS = {
    "translation": Records(
        Ragged.of([[*text, 2] for text in texts(7, 8, 0)]), Ragged.of([[1, *text, 2] for text in texts(7, 9, 1)])
    ),
    "summarization": Records(Ragged.of([[1, *text, 2] for text in texts(7, 9, 2)]), given=np.full(7, 2, np.int32)),
}
IDS = np.array([[0, 1, -1], [2, -1, -1], [3, 4, -1], [5, 6, -1]], np.int32)


def sums(run, params, batch):
    logits = forward(
        run, params, batch, streams=Streams(positions=jax.random.key(1)), example_ids=jnp.arange(4), train=False
    )
    return scores(logits, batch)


# All that read how long the sequence is; of a packed row every sequence has its own length.
SCALED = "log_scaling(training_length=3, count='length')|rope(scaling=dynamic_ntk(factor=2, original_length=3))"
LENGTHS = f"randomized(max_position=64)|{SCALED}"
DISTANCES = "t5|kerple|rope"  # whose biases are one matrix for all rows
POSENC = (DISTANCES, "sinusoidal", "learned", "rope", "t5", "shaw", LENGTHS, "learned(max_len=4, beyond='interpolate')")
CASES = [(task, posenc) for task in (TRANSLATION, SUMMARIES) for posenc in POSENC]
QUICK = ((TRANSLATION, LENGTHS), (SUMMARIES, DISTANCES))


@pytest.mark.parametrize(
    ("task", "posenc"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES],
    ids=lambda value: getattr(value, "name", value),
)
def test_packed_is_unpacked(task, posenc):
    """Loss and counts of a packed batch are the sums of those of its examples, each in a row of its own."""
    cross = parse(SCALED) if posenc == LENGTHS and task.model_kind == "encoder_decoder" else ()
    run = Run(task=task, model=MODEL, posenc=parse(posenc), posenc_cross=cross, seeds=(0,))
    rng = np.random.default_rng(3)
    shapes = jax.eval_shape(functools.partial(init_params, run, 0))
    with jax.enable_x64(True):
        params = jax.tree.map(lambda leaf: jnp.asarray(0.3 * rng.normal(size=leaf.shape)), shapes)
        records = RECORDS[task.name]
        # One width for all, so that it is compiled once; see test_forward for other widths.
        call = jax.jit(lambda ids: sums(run, params, compose_rows(records, ids, 24, 24)))
        packed = call(IDS)
        singles = np.array([[i if i < 7 else -1, -1, -1] for i in range(8)], np.int32)
        alone = [call(singles[half]) for half in (slice(0, 4), slice(4, 8))]
    for name, value in packed.items():
        expected = sum(float(part[name]) for part in alone)
        if name in ("exact_sum", "example_count"):
            continue  # these count rows
        np.testing.assert_allclose(float(value), expected, rtol=1e-10, err_msg=name)
