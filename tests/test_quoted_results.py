"""Numbers in pages and docstrings are those of the committed results."""

import ast
import copy
import json
import re
from pathlib import Path

import pytest
import quote
from benchmarks import quoted
from synthetic_ablation import write_ablation

from posenc_jax.data.tasks import Copying

ROOT = Path(__file__).parent.parent
QUOTING = ("start/first-ablation.md", "guides/speed.md")
DOCSTRINGS = {
    "configs/demo.py": "experiments/length_generalisation/results.json",
    "configs/longer.py": "experiments/length_generalisation/results.json",
    "configs/translation.py": "experiments/translation/results.json",
    "experiments/classification/small.py": "experiments/classification/results.json",
    "experiments/classification/why.py": "experiments/classification/why.json",
    "experiments/language_model/small.py": "experiments/language_model/results.json",
    "experiments/own_encoding/ablation.py": "experiments/own_encoding/results.json",
    "experiments/points_in_the_plane/plane.py": "experiments/points_in_the_plane/results.json",
    "experiments/rows_and_columns/grid.py": "experiments/rows_and_columns/results.json",
    "experiments/summarization/small.py": "experiments/summarization/results.json",
    "experiments/translation/small.py": "experiments/translation/results.json",
    "experiments/word_order/bands.py": "experiments/word_order/bands.json",
    "experiments/word_order/languages.py": "experiments/word_order/results.json",
    "experiments/word_order/near_far.py": "experiments/word_order/near_far.json",
    "experiments/word_order/orders.py": "experiments/word_order/orders.json",
}
FOUND = {
    "name": "toy",
    "tables": {
        "t": {
            "metric": "accuracy",
            "writes_text": False,
            "baseline": "rope",
            "within": ["1", "2"],
            "beyond": ["4"],
            "cells": ["nope", "rope"],
            "seeds": {"nope": {"0": 0.5, "1": 0.7}, "rope": {"0": 0.25, "1": 0.25}},
            "validation metric": "accuracy",
            "validation": {"nope": [0.75, 0.7, 0.8, 0.04], "rope": [0.5, None, None, None]},
            "validation differences": {"nope": [0.25, 0.2, 0.3, 0.02]},
            "published": {"rope": "0.3 (9..16)"},
        }
    },
    "means": [
        {"table": "t", "label": label, "range": "beyond", "length": length, "score": "accuracy", "mean": mean}
        | {"low": low, "high": 0.9, "deviation": deviation, "seeds": 2}
        for label, mean, low, deviation in (("nope", 0.6, 0.3, 0.1), ("rope", 0.25, 0.0, 0.0))
        for length in (None, 4)
    ],
    "differences": [
        {"table": "t", "label": "nope", "range": "beyond", "length": None, "score": "accuracy", "mean": 0.35}
        | {"low": 0.1, "high": 0.6, "deviation": 0.2, "seeds": 2, "baseline": "rope"}
    ],
}


def test_tables_of_scripts_bench():
    def table(size, rows):
        return {"title": f"Speed, {size}", "first": "who", "columns": {"ms": "{:.1f}", "speed": "{:.2f}"}, "rows": rows}

    kept = {
        "date": "2026-01-02",
        "machine": {"cores": 2, "processor": "a chip"},
        "environment": {"jax": "1", "python": "3", "commit": "c" * 40},
        "tables": [table("d8", {"a": [4.0, 1.0], "b": [2.0, 2.0]}), table("d16", {"a": [9.0, None]})],
    }
    line = "Measured on 2026-01-02, 2 cores of a chip, jax 1, Python 3, commit cccccccc: `scripts/bench speed`."
    assert quoted.side_by_side(kept, "speed") == (
        f"|  | d8 | d16 |\n| --- | --- | --- |\n| a | 4.0 (1.00) | 9.0 |\n\n{line}\n"
    )
    text = quoted.all_tables(kept, "speed")
    assert line in text
    assert "\n### Speed, d16\n\n| who | ms | speed |\n|---|---|---|\n| a | 9.0 | - |\n" in text


def test_each_part_says_when_and_where_it_was_measured(tmp_path, monkeypatch):
    def part(date, processor):
        about = {"title": "t", "first": "who", "columns": {"ms": "{:.1f}"}, "rows": {"a": [1.0]}}
        return {
            "date": date,
            "machine": {"cores": 2, "processor": processor},
            "environment": {"jax": "1", "python": "3", "commit": "c" * 40},
            "tables": [about],
        }

    file = tmp_path / "measured.json"
    old, new = part("2026-01-02", "a chip"), part("2026-03-04", "another")
    file.write_text(json.dumps({"parts": {"old": {"a chip": old}, "new": {"a chip": old, "another": new}}}))
    monkeypatch.setattr(quote, "MEASURED", file)
    page = quote.filled("".join(f"<!-- bench: {name} -->\n<!-- end of bench -->\n" for name in ("old", "new")))
    assert "Measured on 2026-01-02, 2 cores of a chip, jax 1, Python 3, commit cccccccc: `scripts/bench old`." in page
    assert "Measured on 2026-03-04, 2 cores of another, jax 1, Python 3, commit cccccccc: `scripts/bench new`." in page
    assert page.count("Measured on 2026-01-02, 2 cores of a chip") == 2, "tables of all processors are shown"


def test_pages_have_the_tables_of_the_committed_results():
    pages = quote.pages()
    assert {ROOT / "scripts" / "docs" / name for name in QUOTING} <= set(pages)
    for page in pages:
        assert quote.filled(page.read_text()) == page.read_text(), f"{page}: run scripts/quote"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<!-- end of results -->", "<!-- end of result -->"),
        ("<!-- results: ", "<!-- results:  "),
        ("<!-- results: ", "<!-- result: "),
    ],
)
@pytest.mark.parametrize("which", [1, -1])
def test_a_misspelt_comment_is_refused(right, wrong, which):
    page = (ROOT / "experiments" / "length_generalisation" / "README.md").read_text()
    with pytest.raises(ValueError, match="comments begin a block of results, "):
        quote.filled(page.replace(right, wrong, which))


def test_the_programs_that_a_page_counts_are_those_that_were_counted():
    """And the lengths of that ablation are padded to what its programs are called by."""
    (kept,) = json.loads(quote.MEASURED.read_text())["parts"]["compile"].values()
    (table,) = (table for table in kept["tables"] if table["title"] == "Programs of an ablation")
    about = r"With (\d+) encodings, (\d+) seeds in \d+ groups each, and (\d+) lengths: (.*) for each encoding"
    encodings, seeds, lengths, kinds = re.match(about, table["about"]).groups()
    count, _, each = table["rows"]["all cells"]
    page = (ROOT / "scripts" / "docs" / "guides" / "speed.md").read_text()
    assert (
        f"An ablation of {encodings} encodings, {seeds} seeds and {lengths} lengths compiles {count} programs, {each} "
        f"for each encoding: {kinds} ("
    ) in page
    task = Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10)
    asked = (4, 8, 12, 40)
    assert {length: task.padded_length(length) for length in asked} == {4: 8, 8: 8, 12: 16, 40: 64}
    assert {kind for kind in kinds.split(", ") if "@" in kind} == {f"evaluate@{task.padded_length(n)}" for n in asked}
    assert "here 4 and 8 share one, 12 and 40 have their own" in page


def test_speed_quotes_no_number_that_was_not_kept():
    """All decimals of the page stand in tables that scripts/quote writes."""
    page = (ROOT / "scripts" / "docs" / "guides" / "speed.md").read_text()
    assert not re.findall(r"(?<!torch )\b\d+\.\d+\b", quote.BENCH.sub("", page))


def test_sentences_on_speed_follow_the_numbers():
    from benchmarks.sentences import sentences

    parts = json.loads(quote.MEASURED.read_text())["parts"]
    processor, kept = next(iter(parts["throughput"].items()))
    parts["throughput"] = {processor: kept}
    for table in kept["tables"]:
        table["rows"]["posenc_jax devices"] = [100.0, 3.0]
        table["rows"]["torch eager, 2 processes of one core"] = [200.0, 1.5]
    slower = copy.deepcopy(kept)
    assert sentences(parts)[0].endswith(": ours is 3.00 times as fast.")
    assert sentences(parts)[4] == "Two torch processes of one core each are slower than ours."
    for table in slower["tables"][1:3]:
        table["rows"]["posenc_jax devices"] = [100.0, 2.0]
        table["rows"]["torch eager, 2 processes of one core"] = [75.0, 4.0]
    lost = " slower than ours, except at d128, where torch takes 25 % less and at d256, where torch takes 25 % less"
    parts["throughput"] = {processor: slower}
    assert sentences(parts)[4].endswith(f"{lost}.")
    for order in ({"a": kept, "b": slower}, {"b": slower, "a": kept}):
        parts["throughput"] = order
        said = sentences(parts)
        assert said[1].endswith(": ours is 2.00 times as fast (b).")
        assert said[4].endswith(f"{lost} (b).")


def test_what_is_said_of_the_aims_beside_torch_is_so():
    throughput = json.loads(quote.MEASURED.read_text())["parts"]["throughput"]
    ours, one_core_each = "posenc_jax devices", "torch eager, 2 processes of one core"
    aims = {"d64": 1.8, "d128": 1.45, "d256": 1.15, "d128, encoder-decoder": 1.5}
    met = dict.fromkeys([*aims, "two processes"], True)
    for kept in throughput.values():
        rows = {table["title"].partition(", ")[2]: table["rows"] for table in kept["tables"]}
        for size, aim in aims.items():
            met[size] &= rows[size][ours][1] >= aim
        met["two processes"] &= rows["d256"][one_core_each][0] >= rows["d256"][ours][0]
    benchmarks = (ROOT / "scripts" / "benchmarks" / "README.md").read_text()
    assert "Met at d256, both; not at d64, at d128 and with an encoder." in benchmarks
    assert [size for size in met if met[size]] == ["d256", "two processes"]


@pytest.mark.parametrize("config", DOCSTRINGS)
def test_scores_in_docstrings_are_among_the_means(config):
    docstring = ast.get_docstring(ast.parse((ROOT / config).read_text()))
    record = json.loads((ROOT / DOCSTRINGS[config]).read_text())
    means = [row["mean"] for row in record["means"]]
    means += [mean for table in record["tables"].values() for mean, *_ in table.get("validation", {}).values()]
    quoted = set(re.findall(r"(?<!\d )\b\d+\.\d+\b(?! million)", docstring))
    assert quoted
    assert {number for number in quoted if number not in {f"{mean:.{decimals(number)}f}" for mean in means}} == set()


def decimals(number):
    """How many digits stand behind the point of a number as text."""
    return len(number.partition(".")[2])


def test_a_table_has_what_was_asked_for():
    assert quote.table(FOUND, "t", ["accuracy@beyond", "accuracy@4", "difference@beyond", "seeds", "published"]) == (
        "| encoding | accuracy, unseen lengths 4 | accuracy, 4 | minus rope, paired, unseen lengths 4 | every seed "
        "| published (lengths) |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| nope | 0.600 [0.300, 0.900] | 0.600 [0.300, 0.900] | +0.350 [+0.100, +0.600] | 0.500, 0.700 |  |\n"
        "| rope | 0.250 (all seeds equal) | 0.250 (all seeds equal) | baseline | 0.250, 0.250 | 0.3 (9..16) |\n"
    )


def test_equal_seeds_and_pairs_are_said_to_be_equal():
    (difference,) = FOUND["differences"]
    found = {**FOUND, "differences": [difference | {"deviation": 0.0}]}
    assert "| 0.600 [0.300, 0.900] | +0.350 (all pairs equal) |" in quote.table(
        found, "t", ["accuracy@beyond", "difference@beyond"]
    )


def test_seeds_that_diverged_are_said():
    task = {**FOUND["tables"]["t"], "diverged": {"nope": {"2": 40}}}
    found = {**FOUND, "tables": {"t": task}}
    lines = quote.table(found, "t", ["accuracy@beyond", "seeds"]).splitlines()
    assert lines[2] == "| nope | 0.600 [0.300, 0.900] (2 of 3 seeds) | 0.500, 0.700, diverged |"
    assert "of" not in lines[3]


def test_validation_and_names_with_spaces():
    found = {**FOUND, "tables": {"two words": FOUND["tables"]["t"]}}
    assert quote.table(found, "two_words", ["validation", "validation_difference"]) == (
        "| encoding | accuracy, validation | minus rope, paired, validation |\n| --- | --- | --- |\n"
        "| nope | 0.750 [0.700, 0.800] | +0.250 [+0.200, +0.300] |\n| rope | 0.500 | baseline |\n"
    )


def test_what_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="accuracy@8: 0 rows of nope in t"):
        quote.table(FOUND, "t", ["accuracy@8"])


def test_hours_of_tables_are_those_of_the_results():
    page = ROOT / "scripts" / "docs" / "guides" / "tables.md"
    assert page in quote.pages()
    root = ROOT / "experiments" / "tables"
    open_questions = ("coupling_depth", "log_scaling", "nope_layers")
    seconds = {file.parent.name: sum(own["seconds"] for own in _cells(file)) for file in root.glob("*/results.json")}
    asked = sum(seconds.pop(name) for name in open_questions)
    sentence = quote.hours_of_tables(root)
    assert f" the {len(seconds)} that were published took {sum(seconds.values()) / 3600:.2f} hours and " in sentence
    assert f" the 3 open questions took {asked / 3600:.2f} hours" in sentence
    assert f"\n{sentence}\n" in page.read_text()


def _cells(file):
    return json.loads(file.read_text())["cells"]


def test_an_unfinished_ablation_is_refused(tmp_path):
    directory = write_ablation(tmp_path / "ablation")
    with pytest.raises(ValueError, match=r"is not finished: .*; run its ablation to the end"):
        quote.quoted(directory)
