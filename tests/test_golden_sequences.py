"""Golden sequences are what the package computes and what formulas in NumPy give; they catch the faults of ports."""

import json
import subprocess
import sys
from pathlib import Path

import golden_sequences
import jax
import numpy as np
import pytest
from port_bugs import BUGS
from torch_live import run_torch

from experiments.golden_archive import pack
from posenc_jax.golden.rope import check as rope
from posenc_jax.golden.sequences import check
from posenc_jax.golden.sequences.reference import Engine, listed

FOLDER = Path(check.__file__).parent
SCENARIOS = check.scenarios()


@pytest.mark.parametrize("name", [n if n == "packing" else pytest.param(n, marks=pytest.mark.slow) for n in SCENARIOS])
def test_the_package_gives_them(name):
    own = SCENARIOS[name]
    with jax.enable_x64(True):
        found = golden_sequences.outputs(own["model"], own["inputs"], golden_sequences.positions_of(own))
    assert list(found) == list(own["outputs"])
    check.check(name, found)


@pytest.mark.parametrize("name", SCENARIOS)
def test_formulas_in_numpy_give_them_call_by_call(name):
    """And so decoding with a cache gives what a full pass gives."""
    own = SCENARIOS[name]
    found = Engine(own["model"], own["inputs"]).run()
    assert found.keys() == own["outputs"].keys()
    check.check(name, found)
    for array, values in own["outputs"].items():  # nothing else is null
        if array.endswith(".mask"):
            continue
        np.testing.assert_array_equal(np.isnan(found[array]), np.isnan(np.array(values, float)), err_msg=array)


@pytest.mark.parametrize("name", SCENARIOS)
def test_steps_are_greedy(name):
    own = SCENARIOS[name]
    tokens, segments = (np.array(own["inputs"][part]) for part in ("tokens", "segments"))
    best = np.array(own["outputs"]["logits"], float)
    for slot in range(own["inputs"]["prompt"], tokens.shape[1]):
        for row in range(len(tokens)):
            newest = np.flatnonzero(segments[row, :slot])[-1]
            assert tokens[row, slot] == np.argmax(best[row, newest])


def seen(bug):
    """The row of the table in README.md: the first array that shows a fault, and whether greedy tokens do."""
    own = SCENARIOS[bug.scenario]
    found = bug.engine(own["model"], own["inputs"]).run()
    found = {array: values for array, values in found.items() if array in own["outputs"]}
    problems = check.problems(bug.scenario, found)
    arrays = [problem.split(", ")[1].split("[")[0].split(":")[0] for problem in problems]
    assert set(arrays) - {"positions"}, f"{bug.name}: nothing that is computed with positions differs"
    tokens = "yes" if "tokens" in arrays else "no"
    return f"| {bug.name} | {bug.threads} | `{bug.scenario}` | `{arrays[0]}` | {tokens} |"


def test_faults_of_real_ports_are_caught():
    rows = "\n".join(map(seen, BUGS))
    assert rows in (FOLDER / "README.md").read_text(), f"README.md needs this table:\n{rows}"
    missed = ("no", "one", "two", "three")[rows.count("| no |")]
    page = pack.PAGE.read_text()
    assert f"names {len(BUGS)} faults" in page
    assert f"greedy tokens alone miss {missed} of them" in page
    assert {bug.scenario for bug in BUGS} == set(SCENARIOS)


def test_the_checker_says_what_differs_first(tmp_path, capsys):
    outputs = {name: dict(own["outputs"]) for name, own in SCENARIOS.items()}
    path = tmp_path / "outputs.json"
    path.write_text(json.dumps(outputs))
    assert check.main([str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[3] == "packing: agrees, 15 of 15 arrays agree"
    wrong = np.array(outputs["packing"]["layer0.q_encoded"], float)
    wrong[0, 1, 2, 3] += 1e-6
    outputs["packing"] |= {"layer0.q_encoded": listed(wrong), "tokens": [[0]], "layer0.bias": [0]}
    del outputs["layers"]
    path.write_text(json.dumps(outputs))
    assert check.main([str(path)]) == 1
    said = capsys.readouterr().out
    assert "packing: DIFFERS, 13 of 15 arrays agree\n  packing, layer0.q_encoded[0, 1, 2, 3]: " in said
    assert "layers: IS MISSING, 0 of" in said
    assert [line.split(":")[0] for line in check.problems("packing", outputs["packing"])[1:]] == [
        "packing, tokens",
        "packing has no array 'layer0.bias'",
    ]
    wrong[0, 0, 0, 0] = np.nan  # no answer is no right answer
    with pytest.raises(ValueError, match=r"layer0.q_encoded\[0, 0, 0, 0\]: nan is not"):
        check.check("packing", {"layer0.q_encoded": wrong}, tolerance=1e-3)
    for text, message in {
        '{"packin": {}}': "'packin' is no scenario: there are prefill_then_steps, ",
        '{"packing": {}}': "nothing to compare with packing: give some of positions, ",
        "[": "Expecting value",
    }.items():
        path.write_text(text)
        with pytest.raises(SystemExit):
            check.main([str(path)])
        assert f"error: {message}" in capsys.readouterr().err


def test_values_that_are_there_are_not_rewritten_unasked(monkeypatch):
    """Only the first scenario, as it is and changed."""
    own = SCENARIOS["packing"]
    rounded = {**own["outputs"], "logits": (np.array(own["outputs"]["logits"], float) * (1 + 1e-13)).tolist()}
    monkeypatch.setattr(golden_sequences, "made", lambda own: {**own, "outputs": rounded})
    before = json.dumps({"scenarios": [own]})
    assert json.loads(golden_sequences.new_text(before, []))["scenarios"] == [own]
    monkeypatch.setattr(
        golden_sequences, "made", lambda own: {**own, "outputs": own["outputs"] | {"tokens": [[0] * 12]}}
    )
    with pytest.raises(ValueError, match=r"golden sequence packing: tokens\[0, 9\]: 0 is not 15; .*\n.*--changed NAME"):
        golden_sequences.new_text(before, [])
    assert json.loads(golden_sequences.new_text(before, ["packing"]))["scenarios"][0]["outputs"]["tokens"] == [[0] * 12]


ALONE = """
import sys
assert not any("posenc" in path for path in sys.path)
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"numpy", "check", "reference"} | sys.stdlib_module_names:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, sys.argv.pop(1))
import contextlib, io, json, pathlib
import check, reference
with contextlib.redirect_stdout(io.StringIO()) as out:
    reference.main()
path = pathlib.Path(sys.argv.pop(1), "outputs.json")
path.write_text(out.getvalue())
sys.exit(check.main([str(path)]))
"""


def test_checkers_need_numpy_alone(tmp_path):
    """In isolated mode, where nothing else can be imported."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(FOLDER), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": agrees, ") == 12
    asked = (
        "import sys; sys.path.insert(0, sys.argv[1]); import check; print(len(check.failures(lambda *_: ([], 1.0))))"
    )
    place = str(Path(rope.__file__).parent)
    found = subprocess.check_output([sys.executable, "-I", "-c", asked, place], text=True)
    assert int(found) > len(rope.models())


def test_the_page_names_the_archive():
    text = pack.PAGE.read_text()
    assert pack.page(text) == text, "python -m experiments.golden_archive.pack"


TRANSFORMERS = """
import sys
import numpy as np, torch
sys.path.insert(0, sys.argv[1])
import check, reference
from transformers import LlamaConfig, Qwen2VLConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as neighbours
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as halves
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel
from transformers.models.t5.modeling_t5 import T5Attention

known, real = check.scenarios(), lambda array: torch.tensor(np.array(array, float))

def agree(name, tolerance=1e-9, **found):
    check.check(name, {array.replace("_", ".", 1): values for array, values in found.items()}, tolerance=tolerance)

def angles(out, layer):
    return real(out["positions"])[..., None] * real(out[f"layer{layer}.frequencies"])

for name, stack, length, both in (("t5_decoding", "layer", 24, False), ("cross_attention", "encoder", 8, True)):
    at = torch.arange(length)
    buckets = T5Attention._relative_position_bucket(at - at[:, None], both, num_buckets=8, max_distance=20)
    table = reference.parameters(known[name]["model"]["parameters"])[f"{stack.replace('layer', 'decoder')}.t5"]
    rows = len(known[name]["inputs"]["tokens"])
    agree(name, **{f"{stack}0_bias": np.repeat(table[None][:, :, buckets.numpy()], rows, 0)})

for name, layer, kind, own in (
    ("yarn_on_some_layers", 1, "yarn", dict(factor=4.0, original_max_position_embeddings=1024)),
    ("partial", 2, "proportional", dict(partial_rotary_factor=0.5)),
):
    own = dict(rope_type=kind, rope_theta=1e4, **own)
    sizes = dict(hidden_size=16, num_attention_heads=2, head_dim=8, max_position_embeddings=4096)
    config = LlamaConfig(**sizes, rope_parameters=own)
    frequencies, factor = ROPE_INIT_FUNCTIONS[kind](config, "cpu")  # in float32
    agree(name, 1e-7, **{f"layer{layer}_frequencies": frequencies.numpy(), f"layer{layer}_factor": factor})

rotated = dict(prefill_then_steps=0, partial=2, yarn_on_some_layers=1, grouped_queries=1, layers=2)
for name, layer in rotated.items():
    out = known[name]["outputs"]
    both, factor = torch.cat([angles(out, layer)] * 2, -1), out[f"layer{layer}.factor"]
    q, k = halves(*(real(out[f"layer{layer}.{x}"]) for x in "qk"), both.cos() * factor, both.sin() * factor)
    agree(name, **{f"layer{layer}_q_encoded": q.numpy(), f"layer{layer}_k_encoded": k.numpy()})

out = known["partial"]["outputs"]
q = real(out["layer1.q"]).transpose(1, 2)
turned = neighbours(q[..., :4], angles(out, 1).sin(), angles(out, 1).cos())
agree("partial", layer1_q_encoded=torch.cat([turned, q[..., 4:]], -1).transpose(1, 2).numpy())

own = known["alibi_with_padding"]  # a row of the keys, which softmax cannot tell from this
row = build_alibi_tensor(torch.tensor(own["inputs"]["segments"]), 3, torch.float64).reshape(2, 3, 1, 12).numpy()
bias = np.array(own["outputs"]["layer0.bias"], float)
agree("alibi_with_padding", layer0_bias=row + np.nanmax(bias - row, axis=-1, keepdims=True, initial=-1e9))

own, config = known["mrope_images"], Qwen2VLConfig()
config.vision_config.spatial_merge_size = 1
ids, real_tokens = torch.tensor(own["inputs"]["tokens"]) + 10, torch.tensor(own["inputs"]["segments"])
kinds, grids = torch.zeros_like(ids), []
for number, images in enumerate(own["inputs"]["images"]):
    for slot, *grid in images:
        ids[number, slot : slot + np.prod(grid)], kinds[number, slot : slot + np.prod(grid)] = config.image_token_id, 1
        grids.append(grid)
class Model:
    get_vision_position_ids = Qwen2VLModel.get_vision_position_ids
Model.config = config
prompt = slice(own["inputs"]["prompt"])
positions, delta = Qwen2VLModel.get_rope_index(
    Model(), ids[:, prompt], kinds[:, prompt], torch.tensor(grids), attention_mask=real_tokens[:, prompt]
)
steps = (real_tokens.cumsum(-1) - 1 + delta)[:, own["inputs"]["prompt"] :, None].repeat(1, 1, 3)
agree("mrope_images", positions=torch.cat([positions.permute(1, 2, 0), steps], 1).numpy())
"""


def test_transformers_agrees():
    """T5's buckets, YaRN, proportional and both lane orders, BLOOM's ALiBi, Qwen2-VL's positions and delta."""
    run_torch(TRANSFORMERS, str(FOLDER))
