"""What a bare image lacks that has CUDA, Python 3.12 and jax: wheels to be carried there, for it fetches nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = ROOT / "requirements-3.12.lock"
WANTED = (
    *("flax", "optax", "orbax-checkpoint", "tyro", "rich", "filelock", "importlib-resources"),
    *("safetensors", "tokenizers", "gguf"),
)
"""What the parts import; corpora, and so TensorFlow Datasets, are not among it."""
IN_IMAGE = ("jax", "jaxlib", "numpy", "scipy", "ml-dtypes", "opt-einsum")
"""jax and what it needs."""
CARRIED = (
    *("absl-py", "aiofiles", "anyio", "certifi", "charset-normalizer", "click", "docstring-parser", "etils"),
    *("filelock", "flax", "fsspec", "gguf", "h11", "hf-xet", "httpcore2", "httpx2", "huggingface-hub", "humanize"),
    *("idna", "importlib-resources", "markdown-it-py", "mdurl", "msgpack", "optax", "orbax-checkpoint", "packaging"),
    *("prometheus-client", "protobuf", "psutil", "pygments", "pyyaml", "requests", "rich", "safetensors"),
    *("simplejson", "tensorstore", "tokenizers", "tqdm", "treescope", "truststore", "typeguard", "typing-extensions"),
    *("tyro", "urllib3", "uvloop"),
)
"""`WANTED` and all that they need, without `IN_IMAGE`."""
MOST = 64 * 10**6
"""Bytes."""
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def name(text: str) -> str:
    """The name of a distribution as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", text).lower()


def pins(lock: Path = LOCK) -> list[str]:
    """``name==version`` of everything that is carried, as locked."""
    locked = dict(line.split("==") for line in lock.read_text().splitlines() if "==" in line)
    versions = {name(own): version for own, version in locked.items()}
    return [f"{own}=={versions[own]}" for own in CARRIED]


def command(folder: Path) -> list[str]:
    """pip's command line that fetches the wheels for that image on any machine."""
    of_image = ["--only-binary=:all:", "--python-version=3.12", "--implementation=cp", "--no-deps", "--quiet"]
    platforms = [f"--platform={own}" for own in PLATFORMS]
    return [sys.executable, "-m", "pip", "download", *of_image, *platforms, f"--dest={folder}", *pins()]


def download(folder: Path) -> str:
    """Fetches the wheels and says how to install them; SystemExit where pip fails, or if they are too large."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command(folder), capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["it said nothing"]
        raise SystemExit(f"scripts/on_device: pip download: {said[-1]}")
    return said_of(folder)


def said_of(folder: Path) -> str:
    """How many wheels there are, and the command for the image."""
    wheels = sorted(folder.glob("*.whl"), key=lambda path: -path.stat().st_size)
    total = sum(path.stat().st_size for path in wheels)
    if total > MOST:
        raise SystemExit(
            f"scripts/on_device: {folder} has {total / 1e6:.1f} MB of wheels, more than {MOST / 1e6:.0f} MB; the "
            f"largest is {wheels[0].name} ({wheels[0].stat().st_size / 1e6:.1f} MB): remove what is not in --carry"
        )
    install = f"python3 -m pip install --no-index --no-deps {folder}/*.whl"
    return f"{len(wheels)} wheels, {total / 1e6:.1f} MB; there: {install}"
