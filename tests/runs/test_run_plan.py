"""The plan of every config, and what it says of devices that are not here."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path

import jax
import pytest
from test_configs import CONFIGS

from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation, Evaluation, Execution, Run, Training
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import parse
from posenc_jax.models.config import Transformer
from posenc_jax.runs import targets
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.plan import in_record, plan_of
from posenc_jax.runs.targets import chips, target, target_here
from posenc_jax.training.operations import of_length, of_step, of_validation

RUN = Run(
    task=Copying(max_length=31),
    model=Transformer(d_model=32, num_layers=1),
    training=Training(
        steps=100, batch_size=16, validate_every=30, log_every=10, checkpoint_every=40, steps_per_call=10
    ),
    evaluation=Evaluation(lengths=(31, 62), num_examples=8),
    seeds=(0, 1, 2),
    learning_rates=(1e-3, 3e-3),
)


# Of a paper's size, which takes what it takes; all others take less than a day.
PAPER_SIZE, FULL = ("configs/base_", "experiments/tables/"), ("full.py", "_translation.py", "_summarization.py")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow) if path.startswith("experiments/") else path for path in CONFIGS],
)
def test_every_config_is_planned_and_fits_its_machine(path):
    config = load_config(path, Run | Ablation, "plan")
    runs = getattr(config, "runs", [config])
    for name in ("h100", "v5e:2x2"):
        for run in runs:
            plan = plan_of(run, target(name))
            assert plan.shortage is None or name == "v5e:2x2", plan.shortage
            assert 0 < plan.hours < (1000 if path.startswith(PAPER_SIZE) and path.endswith(FULL) else 24)
            assert plan.work["train"].operations == run.training.steps * of_step(run).operations
            assert (plan.work["decode"].operations > 0) == (run.evaluation.decoded_examples > 0)
            json.dumps(in_record(plan))


def test_what_does_not_fit_is_said_with_what_to_lower():
    config = load_config("experiments/translation/full.py", Ablation, "plan")
    (shaw,) = (run for run in config.runs if run.label == "shaw")

    def batches(rows):
        return dataclasses.replace(shaw, training=dataclasses.replace(shaw.training, batch_size=rows, microbatches=1))

    line = plan_of(batches(1024), target("v5e")).shortage
    assert line.startswith("help en-de shaw takes about ")
    assert "and its accelerator has 17.2 GB: lower training.batch_size" in line
    assert plan_of(batches(16), target("v5e")).shortage is None


def test_the_way_of_attention_is_named_and_its_memory_counted():
    """In bfloat16 cuDNN on a GPU and the kernel on a TPU; of what acts on weights arrays; on a CPU blocks."""
    long = dataclasses.replace(RUN, task=Copying(max_length=511), evaluation=Evaluation(lengths=(511,), num_examples=8))
    long = dataclasses.replace(long, model=dataclasses.replace(RUN.model, dtype="bfloat16"), posenc=parse("rope"))
    cope = dataclasses.replace(long, posenc=parse("cope"), label="")
    assert plan_of(long, target("h100")).attention == ("cudnn: fused; no bias",)
    assert plan_of(long, target("v5e")).attention == ("kernel: fused; no bias",)
    (way,) = plan_of(cope, target("h100")).attention
    assert way.startswith(("dense: ", "blockwise: "))
    assert plan_of(long, target_here()).attention == ("blockwise: the fastest on a CPU for 1024 keys",)
    assert plan_of(long, target("h100")).memory.attention == 0 < plan_of(long, target_here()).memory.attention
    asked = dataclasses.replace(long, model=dataclasses.replace(long.model, attention="dense"))
    assert plan_of(asked, target("h100")).attention == ("dense: asked for",)


def test_phases_are_counted_as_they_are_run():
    """Validations after 30, 60, 90 and 100 steps."""
    plan = plan_of(RUN, target("h100"))
    assert plan.work["validate"] == of_validation(RUN) * 4
    assert plan.work["evaluate"] == of_length(RUN, 31, 6) + of_length(RUN, 62, 6)
    assert plan.work["decode"].operations == 0
    at_the_end = dataclasses.replace(RUN, training=Training(steps=100, batch_size=16))
    assert plan_of(at_the_end, target("h100")).work["validate"] == of_validation(at_the_end)


class Device:
    """An accelerator as JAX shows it."""

    platform = "gpu"

    def __init__(self, kind: str) -> None:
        self.device_kind = kind

    def memory_stats(self):
        return {"bytes_limit": 70 * 10**9}


@pytest.mark.parametrize(("kind", "peak"), [("NVIDIA H100 80GB HBM3", 67e12), ("Brand X", None)])
def test_an_accelerator_that_is_here_is_known_by_its_kind(monkeypatch, kind, peak):
    monkeypatch.setattr(jax, "devices", lambda: [Device(kind)] * 2)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    here = target_here()
    assert (here.count, here.devices.memory, here.devices.on_cpu) == (2, 70 * 10**9, False)
    plan = plan_of(RUN, here)
    assert plan.peak == peak
    assert (plan.hours is None) == (peak is None)


def test_every_chip_has_its_facts():
    text = (Path(targets.__file__).parent / "targets.toml").read_text()
    assert set(chips()) == set(tomllib.loads(text)) >= {"h100", "v5e", "v6e"}
    kinds = [kind for chip in chips().values() for kind in chip.device_kinds]
    assert len(set(kinds)) == len(kinds) > 0
    for chip in chips().values():
        assert set(chip.peak) == {"float32", "bfloat16"}
        assert chip.peak["float32"] < chip.peak["bfloat16"]
        assert 2**34 <= chip.memory < 2**38
        assert bool(chip.hosts) == (chip.platform == "tpu") == (chip.per_host == 0) == (not chip.compiler)


def test_targets_by_name():
    assert (target("h100").count, target(" H100:8 ").count) == (1, 8)
    assert (target("h100").name, target("h100:8").name) == ("h100", "h100:8")
    found = target("v6e:4x4")
    assert (found.name, found.count, found.hosts) == ("v6e:4x4", 16, 4)
    assert target("v5p").count == 4


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("h10", "there is no target 'h10'; did you mean 'h100'? Known: a100, h100, h200, v5e, v5p, v6e"),
        ("", "there is no target ''. Known: a100, h100, h200, v5e, v5p, v6e"),
        ("h100:9", "target 'h100:9': a machine has 1 to 8 h100: say h100, or h100:2 to h100:8"),
        ("v5p:2x2", "target 'v5p:2x2': v5p does not come so; it comes as v5p:2x2x1, v5p:2x2x2, v5p:2x2x4, v5p:2x4x4, "),
    ],
)
def test_a_target_that_does_not_exist(text, line):
    with pytest.raises(RefusedError) as error:
        target(text)
    assert str(error.value).startswith(line)


def test_a_mesh_that_the_target_has_not():
    line = r"^h100:4: execution.data x execution.model = 8 devices are asked for, 4 are there: "
    with pytest.raises(RefusedError, match=line):
        plan_of(dataclasses.replace(RUN, execution=Execution(data=8)), target("h100:4"))
