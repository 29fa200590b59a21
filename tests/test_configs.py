"""Every config in configs/ and experiments/ is what its docstring says, builds, and asks no device to do so."""

import ast
import json
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

# One process for all: it also shows that no backend starts.
BUILD = """
import json, sys
from jax._src.xla_bridge import backends_are_initialized
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation, Run, from_json, to_json
for path in json.load(sys.stdin):
    config = load_config(path, Run | Ablation, "ablate")
    assert from_json(json.loads(json.dumps(to_json(config)))) == config, path
    print(json.dumps([path, type(config).__name__, backends_are_initialized()]))
"""


@pytest.fixture(scope="module")
def built():
    """(kind, whether a backend has started) of every config."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD], input=json.dumps(CONFIGS), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {path: (kind, backend) for path, kind, backend in map(json.loads, done.stdout.splitlines())}


def test_there_are_configs():
    assert "configs/demo.py" in CONFIGS
    assert all(str(path.relative_to(ROOT)) in CONFIGS for path in FILES if path.parts[-2] == "configs")


@pytest.mark.parametrize("path", CONFIGS)
def test_config_builds_and_says_its_command(built, path):
    kind, backend = built[path]
    assert not backend
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text()))
    command = {"Run": "train", "Ablation": "ablate"}[kind]
    assert f"posenc {command} {path}" in docstring
