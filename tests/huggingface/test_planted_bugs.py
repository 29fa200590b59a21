"""Bugs that ports of models have had are seen by the parity tests: each is planted, and logits become others."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from make_huggingface_reference import CASES, KEPT, tokens
from tiny_checkpoints import call, checkpoint_of, largest_difference, logits

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.models import Slots


def _config(path: Path, **changes) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | changes))


def _no_scaling(path: Path, monkeypatch) -> None:
    _config(path, rope_scaling=None)


def _parameters(path: Path) -> dict:
    config = json.loads((path / "config.json").read_text())
    return config.get("rope_scaling") or config["rope_parameters"]


def _no_attention_factor(path: Path, monkeypatch) -> None:
    _config(path, rope_scaling=_parameters(path) | {"attention_factor": 1.0})


def _scaling_on_all_layers(path: Path, monkeypatch) -> None:
    full, local = (_parameters(path)[kind] for kind in ("full_attention", "sliding_attention"))
    both = {"full_attention": full, "sliding_attention": full | {"rope_theta": local["rope_theta"]}}
    assert full["rope_type"] != "default"
    _config(path, rope_scaling=None, rope_parameters=both)


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


def _buckets_by_the_floor(path: Path, monkeypatch) -> None:
    def floored(num_buckets, max_distance):
        distance = np.arange(-max_distance, max_distance + 1)
        middle, far = num_buckets // 2, np.maximum(np.abs(distance), 1)
        bucket = np.log(far / middle) / np.log((max_distance - 1) / middle) * (middle - 1)
        rows = np.where(np.abs(distance) <= middle, distance, np.sign(distance) * (bucket // 1 + middle)) + num_buckets
        return rows.clip(0, 2 * num_buckets - 1).astype(np.int32)

    monkeypatch.setattr("posenc_jax.encodings.deberta.log_bucket_rows", floored)
    call.clear_cache()  # the model is the same


def _other_largest_distance(path: Path, monkeypatch) -> None:
    _config(path, max_relative_positions=511)


def _positions_ask_the_other_way(path: Path, monkeypatch) -> None:
    def turned(encoder):
        return Slots(encoder=tuple(dataclasses.replace(deberta, p2c_distance="paper") for deberta in encoder))

    monkeypatch.setattr("posenc_jax.huggingface.checkpoint.Slots", turned)


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
    "scaling on the wrong layers": ("gemma3", _scaling_on_all_layers),
    "attention factor left out": ("llama_yarn", _no_attention_factor),
    "epsilon wrong": ("llama", _other_epsilon),
    "part of each head rotated": ("llama", _partial),
    "lanes mixed": ("llama", _lanes_mixed),
    "embeddings scaled": ("llama", _scaled_embeddings),
    "gate and up exchanged": ("llama", _gate_for_up),
    "window off by one": ("mistral", _window_off_by_one),
    "window of both sides off by one": ("modernbert", _both_sides_off_by_one),
    "distance of buckets wrong": ("t5", _other_buckets),
    "logarithm of buckets rounded down": ("deberta_v2", _buckets_by_the_floor),
    "largest distance of buckets off by one": ("deberta_v2", _other_largest_distance),
    "position to content mirrored": ("deberta_v2", _positions_ask_the_other_way),
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
    found = logits(load(path).build(), tokens())
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
    found = logits(dataclasses.replace(checkpoint, tensors=turned).build(), tokens())
    assert largest_difference(found[0, list(KEPT)], "llama", "long") > 1e-2


def test_a_bias_that_the_table_leaves_out_is_named(tmp_path, monkeypatch):
    _no_key_bias(tmp_path, monkeypatch)
    with pytest.raises(DataError, match=r"has model.layers.0.self_attn.k_proj.bias.*which no model of this config has"):
        load(checkpoint_of("qwen2", tmp_path))
