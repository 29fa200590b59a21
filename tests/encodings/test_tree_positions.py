import jax
import numpy as np

from posenc_jax.encodings import Sequence, TreePositions
from posenc_jax.encodings.graphs import tree_paths

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
