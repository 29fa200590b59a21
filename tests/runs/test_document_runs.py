"""The classifier on documents of ten sections, in columns and as Markdown whose structure it reads."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from text_runs import small_corpus

from posenc_jax.cli import main
from posenc_jax.config import Evaluation, Execution, Run, Training, from_json, to_json
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.text import Classification, Data
from posenc_jax.data.text.loading import load
from posenc_jax.encodings import SinusoidalAxes
from posenc_jax.encodings.interface.structure import MaskError, OwnSection, StructureMask
from posenc_jax.models.config import Transformer
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.inference import classify, load_run
from posenc_jax.runs.preflight import check_run
from posenc_jax.runs.reporter import Reporter
from posenc_jax.show import trained
from posenc_jax.training.operations import of_step

NAMES = tuple(f"part_{letter}" for letter in "abcdefghij")
LABELS = ("ice", "sun")
DATA = Data(name="own/help-modules", tokenizer="bytes")
COLUMNS = Classification(
    data=dataclasses.replace(DATA, name="own/ten"),
    labels=LABELS,
    sections=NAMES,
    max_length=64,
    row=64,
    batching="plain",
)
MARKDOWN = dataclasses.replace(COLUMNS, data=DATA, structure="markdown", sections=NAMES[:9], max_length=224, row=224)


def document(number):
    """The class stands in the eighth section; every other one has either word."""
    words = [LABELS[(number >> place) % 2] for place in range(10)]
    return {name: f"{word}." for name, word in zip(NAMES, words)}, words[7]


def markdown(number):
    sections, label = document(number)
    text = "\n".join(f"# {name.replace('_', ' ')}\n\n{text}\n" for name, text in sections.items())
    return text, label


def rows(make):
    parts = {"train": range(0, 640, 5), "validation": range(641, 721, 5), "test": range(722, 802, 5)}
    return {split: [{**make(number), "doc": f"{split}{number}"} for number in part] for split, part in parts.items()}


def in_columns(number):
    sections, label = document(number)
    return {**sections, "label": label}


def in_markdown(number):
    text, label = markdown(number)
    return {"header": "", "body": text, "footer": "", "label": label}


def config(task, **model):
    return Run(
        task=task,
        model=Transformer(d_model=16, num_layers=1, num_heads=2, token_types=11, pooling="attention", **model),
        training=Training(steps=40, batch_size=16, steps_per_call=20, log_every=20, validation_batches=1),
        evaluation=Evaluation(lengths=(task.max_length,), num_examples=16),
        execution=Execution(mode="map", group_size=1),
        seeds=(0,),
        learning_rates=(1e-2,),
    )


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    """On a corpus that `posenc data add` makes of JSON lines."""
    folder = tmp_path_factory.mktemp("columns")
    files = {split: folder / f"{split}.jsonl" for split in ("train", "validation", "test")}
    for split, part in rows(in_columns).items():
        files[split].write_text("".join(json.dumps(row) + "\n" for row in part))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSENC_DATA", str(folder / "data"))
        held = [word for split in ("validation", "test") for word in (f"--{split}", str(files[split]))]
        given = ["--jsonl", str(files["train"]), *held, "--field", *NAMES, "--label", "label"]
        assert main(["data", "add", "ten", *given]) == 0
        return folder / "run", run(config(COLUMNS), folder / "run", reporter=Reporter())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    base = config(MARKDOWN, mask=OwnSection())
    few = dataclasses.replace(base.training, steps=10, steps_per_call=10, log_every=10)
    made = dataclasses.replace(base, posenc=(SinusoidalAxes(axes=4),), label="", training=few)
    with small_corpus("own/help-modules", rows(in_markdown), folder / "data"):
        results = run(made, folder / "run", reporter=Reporter())
        return made, folder / "run", results, load(MARKDOWN)


def test_ten_sections_have_ten_types_and_tell_the_class(columns):
    directory, results = columns
    assert list(COLUMNS.types.values()) == list(range(1, 11))
    assert results[0]["replicas"][0]["evaluation"][0]["accuracy"] == 1.0
    sections, label = document(333)
    (found,) = classify(load_run(directory), [sections])
    assert max(found, key=found.get) == label


def test_the_command_reads_ten_sections_from_json_and_markdown(columns, tmp_path, capsys, printed, monkeypatch):
    directory, _ = columns
    monkeypatch.chdir(tmp_path)
    sections, label = document(333)
    (tmp_path / "a.json").write_text(json.dumps(sections))
    (tmp_path / "a.md").write_text(markdown(333)[0] + "# Another\n\nnot read\n")
    shown = []
    for name in ("a.json", "a.md"):
        shown.append(printed("classify", str(directory), name))
    assert shown[0] == shown[1]
    assert shown[0].startswith(label)
    (tmp_path / "b.md").write_text("# Other\n\nsun\n")
    (tmp_path / "c.txt").write_text("sun\n")
    for name, message in {
        "b.md": "b.md has the sections other, and this run reads part_a, part_b",
        "c.txt": "c.txt is one text, and this run reads the sections part_a, part_b",
    }.items():
        assert main(["classify", str(directory), name]) != 0
        assert message in capsys.readouterr().err


def test_a_whole_document_has_types_and_places_in_order(whole):
    made, _, _, data = whole
    records = data.arrays["test"]
    first, last = records.inputs.starts[:2]
    outline, types = np.asarray(records.outline[first:last]), np.asarray(records.types[first:last])
    assert outline.shape == (last - first, 4)
    assert (outline[:, 0] == types).all(), "nine named ones, and one type for the tenth"
    assert set(types.tolist()) == set(range(1, 11))
    assert outline[outline[:, 2] == 0].shape[0] == 10 * len("part a")
    example = made.task.test_batch(data.arrays, None, np.int32(224), np.arange(2), 224)
    size = int(example.length[0])
    assert example.grid_positions.shape == (2, 224, 4)
    assert not np.asarray(example.grid_positions)[0, size:].any()


def test_a_run_with_a_mask_and_nested_positions_is_stored_trained_and_used(whole):
    made, directory, results, _ = whole
    assert from_json(json.loads(json.dumps(to_json(made)))) == made
    assert results[0]["replicas"][0]["diverged_at"] is None
    assert of_step(made).operations > 0
    text, _ = markdown(333)
    loaded = load_run(directory)
    one, two = classify(loaded, [text, markdown(5)[0]])
    assert one == classify(loaded, [text])[0]
    assert abs(sum(one.values()) - 1) < 1e-6
    with pytest.raises(DataError, match="document 1 is in sections, and this run reads whole documents"):
        classify(loaded, [{"part_a": "sun"}])
    with pytest.raises(DataError, match=r"document 1, line 3: the heading 'b' of level 3 does not nest"):
        classify(loaded, ["# a\n\n### b"])
    with pytest.raises(DataError, match="a part of a whole document has another structure"):
        classify(loaded, [text + "sun " * 200], too_long="window")
    assert two


@pytest.mark.slow
def test_attention_by_section_is_drawn_of_a_file(whole, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(markdown(333)[0])
    _, directory, _, _ = whole
    assert main(["show", "--run", str(directory), "--file", "a.md", "--view", "sections", "--output", "a.html"]) == 0
    assert "only its attention is drawn" in " ".join(capsys.readouterr().out.split())
    replica = trained.load(directory, None, print)
    tokens = trained.input_of(replica, markdown(333)[0])
    captured = trained.capture(replica, tokens)
    one = trained.with_sections(replica, trained.measure_stacks(replica, 9), tokens, captured)["encoder"]
    names = [*NAMES[:9], "other"]
    assert one.sections.parts == tuple(part for name in names for part in (f"{name}, heading", name))
    assert one.sections.pooled == one.pooling.queries == tuple(names)
    weights = one.pooling.weights[0]
    np.testing.assert_allclose(weights.sum(axis=2), 1, rtol=1e-5)
    # The mask of this run keeps a text within its section, but for headings.
    (layer,) = one.sections.layers
    seen = ~np.isnan(layer)
    for i, reading in enumerate(one.sections.parts):
        for j, read in enumerate(one.sections.parts):
            assert seen[i, j] == ("heading" in read or reading.split(",")[0] == read), (reading, read)
    for i, name in enumerate(names):
        heading = one.sections.pooling[i, 2 * i]
        inside = weights[:, i, [p == name for p in _parts_of(tokens, names)]].mean(axis=0)
        own = [place[2] == 0 for place, p in zip(tokens.outline, _parts_of(tokens, names)) if p == name]
        assert heading == pytest.approx(inside[own].sum() / np.mean(own), rel=1e-4)


def _parts_of(tokens, names):
    return [names[kind - 1] for kind in tokens.types]


def test_a_corpus_whose_headings_do_not_nest_is_named(tmp_path):
    bad = {**in_markdown(0), "body": "# a\n\n#### b", "doc": "bad"}
    made = rows(in_markdown)
    made["train"][3] = bad
    with small_corpus("own/help-modules", made, tmp_path), pytest.raises(DataError) as error:
        load(MARKDOWN)
    assert "line 3: the heading 'b' of level 4 does not nest" in str(error.value)


def test_a_classifier_that_does_not_pool_is_refused_before_its_corpus_is_read():
    config = Run(task=Classification(), model=Transformer(token_types=4))
    with pytest.raises(RefusedError, match=r"model\.pooling = None .* set it to 'mean', 'first' or 'attention'"):
        check_run(config)


@dataclasses.dataclass(frozen=True)
class OfTheFirst(StructureMask):
    name = "of_the_first"

    def sees(self, query, key):
        return (query.types == key.types)[0]


def test_a_mask_of_ones_own_is_asked_before_anything_is_written(tmp_path):
    config = Run(task=Classification(), model=Transformer(token_types=4, pooling="mean", mask=OfTheFirst()))
    with pytest.raises(MaskError, match=r"OfTheFirst\.sees returns an array of shape \[8, 8\]"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
