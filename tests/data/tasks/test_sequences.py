import jax
import numpy as np
import pytest

from posenc_jax.data.tasks.sequences import prompted, translated

PAD, BOS, SEP, EOS = range(4)
ROWS = [(p, t) for p in (0, 1, 3, 5) for t in (0, 1, 4)]


def filled(values, width):
    return values + [0] * (width - len(values))


@pytest.mark.parametrize("form", [prompted, translated])
def test_layout_is_that_of_plain_lists(form):
    prompt, target = np.arange(10, 15), np.arange(20, 24)  # what lies beyond the lengths must not show
    lengths = np.array(ROWS, np.int32)
    batch = jax.jit(jax.vmap(lambda p, t: form(prompt, p, target, t)))(lengths[:, 0], lengths[:, 1])
    for row, (p, t) in enumerate(ROWS):
        x, y = prompt[:p].tolist(), target[:t].tolist()
        if form is prompted:
            sequence = [BOS, *x, SEP, *y, EOS]
            inputs, targets = sequence[:-1], sequence[1:]
            weights = [0] * (p + 1) + [1] * (t + 1)
            width = target_width = 5 + 4 + 2
        else:
            inputs, targets, weights, width, target_width = [BOS, *x, EOS], [*y, EOS], [1] * (t + 1), 7, 5
            assert batch.decoder_inputs[row].tolist() == filled([BOS, *y], 5)
            assert batch.decoder_length[row] == t + 1
        assert batch.inputs[row].tolist() == filled(inputs, width)
        assert batch.targets[row].tolist() == filled(targets, target_width)
        assert batch.weights[row].tolist() == filled(weights, target_width)
        assert batch.segment_ids[row].tolist() == filled([1] * len(inputs), width)
        assert batch.length[row] == len(inputs)
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(batch)} == {"int32", "float32"}
    if form is prompted:
        assert batch.decoder_inputs is None
