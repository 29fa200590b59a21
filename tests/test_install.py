"""Wheel and sdist as somebody else installs them: fresh environments, an empty folder, no checkout. Needs an index."""

import json
import os
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import posenc_jax
from experiments.installs import measure as installs
from posenc_jax.cli import demo
from posenc_jax.verdict.tables import COMPARISONS

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def run(python, *arguments, cwd, code=0):
    """What a command says; without this checkout on its path."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "XLA_FLAGS")}
    done = subprocess.run(
        [python, *arguments], cwd=cwd, env=kept | {"JAX_PLATFORMS": "cpu"}, capture_output=True, text=True
    )
    assert done.returncode == code, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def environment(folder):
    """The Python of a fresh environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def install(python, *what):
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "connection" in done.stderr.lower():
        pytest.skip(f"no packages can be had here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of this checkout, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("built")
    python = environment(folder / "tool")
    install(python, "hatchling")
    run(python, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder), cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    run(python, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def packaged():
    """The files of the package that are kept in git."""
    listed = subprocess.run(["git", "ls-files", "posenc_jax"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


def test_the_wheel_has_the_package_the_configs_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as archive:
        sizes = {file.filename: file.file_size for file in archive.infolist() if ".dist-info/" not in file.filename}
        names = set(sizes)
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    configs = {f"posenc_jax/configs/{path.name}" for path in (ROOT / "configs").glob("*.py")}
    configs |= {f"posenc_jax/experiments/tables/{name}/reduced.py" for name in COMPARISONS}
    assert names == packaged() | configs | {f"posenc_jax/{demo.COMMITTED}"}
    assert [name for name, size in sizes.items() if size > 2e6 and "/golden/" not in name] == []
    said = json.loads(installs.RECORD.read_text())["wheel"]["megabytes"]
    assert abs(built[1].stat().st_size / 1e6 - said) < 0.1 * said, "python -m experiments.installs.measure wheel"
    assert {"posenc_jax/golden/encodings-v1.json", "posenc_jax/golden/__init__.py"} <= names
    assert f"\nVersion: {posenc_jax.__version__}\n" in text
    assert "\nAuthor: The posenc_jax authors\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text


def test_the_sdist_has_what_a_build_needs(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "configs/demo.py", "posenc_jax/py.typed"} <= names
    experiments = {name for name in names if name.startswith("experiments")}
    assert {f"experiments/tables/{name}/reduced.py" for name in COMPARISONS} <= experiments
    assert {Path(name).name for name in experiments} == {"reduced.py", "results.json"}
    assert not {name for name in names if name.startswith(("tests", "scripts"))}


ENCODINGS = """
import sys
import jax
from posenc_jax import check_contract
from posenc_jax.encodings import Dims, Geometry, attend, init_slot, parse

encodings = parse("rope|alibi")
params = init_slot(jax.random.key(0), encodings, Dims(64, 4, 4, 16, 1, 128))
q = jax.numpy.ones((1, 4, 8, 16))
assert attend(q, q, q, encodings, params, Geometry.of_length(8, num_heads=4, causal=True)).shape == q.shape
assert len(check_contract(encodings[0])) == 15  # what fails is raised
from posenc_jax import golden
golden.check("RoPE", golden.row("RoPE")["outputs"])
heavy = {"flax", "optax", "orbax", "tyro", "rich", "tensorflow_datasets"}
assert not heavy & {name.partition(".")[0] for name in sys.modules}
"""


def test_encodings_beside_a_jax_that_is_there(built, tmp_path):
    """``pip install --no-deps``: encodings, attend, the contract and golden values; the rest says what it lacks."""
    python = environment(tmp_path / "environment")
    install(python, "--constraint", str(ROOT / "requirements.lock"), "jax")
    install(python, "--no-deps", str(built[1]))
    here = tmp_path / "empty"
    here.mkdir()
    run(python, "-c", ENCODINGS, cwd=here)
    posenc = python.with_name("posenc")
    assert "YaRN" in run(posenc, "list", cwd=here).stdout
    assert "flax                 not installed" in run(posenc, "doctor", cwd=here).stdout
    refused = run(posenc, "train", "configs/copy_rope.py", cwd=here, code=2)
    assert refused.stderr.startswith("posenc: this needs ")
    assert refused.stderr.endswith(f"is not installed: pip install {built[1]}, without --no-deps\n")
    assert not list(here.iterdir())


def test_the_demo_from_a_wheel_in_an_empty_folder(built, tmp_path):
    """The plain install, shortened: two seeds, few steps, and again with a third seed."""
    python = environment(tmp_path / "environment")
    install(python, "--constraint", str(ROOT / "requirements.lock"), str(built[1]))
    here = tmp_path / "empty"
    here.mkdir()
    posenc = python.with_name("posenc")
    assert "posenc demo" in run(posenc, cwd=here).stdout
    short = ["--training.steps", "50", "--training.log-every", "50"]
    short += ["--evaluation.lengths", "8", "10", "--evaluation.num-examples", "16"]
    done = run(posenc, "demo", "--seeds", "0", *short, cwd=here)
    rows = [json.loads(line) for line in (here / "runs" / "demo" / "results.jsonl").read_text().splitlines()]
    assert len({(row["task_label"], row["label"]) for row in rows}) == 4
    assert "Next: open" not in done.stderr
    assert "Left out: report.html (needs plotly), figures (needs matplotlib)" in done.stdout
    assert f"pip install '{built[1]}[report]'" in done.stdout
    assert {path.name for path in here.iterdir()} == {"runs"}
    shown = run(posenc, "doctor", cwd=here).stdout
    lacking = "no sentencepiece, tokenizers, grain, sacrebleu, safetensors, gguf"
    assert f"{lacking}: pip install '{built[1]}[text]'" in shown
    refused = run(posenc, "train", "configs/translation.py", cwd=here, code=2)
    assert f"which is not installed: pip install '{built[1]}[text]'" in refused.stderr
    assert {path.name for path in here.iterdir()} == {"runs"}
    assert "there is no table 'cpoy'" in run(posenc, "verdict", "alibi", "--tables", "cpoy", cwd=here, code=2).stderr
    cannot = run(posenc, "show", "rope", cwd=here, code=2)
    assert f"which is not installed: pip install '{built[1]}[report]'" in cannot.stderr
