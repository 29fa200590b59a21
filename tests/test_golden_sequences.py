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
