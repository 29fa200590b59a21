"""Packages import downwards only, and modules one way inside each; clocks, argv and files are touched only where
results begin and end.
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPTIONAL = "anything"

# Package (or module of posenc_jax): those below it, what it may import from elsewhere, and what only inside functions.
# The standard library is free to all.
_BOTTOM = {"environments", "extras", "files", "lazy", "model_kind", "refusals", "statistics"}
_MODELS_AND_DATA = {"encodings", "attention", "models", "data", "config"} | _BOTTOM
LAYERS = {
    "environments": ({"files"}, set(), set()),
    "extras": (set(), set(), set()),
    "files": (set(), set(), {"filelock"}),
    "golden": (set(), {"numpy"}, set()),
    "lazy": (set(), set(), set()),
    "model_kind": (set(), set(), set()),
    "refusals": (set(), set(), set()),
    "statistics": (set(), {"numpy"}, {"scipy"}),  # which jax brings along
    "encodings": ({"lazy", "refusals"}, {"jax", "numpy"}, set()),
    "attention": ({"encodings"}, {"jax", "numpy"}, set()),
    "models": ({"encodings", "attention", "lazy", "model_kind"}, {"jax", "numpy", "flax"}, set()),
    "data": ({"encodings"} | _BOTTOM - {"environments", "statistics"}, {"jax", "numpy"}, OPTIONAL),
    "config": ({"encodings", "models", "data", "files", "refusals"}, set(), set()),
    "training": (_MODELS_AND_DATA | {"attention"}, {"jax", "numpy", "flax", "optax"}, set()),
    "huggingface": (_MODELS_AND_DATA | {"extras", "training"}, {"jax", "numpy"}, {"gguf", "safetensors"}),
    "analysis": (_MODELS_AND_DATA, {"jax", "numpy", "flax"}, OPTIONAL),
    "runs": (
        _MODELS_AND_DATA | {"extras", "training", "huggingface", "results", "drawing"},
        {"jax", "numpy", "flax"},
        {"orbax", "safetensors", "submitit", "tensorboardX", "wandb"},
    ),
    "drawing": ({"data", "extras", "statistics"}, {"numpy"}, OPTIONAL),
    "results": ({"data", "drawing", "environments", "extras", "files", "statistics"}, {"numpy"}, OPTIONAL),
    "show": (_MODELS_AND_DATA | {"huggingface", "training", "analysis", "runs", "drawing"}, {"jax", "numpy"}, OPTIONAL),
    "verdict": (_MODELS_AND_DATA | {"training", "results", "runs", "drawing"}, {"numpy"}, OPTIONAL),
    "context": (_MODELS_AND_DATA | {"training", "runs", "drawing"}, {"jax", "numpy"}, set()),
    "cli": (
        _MODELS_AND_DATA
        | {"context", "golden", "huggingface", "training", "analysis", "results", "runs", "drawing"}
        | {"show", "verdict"},
        {"jax"},
        OPTIONAL,
    ),
    "__main__": ({"cli"}, set(), set()),
}
NEVER = {"data": {"flax", "optax"}, "results": {"flax", "jax"}, "drawing": {"flax", "jax"}}
# The module that is about tyro; commands import it where they need it.
AT_THE_TOP = {"posenc_jax/cli/overrides.py": {"tyro"}}

# What each package is built of, from the bottom: a module imports those before it only.
ORDER = {
    "verdict": (
        "question finding looks rule fields tables matched own_questions cells other_scores measuring "
        "headline card coverage card_tables figure card_files checking finished interim "
        "deciding evidence __init__"
    ),
    "context": "changes prompts texts reading study recalibration table __init__",
    "attention": "devices kernel mosaic kernel_call cudnn factors blockwise choice paths dot_product __init__",
    "runs": (
        "errors reporter files environment own_code directory checkpoint "
        "identity groups state weights transplant supply targets preflight plan estimate on_corpus "
        "timing trackers programs cell ablation_record ablation joining "
        "executors spread evaluation inference importing"
    ),
    "config": "stored own_names settings run combinations reading source guessing __init__",
    "files": "names shapes fields shipped user_paths checksums atomic __init__",
    "huggingface": (
        "config dialects layers rotation parameters declared writing safetensors gguf tokenizer names family answers "
        "saving checkpoint __init__"
    ),
    "statistics": "intervals learning_rate comparison extremes many_tasks shares sign_flips __init__",
}

CLOCKS = {"cli", "runs"}
ARGV = {"cli", "__main__"}
FILES = {"cli", "golden", "huggingface", "context", "show", "verdict", "drawing", "results"}
FILES |= {"runs", "files/", "data/corpora", "extras"}  # of extras, the record of the install
_CLOCK = {("time", name) for name in ("time", "monotonic", "perf_counter", "process_time", "time_ns")} | {
    ("datetime", "now")
}
_FILE = {"read_text", "write_text", "read_bytes", "write_bytes", "open", "mkdir", "unlink", "rename", "rmtree"}


def violations(files: dict[str, str]) -> list[str]:
    """What a tree of modules (path: source) breaks, one line each."""
    return [f"{path}: {problem}" for path, source in files.items() for problem in _problems(path, ast.parse(source))]


def _problems(path: str, tree: ast.Module):
    group = _group(path.removesuffix(".py").replace("/", "."))
    if group not in ("", *LAYERS):
        yield "belongs to no layer: give it one in this test"
        return
    if group == "":  # posenc_jax/__init__.py: names found on first use
        at_the_top = [name for node in tree.body for name in _imported(node)]
        yield from (
            f"imports {name} at once"
            for name in at_the_top
            if name != "posenc_jax.lazy" and name.split(".")[0] not in sys.stdlib_module_names
        )
        return
    below, free, inside = LAYERS[group]
    for node, in_function in _walk(tree, in_function=False):
        for name in _imported(node):
            top = name.split(".")[0]
            if top == "":
                yield "relative import"
            elif top == "posenc_jax":
                other = _group(name)
                if other not in (group, *below, "", "__version__"):  # the package's own facts are free to all
                    yield f"{group} may not import {name}"
            elif top in ("configs", "experiments", "scripts", "tests"):
                yield f"nothing imports {top}"
            elif top not in sys.stdlib_module_names:
                allowed = free | AT_THE_TOP.get(path, set())
                late = in_function and (inside == OPTIONAL or top in inside) and top not in NEVER.get(group, set())
                if top not in allowed and not late:
                    yield f"{group} may not import {top}{'' if in_function else ' at the top of a module'}"
        yield from _touches(path, group, node)


def _touches(path: str, group: str, node: ast.AST):
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if (node.value.id, node.attr) in _CLOCK and group not in CLOCKS:
            yield f"reads the clock: {node.value.id}.{node.attr}"
        if (node.value.id, node.attr) == ("sys", "argv") and group not in ARGV:
            yield "reads argv"
    if isinstance(node, ast.Call) and not any(path.startswith(f"posenc_jax/{place}") for place in FILES):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if name in _FILE:
            yield f"touches files: {name}"


def _group(module: str) -> str:
    """``posenc_jax.data.tasks.base`` is of the group "data", ``posenc_jax.config`` of "config"."""
    return module.removesuffix(".__init__").removeprefix("posenc_jax").removeprefix(".").split(".")[0]


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level:
            return [""]
        return [f"posenc_jax.{alias.name}" for alias in node.names] if node.module == "posenc_jax" else [node.module]
    return []


def _walk(node: ast.AST, *, in_function: bool):
    for child in ast.iter_child_nodes(node):
        yield child, in_function
        inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, in_function=in_function or inner)


def test_the_tree():
    files = {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "posenc_jax").rglob("*.py"))}
    assert len(files) > 50
    assert violations(files) == []


def test_rooms_are_few_and_on_the_map():
    rooms = {
        _group(f"posenc_jax.{path.stem}")
        for path in (ROOT / "posenc_jax").iterdir()
        if path.suffix in ("", ".py") and path.name[0] != "_"
    }
    assert rooms == set(LAYERS) - {"__main__"}
    assert len(rooms) <= 27
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    map_of_rooms = text[text.index("## The rooms") : text.index("## An encoding")].replace("posenc_jax/", "")
    assert [room for room in rooms if f"`{room}`" not in map_of_rooms] == []


def test_a_class_has_a_name_of_its_own():
    """No other module defines a class, or anything else with a capital, of the name that a public class has.

    But for those of `golden`, which are published alone, as archives, and have checksums on pages.
    """
    found: dict[str, list[tuple[str, bool]]] = {}
    for path in sorted(path for path in (ROOT / "posenc_jax").rglob("*.py") if "golden" not in path.parts):
        for node in ast.parse(path.read_text()).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            for name in names:
                found.setdefault(name, []).append((str(path), isinstance(node, ast.ClassDef)))
    shared = {
        name: [path for path, _ in where]
        for name, where in found.items()
        if name[0] != "_" and len(where) > 1 and any(is_class for _, is_class in where)
    }
    assert shared == {}


def circles(files: dict[str, str]) -> list[str]:
    """The circles among modules (path: source), imports inside functions included, those for type checking not."""
    names = {path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): path for path in files}
    below = {name: _reached(ast.parse(files[path]), set(names)) - {name} for name, path in names.items()}
    found = []
    while True:
        leaves = [name for name, reached in below.items() if not reached]
        if not leaves:
            break
        below = {name: reached.difference(leaves) for name, reached in below.items() if name not in leaves}
    if below:  # every one that is left imports another one of them: follow one until it comes back
        way = [min(below)]
        while way[-1] not in way[:-1]:
            way.append(min(below[way[-1]]))
        found.append(" -> ".join(way[way.index(way[-1]) :]))
    return found


def _reached(tree: ast.Module, names: set[str]) -> set[str]:
    found = set()
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & names
            if not inner <= names:
                found.add(node.module)
    return found & names


def _executed(tree: ast.AST):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _executed(node)


def test_no_module_imports_itself_by_a_detour():
    files = {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "posenc_jax").rglob("*.py"))}
    assert circles(files) == []
    late = "def f():\n    from posenc_jax.a import g"
    assert circles({"posenc_jax/a.py": "import posenc_jax.b", "posenc_jax/b.py": late}) == [
        "posenc_jax.a -> posenc_jax.b -> posenc_jax.a"
    ]
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from posenc_jax.a import g"
    assert circles({"posenc_jax/a.py": "import posenc_jax.b", "posenc_jax/b.py": typed}) == []


@pytest.mark.parametrize("package", ORDER)
def test_modules_of_a_package_import_those_before_them(package):
    order = ORDER[package].split()
    there = {path.stem for path in (ROOT / "posenc_jax" / package).glob("*.py")}
    assert there - {"__init__"} == set(order) - {"__init__"}, "give a new module its place in ORDER"
    for number, module in enumerate(order):
        tree = ast.parse((ROOT / "posenc_jax" / package / f"{module}.py").read_text())
        names = {f"posenc_jax.{package}.{other}" for other in there}
        reached = {name.rpartition(".")[2] for name in _reached(tree, names)}
        assert reached <= set(order[:number]), f"{module} imports {reached - set(order[:number])}"


def test_experiments_and_scripts_import_the_library_only():
    for folder in ("configs", "experiments"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                assert not {"tests", "scripts"} & {name.split(".")[0] for name in _imported(node)}, path


@pytest.mark.parametrize(
    ("path", "source", "problem"),
    [
        ("encodings/x.py", "import flax", "encodings may not import flax at the top of a module"),
        ("encodings/x.py", "from posenc_jax.models.config import Slots", "encodings may not import posenc_jax.models"),
        ("data/corpora/x.py", "import tensorflow_datasets", "tensorflow_datasets at the top"),
        ("results/report/x.py", "def f():\n    import jax", "results may not import jax"),
        ("runs/cell.py", "def f():\n    from posenc_jax.cli import main", "runs may not import posenc_jax.cli"),
        ("cli/x.py", "import experiments.one.grid", "nothing imports experiments"),
        ("models/x.py", "from .config import Slots", "relative import"),
        ("utils.py", "import math", "belongs to no layer"),
        ("__init__.py", "from posenc_jax.config import Run", "imports posenc_jax.config at once"),
        ("training/x.py", "import time\nbegun = time.monotonic()", "reads the clock: time.monotonic"),
        ("runs/evaluation.py", "import sys\nprint(sys.argv)", "reads argv"),
        ("data/tasks/x.py", "open('table')", "touches files: open"),
    ],
)
def test_the_checker_finds(path, source, problem):
    (found,) = violations({f"posenc_jax/{path}": source})
    assert problem in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("encodings/x.py", "import math, jax.numpy as jnp\nfrom posenc_jax.encodings.interface.base import Array"),
        ("data/corpora/x.py", "def f(path):\n    import tensorflow_datasets\n    return open(path)"),
        ("cli/x.py", "import time\nfrom posenc_jax.runs.cell import run\ntime.monotonic()"),
        ("__init__.py", "import importlib\nif TYPE_CHECKING:\n    from posenc_jax.config import Run"),
    ],
)
def test_the_checker_allows(path, source):
    assert violations({f"posenc_jax/{path}": source}) == []
