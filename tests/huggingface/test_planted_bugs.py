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


def _config(**changes):
    def plant(path: Path, monkeypatch) -> None:
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | changes))

    return plant


def _settings(name: str, **changes):
    def plant(path: Path, monkeypatch) -> None:
        family = FAMILIES[name]
        changed = dataclasses.replace(family, settings=lambda config: family.settings(config) | changes)
        monkeypatch.setitem(FAMILIES, name, changed)

    return plant


def _encodings(**changes):
    def plant(path: Path, monkeypatch) -> None:
        def changed(**stacks):
            return Slots(
                **{name: tuple(dataclasses.replace(own, **changes) for own in slot) for name, slot in stacks.items()}
            )

        monkeypatch.setattr("posenc_jax.huggingface.checkpoint.Slots", changed)

    return plant


def _names(monkeypatch, name: str, change) -> None:
    family = FAMILIES[name]
    rows = tuple(row for row in map(change, family.names) if row is not None)
    monkeypatch.setitem(FAMILIES, name, dataclasses.replace(family, names=rows))


def _parameters(path: Path) -> dict:
    config = json.loads((path / "config.json").read_text())
    return config.get("rope_scaling") or config["rope_parameters"]


def _no_attention_factor(path: Path, monkeypatch) -> None:
    _config(rope_scaling=_parameters(path) | {"attention_factor": 1.0})(path, monkeypatch)


def _scaling_on_all_layers(path: Path, monkeypatch) -> None:
    full, local = (_parameters(path)[kind] for kind in ("full_attention", "sliding_attention"))
    both = {"full_attention": full, "sliding_attention": full | {"rope_theta": local["rope_theta"]}}
    assert full["rope_type"] != "default"
    _config(rope_scaling=None, rope_parameters=both)(path, monkeypatch)


def _keys_and_values_exchanged(path: Path, monkeypatch) -> None:
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


def _buckets_by_the_floor(path: Path, monkeypatch) -> None:
    def floored(num_buckets, max_distance):
        distance = np.arange(-max_distance, max_distance + 1)
        middle, far = num_buckets // 2, np.maximum(np.abs(distance), 1)
        bucket = np.log(far / middle) / np.log((max_distance - 1) / middle) * (middle - 1)
        rows = np.where(np.abs(distance) <= middle, distance, np.sign(distance) * (bucket // 1 + middle)) + num_buckets
        return rows.clip(0, 2 * num_buckets - 1).astype(np.int32)

    monkeypatch.setattr("posenc_jax.encodings.deberta.log_bucket_rows", floored)
    call.clear_cache()  # the model is the same


def _no_query_key_norm(path: Path, monkeypatch) -> None:
    _settings("qwen3", query_key_norm=None)(path, monkeypatch)
    monkeypatch.setitem(FAMILIES, "qwen3", dataclasses.replace(FAMILIES["qwen3"], ignored=(".*[qk]_norm.weight",)))


def _no_rope_inverted(path: Path, monkeypatch) -> None:
    flags = CASES["smollm3"]["no_rope_layers"]
    windows = ["full_attention" if flag else "sliding_attention" for flag in flags]
    _config(no_rope_layers=[1 - flag for flag in flags], layer_types=windows)(path, monkeypatch)


BUGS = {
    "scaling dropped": ("llama", _config(rope_scaling=None)),
    "scaling on the wrong layers": ("gemma3", _scaling_on_all_layers),
    "attention factor left out": ("llama_yarn", _no_attention_factor),
    "epsilon wrong": ("llama", _config(rms_norm_eps=1e-4)),
    "part of each head rotated": ("llama", _config(partial_rotary_factor=0.5)),
    "lanes mixed": ("llama", _encodings(layout="interleaved")),
    "embeddings scaled": ("llama", _settings("llama", scale_embeddings=True)),
    "gate and up exchanged": ("llama", _gate_for_up),
    "window off by one": ("mistral", _config(sliding_window=65)),
    "window of both sides off by one": ("modernbert", _config(local_attention=126)),
    "distance of buckets wrong": ("t5", _config(relative_attention_max_distance=128)),
    "logarithm of buckets rounded down": ("deberta_v2", _buckets_by_the_floor),
    "largest distance of buckets off by one": ("deberta_v2", _config(max_relative_positions=511)),
    "position to content mirrored": ("deberta_v2", _encodings(p2c_distance="paper")),
    "first row of the table wrong": ("roberta", _config(pad_token_id=1)),
    "norms of queries and keys left out": ("qwen3", _no_query_key_norm),
    "cap of attention left out": ("gemma2", _settings("gemma2", attention_cap=None)),
    "cap of logits left out": ("gemma2", _settings("gemma2", logit_cap=None)),
    "offset of norms dropped": ("gemma2", _settings("gemma2", norm_type="rms")),
    "scale of embeddings dropped": ("gemma2", _settings("gemma2", scale_embeddings=False)),
    "layers without positions inverted": ("smollm3", _no_rope_inverted),
    "GELU by erf": ("gpt2", _settings("gpt2", activation="gelu")),
    "keys and values exchanged": ("gpt2", _keys_and_values_exchanged),
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
    _names(monkeypatch, "qwen2", lambda row: None if "k_proj.bias" in row.theirs else row)
    with pytest.raises(DataError, match=r"has model.layers.0.self_attn.k_proj.bias.*which no model of this config has"):
        load(checkpoint_of("qwen2", tmp_path))
