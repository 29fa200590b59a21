"""Tiny models of every family compute what transformers computes, in float64 and past every switch of their positions.

The weights are drawn from the tensors' names and the logits are in data, both by
scripts/make_huggingface_reference.py.
"""

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest
from make_huggingface_reference import CASES, KEPT, LENGTH, NEW, SHORT, tensor, tokens
from tiny_checkpoints import DECODERS, REFERENCE, checkpoint_of, facts_of

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES, titles
from posenc_jax.huggingface.names import BY_HEAD, TURNED
from posenc_jax.huggingface.safetensors import read_header, write
from posenc_jax.models import Slots, greedy
from posenc_jax.training.leaf_names import flat

KINDS = {name: FAMILIES[case["model_type"]].kind for name, case in CASES.items()}
EARLY = [p for p in KEPT if p < SHORT]


def model_of(name: str, folder: Path, dtype=np.float64):
    return load(checkpoint_of(name, folder)).build(dtype)


_call = jax.jit(lambda model, ids, facts: model(ids, **facts))


def _logits(model, ids):
    return _call(model, ids, facts_of(model, ids.shape[1]))


def largest_difference(found, name: str, key: str) -> float:
    """As a part of the largest logit."""
    wanted = REFERENCE[f"{name}/{key}"]
    return float(np.abs(np.asarray(found) - wanted).max() / np.abs(wanted).max())


def test_the_guide_names_what_is_read():
    page = (Path(__file__).parents[2] / "scripts/docs/guides/weights-and-surgery.md").read_text()
    assert f"Read are {titles('decoder_only')} in Hugging Face's layout" in page
    assert f"there are {titles('encoder_only', 'encoder_decoder')} in Python" in page


def test_every_family_has_a_case_and_every_case_a_reference():
    assert {case["model_type"] for case in CASES.values()} == set(FAMILIES)
    assert {key.split("/")[0] for key in REFERENCE} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_every_table_has_all_tensors(tmp_path, name):
    """Names and shapes; each tensor is there again, bit for bit, after it came apart and together."""
    checkpoint = load(checkpoint_of(name, tmp_path / "hf"))
    params = checkpoint.params()
    assert {key: leaf.shape for key, leaf in flat(params).items()} == {
        key: leaf.shape for key, leaf in flat(checkpoint.shapes).items()
    }
    checkpoint.save(tmp_path / "again", params)
    before, after = (read_header(tmp_path / folder / "model.safetensors")[0] for folder in ("hf", "again"))
    if name == "gpt_neox":  # transformers 5 has another name inside, and reads that of released files
        before["embed_out.weight"] = before.pop("lm_head.weight")
    assert after.keys() == {key for key in before if "pooler" not in key}
    for key, stored in after.items():
        np.testing.assert_array_equal(stored.read(), before[key].read(), err_msg=key)


SPELLED = {
    "gemma2": {"use_bidirectional_attention": None},
    "gemma3": {"use_bidirectional_attention": False},
    "mpt": {"attn_config": {"alibi": True, "clip_qkv": None, "qk_ln": False, "softmax_scale": None}},
    "t5_1_1": {"tie_word_embeddings": True, "scale_decoder_outputs": False},
    "bloom": {"hidden_size": None, "n_embed": 36},
}


@pytest.mark.parametrize("name", SPELLED)
def test_configs_that_say_defaults_or_say_them_otherwise(tmp_path, name):
    first = load(checkpoint_of(name, tmp_path / "a"))
    second = load(checkpoint_of(name, tmp_path / "b", **SPELLED[name]))
    assert (first.model, first.slots) == (second.model, second.slots)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("bert", {"tie_word_embeddings": False}, "tie_word_embeddings = False, and True is read"),
        ("mpt", {"attn_config": "alibi"}, "attn_config = 'alibi' must be an object"),
        ("t5", {"feed_forward_proj": "gated-relu"}, "feed_forward_proj = 'gated-relu' must be one of 'relu', "),
        ("opt", {"word_embed_proj_dim": 16}, "word_embed_proj_dim = 16 is not hidden_size = 32"),
        ("marian", {"decoder_ffn_dim": 48}, "encoder_ffn_dim = 40 and decoder_ffn_dim = 48"),
        ("modernbert", {"mlp_bias": True}, "mlp_bias and classifier_bias must be equal"),
        ("gemma2", {"final_logit_softcapping": -1.0}, "final_logit_softcapping = -1.0 must be a number above 0"),
        ("gpt_neox", {"use_parallel_residual": 1}, "use_parallel_residual = 1 must be true or false"),
        ("llama", {"intermediate_size": None}, "lacks intermediate_size, a whole number above 0"),
    ],
)
def test_settings_that_are_not_read_are_refused(tmp_path, name, changes, message):
    path = checkpoint_of(name, tmp_path, **changes)
    with pytest.raises(DataError, match=f"{message}.*: (name another|fetch|mend)") as caught:
        load(path)
    assert str(path / "config.json") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "repeat", "original", "way"),
    [
        ("llama", "lm_head.weight", "model.embed_tokens.weight", "set tie_word_embeddings to false in its config"),
        ("bert", "cls.predictions.decoder.bias", "cls.predictions.bias", "name another checkpoint"),
    ],
)
def test_a_repeated_tensor_that_differs_has_a_way_out_that_works(tmp_path, name, repeat, original, way):
    path = checkpoint_of(name, tmp_path)
    shapes = {key: tuple(shape) for key, shape in json.loads(bytes(REFERENCE[f"{name}/shapes"])).items()}
    shapes[repeat] = shapes[original]
    with (path / "model.safetensors").open("wb") as file:
        write(file, shapes, ((key, tensor(key, shape)) for key, shape in shapes.items()), {"format": "pt"})
    with pytest.raises(DataError, match=f"{repeat} is not equal to {original}, which it must repeat: {way}"):
        load(path)


@pytest.mark.parametrize("name", ["qwen3", "gemma3", "gpt_neox", "modernbert_model", "t5"])
def test_float64_at_once(tmp_path, name):
    """Of those that have together most of what there is: windows, norms of all kinds, two bases, parallel layers."""
    with jax.enable_x64(True):
        found = _logits(model_of(name, tmp_path), tokens(SHORT))
    assert largest_difference(found[0, EARLY], name, "short") < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_float64(tmp_path, name):
    with jax.enable_x64(True):
        model = model_of(name, tmp_path)
        short, long = _logits(model, tokens(SHORT)), _logits(model, tokens())
        assert largest_difference(short[0, EARLY], name, "short") < 1e-9
        assert largest_difference(long[0, list(KEPT)], name, "long") < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_float32(tmp_path, name):
    found = _logits(model_of(name, tmp_path, np.float32), tokens())
    assert largest_difference(found[0, list(KEPT)], name, "long") < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if KINDS[name] != "encoder_only"])
def test_cached_decoding(tmp_path, name):
    with jax.enable_x64(True):
        model, given = model_of(name, tmp_path), tokens()
        whole = np.asarray(_logits(model, given)[0])
        asked, memory = given, ()
        if KINDS[name] == "encoder_decoder":
            asked, memory = facts_of(model, LENGTH)["decoder_tokens"], (jax.jit(lambda m: m.encode(given))(model),)
        step = jax.jit(lambda m, ids, cache, *memory: m.extend(ids, cache, *memory, length=np.array([LENGTH])))
        _, cache = step(model, asked[:, : LENGTH - 8], model.new_cache(1, LENGTH), *memory)
        for position in range(LENGTH - 8, LENGTH):
            logits, cache = step(model, asked[:, position : position + 1], cache, *memory)
            assert np.abs(np.asarray(logits)[0, 0] - whole[position]).max() < 1e-9 * np.abs(whole).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_padding_on_both_sides(tmp_path, name):
    """Of the source, where there are two."""
    before, count = 5, SHORT + 5 + 3
    padded = np.pad(tokens(SHORT), ((0, 0), (before, 3)))
    real = (np.arange(count)[None] >= before) & (np.arange(count)[None] < before + SHORT)
    facts = {"segment_ids": real.astype(np.int32), "positions": np.arange(count)[None].clip(before) - before}
    with jax.enable_x64(True):
        model = model_of(name, tmp_path)
        own = facts_of(model, SHORT if KINDS[name] == "encoder_decoder" else count)
        if KINDS[name] == "encoder_decoder":
            found, before = _call(model, padded, facts | own | {"decoder_segment_ids": np.ones((1, SHORT), int)}), 0
        else:
            found = _call(model, padded, facts | own)
    assert largest_difference(found[0, [p + before for p in EARLY]], name, "short") < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
def test_greedy_tokens(tmp_path, name):
    with jax.enable_x64(True):
        model = model_of(name, tmp_path)
        written = jax.jit(lambda m: greedy(m, tokens(SHORT), max_new_tokens=NEW))(model)
    assert np.asarray(written)[0].tolist() == REFERENCE[f"{name}/greedy"].tolist()


def _config(path: Path, **changes) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | changes))


def _no_scaling(path: Path, monkeypatch) -> None:
    _config(path, rope_scaling=None)


def _other_epsilon(path: Path, monkeypatch) -> None:
    _config(path, rms_norm_eps=1e-4)


def _partial(path: Path, monkeypatch) -> None:
    _config(path, partial_rotary_factor=0.5)


def _lanes_mixed(path: Path, monkeypatch) -> None:
    def mixed(decoder):
        return Slots(decoder=tuple(dataclasses.replace(rope, layout="interleaved") for rope in decoder))

    monkeypatch.setattr("posenc_jax.huggingface.checkpoint.Slots", mixed)


def _scaled_embeddings(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "llama", scale_embeddings=True)


def _other_activation(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "gpt2", activation="gelu")


def _no_key_bias(path: Path, monkeypatch) -> None:
    _names(monkeypatch, "qwen2", lambda row: None if "k_proj.bias" in row.theirs else row)


def _queries_and_keys_exchanged(path: Path, monkeypatch) -> None:
    def exchanged(row):
        if "c_attn" not in row.theirs:
            return row
        query, key, value = row.ours
        return dataclasses.replace(row, ours=(query, value, key))

    _names(monkeypatch, "gpt2", exchanged)


def _gate_for_up(path: Path, monkeypatch) -> None:
    words = {"mlp.gate": "mlp.hidden", "mlp.hidden": "mlp.gate"}

    def exchanged(row):
        for word, other in words.items():
            if f"{word}." in row.ours[0]:
                return dataclasses.replace(row, ours=(row.ours[0].replace(word, other),))
        return row

    _names(monkeypatch, "llama", exchanged)


def _window_off_by_one(path: Path, monkeypatch) -> None:
    _config(path, sliding_window=65)


def _both_sides_off_by_one(path: Path, monkeypatch) -> None:
    _config(path, local_attention=126)


def _other_buckets(path: Path, monkeypatch) -> None:
    _config(path, relative_attention_max_distance=128)


def _other_first_row(path: Path, monkeypatch) -> None:
    _config(path, pad_token_id=1)


def _no_query_key_norm(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "qwen3", query_key_norm=None)
    monkeypatch.setitem(FAMILIES, "qwen3", dataclasses.replace(FAMILIES["qwen3"], ignored=(".*[qk]_norm.weight",)))


def _no_attention_cap(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "gemma2", attention_cap=None)


def _no_logit_cap(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "gemma2", logit_cap=None)


def _no_norm_offset(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "gemma2", norm_type="rms")


def _no_embedding_scale(path: Path, monkeypatch) -> None:
    _settings(monkeypatch, "gemma2", scale_embeddings=False)


def _no_rope_inverted(path: Path, monkeypatch) -> None:
    flags = CASES["smollm3"]["no_rope_layers"]
    windows = ["full_attention" if flag else "sliding_attention" for flag in flags]
    _config(path, no_rope_layers=[1 - flag for flag in flags], layer_types=windows)


def _settings(monkeypatch, name: str, **changes) -> None:
    family = FAMILIES[name]
    changed = dataclasses.replace(family, settings=lambda config: family.settings(config) | changes)
    monkeypatch.setitem(FAMILIES, name, changed)


def _names(monkeypatch, name: str, change) -> None:
    family = FAMILIES[name]
    rows = tuple(row for row in map(change, family.names) if row is not None)
    monkeypatch.setitem(FAMILIES, name, dataclasses.replace(family, names=rows))


BUGS = {
    "scaling dropped": ("llama", _no_scaling),
    "epsilon wrong": ("llama", _other_epsilon),
    "part of each head rotated": ("llama", _partial),
    "lanes mixed": ("llama", _lanes_mixed),
    "embeddings scaled": ("llama", _scaled_embeddings),
    "gate and up exchanged": ("llama", _gate_for_up),
    "window off by one": ("mistral", _window_off_by_one),
    "window of both sides off by one": ("modernbert", _both_sides_off_by_one),
    "distance of buckets wrong": ("t5", _other_buckets),
    "first row of the table wrong": ("roberta", _other_first_row),
    "norms of queries and keys left out": ("qwen3", _no_query_key_norm),
    "cap of attention left out": ("gemma2", _no_attention_cap),
    "cap of logits left out": ("gemma2", _no_logit_cap),
    "offset of norms dropped": ("gemma2", _no_norm_offset),
    "scale of embeddings dropped": ("gemma2", _no_embedding_scale),
    "layers without positions inverted": ("smollm3", _no_rope_inverted),
    "GELU by erf": ("gpt2", _other_activation),
    "keys and values exchanged": ("gpt2", _queries_and_keys_exchanged),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_bugs_of_ports_are_seen_in_float32(tmp_path, monkeypatch, bug):
    """Each changes logits by more than ten times what the parity tests allow."""
    name, plant = BUGS[bug]
    path = checkpoint_of(name, tmp_path)
    plant(path, monkeypatch)
    found = _logits(load(path).build(), tokens())
    assert largest_difference(found[0, list(KEPT)], name, "long") > 1e-4


@pytest.mark.slow
def test_rows_of_a_gguf_left_permuted_are_seen(tmp_path):
    """Queries and keys in the interleaved layout, read as if in halves."""
    checkpoint = load(checkpoint_of("llama", tmp_path))
    turned = dict(checkpoint.tensors)
    for name, stored in turned.items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            width = checkpoint.model.width_of_head
            order = np.argsort(np.arange(width).reshape(2, -1).T.reshape(-1))
            rows = stored.read().reshape(-1, width, stored.shape[1])[:, order].reshape(stored.shape)
            turned[name] = stored._replace(read=lambda rows=rows: rows)
    found = _logits(dataclasses.replace(checkpoint, tensors=turned).build(), tokens())
    assert largest_difference(found[0, list(KEPT)], "llama", "long") > 1e-2


def test_a_bias_that_the_table_leaves_out_is_named(tmp_path, monkeypatch):
    _no_key_bias(tmp_path, monkeypatch)
    with pytest.raises(DataError, match=r"has model.layers.0.self_attn.k_proj.bias.*which no model of this config has"):
        load(checkpoint_of("qwen2", tmp_path))


def test_stacked_rows_come_apart_and_together():
    whole = np.arange(12.0).reshape(6, 2)
    parts = TURNED.split(whole, [(2, 4), (2, 2)], 2)
    assert [part.shape for part in parts] == [(2, 4), (2, 2)]
    assert (TURNED.join(parts, 2) == whole).all()
    assert TURNED.shape([(2, 4), (2, 2)]) == (6, 2)


def test_rows_by_head_are_those_of_query_key_value_of_each_head():
    whole = np.arange(12.0)[:, None] + np.zeros(3)  # two heads of two dimensions
    parts = BY_HEAD.split(whole, [(3, 4)] * 3, 2)
    assert [part[0].tolist() for part in parts] == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
