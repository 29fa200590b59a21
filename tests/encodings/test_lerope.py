import jax
import jax.numpy as jnp
import numpy as np
from initial import initial
from planes import turned

from posenc_jax.encodings import Dims, LeRoPE, RoPE, init_slot

DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=3, max_len=16)


def test_frequencies_are_scaled_by_the_exponentials(random):
    alpha, encoding = random.normal(size=4), LeRoPE(base=100.0)
    x, positions = random.normal(size=(1, 2, 3, 8)), np.array([[0, 2, 11]])
    with jax.enable_x64(True):
        for encode in (encoding.encode_queries, encoding.encode_keys):
            got = np.asarray(jax.jit(lambda x, e=encode: e({"log_scale": alpha}, x, positions, None))(x))
            for h, s in np.ndindex(2, 3):
                want = turned(x[0, h, s], positions[0, s] * np.exp(alpha) * 100.0 ** (-np.arange(4) / 4), "half")
                np.testing.assert_allclose(got[0, h, s], want, atol=1e-9)


def test_training_starts_at_rope_with_one_set_for_all_layers(random):
    x, positions = random.normal(size=(1, 4, 3, 8)).astype(np.float32), np.array([[0, 2, 11]])
    params = initial(LeRoPE(), DIMS)
    want = RoPE(layout="half").encode_queries({}, x, positions, np.array([12]))
    np.testing.assert_allclose(LeRoPE().encode_queries(params, x, positions, None), want, atol=1e-5)
    shapes = jax.eval_shape(lambda: init_slot(jax.random.key(0), (LeRoPE(),), DIMS))
    assert [a.shape for a in jax.tree.leaves(shapes)] == [(4,)]
    gradient = jax.grad(lambda p: (LeRoPE().encode_keys(p, x, positions, None) * jnp.float32(0.1)).sum())(params)
    assert gradient["log_scale"].all()
