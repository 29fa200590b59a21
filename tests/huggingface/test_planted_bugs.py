"""Bugs that ports of models have had are seen by the parity tests: each is planted, and logits become others."""

import dataclasses

import jax
import numpy as np
import pytest
from huggingface_parity import MEASURES, long, padded, rounding
from planted_bugs import BUGS, change_names, padding_counted
from tiny_checkpoints import call, checkpoint_of

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load


@pytest.fixture(autouse=True)
def _no_programs_of_others():
    """A bug in code is in programs of equal models too."""
    call.clear_cache()
    yield
    call.clear_cache()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_bugs_of_ports_are_seen_in_float32(tmp_path, monkeypatch, name):
    """Each changes logits by more than ten times what the parity tests allow."""
    bug = BUGS[name]
    path = checkpoint_of(bug.case, tmp_path)
    bug.plant(path, monkeypatch)
    assert MEASURES[bug.check](load(path).build(), bug.case) > 10 * rounding(bug.case)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "bloom"])
def test_padding_need_not_be_counted_out_where_distances_alone_count(tmp_path, monkeypatch, name):
    padding_counted(tmp_path, monkeypatch)
    with jax.enable_x64(True):
        assert padded(load(checkpoint_of(name, tmp_path)).build(np.float64), name) < 1e-9


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
    assert long(dataclasses.replace(checkpoint, tensors=turned).build(), "llama") > 1e-2


def test_a_bias_that_the_table_leaves_out_is_named(tmp_path, monkeypatch):
    change_names(monkeypatch, "qwen2", lambda row: None if "k_proj.bias" in row.theirs else row)
    with pytest.raises(DataError, match=r"has model.layers.0.self_attn.k_proj.bias.*which no model of this config has"):
        load(checkpoint_of("qwen2", tmp_path))
