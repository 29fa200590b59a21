"""Training, evaluation and decoding of every encoding lower for accelerators that are not here."""

from __future__ import annotations

import dataclasses

import jax
import pytest
from compiling.programs import KERNELS, compiled, functions, lowered_for, traced_for
from registry_slots import TRAINED

from posenc_jax import Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import Copying, Scan, TokenAt
from posenc_jax.data.text import Translation
from posenc_jax.encodings import elements, is_pattern, parse
from posenc_jax.encodings.interface.base import PositionalEncoding
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.state import abstract_state
from posenc_jax.runs.targets import target

MODEL = Transformer(d_model=16, num_layers=1, num_heads=2, mlp_dim=16)
SMALL = dict(
    training=Training(steps=1, steps_per_call=1, log_every=1, batch_size=2),
    evaluation=Evaluation(lengths=(4,), num_examples=2),
    seeds=(0,),
)
# Each acts at hooks at which those before it do not.
EACH_HOOK = (
    *("sinusoidal", "randomized|rope", "t5", "shaw", "fox", "path", "kerple|dape", "stick_breaking"),
    *("log_scaling(training_length=64)|rerope(window=4)", "rope|rotated_values"),
)
KINDS = {
    "encoder": Run(task=TokenAt(length=4), model=MODEL, posenc=parse("learned"), **SMALL),
    "encoder-decoder": Run(task=Scan(model="encoder_decoder"), model=MODEL, posenc=parse("rope"), **SMALL),
}
PLATFORMS = ("cuda", "tpu")


def row(text: str) -> Run:
    """At a length from which on attention is fused where it can be."""
    slot = parse(text)
    model = dataclasses.replace(MODEL, num_layers=len(slot) if is_pattern(slot) else 1)
    return Run(task=Copying(kind="cmc", max_length=64, num_symbols=12), model=model, posenc=slot, **SMALL)


def exported(run: Run, platform: str) -> str:
    """The programs of one replica, together, lowered for "cuda" or "tpu" without a compiler for it, as text."""
    programs = functions(run)
    state = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), abstract_state(run, 1))
    with traced_for(platform):
        together = jax.jit(lambda state: [program(state) for program in programs.values()])
        kernels = [jax.export.DisabledSafetyCheck.custom_call(name) for name in KERNELS]
        return str(jax.export.export(together, platforms=[platform], disabled_checks=kernels)(state).mlir_module())


def lowers(run: Run, platform: str) -> None:
    text = exported(run, platform)
    assert text.startswith("#loc") or "module @" in text
    assert "stablehlo.dot_general" in text
    assert "stablehlo.while" in text


def test_the_representatives_act_at_every_hook():
    hooks = set().union(*(element.acts_on for text in EACH_HOOK for element in elements(parse(text))))
    everything = set().union(*(element.acts_on for text in TRAINED for element in elements(parse(text))))
    assert hooks == everything
    assert set(PositionalEncoding.EXCLUSIVE) <= hooks


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("text", EACH_HOOK)
def test_a_row_lowers(text, platform):
    lowers(row(text), platform)


@pytest.mark.slow
@pytest.mark.parametrize("text", [text for text in TRAINED if text not in EACH_HOOK])
def test_every_encoding_lowers(text):
    lowers(row(text), "cuda")


def test_in_bfloat16_cudnn_is_what_lowers(with_cudnn):
    run = row("rope")
    text = exported(dataclasses.replace(run, model=dataclasses.replace(run.model, dtype="bfloat16")), "cuda")
    assert "__cudnn$fmhaSoftmaxBackward" in text


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_model_lowers(kind, platform):
    lowers(KINDS[kind], platform)


def test_a_chip_without_its_compiler_is_refused_in_one_line(monkeypatch):
    from jax.experimental import topologies

    def absent(*_, **__):
        raise RuntimeError("no such\nplugin")

    monkeypatch.setattr(topologies, "get_topology_desc", absent)
    with pytest.raises(RefusedError) as error:
        lowered_for(row("rope"), target("h100"), "train")
    assert str(error.value) == (
        "h100 cannot be compiled for here (no such plugin): install jax[cuda12], or use scripts/compile_check, which "
        "does"
    )


def test_too_few_devices_are_refused_in_one_line():
    with pytest.raises(RefusedError, match=r"^h100: execution.data x execution.model = 2 devices are asked for, 1 are"):
        lowered_for(dataclasses.replace(row("rope"), execution=Execution("vmap", model=2)), target("h100"), "train")


@pytest.mark.parametrize(("kind", "capability"), [("NVIDIA A100-SXM4-80GB", "8.0"), ("", "8.0"), ("TPU v5e", None)])
def test_a_described_device_has_the_instructions_of_its_chip(kind, capability):
    """Of every device that does not say so, Mosaic GPU takes those of an H100."""
    with traced_for("tpu" if "TPU" in kind else "cuda", kind):
        assert jax.sharding.get_abstract_mesh().abstract_device.compute_capability == capability
    with traced_for("cuda", "NVIDIA H100 80GB HBM3"):
        assert jax.sharding.get_abstract_mesh().abstract_device.compute_capability == "9.0"


def test_text_needs_its_corpus():
    with pytest.raises(RefusedError, match="programs of a task on text are compiled with its corpus only"):
        functions(Run(task=Translation()))


def test_replicas_lie_as_the_plan_has_them(monkeypatch):
    """On the CPU that is here, under the name of a chip: two replicas on one device."""
    from compiling import programs

    monkeypatch.setattr(programs, "devices_of", lambda target: jax.devices()[:1])
    monkeypatch.setattr(programs, "traced_for", lambda platform, kind="": traced_for("cpu"))
    run = Run(
        task=Copying(kind="cmc", max_length=3, num_symbols=12),
        model=MODEL,
        posenc=parse("alibi"),
        **{**SMALL, "seeds": (0, 1)},
        execution=Execution("vmap"),
    )
    found = compiled(lowered_for(run, target("h100"), "train"))
    assert found.temporaries > 0
    assert found.arguments < found.peak
    assert found.seconds > 0
    alone = compiled(lowered_for(dataclasses.replace(run, seeds=(0,)), target("h100"), "train"))
    assert found.arguments == pytest.approx(2 * alone.arguments, rel=0.01)
