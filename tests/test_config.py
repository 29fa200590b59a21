"""Configs: what comes back from JSON, what a hash stands for, and what is refused before anything starts."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
import typing

import pytest
from registry_slots import slots_of_registry

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
)
from posenc_jax.config.reading import KNOWN
from posenc_jax.data.tasks import TASKS as GENERATED
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.data.tasks.scan import Scan
from posenc_jax.data.text import TEXT_TASKS, Classification, Data, LanguageModel, Translation
from posenc_jax.encodings import ENCODINGS, Learned, Randomized, RoPE, Sinusoidal, WithinSection, elements
from posenc_jax.encodings.structure import OwnSection
from posenc_jax.encodings.value import field_types
from posenc_jax.models.config import Transformer
from posenc_jax.models.decoding_config import Beam, Sampling
from posenc_jax.statistics import CLAIM_SEEDS

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


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_run_of_every_encoding_comes_back(name):
    run = run_with(slots_of_registry()[name])
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


PROGRAM = """
import json, sys
sys.path.insert(0, "tests")
import test_config as t
from jax._src import xla_bridge

hashes = [t.config_hash(run) for run in t.samples()]
messages = []
for make, _ in t.REFUSED:
    try:
        make()
    except ValueError as error:
        messages.append(str(error))
print(json.dumps([hashes, messages, xla_bridge.backends_are_initialized(), [r.directory_name for r in t.samples()]]))
"""


def samples() -> list[Run]:
    runs = [Run(task=task()) for task in TASKS.values()]
    slots = dict.fromkeys(slots_of_registry().values())
    return [*runs, *map(run_with, slots), run_of_everything()]


def run_with(slot) -> Run:
    needs_types = any(element.needs_token_types for element in elements(slot))
    return Run(task=Classification() if needs_types else COPYING, model=Transformer(head_dim=8), posenc=slot)


def base(**fields) -> Run:
    return Run(**{"task": COPYING} | fields)


def measured(label, **task) -> Run:
    return base(task=dataclasses.replace(COPYING, **task), label=label, evaluation=Evaluation(lengths=(3,)))


# What is refused, and words of the message: the value, the rule, the way out.
REFUSED = [
    (
        lambda: Training(batch_size=10, microbatches=4),
        ["microbatches = 4", "batch_size = 10", "parts of a batch are equal"],
    ),
    (lambda: Training(label_smoothing=1.0), ["label_smoothing = 1.0", "from 0 to below 1"]),
    (lambda: Training(keep_every=10), ["keep_every = 10", "a multiple of training.checkpoint_every = 0"]),
    (lambda: Training(keep_every=10, checkpoint_every=20), ["keep_every = 10", "multiple", "checkpoint_every = 20"]),
    (lambda: Training(averaged_checkpoints=5), ["averaged_checkpoints = 5", "checkpoint_every = 0", "to a divisor"]),
    (
        lambda: Training(averaged_checkpoints=5, checkpoint_every=250),
        ["averaged_checkpoints = 5 is more than the 4 checkpoints", "lower one of them"],
    ),
    (lambda: Optimizer(schedule="cosin"), ["schedule", "cosin", "cosine"]),
    (lambda: Optimizer(schedule="inverse_sqrt"), ["inverse_sqrt", "warmup_steps to at least 1"]),
    (lambda: Optimizer(b1=1.0), ["optimizer.b1 = 1.0", "below 1"]),
    (lambda: Optimizer(b2=-0.1), ["optimizer.b2 = -0.1", "at least 0"]),
    (lambda: Evaluation(lengths=(4, 2)), ["out of order", "2 comes after 4", "ascending"]),
    (lambda: Evaluation(lengths=(2, 2)), ["2 comes after 2", "write each length once"]),
    (lambda: Evaluation(num_examples=10, draws=3), ["draws = 3", "num_examples = 10"]),
    (lambda: Execution(mode="devices", model=2), ["execution.model = 2", "execution.mode = 'vmap'"]),
    (lambda: base(seeds=()), ["seeds is empty", "give at least one"]),
    (lambda: base(seeds=(1, 2, 1)), ["seeds: 1 is given twice"]),
    (lambda: base(seeds=(-1,)), ["seeds: -1", "from 0 to 2147483647"]),
    (lambda: base(learning_rates=(0.0,)), ["learning_rates: 0.0 must be positive"]),
    (lambda: base(learning_rates=(float("nan"),)), ["learning_rates", "nan"]),
    (lambda: base(learning_rates=(1e-3, 1e-3)), ["learning_rates: 0.001 is given twice"]),
    (lambda: Evaluation(decoding=Sampling(num_samples=2)), ["scored by one output", "num_samples to 1"]),
    (
        lambda: base(evaluation=Evaluation(decoded_examples=4)),
        ["decoded_examples = 4", "'copying' writes no text", "set it to 0"],
    ),
    (lambda: Data(vocab_size=100), ["vocab_size = 100 is too small", "256 bytes", "300 or more"]),
    (lambda: Data(max_examples=0), ["max_examples = 0", "None for all"]),
    (lambda: Translation(max_length=0), ["max_length = 0", "at least 1"]),
    (lambda: Translation(max_length=40, row=60), ["row = 60", "which takes 68", "set task.row to 68"]),
    (lambda: Translation(batching="buckets", row=130), ["row = 130", "multiple of 4"]),
    (lambda: Translation(target_vocab_size=100), ["task.target_vocab_size = 100 is too small", "256 bytes"]),
    (lambda: Translation(target_tokenizer="bytes"), ["target_tokenizer = 'bytes'", "set task.target_vocab_size too"]),
    (
        lambda: Run(task=Translation(target_vocab_size=4000)),
        ["tie_embeddings = True gives source and target one table", "two vocabularies", "to False"],
    ),
    (lambda: Transformer(num_decoder_layers=0), ["num_decoder_layers = 0 is not positive"]),
    (
        lambda: base(model=Transformer(num_encoder_layers=3)),
        ["num_encoder_layers = 3 serves encoder_decoder", "decoder_only has one stack: set num_layers"],
    ),
    (
        lambda: base(model=Transformer(tie_embeddings=False)),
        ["tie_embeddings = False serves encoder_decoder", "set it to True"],
    ),
    (lambda: Classification(batching="packed"), ["one class per row", "'buckets' or 'plain'"]),
    (lambda: Classification(labels=("a",)), ["labels = ('a',)", "at least two"]),
    (
        lambda: Classification(sections=("title", "title")),
        ["sections = ('title', 'title')", "each once", "header, body, footer"],
    ),
    (lambda: Classification(sections=("a", "label")), ["'label' is the column of the classes", "another name"]),
    (
        lambda: Classification(structure="markdown", data=Data(name="help/modules", in_memory=False)),
        ["structure = 'markdown' is read into memory", "data.in_memory to True"],
    ),
    (
        lambda: Run(task=Classification(sections=tuple("abcdefghij")), model=Transformer(token_types=4)),
        ["model.token_types has 4 token types", "makes 11 of its sections", "set token_types to 11"],
    ),
    (
        lambda: Run(task=Classification(), model=Transformer(mask=OwnSection())),
        ["mask = OwnSection(parents=True, headings=True)", "'classification' does not say", "set task.structure"],
    ),
    (lambda: base(model=Transformer(mask=OwnSection())), ["does not say"]),
    (lambda: LanguageModel(max_length=64), ["row = 128", "row = 64"]),
    (
        lambda: LanguageModel(data=Data(name="python_docs", shuffle_words="test")),
        ["shuffle_words", "whose inputs are its targets"],
    ),
    (lambda: base(posenc=(WithinSection(), RoPE())), ["WithinSection()", "task 'copying' has none", "classification"]),
    (lambda: base(model=Transformer(token_types=4)), ["model.token_types = 4 reads token types", "leave it out"]),
    (lambda: base(evaluation=Evaluation(lengths=(0,))), ["length 0 is not positive"]),
    (lambda: Run(task=Scan(), evaluation=Evaluation(lengths=(23,))), ["no SCAN command has 23 actions", "24"]),
    (lambda: Transformer(d_model=30, num_heads=4), ["d_model = 30", "num_heads = 4", "multiple of 4"]),
    (lambda: Transformer(param_dtype="bfloat16"), ["param_dtype = 'bfloat16'", "dtype = 'float32'", "set dtype to"]),
    (lambda: Transformer(dropout=1.0), ["dropout = 1.0", "[0, 1)"]),
    (
        lambda: base(model=Transformer(d_model=12, num_heads=4), posenc=(RoPE(),)),
        ["head_dim = 3", "must be even", "an even head_dim"],
    ),
    (
        lambda: base(posenc=(Learned(8),), evaluation=Evaluation(lengths=(9,))),
        ["Learned.max_len = 8", "34 positions occur", "raise max_len to 34", "beyond="],
    ),
    (
        lambda: base(posenc=(Randomized(8), RoPE()), evaluation=Evaluation(lengths=(9,))),
        ["Randomized.max_position = 8", "max_len = 34", "raise it to at least 34"],
    ),
    (lambda: base(posenc_cross=(RoPE(),)), ["posenc_cross", "encoder-decoder", "decoder_only", "use posenc"]),
    (lambda: base(posenc_encoder=(RoPE(),)), ["posenc_encoder", "use posenc"]),
    (lambda: base(posenc=RoPE()), ["posenc", "tuple"]),
    (
        lambda: base(execution=Execution("vmap", data=3), training=Training(batch_size=8)),
        ["execution.data = 3", "8 rows of a microbatch"],
    ),
    (lambda: base(execution=Execution("vmap", model=3)), ["execution.model = 3", "num_heads = 4"]),
    (
        lambda: base(execution=Execution("vmap", model=4), model=Transformer(num_heads=4, mlp_dim=30)),
        ["execution.model = 4", "mlp_dim = 30"],
    ),
    (lambda: Copying(kind="cmd"), ["kind", "cmd", "cmc"]),
    (lambda: Copying(min_length=5, max_length=4), ["min_length = 5", "max_length = 4"]),
    (lambda: Training(batch_size=2.5), ["batch_size", "2.5", "int"]),
    (lambda: base(label=" \u00a0\u200b"), ["label = ' \\xa0\\u200b' shows nothing", "leave label out"]),
    (lambda: base(table="\t"), ["table = '\\t' shows nothing", "leave table out"]),
    (lambda: Ablation("empty", ()), ["at least one run"]),
    (lambda: Ablation("twice", (base(), base())), ["'nope'", "label of its own"]),
    (
        lambda: Ablation(
            "said", (base(),), published=(Published("t", "a", "b", direction="up"), Published("t", "a", "b"))
        ),
        ["published: Published(", "given twice", "name each once"],
    ),
    (
        lambda: Ablation("none", (base(evaluation=Evaluation(lengths=(4,))),), baseline="rope"),
        ["baseline = 'rope'", "nope"],
    ),
    (
        lambda: base(posenc=(ENCODINGS["sinusoidal_axes"](axes=4),)),
        ["sinusoidal_axes(axes=4) reads positions of 4 axes", "'copying' have 1", "grid(width=...)"],
    ),
    (
        lambda: Ablation("mixed", tuple(measured(max_length=n, label=str(n)) for n in (3, 6))),
        ["'3', trained on lengths 1 to 3", "'6', trained on lengths 1 to 6", "different names in `table`"],
    ),
    (
        lambda: Run(task=Translation(batching="fitted"), training=Training(batch_size=8), execution=Execution(data=2)),
        ["execution.data = 2", "task.batching = 'fitted'", "take 'packed' or 'buckets'"],
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=[" ".join(words)[:40] for _, words in REFUSED])
def test_what_is_wrong_is_refused_with_value_rule_and_way_out(make, words):
    with pytest.raises(ValueError) as error:
        make()
    for word in words:
        assert word in str(error.value), str(error.value)


def test_other_processes_agree_and_no_backend_is_started():
    """Hashes and names do not depend on the process; making and refusing configs touches no device."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONHASHSEED": "12345", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    hashes, messages, started, names = json.loads(found.stdout)
    assert hashes == [config_hash(run) for run in samples()]
    assert names == [run.directory_name for run in samples()]
    assert len(set(hashes)) == len(hashes)
    assert all(len(h) == 8 for h in hashes)
    assert len(messages) == len(REFUSED)
    assert not started


def test_names_of_directories():
    name = base(posenc=(Randomized(64), RoPE()), table="A table / of mine").directory_name
    assert name.startswith("a-table-of-mine-randomized-max-position-")
    assert len(name) <= 49
    other = base(posenc=(Randomized(64), RoPE()), table="A table / of mine", seeds=(9,), learning_rates=(0.5,))
    assert other.directory_name == name


def test_replicas_are_seeds_by_rates():
    assert base(seeds=(5, 2), learning_rates=(0.1, 0.2)).replicas == ((5, 0.1), (2, 0.1), (5, 0.2), (2, 0.2))


def test_the_default_is_as_many_seeds_as_a_claimed_difference_takes():
    assert len(base().seeds) == CLAIM_SEEDS == 8


def with_floats(kind, number):
    """Values of an annotated type that are, or hold, the number where it has a float."""
    members = typing.get_args(kind)
    if kind is float:
        yield number
    elif typing.get_origin(kind) is tuple:
        size = 1 if members[-1] is Ellipsis else len(members)
        for i, member in enumerate(members[:size]):
            for value in with_floats(member, number):
                yield tuple(value if j == i else None for j in range(size))
    elif typing.get_origin(kind) is not typing.Literal:
        for member in members:
            yield from with_floats(member, number)


FLOATS = [
    (cls, field, *values)
    for cls in KNOWN.values()
    for field, kind in field_types(cls).items()
    for values in zip(*(with_floats(kind, n) for n in (math.inf, -math.inf, 1e39, -1e39, 1e-39)))
]


REQUIRED = {Run: {"task": COPYING}, Published: {"table": "a", "label": "b", "source": "c"}}


@pytest.mark.parametrize("case", FLOATS, ids=lambda case: f"{case[0].__name__}.{case[1]}")
def test_no_float_of_any_class_is_beyond_float32(case):
    cls, field, *values = case
    for value in values:
        with pytest.raises(ValueError, match=rf"{cls.__name__}\.{field}(\[0\])? = \S+ must be finite"):
            cls(**REQUIRED.get(cls, {}) | {field: value})


def test_floats_are_found_in_every_kind_of_class():
    assert len(FLOATS) > 60
    assert {"Optimizer", "Transformer", "Sampling", "LongRoPE", "RoPE", "FlipFlop"} <= {
        cls.__name__ for cls, *_ in FLOATS
    }
