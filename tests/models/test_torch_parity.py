"""Outputs and gradients of PyTorch's Transformers from the same parameters, in float64."""

from pathlib import Path

import jax
import make_torch_reference as torch_reference
import numpy as np
import pytest
from flax import nnx
from torch_live import run_torch

from posenc_jax.models import Slots, Transformer, build
from posenc_jax.models.torch_weights import from_torch

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"


def parameters(arrays, kind, config, model="encoder_decoder"):
    """All of torch's parameters (kind "param") or gradients ("grad") as a tree of ours."""
    inputs = ("grad/source", "grad/target")
    named = {n.removeprefix(f"{kind}/"): a for n, a in arrays.items() if n.startswith(f"{kind}/") and n not in inputs}
    return from_torch(named, config, model)


def compare(arrays, norm, activation):
    """Every input vector gets a token of its own, the output layer is the identity: so the whole model is torch's."""
    source_real, target_real = torch_reference.SOURCE_REAL, torch_reference.TARGET_REAL
    table = np.concatenate([arrays[name].reshape(-1, torch_reference.D_MODEL) for name in ("source", "target")])
    tokens = np.arange(len(table), dtype=np.int32)
    source = tokens[: source_real.size].reshape(source_real.shape)
    target = tokens[source_real.size :].reshape(target_real.shape)
    config = Transformer(
        d_model=torch_reference.D_MODEL,
        num_layers=torch_reference.NUM_LAYERS,
        num_heads=torch_reference.NUM_HEADS,
        mlp_dim=torch_reference.MLP_DIM,
        norm=norm,
        final_norm=True,
        activation=activation,
        scale_embeddings=False,
    )
    keys = {"key": jax.random.key(0), "posenc_key": jax.random.key(0)}
    sizes = {"vocab_size": len(table), "num_classes": torch_reference.D_MODEL, "max_len": 8}
    graph, state = nnx.split(nnx.eval_shape(lambda: build("encoder_decoder", config, Slots(), **sizes, **keys)))
    pure = parameters(arrays, "param", config) | {
        "embedding": {"table": table},
        "output": {"kernel": np.eye(torch_reference.D_MODEL), "bias": np.zeros(torch_reference.D_MODEL)},
    }
    nnx.replace_by_pure_dict(state, pure)

    @jax.jit
    def run(state):
        model = nnx.merge(graph, state)
        output = model(source, target, segment_ids=source_real, decoder_segment_ids=target_real)
        return (output * arrays["weights"]).sum(), output

    (_, output), grads = jax.value_and_grad(run, has_aux=True)(state)
    real = target_real != 0
    assert output.dtype == np.float64
    np.testing.assert_allclose(output[real], arrays["output"][real], rtol=1e-10, atol=1e-10)
    grads = nnx.to_pure_dict(grads)
    expected = parameters(arrays, "grad", config) | {
        "embedding": {
            "table": np.concatenate(
                [arrays[f"grad/{name}"].reshape(-1, torch_reference.D_MODEL) for name in ("source", "target")]
            )
        }
    }
    for part, tree in expected.items():
        jax.tree.map_with_path(
            lambda path, ours, theirs: np.testing.assert_allclose(
                ours, theirs, rtol=1e-8, atol=1e-10, err_msg=jax.tree_util.keystr(path)
            ),
            grads[part],
            tree,
        )


# Every case compiles a model and its gradient; the other value of both choices stands in `test_equals_a_torch_encoder`.
FEW = {("pre", "gelu")}
CASES = [pytest.param(*case, marks=() if case in FEW else pytest.mark.slow) for case in torch_reference.CASES]


@pytest.mark.parametrize(("norm", "activation"), CASES)
def test_equals_stored_torch(float64, norm, activation):
    file = DATA / f"torch_transformer_{norm}_{activation}.npz"
    assert file.stat().st_size < 200_000
    compare(dict(np.load(file)), norm, activation)


def test_equals_torch_live(float64, tmp_path):
    program = (
        "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import make_torch_reference as torch_reference\n"
        "np.savez(sys.argv[2], **torch_reference.reference('post', 'gelu', seed=1))"
    )
    run_torch(program, str(ROOT / "scripts"), str(tmp_path / "live.npz"))
    compare(dict(np.load(tmp_path / "live.npz")), "post", "gelu")


@pytest.mark.parametrize(("kind", "output"), [("encoder_only", "output"), ("decoder_only", "causal_output")])
def test_equals_a_torch_encoder(float64, kind, output):
    """Without final norm; a decoder-only model is torch's encoder with a causal mask."""
    arrays = dict(np.load(DATA / "torch_encoder_post_relu.npz"))
    real, width = torch_reference.SOURCE_REAL, torch_reference.D_MODEL
    config = Transformer(
        d_model=width,
        num_layers=torch_reference.NUM_LAYERS,
        num_heads=torch_reference.NUM_HEADS,
        mlp_dim=torch_reference.MLP_DIM,
        norm="post",
        activation="relu",
        scale_embeddings=False,
    )
    key = jax.random.key(0)
    sizes = {"vocab_size": real.size, "num_classes": width, "max_len": 8, "key": key, "posenc_key": key}
    graph, state = nnx.split(nnx.eval_shape(lambda: build(kind, config, Slots(), **sizes)))
    around = {
        "embedding": {"table": arrays["source"].reshape(-1, width)},
        "output": {"kernel": np.eye(width), "bias": np.zeros(width)},
    }
    nnx.replace_by_pure_dict(state, parameters(arrays, "param", config, kind) | around)
    tokens = np.arange(real.size, dtype=np.int32).reshape(real.shape)
    ours = jax.jit(lambda state: nnx.merge(graph, state)(tokens, segment_ids=real))(state)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours[real != 0], arrays[output][real != 0], rtol=1e-10, atol=1e-10)
