"""What an ablation records for its report, and the scores that a terminal shows after a run."""

import dataclasses
import json

import pytest
import sealed_files

from posenc_jax import Ablation, Evaluation, Run, Transformer
from posenc_jax.cli.scores import score_table
from posenc_jax.config import config_hash, to_json
from posenc_jax.data.score_kinds import signed
from posenc_jax.data.text import Data, LanguageModel, Summarization, Translation
from posenc_jax.results import read_record, summarise
from posenc_jax.results.report import tables
from posenc_jax.runs.ablation_record import write_results

MODEL = Transformer(d_model=16, num_layers=1, num_heads=2)
TRANSLATION = Run(
    task=Translation(data=Data(name="own/help-en-de", vocab_size=300), max_length=32, row=64),
    model=MODEL,
    evaluation=Evaluation(lengths=(16, 64), decoded_examples=8),
    seeds=(0, 1),
    label="nope",
)
WINDOWS = Run(
    task=LanguageModel(data=Data(name="own/python-docs", vocab_size=300), max_length=32, row=32),
    model=MODEL,
    evaluation=Evaluation(lengths=(32, 64)),
    seeds=(0, 1),
    label="nope",
)
COMMON = {"accuracy": 0.25, "exact_match": 0.0, "loss": 2.0, "count": 9.0}


def _replicas(scores):
    lengths = sorted(scores)
    return [
        {
            "seed": seed,
            "learning_rate": 1e-3,
            "diverged_at": None,
            "validation": {"accuracy": 0.5},
            "evaluation": [{"length": n, **COMMON, **scores[n]} for n in lengths],
            "parameters_sha256": "",
        }
        for seed in (0, 1, 5)
    ]


CHRF = {16: {"chrf": 41.26, "bleu": 12.0, "decoded": 8}, 64: {"chrf": 5.0, "bleu": 1.0, "decoded": 8}}
PERPLEXITY = {
    n: {"perplexity": 12.34, "perplexity_by_position": [[0, 0, 20.0], [1, 1, None], [32, 63, 4.5]]} for n in (32, 64)
}


def _write(directory, cell, scores):
    result = {"posenc": "()", "config_hash": config_hash(cell), "num_parameters": 9, "num_posenc_parameters": 0}
    result |= {"mode": "map", "group_size": 2, "device_kind": "cpu", "device_count": 1, "threads": 2}
    result |= {"label": cell.label, "table": cell.table, "metrics_sha256": ""}
    group = directory / cell.directory_name / "group-000"
    group.mkdir(parents=True)
    replicas = [[seed, 1e-3] for seed in (0, 1, 5)]
    own = {"replicas": replicas, "group_size": 3, "config_hash": config_hash(cell)}
    sealed_files.write_config(group, to_json(cell), **own)
    sealed_files.write(group / "result.json", {**result, "bit_exact": True, "replicas": _replicas(scores)})


def test_what_an_ablation_on_text_records_can_be_reported(tmp_path):
    _write(tmp_path, TRANSLATION, CHRF)
    _write(tmp_path, WINDOWS, PERPLEXITY)
    write_results(tmp_path, Ablation(name="a", runs=(TRANSLATION, WINDOWS)))
    record = json.loads((tmp_path / "ablation.json").read_text())
    assert record["metric"] == {"translation": "chrf", "language_model": "perplexity"}
    assert record["validation_metric"] == {"translation": "accuracy", "language_model": "accuracy"}
    assert record["length_unit"]["translation"] == "source tokens"
    assert record["length_names"] == {"translation": {"16": "9-16", "64": "33-64"}}
    assert list(record["signatures"]) == ["translation"]
    assert set(record["signatures"]["translation"]) == {"chrf", "bleu"}
    assert "tok:13a" in record["signatures"]["translation"]["bleu"]
    by_position = [(row["seed"], row["length"]) for row in record["cells"][1]["by_position"]]
    assert by_position == [(0, 32), (0, 64), (1, 32), (1, 64)]  # seed 5 was not asked for
    translation, windows = summarise(read_record(tmp_path)).tasks
    assert tables.main_table(translation).entries[0][1:3] == ("5.0 (all seeds equal)", "41.3")
    positions = {p.name: p.interval.mean for p in windows.cells[0].positions}
    assert positions == pytest.approx({"0": 20.0, "32-63": 4.5})


def test_scores_in_a_terminal():
    lines = score_table(TRANSLATION, _replicas(CHRF)[:1]).splitlines()
    assert lines[0] == "translation nope: chrF by source tokens"
    assert lines[1].split() == ["seed", "rate", "validation", "(token", "accuracy)", "9-16", "33-64"]
    assert lines[2].split() == ["0", "0.001", "0.500", "41.3", "5.0"]
    assert len({len(line) for line in lines[1:]}) == 1
    rows = [{"length": 64, "rouge_l": 0.0, "chrf": 100.0}]
    config = dataclasses.replace(TRANSLATION, task=Summarization(), table="")
    lines = score_table(config, [{"seed": 0, "learning_rate": 1e-3, "evaluation": rows}]).splitlines()
    assert [line.split()[-1] for line in (lines[2], lines[5])] == ["0.000", "100.0"]
    assert lines[3] == "summarization nope: chrF by document tokens"
    assert lines[6] == signed("rouge_l", Summarization().signatures["rouge_l"])
    assert lines[6].startswith("ROUGE-L reads the letters a to z and digits only; ")
    lines = score_table(WINDOWS, _replicas(PERPLEXITY)[:1]).splitlines()
    assert lines[0] == "language_model nope: perplexity by tokens of a window, lower is better"
    assert lines[2].split() == ["0", "0.001", "0.500", "12.3", "12.3"]
