"""An encoding, a Transformer and a training loop in plain JAX: it learns to copy a row, and is asked for longer ones.

python experiments/minimal/copy_row.py rope          # or another encoding of `posenc list`
"""

import sys

import jax
import jax.numpy as jnp
import optax

from posenc_jax.encodings import Dims, Sequence, attend, embed, init_slot, layer_inputs, parse

TOKENS, WIDTH, HEADS, LAYERS, LENGTH, STEPS = 16, 64, 4, 2, 8, 400
slot = parse(sys.argv[1] if len(sys.argv) > 1 else "rope")
dims = Dims(WIDTH, HEADS, HEADS, WIDTH // HEADS, LAYERS, max_len=64)
optimizer = optax.adamw(optax.warmup_cosine_decay_schedule(0, 3e-3, 50, STEPS))


def rows(key, length):  # [batch, 2 length + 1]: a row, token 0, the row again
    row = jax.random.randint(key, (32, length), 1, TOKENS)
    return jnp.concatenate([row, jnp.zeros((32, 1), int), row], axis=1)


def matrix(key, inputs, outputs):
    return jax.random.normal(key, (inputs, outputs)) * inputs**-0.5


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)


def logits(params, tokens, key):  # [batch, sequence, TOKENS]; random positions are drawn by the key
    x = embed(slot, params["posenc"], params["table"][tokens], Sequence.of_length(tokens.shape[1]), key=key)
    for number, (to_qkv, to_out, up, down) in enumerate(params["layers"]):
        y = norm(x)
        q, k, v = jnp.moveaxis((y @ to_qkv).reshape(*y.shape[:2], 3, HEADS, -1), (2, 3), (0, 2))
        call = {"num_heads": HEADS, "causal": True, "layer": number, "embedded": True, "key": key}
        inputs = layer_inputs(slot, params["posenc"], y, **call)
        x += jnp.swapaxes(attend(q, k, v, *inputs), 1, 2).reshape(x.shape) @ to_out
        x += jax.nn.gelu(norm(x) @ up) @ down
    return norm(x) @ params["table"].T


def loss(params, tokens, key):  # of the copy alone
    half = tokens.shape[1] // 2
    found = logits(params, tokens[:, :-1], key)[:, half:]
    return optax.softmax_cross_entropy_with_integer_labels(found, tokens[:, half + 1 :]).mean()


@jax.jit
def step(params, state, key):
    value, gradients = jax.value_and_grad(loss)(params, rows(key, LENGTH), jax.random.fold_in(key, 0))
    updates, state = optimizer.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, value


keys = jax.random.split(jax.random.key(0), 4 * LAYERS + 2)
sizes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 2 * WIDTH), (2 * WIDTH, WIDTH)]
layers = [[matrix(keys[4 * i + j], *size) for j, size in enumerate(sizes)] for i in range(LAYERS)]
params = {"table": matrix(keys[-2], WIDTH, TOKENS).T, "layers": layers, "posenc": init_slot(keys[-1], slot, dims)}
state = optimizer.init(params)
for number, key in enumerate(jax.random.split(jax.random.key(1), STEPS)):
    params, state, value = step(params, state, key)
    if number % 100 == 99:
        print(f"step {number + 1}: loss {value:.3f}")
for length in (LENGTH, LENGTH + 2, 2 * LENGTH):
    tokens = rows(jax.random.key(2), length)
    found = jax.jit(logits)(params, tokens[:, :-1], jax.random.key(3))[:, length:]
    right = found.argmax(-1) == tokens[:, length + 1 :]
    print(f"rows of {length} tokens: {right.mean():.3f} copied right")
