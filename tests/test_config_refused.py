"""Configs that are refused, with the value, the rule and the way out."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

import pytest
from test_config import COPYING, base, samples

from posenc_jax.config import (
    Ablation,
    Evaluation,
    Execution,
    Optimizer,
    Published,
    Run,
    Training,
    config_hash,
)
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.data.tasks.scan import Scan
from posenc_jax.data.text import Classification, Data, LanguageModel, Translation
from posenc_jax.encodings import ENCODINGS, Learned, Randomized, RoPE, WithinSection, parse
from posenc_jax.encodings.interface.structure import OwnSection
from posenc_jax.models.config import Transformer
from posenc_jax.models.decoding_config import Sampling

PROGRAM = """
import json, sys
sys.path.insert(0, "tests")
import test_config as t
import test_config_refused as r
from jax._src import xla_bridge

hashes = [t.config_hash(run) for run in t.samples()]
messages = []
for make, _ in r.REFUSED:
    try:
        make()
    except ValueError as error:
        messages.append(str(error))
print(json.dumps([hashes, messages, xla_bridge.backends_are_initialized(), [r.directory_name for r in t.samples()]]))
"""


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
    (lambda: Training(averaged_checkpoints=5), ["averaged_checkpoints = 5", "checkpoint_every = 0", "to a divisor"]),
    (
        lambda: Training(averaged_checkpoints=5, checkpoint_every=250),
        ["averaged_checkpoints = 5 is more than the 4 checkpoints", "lower one of them"],
    ),
    (lambda: Optimizer(schedule="cosin"), ["schedule", "cosin", "cosine"]),
    (lambda: Optimizer(schedule="inverse_sqrt"), ["inverse_sqrt", "warmup_steps to at least 1"]),
    (lambda: Optimizer(b1=1.0), ["optimizer.b1 = 1.0", "below 1"]),
    (lambda: Evaluation(lengths=(4, 2)), ["out of order", "2 comes after 4", "ascending"]),
    (lambda: Evaluation(num_examples=10, draws=3), ["draws = 3", "num_examples = 10"]),
    (lambda: Execution(mode="devices", model=2), ["execution.model = 2", "execution.mode = 'vmap'"]),
    (lambda: base(seeds=()), ["seeds is empty", "give at least one"]),
    (lambda: base(seeds=(1, 2, 1)), ["seeds: 1 is given twice"]),
    (lambda: base(seeds=(-1,)), ["seeds: -1", "from 0 to 2147483647"]),
    (lambda: base(learning_rates=(0.0,)), ["learning_rates: 0.0 must be positive"]),
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
    (lambda: Transformer(num_decoder_layers=0), ["model.num_decoder_layers = 0 must be at least 1"]),
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
        lambda: Classification(structure="markdown", data=Data(name="own/help-modules", in_memory=False)),
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
    (lambda: LanguageModel(max_length=64), ["row = 128", "row = 64"]),
    (
        lambda: LanguageModel(data=Data(name="own/python-docs", shuffle_words="test")),
        ["shuffle_words", "whose inputs are its targets"],
    ),
    (lambda: base(posenc=(WithinSection(), RoPE())), ["WithinSection()", "task 'copying' has none", "classification"]),
    (lambda: base(model=Transformer(token_types=4)), ["model.token_types = 4 reads token types", "leave it out"]),
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
    (lambda: base(posenc=RoPE()), ["posenc", "tuple"]),
    (
        lambda: base(execution=Execution("vmap", data=3), training=Training(batch_size=8)),
        ["execution.data = 3", "8 rows of a microbatch"],
    ),
    (
        lambda: base(execution=Execution("vmap", model=4), model=Transformer(num_heads=4, mlp_dim=30)),
        ["execution.model = 4", "mlp_dim = 30"],
    ),
    (lambda: Copying(kind="cmd"), ["kind", "cmd", "cmc"]),
    (lambda: Copying(min_length=5, max_length=4), ["min_length = 5", "max_length = 4"]),
    (lambda: base(label=" \u00a0\u200b"), ["label = ' \\xa0\\u200b' shows nothing", "leave label out"]),
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
        lambda: base(posenc=parse("attributes|rope")),
        ["Attributes(first=0, count=None) reads attributes of tokens", "'copying' has none", "attributes= and pairs="],
    ),
    *(
        (lambda slot=slot: base(posenc=parse(slot)), ["reads " + words, "is given " + given, "pass others, or put"])
        for slot, words, given in (
            ("grid(width=8)|mrope", "positions of 3 axes", "positions of 2 axes"),
            ("grid(width=8)|rope", "plain positions", "positions of 2 axes"),
            ("rope/axial_rope", "positions of 2 axes", "plain positions"),
        )
    ),
    (
        lambda: base(posenc=parse("grid(width=8)|image_positions(sizes=(8, 8))|irpe")),
        ["IRPE(", "reads whole positions, but it is given fractions", "choose another encoding"],
    ),
    (lambda: base(posenc=parse("pair_table")), ["reads attributes of pairs of tokens, and task", "leave it out"]),
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
