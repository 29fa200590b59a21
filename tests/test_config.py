"""Configs: what comes back from JSON, what a hash stands for, and what is refused before anything starts."""

from __future__ import annotations

import dataclasses
import json
import typing

import pytest
from registry_slots import slots_of_tasks

from posenc_jax.config import (
    Ablation,
    Evaluation,
    Execution,
    Optimizer,
    Published,
    Run,
    Training,
    config_hash,
    difference,
    from_json,
    identity,
    to_json,
    without_effect,
)
from posenc_jax.data.tasks import TASKS as GENERATED
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.data.tasks.scan import Scan
from posenc_jax.data.text import TEXT_TASKS, Classification
from posenc_jax.encodings import (
    Learned,
    Randomized,
    RoPE,
    Sinusoidal,
    elements,
)
from posenc_jax.models.config import Transformer
from posenc_jax.models.decoding_config import Beam

TASKS = {**GENERATED, **TEXT_TASKS}
COPYING = Copying(kind="cmc", max_length=4, num_symbols=5)


def options() -> dict[str, typing.Any]:
    """Parts of models that are out there."""
    return dict(
        norm_epsilon=1e-6,
        norm_bias=False,
        norm="sandwich",
        norm_type="rms_offset",
        query_key_norm="head",
        embedding_norm=True,
        attention_output_bias=False,
        output_bias=False,
        attention_scale=0.5,
        attention_cap=50.0,
        logit_scale=0.25,
        logit_cap=30.0,
        output_transform=True,
    )


def run_of_everything() -> Run:
    """No field at its default."""
    return Run(
        task=Scan(split="length", model="encoder_decoder"),
        model=Transformer(d_model=24, num_layers=3, num_heads=2, dropout=0.1, dtype="bfloat16", **options()),
        posenc=((RoPE(base=5e5),), (), (Randomized(512), RoPE())),
        posenc_encoder=(Learned(64, beyond="clamp"),),
        posenc_cross=(RoPE(),),
        optimizer=Optimizer(schedule="linear", warmup_steps=3, weight_decay=0.1, clip_norm=None),
        training=Training(steps=20, batch_size=8, microbatches=2, steps_per_call=10, log_every=10, checkpoint_every=10),
        evaluation=Evaluation(lengths=(1, 8, 48), num_examples=6, draws=3, decoding=Beam(size=2)),
        execution=Execution(mode="vmap", group_size=4, data=2, model=2),
        seeds=(3, 1),
        learning_rates=(1e-3, 3e-4),
        init_from="runs/before",
        label="a label",
        table="a table",
        note="a note",
    )


def as_text(run) -> str:
    return json.dumps(to_json(run))


@pytest.mark.parametrize("task", TASKS)
def test_a_run_of_every_task_comes_back(task):
    run = Run(task=TASKS[task]())
    assert from_json(json.loads(as_text(run))) == run


@pytest.mark.parametrize("name", slots_of_tasks())
def test_a_run_of_every_encoding_comes_back(name):
    run = run_with(slots_of_tasks()[name])
    assert from_json(json.loads(as_text(run))) == run


def test_a_run_of_everything_and_an_ablation_come_back():
    run = run_of_everything()
    for field in dataclasses.fields(Run):
        assert getattr(run, field.name) != getattr(Run(task=COPYING), field.name), f"{field.name} is at its default"
    published = Published("cmc", "rope", "a paper", metric="accuracy", lengths="9", value=0.5, direction="higher")
    plain = Run(task=COPYING, evaluation=Evaluation(lengths=(8,)))
    ablation = Ablation("name", (run, plain), "a label", published=(published,), size_note="small")
    assert from_json(json.loads(as_text(run))) == run
    assert from_json(json.loads(as_text(ablation))) == ablation


def test_the_json_holds_every_field():
    data = to_json(run_of_everything())
    assert data["type"] == "run"
    assert data.keys() - {"type"} == {field.name for field in dataclasses.fields(Run)}
    assert data["posenc_encoder"][0]["init_scale"] == 0.02, "a default is written too"


NO_PART = {
    "seeds": (7,),
    "learning_rates": (0.5,),
    "label": "another",
    "table": "another",
    "note": "another",
    "execution": Execution(),
}
"""Fields that say nothing of what a replica computes, with another value."""


def paths():
    """Every field of a run and of its parts."""
    for field, value in to_json(run_of_everything()).items():
        if field != "type":
            yield (field,)
            yield from ((field, inner) for inner in value if isinstance(value, dict) and inner != "type")


@pytest.mark.parametrize("path", list(paths()), ids=".".join)
def test_every_field_is_part_of_the_hash_but_names_replicas_and_execution(path):
    base = run_of_everything()
    data, changed = to_json(base), to_json(base)
    *above, name = path
    (changed[above[0]] if above else changed)[name] = "changed"
    lines = difference(identity(data), identity(changed))
    if path[0] in NO_PART:
        assert identity(changed) == identity(data)
        assert lines == []
        if not above:
            assert config_hash(dataclasses.replace(base, **{name: NO_PART[name]})) == config_hash(base)
        return
    assert json.dumps(identity(changed), sort_keys=True) != json.dumps(identity(data), sort_keys=True)
    assert len(lines) == 1
    assert lines[0].startswith(f"{'.'.join(path)}: ")


def test_a_difference_names_path_and_both_values():
    old, new = Run(task=COPYING, posenc=(RoPE(),)), Run(task=COPYING, posenc=(RoPE(base=5e5),))
    assert difference(identity(to_json(old)), identity(to_json(new))) == ["posenc[0].base: 10000.0 -> 500000.0"]
    longer = dataclasses.replace(old, posenc=(RoPE(), Sinusoidal()))
    (line,) = difference(identity(to_json(old)), identity(to_json(longer)))
    assert line.startswith("posenc: (rope(base=10000.0")
    assert " -> (rope(base=10000.0" in line
    assert ", sinusoidal(base=10000.0" in line
    other = dataclasses.replace(old, training=Training(steps=500))
    assert difference(to_json(old), to_json(other)) == ["training.steps: 1000 -> 500"]
    other = dataclasses.replace(old, task=Copying(kind="mc"), table="cmc")
    assert difference(to_json(old), to_json(other))[0].startswith("task.kind: 'cmc' -> 'mc'")


def samples() -> list[Run]:
    runs = [Run(task=task()) for task in TASKS.values()]
    slots = dict.fromkeys(slots_of_tasks().values())
    return [*runs, *map(run_with, slots), run_of_everything()]


def run_with(slot) -> Run:
    needs_types = any(element.needs_token_types for element in elements(slot))
    return Run(task=Classification() if needs_types else COPYING, model=Transformer(head_dim=8), posenc=slot)


def base(**fields) -> Run:
    return Run(**{"task": COPYING} | fields)


@pytest.mark.parametrize(
    ("optimizer", "training", "said"),
    [
        ({"warmup_steps": 20}, {"log_every": 20}, []),
        ({"warmup_steps": 21}, {}, ["optimizer.warmup_steps = 21 is more than training.steps = 20: the learning rate"]),
        ({}, {"validate_every": 40}, ["training.validate_every = 40 is more than training.steps = 20: it never comes"]),
        ({}, {"checkpoint_every": 40}, ["training.checkpoint_every = 40 is more than"]),
        (
            {"schedule": "constant", "final_fraction": 0.5},
            {"log_every": 40},
            [
                "training.log_every = 40 is more than",
                "final_fraction = 0.5 is of 'linear' and 'cosine', and",
            ],
        ),
    ],
)
def test_settings_without_an_effect(optimizer, training, said):
    run = Run(task=Copying(), optimizer=Optimizer(**optimizer), training=Training(steps=20, **training))
    found = without_effect([run, dataclasses.replace(run, label="another")])
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found))


def test_names_of_directories():
    name = base(posenc=(Randomized(64), RoPE()), table="A table / of mine").directory_name
    assert name.startswith("a-table-of-mine-randomized-max-position-")
    assert len(name) <= 49
    other = base(posenc=(Randomized(64), RoPE()), table="A table / of mine", seeds=(9,), learning_rates=(0.5,))
    assert other.directory_name == name
