import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Sequence
from posenc_jax.encodings.shared.draws import draw_keys

KEY = jax.random.key(3)


def data(*args):
    return jax.random.key_data(draw_keys(KEY, *args, "Test")).tolist()


def test_one_key_for_a_batch_and_one_for_each_row():
    sequence = Sequence.of_length(4, tokens=jnp.zeros((3, 4), jnp.int32))
    assert data(sequence, "batch") == [jax.random.key_data(KEY).tolist()]
    rows = data(sequence, "example")
    assert len({tuple(row) for row in rows}) == 3
    assert rows[2] == jax.random.key_data(jax.random.fold_in(KEY, 2)).tolist()


def test_a_row_keeps_its_key_however_the_batch_is_split():
    whole = data(Sequence.of_length(4, example_ids=np.arange(5)), "example")
    part = data(Sequence.of_length(4, example_ids=np.array([3, 1])), "example")
    assert part == [whole[3], whole[1]]
