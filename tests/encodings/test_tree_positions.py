import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, Sequence, TreePositions
from posenc_jax.encodings.graphs import tree_paths

DIMS = Dims(d_model=26, num_heads=1, num_kv_heads=1, head_dim=4, num_layers=1, max_len=64)
PARENTS = [-1, 0, 0, 2, 2, 2, 5, 6, 7]
TREE = TreePositions(depth=4, degree=3)


def vectors(rates, parents=PARENTS):
    """What is added at every node, ``[N, 26]``."""
    paths = tree_paths(parents, TREE.depth)[None]
    with jax.enable_x64(True):
        sequence = Sequence(paths, np.array([len(parents)]))
        return np.asarray(TREE.embed({"rates": rates}, np.zeros((1, len(parents), 26)), sequence))[0]


def test_a_stack_of_choices(random):
    """Shiv and Quirk: one-hot branches from the node up, times p^k and sqrt(d (1 - p^2) / 2), for two rates."""
    rates = random.uniform(0.5, 1, 2)
    got = vectors(rates)
    for node in range(len(PARENTS)):
        want, above, step = np.zeros(26), node, 0
        while above != 0 and step < 4:
            branch = [n for n in range(len(PARENTS)) if PARENTS[n] == PARENTS[above]].index(above)
            for f, rate in enumerate(np.tanh(rates)):
                want[(step * 3 + branch) * 2 + f] = rate**step * np.sqrt(24 * (1 - rate**2) / 2)
            above, step = PARENTS[above], step + 1
        np.testing.assert_allclose(got[node], want, atol=1e-9)


def test_going_to_a_child_is_one_linear_map(random):
    """The vector of a second child is a constant, and that of its parent moved by a step and times p."""
    rates = random.uniform(0.5, 1, 2)
    got, p = vectors(rates), np.tile(np.tanh(rates), 3)
    for parent, child in ((0, 2), (2, 4)):
        moved = np.concatenate([got[parent][6 * k : 6 * k + 6] * p for k in range(3)])
        np.testing.assert_allclose(got[child][6:24], moved)
        np.testing.assert_allclose(got[child][:6], got[2][:6])


def test_parameters_and_what_is_refused():
    rates = initial(TREE, DIMS)["rates"]
    assert rates.shape == (2,)
    assert 0.7 <= rates.min() < rates.max() <= 0.999
    with pytest.raises(ValueError, match=r"has 32 choices, and d_model = 26 a dimension for each at least: low"):
        TreePositions(depth=8, degree=4).check(DIMS)
