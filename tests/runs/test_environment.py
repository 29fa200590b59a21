"""What is recorded of code and machine, and when bits may be called the same."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from trained_runs import CONFIG, Notes, copy_of_the_run

import posenc_jax
from posenc_jax.config import Evaluation, Execution, Run, Training
from posenc_jax.data.tasks import Copying
from posenc_jax.environments import compared
from posenc_jax.runs import cell as cell_module
from posenc_jax.runs import environment as environment_module
from posenc_jax.runs import preflight, targets
from posenc_jax.runs.cell import run
from posenc_jax.runs.environment import code, environment, threads
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.layout import Devices

PACKAGE = Path(posenc_jax.__file__).parent
SHOW = "import json; from posenc_jax.runs.environment import environment; print(json.dumps(environment()))"


def shown(path, *flags, **variables):
    found = subprocess.run(
        [sys.executable, *flags, "-c", SHOW],
        env={**os.environ, "PYTHONPATH": str(path), **variables},
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def git(folder, *arguments):
    names = ("-c", "user.email=a@b", "-c", "user.name=x")
    found = subprocess.run(["git", "-C", str(folder), *names, *arguments], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def test_the_commit_is_of_this_project_and_never_of_one_that_encloses_it(tmp_path):
    site = tmp_path / "project" / ".venv" / "lib"
    shutil.copytree(PACKAGE, site / "posenc_jax", ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "project")
    git(tmp_path / "project", "commit", "--allow-empty", "-m", "of somebody else")
    record = shown(site)
    assert (record["commit"], record["dirty"]) == (None, None)
    assert record["source"] == code()["source"]
    assert record["version"] == posenc_jax.__version__

    clone = tmp_path / "clone"
    shutil.copytree(site / "posenc_jax", clone / "posenc_jax")
    git(tmp_path, "init", "clone")
    git(clone, "add", ".")
    git(clone, "commit", "-m", "all of it")
    record = shown(clone)
    assert (record["commit"], record["dirty"]) == (git(clone, "rev-parse", "HEAD"), False)
    for name, same in (("results/report/page.py", True), ("files/atomic.py", False)):
        with (clone / "posenc_jax" / name).open("a") as file:
            file.write("# changed\n")
        changed = shown(clone)
        assert (changed["commit"], changed["dirty"]) == (record["commit"], True)
        assert (changed["source"] == record["source"]) == same, "what computes no result changes no bits"


def test_the_digest_is_of_what_results_are_computed_by():
    show = "import sys; import posenc_jax.runs.cell; print(*(n for n in sys.modules if n.startswith('posenc_jax.')))"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert {"attention", "encodings", "runs"} <= rooms
    assert not rooms & {*environment_module._ELSEWHERE}


def test_settings_of_jax_that_change_bits_are_differences(tmp_path):
    here = {**environment(), "mode": "map"}
    flags = {"JAX_ENABLE_X64": "1", "JAX_THREEFRY_PARTITIONABLE": "0", "JAX_DEFAULT_MATMUL_PRECISION": "highest"}
    flags |= {"JAX_RANDOM_SEED_OFFSET": "1", "ONEDNN_MAX_CPU_ISA": "SSE41"}
    (tmp_path / "flags").write_text("--xla_cpu_enable_fast_math=true")
    there = shown(PACKAGE.parent, **flags, JAX_DEFAULT_PRNG_IMPL="rbg", XLA_FLAGS=f"{tmp_path}/flags") | {"mode": "map"}
    found = compared(here, there)
    names = {line.partition(":")[0] for line in found.draws}
    assert names == {"x64", "threefry_partitionable", "prng", "jax_random_seed_offset"}
    names = {line.partition(":")[0] for line in found.rounding}
    assert names - {"device_count"} == {"matmul_precision", "xla_flags", "ONEDNN_MAX_CPU_ISA"}
    assert there["xla_flags"] == "--xla_cpu_enable_fast_math=true", "of a file its text decides"
    assert found.unknown == ()


def test_the_features_of_a_processor_are_those_that_code_is_chosen_by(monkeypatch, tmp_path):
    monkeypatch.setattr(environment_module, "_CPUINFO", tmp_path / "cpuinfo")

    def features(flags):
        text = f"processor : 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: {flags}\n\nprocessor : 1\nflags : none\n"
        (tmp_path / "cpuinfo").write_text(text)
        environment_module._cpuinfo.cache_clear()
        found = environment()
        assert found["cpu"] == "Some CPU @ 2.0GHz"
        return found["cpu_features"]

    known = features("fpu avx avx2 fma constant_tsc")
    assert features("fma avx2 nonstop_tsc avx fpu") == known
    assert features("fpu avx avx2 fma avx512f") != known
    assert features("fpu") is None
    environment_module._cpuinfo.cache_clear()


def test_threads_as_asked_for(monkeypatch):
    monkeypatch.setenv("NPROC", "3")
    assert threads() == 3
    monkeypatch.setenv("NPROC", "")  # as if unset, as XLA reads it
    assert threads() >= 1
    for odd in ("two", "0", "-1", "1.0", "100000", "99999999999999999999", "\u0663"):
        monkeypatch.setenv("NPROC", odd)
        with pytest.raises(RefusedError, match=r"NPROC = .* must be a number of threads, from 1 to 1024"):
            threads()


@pytest.mark.slow
def test_new_seeds_under_other_code_are_noted_and_not_called_exact(tmp_path, monkeypatch):
    directory = copy_of_the_run(tmp_path / "run")
    before = (directory / "group-000" / "result.json").read_bytes()
    other = {**cell_module.environment(), "source": "f" * 64, "commit": "e" * 40}
    monkeypatch.setattr(cell_module, "environment", lambda: other)
    reporter = Notes()
    results = run(dataclasses.replace(CONFIG, seeds=(0, 1, 2)), directory, reporter=reporter)
    assert [result["bit_exact"] for result in results] == [True, False]
    (note,) = [text for text in reporter.notes if "elsewhere" in text]
    assert note.startswith("group-000, beside group-001, began elsewhere, its result will be marked bit_exact=false")
    assert "source: " in note
    assert (directory / "group-000" / "result.json").read_bytes() == before


def test_the_libraries_of_an_accelerator_decide_bits_and_a_cpu_has_none(monkeypatch):
    """Another cuDNN has other kernels. Records of CPUs stay equal to those of before."""
    assert environment()["device_software"] is None
    versions = {"nvidia-cudnn-cu12": "9.1", "jax-cuda12-plugin": "0.10.2"}

    def version(name):
        if name not in versions:
            raise environment_module.importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(environment_module.importlib.metadata, "version", version)
    client = types.SimpleNamespace(platform_version="PJRT C API\ncuda 12090")
    device = types.SimpleNamespace(platform="gpu", client=client)
    before = environment_module._device_software(device)
    assert before == {"runtime": "PJRT C API cuda 12090", **versions}
    versions["nvidia-cudnn-cu12"] = "9.2"
    after = environment_module._device_software(device)
    now = environment()
    assert compared(now | {"device_software": before}, now | {"device_software": after}).rounding
    assert not compared(now, {name: value for name, value in now.items() if name != "device_software"}).lines


# How much memory there is, and what is said of a run that takes more.


RUN = Run(
    task=Copying(),
    training=Training(batch_size=64),
    evaluation=Evaluation(lengths=(20, 40), memory_budget_mb=2),
    execution=Execution(mode="map"),
    seeds=(0,),
)


def groups(folder: Path, files: dict[str, str], of_process: str) -> list[int]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "of_process").write_text(of_process)
    return targets._limits(folder, folder / "of_process")


def test_limits_of_control_groups(tmp_path):
    of_process = "8:pids:/box\n4:memory:/box/inner\n0::/slice/box\n"
    files = {
        "memory/box/memory.limit_in_bytes": "3000\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "slice/box/memory.max": "max\n",
        "slice/memory.max": "4000\n",
        "pids/box/memory.max": "1\n",
    }
    assert sorted(groups(tmp_path, files, of_process)) == [3000, 4000, 9223372036854771712]


def test_the_root_is_what_a_container_sees(tmp_path):
    assert groups(tmp_path, {"memory.max": "5000\n"}, "0::/not/seen/here\n") == [5000]
    assert groups(tmp_path, {}, "0::/../../etc\n") == [5000]


def test_no_control_groups(tmp_path):
    assert targets._limits(tmp_path, tmp_path / "absent") == []
    assert 2**27 < targets.host_memory() < 2**50
    assert targets.device_memory() is None


def test_a_run_is_refused_where_memory_is_short():
    preflight.check_memory(RUN)
    large = dataclasses.replace(RUN, training=Training(batch_size=10**9))
    assert preflight.shortage(large, Devices(1, "cpu", None)) is None, "nobody can tell"
    line = preflight.shortage(RUN, Devices(1, "cpu", 20_000_000))
    assert line.startswith("rsc nope takes about ")
    assert line.endswith(", and this machine has 20 MB: lower training.batch_size or the lengths of the task")
    fitting = dataclasses.replace(RUN, training=Training(batch_size=8))
    assert preflight.shortage(fitting, Devices(1, "cpu", 20_000_000)) is None
    assert preflight.shortage(RUN, Devices(1, "cpu", 20_000_000), trained=True) is None, "to measure it takes less"


def test_an_accelerator_has_a_memory_of_its_own(monkeypatch):
    monkeypatch.setattr(preflight, "devices_with_memory", lambda: Devices(1, "gpu", 1_000_000))
    with pytest.raises(RefusedError, match="its accelerator has 1 MB"):
        preflight.check_memory(RUN)
    assert "and this machine has 1 kB" in preflight.shortage(RUN, Devices(1, "gpu", 10**12), host=1000)


@pytest.mark.parametrize(
    ("count", "text"), [(999, "0.999 kB"), (1000, "1 kB"), (12_345_678, "12.3 MB"), (10**24, "1e+06 EB")]
)
def test_sizes_as_people_read_them(count, text):
    assert targets.bytes_in_words(count) == text
