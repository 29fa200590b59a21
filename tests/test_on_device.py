"""scripts/on_device: every part in miniature, what it keeps, refuses and goes on with, and its page."""

import dataclasses
import importlib.metadata
import json
import math
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from device_parts import carry, checks, device, kernels, page, record, serving
from device_parts.order import PARTS
from device_parts.part import Case, LeftOutError, Part, Setting, table
from device_parts.steps import run_of
from device_parts.wholes import ACCELERATOR, MINUTES, TABLES, fitting, minutes
from packaging.requirements import Requirement
from script_modules import loaded
from torch_live import torch_python

SCRIPTS = Path(__file__).parent.parent / "scripts"
GUIDE = SCRIPTS / "docs" / "guides" / "accelerators.md"
ALIKE = ("demo", "deterministic", "long_steps", *TABLES, "accelerator")
"""Parts of the same code as another one."""


@pytest.fixture
def script():
    return loaded(SCRIPTS / "on_device")


def served(part, out):
    """The exit code, the lines and the rows of a miniature."""
    said = []
    code = serving.serve(part, out, Setting(True, out), said.append)
    return code, said, json.loads((out / f"{part.name}.json").read_text())["rows"]


def part_of(**cases):
    """A part with these functions as cases."""
    return Part(
        "own",
        "Own",
        "About it",
        lambda setting: {name: Case(measure, 1.0) for name, measure in cases.items()},
        lambda rows: table(part_of(), "case", {"n": "{:.0f}"}, rows, lambda row: (row["n"],)),
    )


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in ALIKE else n for n in PARTS if n not in ("checks", "smollm2")],
)
def test_a_part_in_miniature(name, tmp_path):
    part = PARTS[name]
    code, said, rows = served(part, tmp_path)
    unserved = [row["left_out"] for row in rows.values() if "left_out" in row]  # cuDNN, on a CPU
    assert code == (serving.PARTLY if unserved else serving.DONE), said
    assert all("cannot serve this call" in why for why in unserved)
    found = part.table({name: row for name, row in rows.items() if record.is_measured(row)})
    assert found.rows
    assert all(any(number is not None for number in numbers) for numbers in found.rows.values())
    assert [*found.lines()][1] == f"\n{part.about}"
    again = served(part, tmp_path)
    assert len(again[1]) == len(unserved), "what was measured is measured again"


def test_an_ablation_that_was_asked_to_end_goes_on(tmp_path):
    part, asked, said = PARTS["demo"], iter([None]), []
    setting = Setting(True, tmp_path, lambda: next(asked, signal.SIGTERM))
    assert serving.serve(part, tmp_path, setting, said.append) == serving.PARTLY
    assert re.search(r"demo: \d+\.\d s: stopped at step 2 of 4, saved in .*; the same command goes on", said[0])
    code, said, rows = served(part, tmp_path)
    assert code == serving.DONE, said
    ((score, *_, seconds, planned, compiling, mfu),) = part.table(rows).rows.values()
    assert 0 <= score <= 1
    assert min(seconds, planned, compiling, mfu) > 0


def test_a_part_whose_process_crashes_is_begun_again_as_long_as_it_gets_on(script, tmp_path, monkeypatch, capsys):
    codes, kept = iter([-11, -11, -11]), iter(["a", "ab", "ab"])

    def crash(process, seconds):
        (tmp_path / "demo.json").write_text(next(kept))
        return next(codes)

    begun = []
    monkeypatch.setattr(script.subprocess, "Popen", lambda words, env: begun.append(env["XLA_FLAGS"]))
    monkeypatch.setattr(script, "waited", crash)
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    assert script.ask("demo", tmp_path, 8, True) == 11
    assert begun == ["--xla_dump_to=x --xla_gpu_deterministic_ops=true"] * 3
    assert capsys.readouterr().out.count("signal 11 ended the process") == 2


def test_a_trained_model_beyond_its_context_in_miniature(tmp_path, monkeypatch):
    from tiny_checkpoints import whole

    part = PARTS["smollm2"]
    monkeypatch.setenv("SMOLLM2", str(tmp_path / "nowhere"))
    code, (line,), _ = served(part, tmp_path)
    assert code == serving.PARTLY
    assert "nowhere' names no checkpoint: set it to SmolLM2-135M's folder" in line
    monkeypatch.setenv("SMOLLM2", str(whole(tmp_path / "checkpoint")))
    code, said, rows = served(part, tmp_path)
    assert code == serving.DONE, said
    (numbers,) = part.table(rows).rows.values()
    assert all(0 < number < math.inf for number in numbers), numbers  # its weights are noise


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
    assert code == serving.DONE, said
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


@pytest.mark.slow
def test_flex_attention_of_torch(monkeypatch):
    monkeypatch.setattr(kernels, "python_with_torch", torch_python)
    size = kernels.Size(16, 16, 1, 2, 2)
    assert len(kernels.of_torch("table", size, False)) == 2


def test_memory_that_is_full_for_gradients_keeps_the_forward_pass(monkeypatch):
    def measured(path, spec, size, training):
        if training:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes.\nmore")
        return [2.0, 1.0, 3.0]

    monkeypatch.setattr(kernels, "of_jax", measured)
    row = kernels.measured("XLA, T5", kernels.Size(1024, 64, 1, 1))
    assert row["training"] == {"out_of_memory": "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."}
    teraflops = 2 * 1024**2 * 64 / 2e-3 / 1e12
    assert PARTS["attention"].table({"a": row}).rows == {"a": (2.0, 1.0, 3.0, teraflops, None, None, None, None)}


def test_every_part_says_whether_its_bits_repeat():
    """What is not said the command line sets, and cuDNN's gradients are slower then."""
    flag = "--xla_gpu_deterministic_ops="
    said = {name: part.variables["XLA_FLAGS"].removeprefix(flag) for name, part in PARTS.items()}
    timed = {name for name, value in said.items() if value == "false"}
    assert timed == {"attention", "steps", "long_steps", "replicas", "smollm2"}
    assert set(said.values()) == {"true", "false"}


def test_flex_attention_without_torch_is_left_out(monkeypatch):
    monkeypatch.setattr(kernels, "python_with_torch", lambda: None)
    with pytest.raises(LeftOutError, match="TORCH_PYTHON"):
        kernels.measured("FlexAttention, table", kernels.Size(16, 16, 1, 2, 1))


def test_one_case_that_fails_costs_no_other(tmp_path):
    def fails():
        raise RuntimeError("a kernel\nwith a long story")

    def full():
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes.")

    def lacks():
        raise LeftOutError("there is no wheel: carry one")

    def ends():
        raise SystemExit("a process ended")

    part = part_of(a=fails, b=full, c=lacks, d=ends, e=lambda: {"n": 5})
    code, said, rows = served(part, tmp_path)
    assert code == serving.PARTLY
    told = [re.sub(r"\d+\.\d s", "s", line) for line in said]
    assert told[0] == "own, a: s: RuntimeError: a kernel"
    assert told[2:] == [
        "own, c: s: there is no wheel: carry one",
        "own, d: s: SystemExit: a process ended",
        "own, e: s",
    ]
    assert rows["b"]["out_of_memory"].startswith("RESOURCE_EXHAUSTED")
    assert part.table({name: rows[name] for name in "be"}).rows == {"b": (None,), "e": (5,)}
    again = served(part_of(a=fails, b=fails, c=lambda: {"n": 3}, d=ends, e=fails), tmp_path)[2]
    assert (again["b"], again["c"]["n"], again["e"]["n"]) == (rows["b"], 3, 5)


def test_the_case_at_which_a_process_ended_is_tried_last(tmp_path):
    turns = []
    part = part_of(**{name: lambda name=name: turns.append(name) or {"n": 0} for name in "abc"})
    kept = record.new("own", True)
    record.write(tmp_path / "own.json", kept | {"rows": {"a": {"begun": True}}})
    assert served(part, tmp_path)[0] == serving.DONE
    assert turns == ["b", "c", "a"]


def test_it_stops_between_cases_when_it_is_asked_to(tmp_path):
    asked = []
    part = part_of(a=lambda: asked.append(15) or {"n": 1}, b=lambda: {"n": 2})
    setting = Setting(True, tmp_path, lambda: asked[0] if asked else None)
    assert serving.serve(part, tmp_path, setting, lambda line: None) == serving.PARTLY
    assert [*json.loads((tmp_path / "own.json").read_text())["rows"]] == ["a"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"code": "older"}, r"is of another version \(code 'older', and here '.*'\): move it away"),
        ({"miniature": False}, r"is of another version \(miniature False, and here True\)"),
        ({"environment": {"jax": "0.1"}}, r"is of another version \(jax '0.1', and here '.*'\)"),
        ({"format": 0}, r"is of format 0, and this version reads format 1: measure again"),
        ({"rows": []}, r"holds nothing that scripts/on_device wrote: remove it"),
    ],
)
def test_a_file_of_another_version_is_one_line(change, line, tmp_path):
    kept = record.new("own", True)
    kept |= change | {"environment": kept["environment"] | change.get("environment", {})}
    record.write(tmp_path / "own.json", kept)
    before, said = (tmp_path / "own.json").read_text(), []
    assert serving.serve(part_of(a=dict), tmp_path, Setting(True, tmp_path), said.append) == serving.REFUSED
    (told,) = said
    assert re.search(line, told)
    assert (tmp_path / "own.json").read_text() == before


def test_half_a_file_is_one_line(tmp_path):
    (tmp_path / "own.json").write_text('{"rows": {')
    with pytest.raises(ValueError, match=r"own.json is no whole JSON file: remove it"):
        record.begun(tmp_path / "own.json", record.new("own", True))


def test_a_missing_device_an_old_driver_and_an_unknown_chip_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device.smi() is None
    assert device.missing("cpu").startswith("jax computes on the CPU, and nvidia-smi finds no GPU")
    answers = ["NVIDIA H100 80GB HBM3", "470.57.02", *["1 MHz"] * (len(device.QUERIED) - 2)]
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{', '.join(answers)}'\n")
    program.chmod(0o755)
    assert device.smi()["driver_version"] == "470.57.02"
    assert device.missing("cpu").startswith("there is NVIDIA H100 80GB HBM3, and jax computes on the CPU: install jax[")
    monkeypatch.setattr(device, "cuda_of_plugin", lambda: "12")
    assert device.missing("gpu") == ("the driver 470.57.02 is older than 525, which CUDA 12 needs: install a newer one")
    monkeypatch.setattr(device, "smi", lambda: {"driver_version": "525.60.13"})
    assert device.missing("gpu") is None
    assert device.unknown("NVIDIA H100 80GB HBM3") is None
    assert device.unknown("NVIDIA L4").startswith("NVIDIA L4 is not in posenc_jax/runs/targets.toml")


def test_a_run_that_does_not_fit_is_left_out():
    run = run_of("t5", 1024)
    huge = dataclasses.replace(run, model=dataclasses.replace(run.model, d_model=12 * 4096, num_layers=100))
    with pytest.raises(LeftOutError, match="it does not fit: "):
        device.fits(huge)


def test_prices_and_limits(script, capsys):
    assert script.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["part", *PARTS, "all"]
    taken = {line.split()[0]: float(line.split()[2]) for line in lines[1:-1]}
    assert all(taken[name] <= MINUTES for name in PARTS if name != ACCELERATOR.name), taken
    half_an_hour = [name for number, name in enumerate(PARTS) if sum(list(taken.values())[: number + 1]) <= 30]
    assert half_an_hour[:7] == [*PARTS][:7]
    first = sum(list(taken.values())[:7])
    assert f"The first seven parts are priced at {first:.0f} minutes" in GUIDE.read_text()


def test_published_tables_fit():
    for name in TABLES:
        whole = importlib.import_module(f"experiments.tables.{name}.full").config
        part = fitting(whole)
        assert minutes(part) <= MINUTES < minutes(whole)
        assert part.baseline in {run.label for run in part.runs}
        assert len(part.runs) > 1
        assert {run.model for run in part.runs} <= {run.model for run in whole.runs}
    with pytest.raises(ValueError, match=r"takes \d+\.\d minutes for one seed of two cells, and 0.1 are to be spent"):
        fitting(whole, 0.1)


def test_the_commands_of_the_guide_are_understood(script):
    lines = re.findall(r"^scripts/on_device(.*?)(?:#.*)?$", GUIDE.read_text(), re.MULTILINE)
    understood = [script.parser().parse_args(shlex.split(line)) for line in lines]
    assert [options.list for options in understood] == [True, False, False]
    assert understood[1].download == Path("wheels")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--minutes", "0"], "--minutes 0.0: a part needs some, such as 8"),
        (["--download", "wheels"], "--download wheels is about the packages of --carry: add --carry"),
        (["--collect", "nowhere"], "--collect nowhere: there is no such folder"),
        (["nothing"], "invalid choice: 'nothing'"),
    ],
)
def test_bad_input_is_one_line(words, line, script, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        script.main(words)
    assert line in capsys.readouterr().err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_without_a_device_it_says_so_once(script, capfd, tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert script.main(["replicas", "demo", "--out", str(tmp_path / "out")]) == serving.NO_DEVICE
    lines = capfd.readouterr().out.splitlines()
    assert "jax computes on the CPU" in lines[1]
    assert not any("demo" in line for line in lines)


def test_a_part_that_takes_too_long_is_asked_to_end_and_then_made_to(script, monkeypatch):
    monkeypatch.setattr(script, "GRACE", 0.5)
    heeds = subprocess.Popen(["sleep", "100"])
    assert script.waited(heeds, 0.1) == -signal.SIGTERM
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(100)"
    deaf = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    deaf.stdout.readline()
    assert script.waited(deaf, 0.1) == -signal.SIGKILL
    deaf.stdout.close()


def test_what_is_carried_is_what_the_parts_need_and_is_locked():
    wanted, found = [carry.name(own) for own in carry.WANTED], set()
    while wanted:
        own = wanted.pop()
        if own in found or own in carry.IN_IMAGE:
            continue
        found.add(own)
        needs = map(Requirement, importlib.metadata.requires(own) or ())
        wanted += [carry.name(r.name) for r in needs if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert tuple(sorted(found)) == carry.CARRIED
    assert {line.partition("==")[0] for line in carry.pins()} == found
    assert "--python-version=3.12" in carry.command(Path("wheels"))


def test_too_many_wheels_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.whl").write_bytes(b"0" * 2_000_000)
    assert carry.said_of(tmp_path).startswith("1 wheels, 2.0 MB; there: python3 -m pip install --no-index --no-deps ")
    monkeypatch.setattr(carry, "MOST", 10**6)
    with pytest.raises(SystemExit, match=r"2.0 MB of wheels, more than 1 MB; the largest is a.whl"):
        carry.said_of(tmp_path)


def test_the_page_is_that_of_what_was_measured():
    found, problems = page.collected(page.MEASURED)
    assert not problems
    assert page.PAGE.read_text() == page.page(PARTS, found)


def test_the_page_has_what_was_sent_and_leaves_out_what_is_nothing(script, tmp_path, capsys, monkeypatch):
    sent = tmp_path / "sent" / "h100"
    sent.mkdir(parents=True)
    smi = {"driver_version": "580.1", "clocks.max.sm": "1980 MHz", "power.limit": "700 W"}
    row = {"ms": 2.0, "least": 1.0, "most": 3.0, "tokens_per_second": 5e5, "mfu": 0.4, "nvidia_smi": smi}
    rows = {
        "rope, 1024 tokens": row,
        "t5, 1024 tokens": {"failed": "ValueError: no"},
        "fox, 1024 tokens": {"begun": True},
    }
    kept = record.new("steps", False) | {"date": "2026-12-01", "rows": rows}
    record.write(sent / "steps.json", kept)
    record.write(sent / "small.json", kept | {"miniature": True})
    record.write(sent / "old.json", kept | {"format": 0})
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "README.md")
    assert script.main(["--collect", str(tmp_path / "sent")]) == 0
    out, err = capsys.readouterr()
    assert out == "1 files: README.md\n"
    assert "small.json is a miniature" in err
    assert "old.json is of format 0" in err
    text = (tmp_path / "README.md").read_text()
    assert "| rope, 1024 tokens | 2.00 | 1.00 | 3.00 | 500000 | 40.0% |" in text
    assert "- t5, 1024 tokens: ValueError: no" in text
    assert "driver 580.1, at most 1980 MHz and 700 W; jax" in text
    assert text.count("Nobody has measured this yet.") == len(PARTS) - 1
