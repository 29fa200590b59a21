"""Tiny models of every family compute what transformers computes, in float64 and past every switch of their positions.

The weights are drawn from the tensors' names and the logits are in data, both by
scripts/make_huggingface_reference.py.
"""

from pathlib import Path

import jax
import numpy as np
import pytest
from huggingface_parity import FLOAT64, KINDS, cached, long, padded, rounding, same_tokens, short
from make_huggingface_reference import CASES, EARLY, NEW, SHORT, placed, tokens
from tiny_checkpoints import REFERENCE, checkpoint_of, largest_difference, tensors_of, write_tensors

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES, titles
from posenc_jax.huggingface.names import BY_HEAD, TURNED
from posenc_jax.huggingface.safetensors import read_header
from posenc_jax.training.leaf_names import flat


def model_of(name: str, folder: Path, dtype=np.float64):
    return load(checkpoint_of(name, folder)).build(dtype)


def test_the_guide_names_what_is_read():
    page = (Path(__file__).parents[2] / "scripts/docs/guides/weights-and-surgery.md").read_text()
    assert f"- Hugging Face's layout (`config.json`, safetensors, tokenizer) of {titles()};" in page


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
    if name == "qwen2_vl":  # of which the part that reads images is not read, and released files have shorter names
        before = {key.replace("model.language_model.", "model."): stored for key, stored in before.items()}
        before = {key: stored for key, stored in before.items() if "visual" not in key}
    if name == "gpt_neox":  # transformers 5 has another name inside, and reads that of released files
        before["embed_out.weight"] = before.pop("lm_head.weight")
    assert after.keys() == {key for key in before if "pooler" not in key}
    for key, stored in after.items():
        np.testing.assert_array_equal(stored.read(), before[key].read(), err_msg=key)


SPELLED = {
    "gemma2": {"use_bidirectional_attention": None},
    "gemma3": {"use_bidirectional_attention": False},
    "mpt": {"attn_config": {"alibi": True, "clip_qkv": None, "qk_ln": False, "softmax_scale": None}},
    "gpt_neo": {"attention_layers": ["local", "global", "local"]},
    "t5_1_1": {"tie_word_embeddings": True, "scale_decoder_outputs": False},
    "bloom": {"hidden_size": None, "n_embed": 36},
    "qwen2_vl": {**CASES["qwen2_vl"]["text_config"], "text_config": None, "model_type": "qwen2_vl"},
}


@pytest.mark.parametrize("name", SPELLED)
def test_configs_that_say_defaults_or_say_them_otherwise(tmp_path, name):
    first = load(checkpoint_of(name, tmp_path / "a"))
    second = load(checkpoint_of(name, tmp_path / "b", **SPELLED[name]))
    assert (first.model, first.slots) == (second.model, second.slots)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("falcon_7b", {"alibi": True}, "alibi = True, and False or None is read"),
        ("bert", {"tie_word_embeddings": False}, "tie_word_embeddings = False, and True is read"),
        ("mpt", {"attn_config": "alibi"}, "attn_config = 'alibi' must be an object"),
        ("umt5", {"is_gated_act": False}, "is_gated_act = False, and True is read"),
        ("t5", {"feed_forward_proj": "gated-relu"}, "feed_forward_proj = 'gated-relu' must be one of 'relu', "),
        ("opt", {"word_embed_proj_dim": 16}, "word_embed_proj_dim = 16 is not hidden_size = 32"),
        ("marian", {"decoder_ffn_dim": 48}, "encoder_ffn_dim = 40 and decoder_ffn_dim = 48"),
        ("modernbert", {"mlp_bias": True}, "mlp_bias and classifier_bias must be equal"),
        ("deberta_v2", {"pos_att_type": ["c2p"]}, r"pos_att_type = \['c2p'\], and \['c2p', 'p2c'\] is read"),
        ("deberta_v2", {"position_buckets": 1}, "DeBERTa: num_buckets = 1 must be at least 4"),
        ("deberta_v2", {"max_relative_positions": 2**31 - 1}, "distances up to 2147483647 are more than the 1048576"),
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


@pytest.mark.parametrize("name", ["t5", "mt5", "umt5"])
@pytest.mark.parametrize("own", [True, False], ids=["own head", "table as head"])
@pytest.mark.parametrize(
    ("said", "scaled"), [({}, True), ({"tie_word_embeddings": False}, False), ({"scale_decoder_outputs": False}, False)]
)
def test_the_head_of_t5_is_told_by_its_file_and_its_factor_by_its_config(tmp_path, name, own, said, scaled):
    path = checkpoint_of(name, tmp_path, **said)
    tensors = tensors_of(path)
    head = {"lm_head.weight": tensors["shared.weight"] + 1}
    write_tensors(path, tensors | (head if own else {}))
    model = load(path).model
    assert model.tie_output != own
    assert model.logit_scale == (32**-0.5 if scaled and name != "mt5" else 1.0)


TABLES = [f"{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")]


@pytest.mark.parametrize("names", [TABLES, TABLES[:1], TABLES[1:], [*TABLES, "shared.weight"]])
def test_the_table_of_t5_has_any_of_its_names(tmp_path, names):
    """Files of MADLAD-400 have it under those of the stacks alone."""
    path = checkpoint_of("t5_1_1", tmp_path)
    first, tensors = load(path).params(), tensors_of(path)
    table = tensors.pop("shared.weight")
    write_tensors(path, tensors | dict.fromkeys(names, table))
    again = flat(load(path).params())
    for name, leaf in flat(first).items():
        np.testing.assert_array_equal(again.pop(name), leaf, err_msg=name)
    assert not again
    write_tensors(path, tensors | dict(zip(TABLES, (table, table + 1), strict=True)))
    with pytest.raises(DataError, match=r"decoder.embed_tokens.weight is not equal to shared.weight, which it must r"):
        load(path)


@pytest.mark.parametrize(
    ("name", "repeat", "original", "way"),
    [
        ("llama", "lm_head.weight", "model.embed_tokens.weight", "set tie_word_embeddings to false in its config"),
        ("bert", "cls.predictions.decoder.bias", "cls.predictions.bias", "name another checkpoint"),
    ],
)
def test_a_repeated_tensor_that_differs_has_a_way_out_that_works(tmp_path, name, repeat, original, way):
    path = checkpoint_of(name, tmp_path)
    tensors = tensors_of(path)
    write_tensors(path, tensors | {repeat: tensors[original] + 1})
    with pytest.raises(DataError, match=f"{repeat} is not equal to {original}, which it must repeat: {way}"):
        load(path)


@pytest.mark.parametrize("name", ["qwen3", "gemma3", "gpt_neox", "modernbert_model", "t5"])
def test_float64_at_once(tmp_path, name):
    """Of those that have together most of what there is: windows, norms of all kinds, two bases, parallel layers."""
    with jax.enable_x64(True):
        assert short(model_of(name, tmp_path), name) < FLOAT64


def test_a_text_around_an_image(tmp_path):
    """Positions of three axes in place of plain ones, which are those of a text."""
    with jax.enable_x64(True):
        model = model_of("qwen2_vl", tmp_path)
        found = model(tokens(SHORT), positions=placed().swapaxes(0, 1))[0, EARLY]
        assert largest_difference(found, "qwen2_vl", "image") < FLOAT64
        with pytest.raises(ValueError, match=r"reads positions of 3 axes .* given positions of 2 axes"):
            model(tokens(SHORT), positions=placed().swapaxes(0, 1)[..., :2])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_float64(tmp_path, name):
    with jax.enable_x64(True):
        model = model_of(name, tmp_path)
        assert short(model, name) < FLOAT64
        assert long(model, name) < FLOAT64


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_float32(tmp_path, name):
    assert long(model_of(name, tmp_path, np.float32), name) < rounding(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if KINDS[name] != "encoder_only"])
def test_cached_decoding(tmp_path, name):
    with jax.enable_x64(True):
        assert cached(model_of(name, tmp_path), name) < FLOAT64


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_padding(tmp_path, name):
    with jax.enable_x64(True):
        assert padded(model_of(name, tmp_path), name) < FLOAT64


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if KINDS[name] != "encoder_only"])
def test_greedy_tokens(tmp_path, name):
    with jax.enable_x64(True):
        assert same_tokens(model_of(name, tmp_path), name) == NEW


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
