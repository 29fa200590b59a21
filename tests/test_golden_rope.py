"""The numbers of released models: those that are written, the checker, and transformers' own."""

import json
import subprocess
import textwrap

import golden_rope
import numpy as np
import pytest
from torch_live import torch_python

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
    assert json.loads(golden_rope.new_text(json.dumps(whole | {"models": [bare]}), []))["models"] == [llama]


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
        return ours({**config, "rope_scaling": None}, layer, length)

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


ASKED = textwrap.dedent(
    """
    import copy, json, sys
    import torch
    from transformers import AutoConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    found = []
    for row in json.load(sys.stdin):
        if row["config"]["model_type"] == "gptj":
            continue
        config = AutoConfig.for_model(**copy.deepcopy(row["config"]))
        if getattr(config, "is_heterogeneous", False):
            config = config.per_layer_config[row["kind"]]
        nested = row["kind"] in config.rope_parameters
        parameters = config.rope_parameters[row["kind"]] if nested else config.rope_parameters
        layer_type = row["kind"] if nested else None
        kind = parameters["rope_type"]
        if kind == "default":
            width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
            dim = int(width * (parameters.get("partial_rotary_factor") or 1.0))
            values = 1.0 / parameters["rope_theta"] ** (torch.arange(0, dim, 2).float() / dim)
            factor = 1.0
        else:
            values, factor = ROPE_INIT_FUNCTIONS[kind](config, None, seq_len=row["length"], layer_type=layer_type)
        found.append([row["name"], row["kind"], row["length"], values.tolist(), factor])
    print(json.dumps(found))
    """
)


def test_transformers_gives_the_same():
    """To what its float32 can hold."""
    python = torch_python()
    if subprocess.run([python, "-c", "import importlib.util as u; assert u.find_spec('transformers')"]).returncode:
        pytest.skip(f"{python} has no transformers: TORCH_PYTHON names a Python that has both")
    asked, right = [], {}
    for model in check.models():
        for group in model["groups"]:
            for point in group["points"]:
                if point["inverse_frequencies"]:
                    at = {"name": model["name"], "kind": group["kind"], "length": point["length"]}
                    asked.append({**at, "config": model["config"]})
                    right[tuple(at.values())] = (point["inverse_frequencies"], group["attention_factor"])
    done = subprocess.run([python, "-c", ASKED], input=json.dumps(asked), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) >= 25
    for name, kind, length, values, factor in found:
        frequencies, attention = right[name, kind, length]
        np.testing.assert_allclose(values, frequencies, rtol=4e-6, err_msg=f"{name} {kind} {length}")
        assert factor == pytest.approx(attention, rel=1e-12), name
