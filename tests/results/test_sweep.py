"""Fields that an ablation sweeps, read from its config."""

import dataclasses
import json

import pytest
from synthetic_ablation import write_ablation

from posenc_jax import report
from posenc_jax.drawing.interactive import figure
from posenc_jax.report import page, plots
from posenc_jax.results import read_record, summarise
from posenc_jax.results.sweep import sweep_of


@pytest.fixture
def summary(tmp_path):
    return summarise(read_record(write_ablation(tmp_path / "a")))


def swept(summary, settings, label="{d_model}"):
    """The summary with a cell of task 1 for each of ``settings``: (encoding, config of the model)."""
    task = summary.tasks[1]
    cells = tuple(
        dataclasses.replace(task.cells[i % 2], posenc=posenc, label=f"{posenc} " + label.format(**model))
        for i, (posenc, model) in enumerate(settings)
    )
    runs = [
        {"table": task.task_label, "label": cell.label, "posenc": ["any"], "seeds": [0], "model": model}
        for cell, (_, model) in zip(cells, settings, strict=True)
    ]
    info = {**summary.info, "config": {"runs": runs}}
    labels = tuple(cell.label for cell in cells)
    return dataclasses.replace(summary, labels=labels, tasks=(dataclasses.replace(task, cells=cells),), info=info)


WIDTHS = [(posenc, {"d_model": d, "num_heads": d // 8, "norm": "pre"}) for d in (8, 16, 64) for posenc in ("a", "b")]


def test_a_swept_field_is_found_with_what_changes_along(summary):
    found = sweep_of(swept(summary, WIDTHS))
    assert (found.field, found.along) == ("model.d_model", ("model.num_heads",))
    assert found.values == (8, 16, 64)
    assert {name: sorted(line) for name, line in found.lines.items()} == {"a": [8, 16, 64], "b": [8, 16, 64]}
    assert found.lines["b"][16].label == "b 16"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (WIDTHS[:4], "two values"),
        ([("a", {"d_model": d, "num_heads": h}) for d in (8, 16, 64) for h in (1, 2)], "two fields, independently"),
        ([("a", {"d_model": d, "norm": n}) for d in (8, 16, 64) for n in ("pre", "post")], "two lines of one name"),
    ],
)
def test_what_is_no_sweep(summary, settings, why):
    assert sweep_of(swept(summary, settings, label=" ".join(f"{{{name}}}" for name in settings[0][1]))) is None, why
    assert sweep_of(summary) is None


def test_it_stands_on_the_page_and_in_a_figure(summary, tmp_path, monkeypatch):
    changed = swept(summary, WIDTHS)
    text = page.page(changed)
    assert "Score against model.d_model</h2>" in text
    assert "With it change model.num_heads." in text
    sweep = sweep_of(changed)
    drawn = figure(plots.swept(sweep))
    assert drawn["layout"]["xaxis"]["ticktext"] == ["8", "16", "64"]
    assert [trace["x"] for trace in drawn["data"] if trace["mode"] == "lines+markers"] == [[8, 16, 64]] * 2
    monkeypatch.setattr(report, "summarise", lambda record: changed)
    written = {path.name for path in report.build(write_ablation(tmp_path / "b"))}
    assert {"swept-field.png", "swept-field.pdf"} <= written
    json.dumps(drawn, allow_nan=False)
