"""`posenc report --csv`: every score in a line, for other programs."""

import ast
import csv
import io
import json
import re
import shlex
from pathlib import Path

import pytest
import sealed_files
from synthetic_ablation import rewrite, write_ablation
from synthetic_sweep import widths_and_rates, write_sweep

from posenc_jax.cli import main
from posenc_jax.results import read_record
from posenc_jax.results.ablation_result import long_table

DOCS = Path(__file__).parent.parent.parent / "scripts" / "docs"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_every_score_has_a_line(tmp_path, printed):
    directory = write_sweep(tmp_path / "a", widths_and_rates())
    rows = rows_of(printed("report", str(directory), "--csv", "-"))
    fields = ["table", "cell", "encoding", "model.d_model", "seed", "learning_rate", "chosen", "range", "length"]
    assert list(rows[0]) == [*fields, "metric", "value"]
    written = sealed_files.read_rows(directory / "results.jsonl")
    told = {
        (row["cell"], int(row["seed"]), float(row["learning_rate"]), int(row["length"])): float(row["value"])
        for row in rows
        if row["metric"] == "exact_match" and row["length"]
    }
    assert told == {(r["label"], r["seed"], r["learning_rate"], r["length"]): r["exact_match"] for r in written}
    assert {row["model.d_model"] for row in rows if row["cell"] == "rope 32"} == {"32"}
    chosen = {(row["cell"], row["learning_rate"]) for row in rows if row["chosen"] == "True"}
    assert len(chosen) == 6
    assert ("rope 16", "0.002") in chosen
    validation = [row for row in rows if row["range"] == "validation"]
    assert len(validation) == 6 * 3 * 3
    assert {row["length"] for row in validation} == {""}
    file = tmp_path / "long.csv"
    assert main(["report", str(directory), "--csv", str(file)]) == 0
    assert rows_of(file.read_text()) == rows
    assert not (directory / "report.html").exists()


def test_what_a_report_does_not_use_is_named(tmp_path, capsys):
    directory = write_ablation(tmp_path / "a")
    assert main(["report", str(directory), "--csv", "-"]) == 0
    out, err = capsys.readouterr()
    assert ("t5", "2", "0.001") not in {(row["cell"], row["seed"], row["learning_rate"]) for row in rows_of(out)}
    assert err == "not used: rsc / alibi, seed 3, learning rate 0.001: not finished, 9 of 11 lengths\n"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_texts_of_others_are_no_formulas(tmp_path, sign):
    directory, text = write_ablation(tmp_path / "a"), f"{sign}cmd()\r=1"
    for file in ("ablation.json", "results.jsonl"):
        sealed_files.replace(directory / file, {'"label": "t5"': f'"label": {json.dumps(text)}'})
    shown = ("'" * (sign != "\r") + text).replace("\r", "\\r")
    assert main(["report", str(directory), "--csv", str(tmp_path / "a.csv")]) == 0
    written = (tmp_path / "a.csv").read_bytes().decode()
    assert shown in {row["cell"] for row in rows_of(written)}
    assert len(written.splitlines()) == len(rows_of(written)) + 1
    assert not [cell for row in csv.reader(io.StringIO(written)) for cell in row if cell[:1] == sign]


def damage(directory):
    path = directory / "results.jsonl"
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6", 1))


@pytest.mark.parametrize(
    ("spoil", "file", "said"),
    [
        (lambda d: (d / "ablation.json").unlink(), "-", "has no ablation.json, so it is no ablation directory"),
        (
            lambda d: (d / "ablation.json").rename(d / "group-000"),
            "-",
            "holds a run, no ablation: `posenc evaluate",
        ),
        (lambda d: rewrite(d, lambda row: None), "-", "has no results to report: no run in results.jsonl is finished"),
        (damage, "-", "results.jsonl is damaged (line"),
        (lambda d: None, "nowhere/long.csv", "there is no directory"),
        (lambda d: None, "/proc/long.csv", "no file can be made in /proc"),
        (lambda d: None, ".", "it is a directory: name another file"),
        (lambda d: None, "a/results.jsonl", "is a file of the ablation, and would be replaced"),
    ],
)
def test_what_cannot_be_written_is_one_line(tmp_path, refusal, monkeypatch, spoil, file, said):
    directory = write_ablation(tmp_path / "a")
    spoil(directory)
    monkeypatch.chdir(tmp_path)
    assert said in refusal("report", str(directory), "--csv", file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


def test_the_line_for_pandas_names_columns_and_scores_that_there_are(tmp_path):
    page = (DOCS / "start" / "reading-a-report.md").read_text()
    command, line = re.findall(r"^    (posenc report .* --csv .*|python -c .*pandas.*)$", page, re.MULTILINE)
    python, option, code = shlex.split(line)
    strings = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    file, query, *columns = sorted(strings, key=lambda text: code.index(text[:6]))
    rows = rows_of(long_table(read_record(write_ablation(tmp_path / "a"))))
    column, metric = re.fullmatch(r'(\w+) and metric == "(\w+)"', query).groups()
    assert {column, *columns} < set(rows[0])
    assert metric in {row["metric"] for row in rows}
    assert (python, option, file) == ("python", "-c", shlex.split(command)[-1])
    listed = (DOCS / "reference" / "files.md").read_text().partition("--csv FILE")[2].partition("Replicas")[0]
    assert set(rows[0]) <= set(re.findall(r"`([\w.]+)`", listed))
