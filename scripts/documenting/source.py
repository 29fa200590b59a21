"""The public names of the package, read from its source: nothing is imported."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = "posenc_jax"
Definition = ast.FunctionDef | ast.ClassDef


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """A public name that is assigned: its annotation or the value, and the comment above it or beside it."""

    name: str
    text: str
    comment: str


@dataclasses.dataclass(frozen=True, eq=False)
class Module:
    """One public module.

    Attributes:
      name: dotted.
      doc: its docstring.
      definitions: public functions and classes, in order.
      values: public constants and aliases of types.
      imported: name here -> dotted name of what it is.
    """

    name: str
    doc: str
    definitions: tuple[Definition, ...]
    values: tuple[Value, ...]
    imported: dict[str, str]

    @property
    def names(self) -> set[str]:
        """Public names that the module itself defines."""
        return {d.name for d in self.definitions} | {v.name for v in self.values}


@functools.cache
def modules() -> dict[str, Module]:
    """Every public module of the package, by name."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if not any(part.startswith("_") for part in name.split(".")) and "templates" not in parts:
            found[name] = _module(name, path.read_text())
    return found


@functools.cache
def packages() -> dict[str, list[Module]]:
    """The modules of each package that has any, itself first."""
    found: dict[str, list[Module]] = {}
    parents = {name.rpartition(".")[0] for name in modules()}
    for name, module in modules().items():
        found.setdefault(name if name in parents else name.rpartition(".")[0], []).append(module)
    return {name: sorted(own, key=lambda m: (m.name != name, m.name)) for name, own in found.items()}


def public_names() -> Iterator[str]:
    """The dotted name of everything that is to be documented: modules, definitions, their public members, values."""
    for module in modules().values():
        yield module.name
        yield from (f"{module.name}.{value.name}" for value in module.values)
        for definition in module.definitions:
            yield f"{module.name}.{definition.name}"
            if isinstance(definition, ast.ClassDef):
                yield from (f"{module.name}.{definition.name}.{m.name}" for m in members(definition))


def members(cls: ast.ClassDef) -> list[ast.FunctionDef]:
    """The public methods and properties of a class that have a docstring of their own."""
    functions = [node for node in cls.body if isinstance(node, ast.FunctionDef)]
    kept = {f.name: f for f in functions if not f.name.startswith("_") and ast.get_docstring(f)}
    return list(kept.values())


def fields(cls: ast.ClassDef) -> list[tuple[str, str, str]]:
    """Name, annotation and default ("" for none) of what a class annotates and does not hide."""
    found = []
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            default = "" if node.value is None else ast.unparse(node.value)
            found.append((node.target.id, ast.unparse(node.annotation), default))
    return found


def resolved(name: str, module: Module, cls: str = "") -> str | None:
    """The dotted name of what ``name`` means in a module, or in a class of it; None for what is not of this package."""
    head, _, rest = name.removesuffix("()").partition(".")
    starts = [f"{module.name}.{cls}.{head}"] if cls else []
    starts += [f"{module.name}.{head}", module.imported.get(head, ""), name.partition(".")[0]]
    for start in starts:
        whole = _origin(f"{start}.{rest}" if rest else start)
        if whole is not None:
            return whole
    return None


def _origin(name: str, depth: int = 8) -> str | None:
    """The module that defines a dotted name, through the imports of the modules on the way."""
    if name in _all_names():
        return name
    head, _, last = name.rpartition(".")
    for start, tail in ((head, last), (head.rpartition(".")[0], f"{head.rpartition('.')[2]}.{last}")):
        module = modules().get(start)
        first, _, rest = tail.partition(".")
        if module is not None and first in module.imported and depth:
            further = module.imported[first] + (f".{rest}" if rest else "")
            return _origin(further, depth - 1)
    return None


@functools.cache
def _all_names() -> frozenset[str]:
    return frozenset(public_names())


def _module(name: str, source: str) -> Module:
    tree = ast.parse(source)
    definitions = tuple(node for node in tree.body if isinstance(node, Definition) and not node.name.startswith("_"))
    lines = source.splitlines()
    after = [*tree.body[1:], None]
    values = {value.name: value for node, below in zip(tree.body, after) for value in _values(node, below, lines)}
    return Module(name, ast.get_docstring(tree) or "", definitions, tuple(values.values()), _imports(tree))


def _values(node: ast.stmt, below: ast.stmt | None, lines: list[str]) -> Iterator[Value]:
    if isinstance(node, ast.AnnAssign):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.Assign):
        targets = [t for target in node.targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
        value = node.value
    else:
        return
    for target in targets:
        if isinstance(target, ast.Name) and not target.id.startswith("_"):
            text = "" if value is None or len(targets) > 1 else ast.unparse(value)
            yield Value(target.id, text, _string(below) or _comment(node, lines))


def _string(node: ast.stmt | None) -> str:
    """A string that stands alone, as the docstring of the value above it."""
    is_string = (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    return node.value.value if is_string else ""  # type: ignore[union-attr]


def _comment(node: ast.stmt, lines: list[str]) -> str:
    """The comment lines right above a statement, or the one at its end."""
    above: list[str] = []
    for number in range(node.lineno - 2, -1, -1):
        if not lines[number].startswith("#"):
            break
        above.insert(0, lines[number].removeprefix("#").strip())
    _, mark, beside = lines[node.lineno - 1].partition("  # ")
    return " ".join(above) or (beside if mark else "")


def _imports(tree: ast.Module) -> dict[str, str]:
    found = {}
    statements = [inner for node in tree.body for inner in (node.body if isinstance(node, ast.If) else [node])]
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
            found |= {top: top for top in (a.name.partition(".")[0] for a in node.names if not a.asname)}
    return found
