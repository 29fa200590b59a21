"""Positions of models: what is written, what classes of transformers did, the checker, and mistakes that it finds."""

import json
import shutil
import subprocess
import sys

import declared_parity
import golden_suite
import jsonschema
import numpy as np
import position_mutants
import positions_suite
import pytest

from experiments.golden_archive import pack
from posenc_jax.golden.rope import check

ROWS = {row["name"]: row for row in check.rows()}
RECORD = json.loads(positions_suite.RECORD.read_text())
FEW = ("llama", "phi3, 5: longrope", "gpt_oss", "gemma3_text", "deepseek_v3, 4: yarn", "llama4", "Qwen2-VL-7B", "bert")
NUMPY_ALONE = """
import sys, runpy
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "posenc_jax", "flax", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Refused())
sys.argv = ["check.py", "answers.json", *sys.argv[1:]]
runpy.run_path("check.py", run_name="__main__")
"""


def answers(names):
    """Right answers, as a file has them."""
    found = {}
    for name in names:
        layers = {}
        for group in ROWS[name]["groups"]:
            own = {str(point["length"]): point | {"window": group["window"]} for point in group["points"]}
            layers |= {
                number: own if number == group["layers"][0] else group["layers"][0] for number in group["layers"]
            }
        found[name] = [layers[number] for number in sorted(layers)]
    return json.loads(json.dumps(found))


def test_the_file_is_of_its_schema():
    schema = json.loads(check.ROWS.with_name("positions-v1.schema.json").read_text())
    whole = json.loads(check.ROWS.read_text())
    jsonschema.validate(whole, schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    for change in ({"format": "posenc positions 2"}, {"rows": [{"name": "x"}]}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(whole | {"tables": [], "rows": []} | change, schema)
    assert check.ROWS.stat().st_size < 2e6


@pytest.mark.slow
def test_the_file_is_what_the_configs_give():
    before = check.ROWS.read_text()
    assert golden_suite.new_text(before, []) == before


@pytest.mark.parametrize("name", FEW)
def test_rows_are_what_the_configs_give(name):
    row = ROWS[name]
    new = json.loads(json.dumps(golden_suite.row(name, row["source"], row["config"])))
    assert golden_suite.alike({key: row[key] for key in new}, new)


def test_numbers_that_are_there_are_not_rewritten_unasked(monkeypatch):
    llama = ROWS["llama"]
    monkeypatch.setattr(golden_suite, "made", lambda: iter([llama]))
    before = golden_suite.text_of([llama])
    assert golden_suite.new_text(before, []) == before

    def scaled(factor):
        (group,) = llama["groups"]
        (point,) = group["points"]
        frequencies = [factor * value for value in point["inverse_frequencies"]]
        points = [point | {"inverse_frequencies": frequencies}]
        return golden_suite.text_of([llama | {"groups": [group | {"points": points}]}])

    assert golden_suite.new_text(scaled(1 + 1e-14), []) == scaled(1 + 1e-14)  # the bits that were there
    with pytest.raises(ValueError, match="the numbers of llama changed\nif it is meant, --changed NAME"):
        golden_suite.new_text(scaled(1 + 1e-9), [])
    assert golden_suite.new_text(scaled(1 + 1e-9), ["llama"]) == before
    monkeypatch.setattr(golden_suite, "made", lambda: iter([]))
    with pytest.raises(ValueError, match="llama are gone"):
        golden_suite.new_text(before, [])


def test_the_values_are_those_that_the_classes_of_transformers_gave():
    """Without what reads configs here: the record of the classes against the file."""
    record, compared = json.loads(declared_parity.RECORD.read_text())["types"], 0
    for name, row in ROWS.items():
        kind, _, case = name.partition(", ")
        if not row["source"].startswith("transformers "):
            continue
        own = record[kind]["cases"][case or "default"]
        layers = {number: group for group in row["groups"] for number in group["layers"]}
        numbers = [n for n in sorted(layers) if layers[n]["kind"] != "mlp"]
        numbers = numbers if len(numbers) == len(own["order"]) else sorted(layers)
        for number, kept in zip(numbers, own["order"]):
            group, seen = layers[number], own["kinds"][kept]
            if seen.get("mask"):
                assert group["window"] == seen["mask"][1], name
            if "turn" not in seen:
                assert not group["points"][0]["planes"], name
                continue
            for found, point in zip(own["turns"][seen["turn"]]["at"], (group["points"][0], group["points"][-1])):
                if found is not None:
                    assert len(point["planes"]) == found["count"], name
                    assert {b - a for a, b in point["planes"]} == set(found["steps"]), name
                    right = np.array(point["inverse_frequencies"])[found["kept"]]
                    assert np.allclose(right, found["angles"], rtol=2e-5), name
                    assert np.isclose(point["attention_factor"], found["factor"], rtol=1e-5), name
                    compared += 1
    assert compared > 10000


def test_sines_far_out_are_right_to_the_last_digits():
    """By sums of angles, in extended precision."""
    positions = json.loads(check.ROWS.read_text())["positions"]
    for name in FEW:
        for group in ROWS[name]["groups"]:
            for point in group["points"]:
                kept = np.array(point["inverse_frequencies"])[point["shown"]].astype(np.longdouble)
                angles = np.array(positions, np.longdouble)[:, None] * kept
                factor = point["attention_factor"]
                np.testing.assert_allclose(
                    np.array(point["sin"]).reshape(angles.shape), factor * np.sin(angles), atol=1e-9
                )
                np.testing.assert_allclose(
                    np.array(point["cos"]).reshape(angles.shape), factor * np.cos(angles), atol=1e-9
                )


def test_from_an_empty_folder_with_numpy_alone(tmp_path):
    for name in ("check.py", "positions-v1.json", "rope-v1.json"):
        shutil.copy(check.FILE.with_name(name), tmp_path)
    right = answers(FEW)
    (tmp_path / "run.py").write_text(NUMPY_ALONE)

    def said(given, *more):
        (tmp_path / "answers.json").write_text(json.dumps(given))
        command = [sys.executable, "-I", "run.py", *more]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    done = said(right)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        f"{len(FEW)} of {len(ROWS)} rows agree, {len(ROWS) - len(FEW)} have no answer",
    ), done.stderr
    right["llama"][0]["1"]["sin"][3][1] += 0.01
    right["gpt_oss"][0]["1"]["window"] = 129
    done = said(right)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("gpt_oss, layer 0 (+17), length 1: window is 129, and must be 128")
    assert lines[1].startswith("llama, layer 0 (+31), length 1: sin[3, 1] is ")
    assert len(said(right, "--angles", "0.5").stdout.splitlines()) == 2
    del right["llama"][1:]
    assert "llama has no values of layer 1 at length 1: add them" in said(right).stderr


def test_a_sound_engine_agrees_and_its_answers_may_be_few():
    assert check.problems(position_mutants.engine(position_mutants.SOUND), FEW) == []
    assert check.problems(lambda row, layer, length: None) == []
    (line,) = check.problems(lambda row, layer, length: {"planes": [[0, 1]]}, ["llama"])
    assert line == "llama, layer 0 (+31), length 1: planes has the shape (1, 2), and must have (64, 2)"
    (line,) = check.problems(lambda row, layer, length: {"window": 7, "axes": None}, ["llama"])
    assert line == "llama, layer 0 (+31), length 1: window is 7, and must be None"
    nan = [float("nan")] * 64
    (line,) = check.problems(lambda row, layer, length: {"inverse_frequencies": nan}, ["llama"])
    assert line.endswith("inverse_frequencies[0] is nan, and must be 1")


@pytest.mark.parametrize(("mutant", "row"), list(zip(position_mutants.MUTANTS, RECORD["mutants"])))
def test_mistakes_are_found_in_the_row_that_the_page_names(mutant, row):
    assert (mutant.name, mutant.threads) == (row["name"], row["threads"])
    name = row["first"].partition(", layer ")[0]
    assert 0 < row["rows"] <= row["changed"]
    assert position_mutants.changes(mutant, ROWS[name])
    assert not position_mutants.changes(position_mutants.SOUND, ROWS[name])
    assert position_mutants.found(mutant, [name])[0] == row["first"]
    assert position_mutants.found(position_mutants.SOUND, [name]) == []


def test_forty_mistakes_and_the_tables_of_the_page():
    assert len({mutant.name for mutant in position_mutants.MUTANTS}) == len(RECORD["mutants"]) == 40
    for path, text in positions_suite.pages().items():
        assert path.read_text() == text, "scripts/regenerate writes it"


def test_the_archive_has_it():
    assert {
        "rope/README.md",
        "rope/check.py",
        "rope/positions-v1.json",
        "rope/positions-v1.schema.json",
    } <= pack.members().keys()
