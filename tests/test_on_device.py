"""scripts/on_device: every part in miniature, what it keeps, refuses and goes on with, and its page."""

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest
from device_parts import checks, device, kernels, part, steps
from device_parts.part import LeftOutError, Part
from script_modules import loaded

SCRIPTS = Path(__file__).parent.parent / "scripts"
GUIDE = SCRIPTS / "docs" / "guides" / "accelerators.md"
PARTS = part.parts()


@pytest.fixture
def script():
    return loaded(SCRIPTS / "on_device")


def served(own, out):
    """The exit code, the lines and the rows of a miniature."""
    said = []
    code = part.serve(own, out, True, said.append)
    return code, said, json.loads((out / f"{own.name}.json").read_text())["rows"]


def part_of(**cases):
    """A part with these functions as cases."""
    return Part("own", "Own", "About it", lambda miniature: cases, {"n": "{:.0f}"}, lambda row: (row["n"],))


@pytest.mark.parametrize("name", ["attention", "steps", pytest.param("deterministic", marks=pytest.mark.slow)])
def test_a_part_in_miniature(name, tmp_path):
    code, said, rows = served(PARTS[name], tmp_path)
    unserved = [row["left_out"] for row in rows.values() if "left_out" in row]  # cuDNN, on a CPU
    assert code == (part.PARTLY if unserved else part.DONE), said
    assert all("cannot serve this call" in why for why in unserved)
    found = PARTS[name].table({name: row for name, row in rows.items() if part.is_measured(row)})
    assert found.rows
    assert all(any(number is not None for number in numbers) for numbers in found.rows.values())
    again = served(PARTS[name], tmp_path)
    assert len(again[1]) == len(unserved), "what was measured is measured again"


def test_the_first_check_and_repeated_training_in_miniature():
    call = checks.calls(miniature=True)[0]
    found = checks.compared(call)
    assert found["well"]
    assert set(found["apart"]) == {"dense", "kernel", "blockwise"}
    assert "it runs on NVIDIA's GPUs" in found["refused"]["cudnn"]
    assert checks.repeated(miniature=True) == {"well": True}


@pytest.mark.slow
def test_all_checks_in_miniature(tmp_path):
    code, said, rows = served(PARTS["checks"], tmp_path)
    assert code == part.DONE, said
    assert all(row["well"] for row in rows.values()), rows
    assert [numbers[0] for numbers in PARTS["checks"].table(rows).rows.values()] == [1.0] * len(rows)


def test_a_check_fails_where_a_path_is_wrong(monkeypatch):
    right = checks.attend

    def wrong(*arguments, path, **named):
        return right(*arguments, path="dense", **named) * (1.001 if path == "kernel" else 1)

    monkeypatch.setattr(checks, "attend", wrong)
    found = checks.compared(checks.Call("nope", "float32", 8, 8))
    assert not found["well"]
    assert found["apart"]["kernel"] == pytest.approx(1e-3, rel=0.01)
    assert found["apart"]["blockwise"] == 0


def test_memory_that_is_full_for_gradients_keeps_the_forward_pass(monkeypatch):
    def timed(path, spec, size, training):
        if training:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes.\nmore")
        return {"ms": 2.0, "least": 1.0, "most": 3.0}

    monkeypatch.setattr(kernels, "timed", timed)
    row = kernels.measured("XLA, T5", kernels.Size(1024, 64, 1, 1))
    assert row["training"] == {"out_of_memory": "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."}
    teraflops = 2 * 1024**2 * 64 / 2e-3 / 1e12
    assert PARTS["attention"].table({"a": row}).rows == {"a": (2.0, 1.0, 3.0, teraflops, None, None, None, None)}


def test_every_part_says_whether_its_bits_repeat():
    """What is not said the command line sets, and cuDNN's gradients are slower then."""
    flag = "--xla_gpu_deterministic_ops="
    said = {name: own.variables["XLA_FLAGS"].removeprefix(flag) for name, own in PARTS.items()}
    assert said == {"checks": "true", "attention": "false", "steps": "false", "deterministic": "true"}


def test_one_case_that_fails_costs_no_other(tmp_path):
    def raising(error):
        def measure():
            raise error

        return measure

    own = part_of(
        a=raising(RuntimeError("a kernel\nwith a long story")),
        b=raising(RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes.")),
        c=raising(LeftOutError("there is no wheel: install one")),
        d=lambda: {"n": 5},
    )
    code, said, rows = served(own, tmp_path)
    assert code == part.PARTLY
    told = [re.sub(r"\d+\.\d s", "s", line) for line in said]
    assert told[0] == "own, a: s: RuntimeError: a kernel"
    assert told[2:] == ["own, c: s: there is no wheel: install one", "own, d: s"]
    assert rows["b"]["out_of_memory"].startswith("RESOURCE_EXHAUSTED")
    assert own.table({name: rows[name] for name in "bd"}).rows == {"b": (None,), "d": (5,)}
    again = served(part_of(a=dict, b=raising(OSError()), c=lambda: {"n": 3}, d=raising(OSError())), tmp_path)[2]
    assert (again["b"], again["c"]["n"], again["d"]["n"]) == (rows["b"], 3, 5)


def test_the_case_at_which_a_process_ended_is_tried_last(tmp_path):
    turns = []
    own = part_of(**{name: lambda name=name: turns.append(name) or {"n": 0} for name in "abc"})
    part.write(tmp_path / "own.json", part.new("own", True) | {"rows": {"a": {"begun": True}}})
    assert served(own, tmp_path)[0] == part.DONE
    assert turns == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"code": "older"}, r"is of another version \(code 'older', and here '.*'\): move it away"),
        (None, r"own.json is no whole JSON file: remove it"),
    ],
)
def test_a_file_of_another_version_is_one_line(change, line, tmp_path):
    kept = part.new("own", True)
    if change is None:
        (tmp_path / "own.json").write_text('{"rows": {')
    else:
        part.write(tmp_path / "own.json", kept | change)
    before, said = (tmp_path / "own.json").read_text(), []
    assert part.serve(part_of(a=dict), tmp_path, True, said.append) == part.REFUSED
    (told,) = said
    assert re.search(line, told)
    assert (tmp_path / "own.json").read_text() == before


def test_a_missing_device_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device.missing().startswith("jax computes on the CPU, and nvidia-smi finds no GPU")
    answers = ["NVIDIA H100 80GB HBM3", "570.57.02", *["1 MHz"] * (len(device.QUERIED) - 2)]
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{', '.join(answers)}'\n")
    program.chmod(0o755)
    assert device.smi()["driver_version"] == "570.57.02"
    assert device.missing().startswith("there is NVIDIA H100 80GB HBM3, and jax computes on the CPU: install jax[")


def test_a_run_that_does_not_fit_is_left_out():
    run = steps.run_of("t5", 1024)
    huge = dataclasses.replace(run, model=dataclasses.replace(run.model, d_model=12 * 4096, num_layers=100))
    with pytest.raises(LeftOutError, match="it does not fit: "):
        steps.measured(huge, 1)


def test_the_page_is_of_what_was_measured(tmp_path, script, monkeypatch, capsys):
    assert part.PAGE.read_text() == part.page(PARTS, part.collected(SCRIPTS / "device_parts" / "measured")[0])
    row = {"ms": 2.0, "least": 1.0, "most": 3.0, "tokens_per_second": 9.0, "mfu": None}
    rows = {"rope, 1024 tokens": row, "t5, 1024 tokens": {"failed": "OSError: x"}}
    kept = part.new("steps", False) | {"rows": rows}
    part.write(tmp_path / "a.json", kept)
    part.write(tmp_path / "b.json", kept | {"miniature": True})
    monkeypatch.setattr(part, "PAGE", SCRIPTS.parent / "build" / "page.md")
    monkeypatch.setattr(Path, "write_text", lambda path, text: written.append(text))
    written = []
    assert script.main(["--collect", str(tmp_path)]) == 0
    assert "b.json is a miniature" in capsys.readouterr().err
    assert "| rope, 1024 tokens | 2.00 | 1.00 | 3.00 | 9 | - |\n\n- t5, 1024 tokens: OSError: x\n" in written[0]


def test_the_commands_of_the_guide_are_understood(script):
    lines = re.findall(r"^scripts/on_device(.*?)(?:#.*)?$", GUIDE.read_text(), re.MULTILINE)
    understood = [script.parser().parse_args(shlex.split(line)) for line in lines]
    assert [options.parts for options in understood] == [[], ["checks", "attention"]]


def test_without_a_device_no_other_part_is_asked(script, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(script, "ask", lambda name, *_: asked.append(name) or part.NO_DEVICE)
    assert script.main(["attention", "steps", "--out", str(tmp_path / "out")]) == part.NO_DEVICE
    assert asked == ["attention"]
