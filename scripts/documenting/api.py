"""The reference of the Python interface, with every public name: a page a package, of large ones a page a module."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable

from documenting.docstring import markdown, summary
from documenting.source import Module, fields, members, modules, packages, resolved

LONGEST_VALUE = 100
LONGEST_PAGE = 60_000
"""Characters of Markdown that are read on one page."""


@functools.cache
def pages(package: str) -> dict[str, str]:
    """The pages of one package by name: its docstring and its modules, or, where that is too long, a page of each."""
    own = packages()[package]
    titles = [f"- {_link(m.name)}: {summary(m.doc, linked(m))}" for m in own if m.name != package]
    parts = [f"# {package}", *(_module(m) for m in own if m.name == package)]
    parts += ["## Modules\n\n" + "\n".join(titles)] if titles else []
    modules = {m.name: _module(m) for m in own if m.name != package}
    if sum(map(len, modules.values())) <= LONGEST_PAGE:
        parts += [f"## {name.removeprefix(f'{package}.')}\n\n{text}" for name, text in modules.items()]
        return {package: "\n\n".join(parts) + "\n"}
    parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(modules) + "\n```")
    of_modules = {name: f"# {name.removeprefix(f'{package}.')}\n\n{text}\n" for name, text in modules.items()}
    return {package: "\n\n".join(parts) + "\n", **of_modules}


def index() -> str:
    """The list of packages."""
    found = modules()
    lines = []
    for package in packages():
        module = found[package]
        lines.append(f"- [{package}]({package}.md): {summary(module.doc, linked(module))}")
    toctree = "\n".join(packages())
    return (
        "# Python, by package\n\nA package imports only from lower layers, as `tests/test_layering.py` lists them. "
        "Most users need only `posenc_jax` itself and `posenc_jax.encodings`.\n\n"
        + "\n".join(lines)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    )


def linked(module: Module, cls: str = "") -> Callable[[str], str]:
    """Markup of a name in single backticks: a link for a public name of the package, else code."""

    def link(name: str) -> str:
        target = resolved(name, module, cls)
        return f"`{name}`" if target is None else f"{{py:obj}}`{name} <{target}>`"

    return link


def linked_of(cls: type) -> Callable[[str], str]:
    """The same for the docstring of a class."""
    return linked(modules()[cls.__module__], cls.__qualname__)


def _link(name: str) -> str:
    return f"{{py:mod}}`{name.rpartition('.')[2]} <{name}>`"


def _module(module: Module) -> str:
    parts = [f":::{{py:module}} {module.name}\n:::", markdown(module.doc, linked(module))]
    parts += [_value(module, value.name, value.text, value.comment) for value in module.values]
    for definition in module.definitions:
        parts.append(
            _class(module, definition) if isinstance(definition, ast.ClassDef) else _function(module, definition)
        )
    return "\n\n".join(part for part in parts if part)


def _value(module: Module, name: str, text: str, comment: str) -> str:
    quoted = " ".join(text.split()).replace("'", "''")  # an option is read as YAML
    option = f":value: '{quoted}'\n" if text and len(text) <= LONGEST_VALUE else ""
    about = f"\n{markdown(comment, linked(module))}\n" if comment else ""
    return f":::{{py:data}} {name}\n{option}{about}:::"


def _function(module: Module, node: ast.FunctionDef, cls: str = "") -> str:
    decorators = {ast.unparse(d) for d in node.decorator_list}
    doc = markdown(ast.get_docstring(node) or "", linked(module, cls))
    returns = f" -> {_annotation(node.returns, module)}" if node.returns is not None else ""
    if decorators & {"property", "functools.cached_property"}:
        kind = f":type: {returns.removeprefix(' -> ')}\n" if returns else ""
        return f":::{{py:property}} {node.name}\n{kind}\n{doc}\n:::"
    if not cls:
        return f":::{{py:function}} {node.name}({_arguments(node.args, module)}){returns}\n\n{doc}\n:::"
    fixed = "staticmethod" in decorators
    option = ":staticmethod:\n" if fixed else ":classmethod:\n" if "classmethod" in decorators else ""
    arguments = _arguments(node.args, module, skip=0 if fixed else 1)
    return f":::{{py:method}} {node.name}({arguments}){returns}\n{option}\n{doc}\n:::"


def _class(module: Module, node: ast.ClassDef) -> str:
    doc = markdown(ast.get_docstring(node) or "", linked(module, node.name))
    bases = [ast.unparse(base) for base in node.bases]
    line = "Extends " + ", ".join(linked(module)(base) for base in bases) + "." if bases else ""
    inner = [_function(module, method, node.name) for method in members(node)]
    signature = _fields(module, node) or _initial(module, node)
    body = "\n\n".join(part for part in (line, doc, *inner) if part)
    return f"::::{{py:class}} {node.name}{signature}\n\n{body}\n::::"


def _fields(module: Module, node: ast.ClassDef) -> str:
    """The arguments of a dataclass; of others what they annotate is no argument."""
    if not any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        return ""
    return "(" + ", ".join(_argument(name, kind, default, module) for name, kind, default in fields(node)) + ")"


def _argument(name: str, kind: str, default: str, module: Module) -> str:
    hidden = "dataclasses.field(" in default
    shown = "..." if hidden else default
    return f"{name}: {_annotation(ast.parse(kind, mode='eval').body, module)}" + (f" = {shown}" if default else "")


def _initial(module: Module, node: ast.ClassDef) -> str:
    found = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    return f"({_arguments(found[0].args, module, skip=1)})" if found else ""


def _arguments(args: ast.arguments, module: Module, skip: int = 0) -> str:
    """The arguments without the first ``skip``, their types under full names."""
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    words = []
    for number, (argument, default) in enumerate(zip(positional, defaults)):
        words.append(_one(argument, default, module))
        if args.posonlyargs and number == len(args.posonlyargs) - 1:
            words.append("/")
    words = words[skip:]
    if args.vararg:
        words.append("*" + _one(args.vararg, None, module))
    elif args.kwonlyargs:
        words.append("*")
    words += [_one(a, d, module) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg:
        words.append("**" + _one(args.kwarg, None, module))
    return ", ".join(words)


def _one(argument: ast.arg, default: ast.expr | None, module: Module) -> str:
    kind = argument.annotation
    text = argument.arg + (f": {_annotation(kind, module)}" if kind is not None else "")
    return text + (f" = {ast.unparse(default)}" if default is not None else "")


def _annotation(node: ast.expr | None, module: Module) -> str:
    """A type as text, with every name in full, wherever it is from."""
    if node is None:
        return ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body

    class Full(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return ast.parse(_in_full(name.id, module), mode="eval").body

        def visit_Attribute(self, name: ast.Attribute) -> ast.expr:
            return ast.parse(_in_full(ast.unparse(name), module), mode="eval").body

    return ast.unparse(Full().visit(ast.parse(ast.unparse(node), mode="eval").body))


def _in_full(name: str, module: Module) -> str:
    """The dotted name of what a name in the code of a module means: its own, an imported one, else Python's."""
    head, _, rest = name.partition(".")
    if head not in module.names and head not in module.imported:
        return name
    imported = module.imported.get(head, head)
    return resolved(name, module) or (f"{imported}.{rest}" if rest else imported)
