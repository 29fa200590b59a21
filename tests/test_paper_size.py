"""The configs of paper size: priced for an accelerator, their programs lowered for one, and a step of each computed."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import jax
import numpy as np
import pytest
from compiling.programs import KERNELS, traced_for

from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.text import Classification, Translation
from posenc_jax.data.text.on_demand import Fed
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.targets import target
from posenc_jax.training.step import init_params, init_state, train_step

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ("base_translation", "base_summarization", "base_documents")
CELLS = ("sinusoidal", "learned", "relative", "rotary")
FULL = ("translation", "summarization", "classification")  # experiments, by their full.py


def cell(name, label):
    (found,) = [run for run in config(name).runs if run.label == label]
    return found


def config(name):
    path = ROOT / "experiments" / name / "full.py" if name in FULL else ROOT / "configs" / f"{name}.py"
    return load_config(str(path), Ablation, "ablate")


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(ROOT)


def small(run):
    """A step of two rows, all else as it is."""
    training = dataclasses.replace(run.training, batch_size=2)
    return dataclasses.replace(run, training=training)


def batch(run, rows=2):
    """What a step is fed, and the corpus that it is made of: rows as long as they may be, of drawn tokens."""
    task, rng = run.task, np.random.default_rng(0)
    ids = np.arange(rows, dtype=np.int32)[:, None]

    def drawn(length, size):
        return Ragged.of(rng.integers(5, size, (rows, length)).tolist())

    if isinstance(task, Classification):
        types = np.tile(np.repeat([1, 2, 3], [24, task.max_length - 48, 24]), rows).astype(np.int32)
        records = Records(drawn(task.max_length, task.vocab_size), types=types, labels=np.array([0, 8], np.int32))
    elif isinstance(task, Translation):
        records = Records(
            drawn(task.max_length + 1, task.vocab_size), targets=drawn(200 * task.row // 256, task.vocab_size)
        )
        ids = np.pad(ids, ((0, 0), (0, task.max_per_row - 1)), constant_values=-1)  # packed rows have room for more
    else:
        given = np.full(rows, task.max_length + 2, np.int32)
        records = Records(drawn(task.row, task.vocab_size), given=given)
    return (ids, {"train": records}) if task.data.in_memory else (Fed(ids, records), None)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_docstring_has_the_price_that_the_plan_gives(name):
    ablation = config(name)
    assert tuple(run.label for run in ablation.runs) == CELLS
    plans = [plan_of(run, target("h100"), 0.3) for run in ablation.runs]
    assert all(plan.shortage is None for plan in plans)
    text = " ".join((ROOT / "configs" / f"{name}.py").read_text().split())
    assert f"{plans[0].parameters / 1e6:.0f} million parameters" in text
    assert f"{plans[0].step.operations / 1e12:.1f} TFLOP a step" in text
    hours = sum(plan.seconds(phase) or 0.0 for plan in plans for phase in plan.work) / 3600
    of_eight = sum(plan_of(run, target("h100:8"), 0.3).hours for run in ablation.runs)
    assert f"{hours:.1f} hours of one H100 or {of_eight:.1f} of eight, at 30 %" in text


@pytest.mark.slow
@pytest.mark.parametrize("label", CELLS)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_step_is_lowered_for_cuda(name, label, with_cudnn):
    run = small(cell(name, label))
    state = jax.eval_shape(lambda: init_state(run, init_params(run, 0), 0, 1e-3))
    with traced_for("cuda"):
        kernels = [jax.export.DisabledSafetyCheck.custom_call(kernel) for kernel in KERNELS]
        step = jax.jit(lambda state, fed, data: train_step(run, None, state, fed, data))
        jax.export.export(step, platforms=["cuda"], disabled_checks=kernels)(state, *batch(run))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "label"), [(name, label) for name in CONFIGS for label in CELLS] + [(name, None) for name in FULL]
)
def test_a_step_of_two_rows_is_computed_here(name, label):
    run = small(cell(name, label) if label else config(name).runs[0])
    state = init_state(run, init_params(run, 0), 0, run.learning_rates[0])
    new, metrics = jax.jit(lambda state, fed, data: train_step(run, None, state, fed, data))(state, *batch(run))
    loss = float(metrics["sums"]["loss_sum"] / metrics["sums"]["weight_sum"])
    assert int(new["diverged_at"]) == -1
    assert 0.5 * math.log(run.task.num_classes) < loss < 2 * math.log(run.task.num_classes)
    changed = jax.tree.map(lambda a, b: bool((a != b).any()), new["params"], state["params"])
    assert np.mean(jax.tree.leaves(changed)) > 0.9
