"""Fields are set from the training lengths, for every arm by one rule."""

import numpy as np
import pytest

from posenc_jax.encodings import ALiBi, RoPE, Shaw, T5Bias, parse, spec, t5_buckets
from posenc_jax.verdict.fields import fitted
from posenc_jax.verdict.tables import tables

TABLES = tables()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", [name for name in TABLES if name != "arrow_grid"])
def test_every_bucket_of_t5_is_trained(name, full):
    """Every bucket that any distance has begins in the nearer half of the longest row of training."""
    table = TABLES[name].at_full_size if full else TABLES[name]
    task, (bias,) = table.run.task, table.cell(parse("t5"), "T5 bias", (0, 1)).posenc
    width, both = task.width(task.train_lengths[-1]), task.model_kind == "encoder_only"

    def buckets(positions):
        relative = np.arange(1 - positions, positions)
        return t5_buckets(relative, bias.num_buckets, bias.max_distance, bidirectional=both)

    assert set(np.unique(buckets(width // 2 + 1))) == set(np.unique(buckets(20 * width)))


def test_the_default_of_t5_is_not_trained_where_a_referee_found_it():
    relative = np.arange(11)[None] - np.arange(11)[:, None]
    assert len(np.unique(t5_buckets(relative, bidirectional=True))) < 31
    assert spec(fitted((T5Bias(),), 20, "encoder_only")) == "t5(num_buckets=8, max_distance=32)", "as configs/demo.py"


def test_what_somebody_set_is_theirs_and_others_stay():
    slot = (RoPE(), T5Bias(num_buckets=16), ALiBi(), Shaw(max_distance=30))
    assert fitted(slot, 11, "encoder_only") == slot
    assert fitted((Shaw(),), 11, "encoder_only") == (Shaw(max_distance=10),)
    pattern = ((T5Bias(),), (RoPE(),))
    assert fitted(pattern, 20, "encoder_only") == ((T5Bias(num_buckets=8, max_distance=32),), (RoPE(),))


def test_a_table_sets_the_fields_of_every_arm():
    assert spec(TABLES["even_pairs"].cell(parse("t5"), "x", (0, 1)).posenc) == "t5(num_buckets=8, max_distance=12)"
    assert TABLES["even_pairs"].cell(parse("rope"), "x", (0, 1)).posenc == parse("rope")
