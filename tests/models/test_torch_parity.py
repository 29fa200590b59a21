"""Output and gradients of torch.nn.Transformer from the same parameters, in float64."""

import importlib.util
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import nnx

from posenc_jax.models import Slots, Transformer, build

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"

spec = importlib.util.spec_from_file_location("make_torch_reference", ROOT / "scripts" / "make_torch_reference.py")
torch_reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(torch_reference)


def attention(arrays, prefix):
    weights = np.split(arrays[f"{prefix}.in_proj_weight"], 3)
    biases = np.split(arrays[f"{prefix}.in_proj_bias"], 3)
    projections = dict(zip(("query", "key", "value"), zip(weights, biases, strict=True), strict=True))
    projections["output"] = (arrays[f"{prefix}.out_proj.weight"], arrays[f"{prefix}.out_proj.bias"])
    return {name: {"kernel": weight.T, "bias": bias} for name, (weight, bias) in projections.items()}


def linear(arrays, prefix):
    return {"kernel": arrays[f"{prefix}.weight"].T, "bias": arrays[f"{prefix}.bias"]}


def norm(arrays, prefix):
    return {"scale": arrays[f"{prefix}.weight"], "bias": arrays[f"{prefix}.bias"]}


def stack(arrays, name, cross):
    """One stack of torch's model as a tree of ours."""
    blocks = {}
    for layer in range(torch_reference.NUM_LAYERS):
        prefix = f"{name}.layers.{layer}"
        block = {
            "self_attention": attention(arrays, f"{prefix}.self_attn"),
            "self_attention_norm": norm(arrays, f"{prefix}.norm1"),
            "mlp": {"hidden": linear(arrays, f"{prefix}.linear1"), "output": linear(arrays, f"{prefix}.linear2")},
            "mlp_norm": norm(arrays, f"{prefix}.norm{3 if cross else 2}"),
        }
        if cross:
            block["cross_attention"] = attention(arrays, f"{prefix}.multihead_attn")
            block["cross_attention_norm"] = norm(arrays, f"{prefix}.norm2")
        blocks[layer] = block
    return {"blocks": blocks, "final_norm": norm(arrays, f"{name}.norm")}


def parameters(arrays, kind):
    """All of torch's parameters (kind "param") or gradients ("grad") as a tree of ours."""
    named = {name.removeprefix(f"{kind}/"): array for name, array in arrays.items() if name.startswith(f"{kind}/")}
    return {"encoder": stack(named, "encoder", False), "decoder": stack(named, "decoder", True)}


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
    pure = parameters(arrays, "param") | {
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
    expected = parameters(arrays, "grad") | {
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


# Every case compiles a model, and two of them show both values of both choices.
FEW = {("post", "relu"), ("pre", "gelu")}
CASES = [pytest.param(*case, marks=() if case in FEW else pytest.mark.slow) for case in torch_reference.CASES]


@pytest.mark.parametrize(("norm", "activation"), CASES)
def test_equals_stored_torch(float64, norm, activation):
    file = DATA / f"torch_transformer_{norm}_{activation}.npz"
    assert file.stat().st_size < 200_000
    compare(dict(np.load(file)), norm, activation)


def test_equals_torch_live(float64):
    pytest.importorskip("torch")
    compare(torch_reference.reference("post", "gelu", seed=1), "post", "gelu")
