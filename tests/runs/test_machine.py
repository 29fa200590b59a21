"""How much memory there is, and what is said of a run that takes more."""

import dataclasses
from pathlib import Path

import pytest

from posenc_jax.config import Evaluation, Execution, Run, Training
from posenc_jax.data.tasks import Copying
from posenc_jax.runs import preflight, targets
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.layout import Devices

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
