"""``posenc new``: a commented file for an encoding, a task or a metric of one's own, and its test."""

from __future__ import annotations

import argparse
import ast
import importlib.resources
import keyword
from pathlib import Path

from posenc_jax.cli.errors import Parser, UsageError, guarded
from posenc_jax.cli.screen import show

DESCRIPTION = """Writes NAME.py and test_NAME.py into this folder: an encoding (or a task, or a metric) that works as it
is, with comments on what to change, and a test that it passes. `NAME.py:Class` is then its name on
command lines."""
KINDS = ("encoding", "task", "metric")


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    parser = Parser("posenc new", description=DESCRIPTION)
    parser.add_argument("kind", choices=KINDS, help="what it is to be")
    parser.add_argument("name", metavar="NAME", help="its name, as a Python module has one: my_window")
    return guarded(lambda: _new(parser.parse_args(arguments)))


def _new(options: argparse.Namespace) -> int:
    from posenc_jax.config.own_names import wrong_word

    name, cls = options.name, class_name(options.name)
    _check(name)
    if wrong := wrong_word(name, options.kind):
        raise UsageError(f"{name}.py:{cls} would have name = {wrong}")
    folder = importlib.resources.files("posenc_jax.cli") / "templates"
    templates = {
        Path(f"{start}{name}.py"): (folder / f"{start}{options.kind}.txt").read_text(encoding="utf-8")
        for start in ("", "test_")
    }
    if any(cls in _names(template) for template in templates.values()):
        raise UsageError(
            f"{name}: its class would be {cls}, a name that the file itself uses: choose another, my_{name}"
        )
    files = {path: _filled(template, name, cls) for path, template in templates.items()}
    for path in files:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} is there already, and nothing is overwritten: choose another name")
    written: list[Path] = []
    try:
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except BaseException:
        for path in written:
            path.unlink()
        raise
    show(f"wrote {' and '.join(map(str, files))}: a working {options.kind} to change, {name}.py:{cls}")
    return 0


def _filled(template: str, name: str, cls: str) -> str:
    return template.replace("@NAME@", name).replace("@CLASS@", cls)


def _names(template: str) -> set[str]:
    """Names that a template imports or reads."""
    nodes = list(ast.walk(ast.parse(_filled(template, "_", "_"))))
    imported = {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    return imported | {node.id for node in nodes if isinstance(node, ast.Name)}


def class_name(name: str) -> str:
    """``my_window`` as a class: ``MyWindow``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _check(name: str) -> None:
    """UsageError for what is no name of a module, or the name of another one."""
    from posenc_jax.runs.own_sources import is_installed

    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or not class_name(name).isidentifier():
        raise UsageError(f"{name!r} is no name of a Python module: letters, digits and _, as in my_window")
    if is_installed(name):
        raise UsageError(f"{name} is the name of an installed module, which it would hide: choose another")
