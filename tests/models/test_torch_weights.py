"""Parameters in torch's names: exact both ways, refused where torch has no place, and run by torch itself."""

import dataclasses
import re
import textwrap
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import nnx
from small_models import MAX_LEN, VOCAB, random_tokens, small
from torch_live import run_torch

from posenc_jax.encodings import Sinusoidal
from posenc_jax.encodings.interface.structure import OwnSection
from posenc_jax.models import Slots, Transformer, build, torch_weights
from posenc_jax.models.torch_weights import from_torch, to_torch

DATA = Path(__file__).parent / "data"
SMALL = {"d_model": 16, "num_layers": 2, "num_heads": 4, "mlp_dim": 24}


def params_of(kind, config, num_classes=VOCAB):
    """Random parameters of a model without encodings."""
    key = jax.random.key(0)
    sizes = {"vocab_size": VOCAB, "num_classes": num_classes, "max_len": MAX_LEN, "key": key, "posenc_key": key}
    shapes = nnx.to_pure_dict(nnx.state(nnx.eval_shape(lambda: build(kind, config, Slots(), **sizes))))
    rng = np.random.default_rng(3)
    return jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), shapes)


def same(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, y, strict=True), a, b)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("encoder_decoder", {}),
        ("encoder_decoder", {"norm": "post"}),
        ("encoder_decoder", {"num_encoder_layers": 3, "num_decoder_layers": 1, "tie_embeddings": False}),
        ("encoder_decoder", {"tie_embeddings": False, "tie_output": True}),
        ("encoder_only", {"norm": "post", "final_norm": True, "tie_output": True}),
        ("decoder_only", {"num_layers": 11, "d_model": 4, "tie_output": True}),
        ("decoder_only", {"tie_output": True, "output_bias": True, "activation": "gelu_tanh", "norm_epsilon": 1e-6}),
        ("encoder_only", {"output_bias": False, "norm_bias": False, "attention_output_bias": False}),
    ],
)
def test_there_and_back(kind, changes):
    config = Transformer(**SMALL | changes)
    params = params_of(kind, config)
    tensors = to_torch(params, config)
    same(from_torch(tensors, config, kind), params)
    final = {"encoder.norm.weight", "encoder.norm.bias"}
    assert final.issubset(tensors) == config.has_final_norm
    assert all(tensor.flags.c_contiguous and tensor.flags.writeable for tensor in tensors.values())
    assert ("generator.bias" in tensors) == config.has_output_bias
    if config.tie_output:
        same(from_torch({n: t for n, t in tensors.items() if n != "generator.weight"}, config, kind), params)
    if config.has_output_bias:
        params["output"]["bias"] = np.zeros_like(params["output"]["bias"])
        same(from_torch({n: t for n, t in tensors.items() if n != "generator.bias"}, config, kind), params)


@pytest.mark.parametrize("kind", ["param", "grad"])
def test_back_and_there(kind):
    """All names, shapes and values of a state dict of torch's."""
    arrays = np.load(DATA / "torch_transformer_pre_gelu.npz")
    tensors = {name.removeprefix(f"{kind}/"): arrays[name] for name in arrays.files if name.startswith(f"{kind}/")}
    tensors = {name: tensor for name, tensor in tensors.items() if name not in ("source", "target")}
    config = Transformer(d_model=8, num_layers=2, num_heads=2, mlp_dim=12)
    same(to_torch(from_torch(tensors, config, "encoder_decoder"), config), tensors)


def test_absent_biases_are_zero_in_torch():
    config = Transformer(**SMALL, attention_bias=False, mlp_bias=False)
    params = params_of("encoder_only", config)
    tensors = to_torch(params, config)
    assert tensors.keys() == to_torch(params_of("encoder_only", Transformer(**SMALL)), Transformer(**SMALL)).keys()
    zero = [name for name, tensor in tensors.items() if not tensor.any()]
    assert [name.partition("layers.0.")[2] for name in zero[:4]] == [
        "self_attn.in_proj_bias",
        "self_attn.out_proj.bias",
        "linear1.bias",
        "linear2.bias",
    ]
    same(from_torch(tensors, config, "encoder_only"), params)
    same(from_torch({n: t for n, t in tensors.items() if n not in zero}, config, "encoder_only"), params)
    tensors["encoder.layers.1.linear1.bias"][3] = 1.0
    with pytest.raises(ValueError, match=r"^encoder.layers.1.linear1.bias is not zero.* set attention_bias and mlp_b"):
        from_torch(tensors, config, "encoder_only")


def test_the_stacks_alone():
    config = Transformer(**SMALL)
    params = params_of("encoder_decoder", config)
    stacks = {name: params[name] for name in ("encoder", "decoder")}
    tensors = to_torch(stacks, config)
    same(from_torch(tensors, config, "encoder_decoder"), stacks)
    assert {name.split(".")[0] for name in tensors} == {"encoder", "decoder"}
    without_bias = tensors | {"generator.weight": np.ones((7, 16), np.float32)}
    output = from_torch(without_bias, config, "encoder_decoder")["output"]
    same(output, {"kernel": np.ones((16, 7), np.float32), "bias": np.zeros(7, np.float32)})


@dataclasses.dataclass(frozen=True)
class Later(Transformer):
    """With an option that nobody here knows."""

    unknown: int = 0


REFUSED = {
    "norm_type": "rms",
    "divide_logits": False,
    "attention_scale": 0.5,
    "attention_cap": 50.0,
    "logit_scale": 0.5,
    "norm": "sandwich",
    "activation": "swiglu",
    "parallel": "one_norm",
    "windows": (4,),
    "query_key_norm": "head",
    "output_transform": True,
    "first_norm": False,
    "embedding_norm": True,
    "num_kv_heads": 2,
    "head_dim": 8,
    "token_types": 4,
    "pooling": "mean",
    "mask": OwnSection(),
    "unknown": 1,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_cannot_be(name):
    config = Later(**SMALL | {name: REFUSED[name]})
    message = (
        f"{name} = {REFUSED[name]!r} does not fit torch.nn.Transformer, which has no such option: keep the model in "
        "posenc_jax's own format, or train one without"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        to_torch(params_of("encoder_only", config), config)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        from_torch({}, config, "encoder_only")


def test_a_value_that_nobody_knows_of_an_option_is_refused():
    config = Transformer(**SMALL)
    object.__setattr__(config, "activation", "unknown")
    with pytest.raises(ValueError, match=r"^activation = 'unknown' does not fit torch.nn.T"):
        from_torch({}, config, "decoder_only")


def test_what_has_no_place():
    config = Transformer(**SMALL)
    params = params_of("encoder_only", config)
    encodings = {"encoder": ({"table": np.ones((3, 16))}, {})}
    with pytest.raises(ValueError, match=r"^posenc.encoder.0.table do not fit .*: leave them out of params"):
        to_torch(params | {"posenc": encodings}, config)
    same(to_torch(params | {"posenc": {"encoder": ((), {})}}, config), to_torch(params, config))
    with pytest.raises(ValueError, match=r"params lacks encoder.blocks.2.\S+: pass the parameters of a model of this"):
        to_torch(params, Transformer(**SMALL | {"num_layers": 3}))
    with pytest.raises(ValueError, match=r"neither an encoder nor a decoder, only \['output'\]"):
        to_torch({"output": params["output"]}, config)


def test_another_state_dict():
    config = Transformer(**SMALL)
    tensors = to_torch(params_of("encoder_decoder", config), config)

    def without(*gone):
        return {name: tensor for name, tensor in tensors.items() if not name.startswith(gone)}

    for given, changes, message in (
        (tensors, {"mlp_dim": 20}, r"linear1.weight is \[24, 16\] in the state dict and \[20, 16\] by the config"),
        (tensors, {"final_norm": False}, r"has encoder.norm.weight, .*, which do not fit.*set final_norm to True$"),
        (without("encoder.norm."), {}, "lacks encoder.norm.weight, encoder.norm.bias in .*set final_norm to False$"),
        (tensors, {"num_layers": 1}, "set num_layers and kind to those of the torch model$"),
        (without("decoder.layers.1.norm3.bias"), {}, "^the state dict lacks decoder.layers.1.norm3.bias in a model"),
        ({f"model.{name}": tensor for name, tensor in tensors.items()}, {}, "add or remove prefixes"),
        (without("generator.bias"), {"tie_output": True}, "generator.weight is not equal to embedding.weight, and the"),
    ):
        with pytest.raises(ValueError, match=message):
            from_torch(given, Transformer(**SMALL | changes), "encoder_decoder")


RECIPE = textwrap.dedent(torch_weights.__doc__.partition("::\n\n")[2].partition("\n\nIts settings")[0])
PROGRAM = (
    RECIPE
    + """

import sys
from safetensors.torch import load_file, save_file

folder, norm = sys.argv[1:]
torch.manual_seed(0)
model = Model(11, 11, 16, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=24, activation="gelu",
              norm_first=norm == "pre").eval()
for parameter in model.parameters():
    torch.nn.init.normal_(parameter, std=0.35)
batch = load_file(f"{folder}/batch.safetensors")
call = batch["source"].long(), batch["target"].long(), batch["padding"]
with torch.no_grad():
    save_file(model.state_dict(), f"{folder}/theirs.safetensors")
    outputs = {"theirs": model(*call)}
    model.load_state_dict(load_file(f"{folder}/ours.safetensors"))
    outputs["ours"] = model(*call)
    outputs["ours64"] = model.double()(*call)
save_file(outputs, f"{folder}/outputs.safetensors")
"""
)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_torch_runs_our_parameters_and_we_run_its(tmp_path, norm):
    """The module of the docstring, by files; with sinusoidal positions added outside and padding in the source."""
    from safetensors.numpy import load_file, save_file

    slots = Slots(encoder=(Sinusoidal(),), decoder=(Sinusoidal(),))
    model = small("encoder_decoder", slots, norm=norm, final_norm=True)
    graph, state = nnx.split(model)
    params = nnx.to_pure_dict(state)
    source, target = random_tokens(3, 7), random_tokens(3, 5, seed=1)
    real = np.arange(7)[None] < np.array([[7], [4], [6]])
    save_file(to_torch(params, model.config), tmp_path / "ours.safetensors")
    save_file({"source": source, "target": target, "padding": ~real}, tmp_path / "batch.safetensors")
    run_torch(PROGRAM, str(tmp_path), norm)
    torch_says = load_file(tmp_path / "outputs.safetensors")

    @jax.jit
    def run(state):
        return nnx.merge(graph, state)(source, target, segment_ids=real.astype(np.int32))

    def close(ours, theirs, tolerance):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)

    close(run(state), torch_says["ours"], 1e-5)
    theirs = from_torch(load_file(tmp_path / "theirs.safetensors"), model.config, "encoder_decoder")
    nnx.replace_by_pure_dict(state, theirs)
    close(run(state), torch_says["theirs"], 1e-5)
    with jax.enable_x64(True):
        nnx.replace_by_pure_dict(state, jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params))
        close(run(state), torch_says["ours64"], 1e-10)
