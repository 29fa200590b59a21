"""The numbers of released models: those that are written, the checker, and transformers' own."""

import json

import golden_rope
import numpy as np
import pytest

from posenc_jax.golden.rope import check
from posenc_jax.huggingface import from_hf


def test_the_file_is_what_the_configs_give():
    before = check.FILE.read_text()
    assert golden_rope.new_text(before, []) == before
    assert len(check.models()) >= 20
    assert len({model["name"].casefold() for model in check.models()}) == len(check.models())


def test_numbers_that_are_there_are_not_rewritten_unasked():
    whole = json.loads(check.FILE.read_text())
    (llama,) = (row for row in whole["models"] if row["name"] == "Llama-3.1-8B")
    frequencies = llama["groups"][0]["points"][0]["inverse_frequencies"]

    def rewritten(factor, changed=()):
        point = llama["groups"][0]["points"][0] | {"inverse_frequencies": [f * factor for f in frequencies]}
        row = llama | {"groups": [llama["groups"][0] | {"points": [point]}]}
        text = golden_rope.new_text(json.dumps(whole | {"models": [row]}), list(changed))
        return json.loads(text)["models"] == [row]

    assert rewritten(1 + 1e-14)  # the bits that were there
    with pytest.raises(ValueError, match=r"the numbers of Llama-3\.1-8B changed\nif it is meant, --changed NAME"):
        rewritten(1 + 1e-9)
    assert not rewritten(1 + 1e-9, ["Llama-3.1-8B"])
    bare = {name: llama[name] for name in ("name", "source", "config")}
    (new,) = json.loads(golden_rope.new_text(json.dumps(whole | {"models": [bare]}), []))["models"]
    assert golden_rope.alike(llama, new)  # another processor rounds powers otherwise


def ours(config, layer, length):
    found = from_hf(config).layers[layer]
    return found.inverse_frequencies(length), found.attention_factor


def few():
    """The models whose layers or lengths differ, without most of their layers."""
    kept = []
    for model in check.models():
        groups = [{**group, "layers": group["layers"][:1]} for group in model["groups"]]
        kept.append({**model, "groups": groups})
    return kept


def test_the_checker_finds_what_engines_do_wrong(monkeypatch):
    rows = few()
    monkeypatch.setattr(check, "models", lambda: rows)
    assert check.failures(ours) == []

    def found(change):
        return {line.partition(",")[0] for line in check.failures(change)}

    def without_scaling(config, layer, length):
        return ours({**config, "rope_scaling": {"rope_type": "default"}}, layer, length)

    def first_layer_everywhere(config, layer, length):
        return ours(config, 0, length)

    def always_short(config, layer, length):
        return ours(config, layer, 1)

    def no_factor(config, layer, length):
        return ours(config, layer, length)[0], 1.0

    def whole_heads(config, layer, length):
        known = ours(config, layer, length)[0]
        head = from_hf(config).layers[layer].head_dim
        return (known if 2 * len(known) == head or not len(known) else np.ones(head // 2)), 1.0

    assert {"Llama-3.1-8B", "DeepSeek-V3", "gpt-oss-20b", "Phi-3.5-mini"} <= found(without_scaling)
    assert found(first_layer_everywhere) == {*("Gemma-3-1b", "Gemma-4-26B-A4B", "Qwen3-Next-80B-A3B", "SmolLM3-3B")}
    assert found(always_short) == {"Phi-3.5-mini", "Phi-4-mini"}
    assert {"gpt-oss-20b", "Phi-3.5-mini", "Phi-4-mini"} == found(no_factor)
    assert {"GPT-J-6B", "stablelm-2-1.6b", "Phi-4-mini", "Qwen3-Next-80B-A3B"} <= found(whole_heads)
