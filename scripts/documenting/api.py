"""The reference of the Python interface: a page a package, of large ones a page a module, which autodoc fills."""

from __future__ import annotations

import ast
import functools
import inspect
import pydoc
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from posenc_jax.show.lead import first_paragraph

ROOT = Path(__file__).resolve().parent.parent.parent
IMPORTED = {
    "posenc_jax.encodings": (
        *("parse", "spec", "Dims", "init_slot", "embed", "layer_inputs", "attend", "Sequence", "PositionalEncoding"),
        "sinusoidal",
    )
}
"""Package -> the names that people import from it, which its page begins with."""
LARGEST_PAGE = 150_000
"""Bytes of source that are documented on one page."""
LONGEST_VALUE = 100
"""Characters of a constant that are shown."""


@functools.cache
def packages() -> dict[str, dict[str, Path]]:
    """The files of the public modules of each package by their dotted names, itself first."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted((ROOT / "posenc_jax").rglob("*.py"), key=lambda path: (path.name != "__init__.py", path)):
        package = ".".join(path.relative_to(ROOT).parent.parts)
        name = package if path.name == "__init__.py" else f"{package}.{path.stem}"
        if not any(part.startswith("_") or part == "templates" for part in name.split(".")):
            found.setdefault(package, {})[name] = path
    return dict(sorted(found.items()))


@functools.cache
def pages(package: str) -> dict[str, str]:
    """The pages of one package by name: its docstring and its modules, or, where that is too long, a page of each."""
    _, *modules = files = packages()[package]
    parts = [f"# {package}", *_imported(package), _documented(package, files[package])]
    if modules:
        parts.append(f"## Modules\n\n{summaries(modules)}")
    if sum(path.stat().st_size for path in files.values()) <= LARGEST_PAGE:
        parts += [f"## {name.rpartition('.')[2]}\n\n{_documented(name, files[name])}" for name in modules]
        return {package: "\n\n".join(parts) + "\n"}
    parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(modules) + "\n```")
    of_modules = {
        name: f"# {name.removeprefix(f'{package}.')}\n\n{_documented(name, files[name])}\n" for name in modules
    }
    return {package: "\n\n".join(parts) + "\n", **of_modules}


def index() -> str:
    """The list of packages."""
    return (
        "# Python, by package\n\nA package imports only from lower layers, as `tests/test_layering.py` lists them. "
        "Most users need only `posenc_jax` itself and `posenc_jax.encodings`.\n\n"
        f"{summaries(packages()).replace('`~', '`')}\n\n```{{toctree}}\n:hidden:\n\n"
        + "\n".join(packages())
        + "\n```\n"
    )


def summaries(names: Iterable[str]) -> str:
    """Links to what has these dotted names, with the first paragraph of each."""
    found = {name: inspect.getdoc(pydoc.locate(name)) or "" for name in names}
    return restructured("\n".join(f"- :py:obj:`~{name}`: {first_paragraph(doc)}" for name, doc in found.items()))


def _imported(package: str) -> Iterator[str]:
    """What people import from a package, documented under the path that they write."""
    names = [f"{package}.{name}" for name in IMPORTED.get(package, ())]
    if names:
        kinds = ("class" if inspect.isclass(pydoc.locate(name)) else "function" for name in names)
        own = "\n\n".join(f".. auto{kind}:: {name}" for kind, name in zip(kinds, names))
        yield f"## What you import\n\n{summaries(names)}\n\n{restructured(own)}\n\n## The package"


def described(cls: type) -> str:
    """The signature and the docstring of a class on a page other than that of its module, to which links lead."""
    return restructured(f".. autoclass:: {cls.__module__}.{cls.__qualname__}\n   :no-index:")


def restructured(text: str) -> str:
    """What autodoc reads, within Markdown."""
    return f"```{{eval-rst}}\n{text}\n```"


def _documented(module: str, path: Path) -> str:
    options = ["members:", "show-inheritance:", "ignore-module-all:"]
    if module in IMPORTED:  # which are documented above
        options.append(f"exclude-members: {', '.join(IMPORTED[module])}")
    lines = [f".. automodule:: {module}", *(f"   :{option}" for option in options), "", *_constants(path)]
    return restructured("\n".join(lines))


def _constants(path: Path) -> Iterator[str]:
    """Constants and types that a module assigns, which autodoc leaves out where they have no docstring, and shows with
    all that they hold where they have one.
    """
    body = ast.parse(path.read_text()).body
    for node, below in zip(body, [*body[1:], None]):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        value = ast.unparse(node.value) if node.value is not None and len(names) == 1 else ""
        doc = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
        for name in (name for name in names if name[0].isupper()):
            yield f".. py:data:: {name}"
            if isinstance(node, ast.AnnAssign):
                yield f"   :type: {ast.unparse(node.annotation)}"
            if 0 < len(value) <= LONGEST_VALUE:
                yield f"   :value: {value}"
            yield f"\n{textwrap.indent(inspect.cleandoc(doc), '   ')}\n"
