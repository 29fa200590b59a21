"""Parameters in files: bit for bit, with the model that they belong to; and refused when anything is wrong."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest
import sealed_files
from flax import nnx
from safetensors.numpy import load_file, save_file
from trained_runs import CONFIG

from posenc_jax.config import to_json
from posenc_jax.encodings import Learned, RoPE, Sinusoidal, T5Bias, parse
from posenc_jax.models import DecoderOnly, Slots, Transformer
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.preflight import check_run
from posenc_jax.runs.state import load_group_state
from posenc_jax.runs.transplant import transplant
from posenc_jax.runs.weights import (
    describe,
    export_weights,
    flat,
    load_model,
    load_weights,
    model_metadata,
    read_shapes,
    read_tensors,
    run_metadata,
    save_weights,
)
from posenc_jax.training.step import init_encodings, init_model

MODEL = Transformer(d_model=8, num_layers=2, num_heads=2, mlp_dim=12)
SLOTS = Slots(encoder=(Learned(6), RoPE()), decoder=((T5Bias(),), (parse("fire")[0],)), cross=())
METADATA = model_metadata("encoder_decoder", MODEL, SLOTS, vocab_size=5, num_classes=4, max_len=6)


def random_params(metadata=METADATA):
    """Float32 of all kinds: ordinary, negative zero, subnormal."""
    rng, model = np.random.default_rng(5), describe(Path("a file"), metadata)
    common = {"kind": model.kind, "model": model.model, "vocab_size": model.vocab_size}

    def draw(leaf):
        values = rng.normal(size=leaf.shape).astype(np.float32)
        values.flat[0], values.flat[-1] = -0.0, 1e-42
        return values

    def init():
        encodings = init_encodings(np.int32(0), slots=model.slots, max_len=model.max_len, **common)
        return {**init_model(np.int32(0), num_classes=model.num_classes, **common), "posenc": encodings}

    return jax.tree.map(draw, jax.eval_shape(init))


def same(a, b):
    """The same trees of the same bits."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype == np.float32
        assert x.shape == y.shape
        assert x.tobytes() == y.tobytes()


def trained(source, index):
    _, state = load_group_state(CONFIG, source / "group-000")
    return jax.tree.map(lambda leaf: leaf[index], state["params"])


def test_bit_for_bit(tmp_path):
    """With NaN and infinity, which are told; equal parameters give equal bytes, and no temporary file stays."""
    params, notes = random_params(), []
    params["decoder"]["blocks"][1]["mlp"]["hidden"]["bias"][:3] = [np.nan, np.inf, -np.inf]
    save_weights(tmp_path / "a.safetensors", params, METADATA, note=notes.append)
    save_weights(tmp_path / "b.safetensors", jax.tree.map(jax.numpy.asarray, params), dict(reversed(METADATA.items())))
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors"]
    got, metadata = load_weights(tmp_path / "a.safetensors", note=notes.append)
    same(got, params)
    assert metadata == METADATA
    told = "decoder.blocks.1.mlp.hidden.bias hold values that are not finite; they are kept"
    assert notes == [f"{tmp_path / 'a.safetensors'}: {told}"] * 2


def test_names(tmp_path):
    save_weights(tmp_path / "a.safetensors", random_params(), METADATA)
    shapes, entries = read_shapes(tmp_path / "a.safetensors")
    assert list(entries) == ["posenc_jax"]
    assert {name: shape for name, shape in shapes.items() if name.startswith("posenc.")} == {
        "posenc.decoder.0.table": ([2, 32], "F32"),
        **{
            f"posenc.decoder.1.{layer}.{name}": ([*np.shape(leaf)], "F32")
            for layer in (0, 1)
            for name, leaf in flat(random_params()["posenc"]["decoder"][1][layer]).items()
        },
        "posenc.encoder.0.table": ([6, 8], "F32"),
    }
    assert shapes["decoder.blocks.1.cross_attention.query.kernel"] == ([8, 8], "F32")
    assert shapes["output.kernel"] == ([8, 4], "F32")
    assert shapes["embedding.table"] == ([5, 8], "F32")


def test_a_file_alone_gives_the_model(tmp_path):
    params = random_params()
    save_weights(tmp_path / "a.safetensors", params, METADATA)
    model = load_model(tmp_path / "a.safetensors")
    assert (model.config, model.slots) == (MODEL, SLOTS)
    state = nnx.state(model)
    assert {name: leaf.tobytes() for name, leaf in flat(jax.tree.map(np.asarray, state)).items()} == {
        name: leaf.tobytes() for name, leaf in flat(params).items()
    }
    tokens = np.array([[1, 2, 3]], np.int32)
    assert jax.eval_shape(lambda: model(tokens, tokens[:, :2])).shape == (1, 2, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["decoder"].pop("final_norm"), "params lacks decoder.final_norm.bias, decoder.final_norm.scale: p"),
        (
            lambda p: p["output"].update(bias=np.zeros(4)),
            "params has output.bias in float64 instead of float32: pass float32 parameters and the metadata",
        ),
    ],
)
def test_parameters_of_another_model_are_not_written(tmp_path, change, message):
    params = random_params()
    change(params)
    with pytest.raises(ValueError, match=message):
        save_weights(tmp_path / "a.safetensors", params, METADATA)
    assert list(tmp_path.iterdir()) == []


def test_damaged_and_foreign_files(tmp_path):
    path = tmp_path / "a.safetensors"
    save_weights(path, random_params(), METADATA)
    whole, tensors = path.read_bytes(), load_file(path)

    def written(tensors, metadata=METADATA):
        save_file(tensors, path, sealed_files.weights_entry(metadata, tensors))

    def refused():
        with pytest.raises(RefusedError) as error:
            load_weights(path)
        return str(error.value)

    path.write_bytes(whole[:-1])
    assert f"{path} is no whole safetensors file (" in refused()
    save_file(tensors, path)
    assert "does not say which model its tensors belong to" in refused()
    written({name: t for name, t in tensors.items() if "final_norm" not in name})
    assert (
        f"{path} lacks decoder.final_norm.bias, decoder.final_norm.scale, encoder.final_norm.bias, "
        "encoder.final_norm.scale: this is not the model that its metadata describe" in refused()
    )
    written({**tensors, "output.kernel": np.ones((4, 8), np.float32), "x": tensors["output.bias"]})
    assert "has x too many and has output.kernel of shape [4, 8] instead of [8, 4]" in refused()
    gone = {**METADATA, "slots": {**METADATA["slots"], "encoder": [{"type": "gone_away.mine:Own"}]}}
    written(tensors, gone)
    assert f"{path}: 'gone_away.mine:Own' is neither a class of posenc_jax nor" in refused()
    path.unlink()
    assert f"there is no file {path}" in refused()


BITS = "is damaged (its tensors are not those that were written): export it again"
MEANING = "is damaged (what it says of its model: its checksum is not that of its content): export it again"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (None, None, BITS),
        (b'"output.bias"', b'"output.bisa"', BITS),
        (b'\\"vocab_size\\": 5', b'\\"vocab_size\\": 4', MEANING),
    ],
)
def test_a_changed_bit_is_damage(tmp_path, refusal, old, new, said):
    """Of a value, a name or the metadata."""
    path = tmp_path / "a.safetensors"
    save_weights(path, random_params(), METADATA)
    content = path.read_bytes()
    changed = content[:-7] + bytes([content[-7] ^ 64]) + content[-6:] if old is None else content.replace(old, new)
    assert changed != content
    path.write_bytes(changed)
    with pytest.raises(RefusedError) as error:
        load_weights(path)
    assert str(error.value) == f"{path} {said}"
    assert refusal("weights", "inspect", str(path)) == f"posenc: {path} {said}\n"


def test_a_file_without_checksums_has_no_model(tmp_path, printed):
    path = tmp_path / "a.safetensors"
    save_weights(path, random_params(), METADATA)
    tensors = load_file(path)
    save_file(tensors, path, {"posenc_jax": json.dumps(METADATA)})
    with pytest.raises(RefusedError, match=r"is damaged \(what it says of its model: it has no checksum, so .*export"):
        load_weights(path)
    save_file(tensors, path, {"format": "pt"})
    assert "format: pt" in printed("weights", "inspect", str(path))


def test_torch_names_are_read_back(tmp_path):
    """`load_weights` reads both layouts; torch's knows no encodings, but the model has them again."""
    path = tmp_path / "torch.safetensors"
    slots = Slots(decoder=(Sinusoidal(),))
    metadata = model_metadata("decoder_only", MODEL, slots, vocab_size=5, num_classes=4, max_len=6)
    params = random_params(metadata)
    save_weights(path, params, metadata | {"layout": "torch"})
    assert "encoder.layers.1.self_attn.in_proj_weight" in read_tensors(path)[0]
    same(load_weights(path)[0], params)
    model = load_model(path)
    assert isinstance(model, DecoderOnly)
    assert model.slots == slots
    learned = model_metadata("decoder_only", MODEL, Slots(decoder=(Learned(),)), vocab_size=5, num_classes=4, max_len=6)
    with pytest.raises(ValueError, match=r"posenc.decoder.0.table do not fit torch.nn.Transformer"):
        save_weights(path, random_params(learned), learned | {"layout": "torch"})
    tensors = read_tensors(path)[0]
    tensors.pop("encoder.norm.weight")
    save_file(tensors, path, sealed_files.weights_entry(metadata | {"layout": "torch"}, tensors))
    with pytest.raises(RefusedError, match=r"torch.safetensors: the state dict lacks encoder.norm.weight in a model"):
        load_weights(path)


def test_export_of_a_run(source, tmp_path):
    """The first seed, or the one that is asked for; what the file says about it."""
    metadata = export_weights(source, tmp_path / "first.safetensors")
    params, read = load_weights(tmp_path / "first.safetensors")
    same(params, trained(source, 0))
    assert read == metadata == run_metadata(CONFIG, seed=0, learning_rate=1e-2)
    assert (read["kind"], read["run"], read["seed"]) == ("decoder_only", to_json(CONFIG), 0)
    assert (read["vocab_size"], read["num_classes"], read["max_len"]) == (10, 10, CONFIG.max_len)
    export_weights(source / "group-000", tmp_path / "one.safetensors", 1)
    same(load_weights(tmp_path / "one.safetensors")[0], trained(source, 1))


def test_what_cannot_be_exported(source, tmp_path):
    def refused(directory=source, path=tmp_path / "new.safetensors", **options):
        with pytest.raises(RefusedError) as error:
            export_weights(directory, path, **options)
        return str(error.value)

    assert "has no finished replica of seed 5" in refused(seed=5)
    assert "is no run: it has no config.json" in refused(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no/new\.safetensors"):
        export_weights(source, tmp_path / "no" / "new.safetensors")
    assert "acts on encode_keys, encode_queries, and torch.nn.Transformer has positions in its input" in refused(
        torch=True
    )
    path = tmp_path / "there.safetensors"
    path.write_bytes(b"mine")
    assert f"{path} exists: choose another file, or remove it" in refused(path=path)
    assert path.read_bytes() == b"mine"
    (source / "group-000" / "result.json").unlink()
    assert "is not finished" in refused()
    assert not (tmp_path / "new.safetensors").exists()


def test_every_seed_starts_from_a_file(source, tmp_path):
    path = tmp_path / "a.safetensors"
    export_weights(source, path, 1)
    config = dataclasses.replace(CONFIG, init_from=str(path), seeds=(5, 6))
    check_run(config)
    notes = []
    for seed in config.seeds:
        same(transplant(config, path, seed, notes.append), trained(source, 1))
    assert notes == []
    changed = dataclasses.replace(config, posenc=parse("learned(40)|t5|learned"))
    got = transplant(changed, path, 5, notes.append)
    same(got["posenc"]["decoder"][2], trained(source, 1)["posenc"]["decoder"][1])
    assert notes == [
        f"init_from {path}: not there, so freshly initialised: posenc/decoder/0/table, posenc/decoder/1/table"
    ]
