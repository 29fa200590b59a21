"""Every config in configs/ and experiments/ is what its docstring says, builds, and asks no device to do so."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _is_config(path):
    """Whether the file assigns a variable `config`; an experiment has other files too."""
    body = ast.parse(path.read_text()).body
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Name) and target.id == "config" for target in targets)


FILES = [path for folder in ("configs", "experiments") for path in sorted((ROOT / folder).rglob("*.py"))]
CONFIGS = [str(path.relative_to(ROOT)) for path in FILES if _is_config(path)]
# Time and scores stand in a README that is written from their results: tests/verdict/test_committed_tables.py.
TOLD_ELSEWHERE = ("experiments/tables/", "experiments/context/", "experiments/own_questions/", "experiments/sizes/")

# One process for all: it also shows that no backend starts.
BUILD = """
import json, sys
from jax._src.xla_bridge import backends_are_initialized
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation, Run, from_json, source_of, to_json
from posenc_jax.data.score_kinds import headline
from posenc_jax.runs.own_code import own_classes
for path in json.load(sys.stdin):
    config = load_config(path, Run | Ablation, "ablate")
    assert from_json(json.loads(json.dumps(to_json(config))), own_classes(config)) == config, path
    exec(source_of(config, "about"), written := {})
    assert written["config"] == config, path
    runs = getattr(config, "runs", [config])
    metrics = sorted({headline(run.task, run.evaluation.decoded_examples) for run in runs})
    print(json.dumps([path, type(config).__name__, metrics, backends_are_initialized()]))
"""

COMMANDS = {"Run": "train", "Ablation": "ablate"}
TIME = re.compile(r"\b(\d+|one|two|ten) (min|minutes?|hours?|s)\b[^.:]* (\d+( \w+)* cores|a core)\b", re.IGNORECASE)
SCORE = r"(\d+\.\d|\d{3}(?= \())"  # a decimal, or a large number with its encoding: no range of lengths


def metric_words(metric):
    """A metric as a docstring calls it."""
    return {"rouge_l": "ROUGE-L", "chrf": "chrF"}.get(metric, metric.replace("_", " "))


def missing(docstring, command, metrics):
    """What a config's docstring does not say: its command, on a line of its own; one score of each metric."""
    text = " ".join(docstring.split())
    found = {command: re.search(rf"^ *{re.escape(command)}( |$)", docstring, re.MULTILINE)}
    for metric in map(metric_words, metrics):
        found[metric] = re.search(rf"\b{re.escape(metric)}\b[^.;]*\b{SCORE}", text, re.IGNORECASE)
    return [what for what, match in found.items() if not match]


@pytest.fixture(scope="module")
def built():
    """(kind, metrics, whether a backend has started) of every config."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD], input=json.dumps(CONFIGS), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {path: rest for path, *rest in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("path", CONFIGS)
def test_config_builds_and_says_its_command_and_score(built, path):
    kind, metrics, backend = built[path]
    assert not backend
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text()))
    command = f"posenc {COMMANDS[kind]} {path}"
    lacking = missing(docstring, command, metrics)
    elsewhere = path.startswith(TOLD_ELSEWHERE) or "not run" in docstring.lower()
    assert [what for what in lacking if what == command or not elsewhere] == []


@pytest.mark.parametrize("path", CONFIGS)
def test_a_config_that_was_not_run_names_the_one_that_was(path):
    docstring = " ".join(ast.get_docstring(ast.parse((ROOT / path).read_text())).split())
    if "not run" in docstring.lower():
        (instead,) = re.findall(r"Its small version, (\S+\.py), has the scores of a real run", docstring)
        assert instead in CONFIGS
        assert "not run" not in (ROOT / instead).read_text().lower()


def test_times_in_docstrings_are_those_of_records():
    minutes = json.loads((ROOT / "experiments" / "translation" / "translator.json").read_text())["minutes"]
    recorded = {"configs/translator.py": f"{sum(minutes.values()):.0f} min on 2 cores"}
    said = {}
    for path in (*(ROOT / "configs").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")):
        if found := TIME.search(" ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())):
            said[str(path.relative_to(ROOT))] = found[0]
    assert said == recorded
    lesson = (ROOT / "posenc_jax" / "show" / "lessons" / "translation.md").read_text()
    assert f"the second takes {minutes['train']:.0f} minutes on 2 cores" in lesson
