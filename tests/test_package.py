"""The names of the package, what importing it costs and needs, and what its wheel holds."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import posenc_jax
from posenc_jax.cli import demo
from posenc_jax.verdict.tables import COMPARISONS

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
HEAVY = {"jax", "flax", "optax", "orbax", "numpy", "tyro", "rich", "tensorflow_datasets", "plotly", "matplotlib"}


def loaded_after(code):
    """The heavy packages that a fresh process has loaded after ``code``."""
    code += "\nimport sys\nprint('LOADED', *sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stderr.split("LOADED ")[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import posenc_jax",
        "from posenc_jax.cli import main\nassert main(['--help']) == 0",
        "from posenc_jax.cli import main\nassert main(['trian']) == 2",
    ],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_after(code) == set()


def test_configs_need_no_flax():
    code = "from posenc_jax import Run, Transformer, parse, tasks\nRun(task=tasks.EvenPairs(), posenc=parse('rope'))"
    assert loaded_after(code) == {"jax", "numpy"}


def test_every_public_name_is_found():
    for name in posenc_jax.__all__:
        assert getattr(posenc_jax, name) is not None
    assert {"Metric", "PositionalEncoding", "Run", "Task", "ablate", "encodings", "tasks"} < set(posenc_jax.__all__)
    assert set(posenc_jax.__all__) < set(dir(posenc_jax))
    with pytest.raises(AttributeError, match="no attribute 'ablat'; it has Ablation"):
        posenc_jax.ablat  # noqa: B018


def test_every_module_is_imported_without_the_extras():
    """What is optional is imported where it is used; and no module hides the function of its name."""
    root = Path(posenc_jax.__file__).parent.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = {"scikit-learn": "sklearn", "tensorboardX": "tensorboardX", "rouge-score": "rouge_score"}
    names = {
        requirement.partition(">")[0]
        for group in ("text", "report", "cluster", "tracking", "dev")
        for requirement in extras[group]
    }
    code = f"""
import importlib, pkgutil, sys
for name in {sorted(modules.get(name, name) for name in names)}:
    sys.modules[name] = None
import posenc_jax
for module in pkgutil.walk_packages(posenc_jax.__path__, "posenc_jax."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
found = posenc_jax.ablate, posenc_jax.run, posenc_jax.evaluate, posenc_jax.models.build
assert all(map(callable, found)), found
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_wheel_says_that_it_has_types():
    """Hatchling ships the package's folder whole, so what lies there is what is installed."""
    folder = Path(posenc_jax.__file__).parent
    project = tomllib.loads((folder.parent / "pyproject.toml").read_text())
    assert (folder / "py.typed").read_bytes() == b""
    files = (str(demo.COMMITTED), "configs", *(f"experiments/tables/{name}/reduced.py" for name in COMPARISONS))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {
        "packages": ["posenc_jax"],
        "force-include": {name: f"posenc_jax/{name}" for name in files},
    }


@pytest.mark.parametrize(
    "script",
    sorted(path.name for path in SCRIPTS.iterdir() if path.is_file() and ". scripts/setup.sh" in path.read_text()),
)
def test_a_script_says_what_it_does_before_it_installs_anything(script, tmp_path):
    folder = str(tmp_path / "environment")
    own = os.environ | {"POSENC_VENV": folder, "POSENC_COMPILE_VENV": folder}
    done = subprocess.run([SCRIPTS / script, "--help"], capture_output=True, text=True, check=True, env=own)
    assert f"scripts/{script}" in done.stdout
    assert (done.stderr, list(tmp_path.iterdir())) == ("", [])
