"""Names of a package that are imported when they are first used: those that it imports for type checkers only."""

# Nothing is imported here that Python has not: `python -m posenc_jax` comes by with the current folder on the path.
import importlib
import sys


def names_of(package: str) -> dict[str, str]:
    """The names imported under ``if TYPE_CHECKING:`` in a package's source, and the module that has each."""
    import ast

    source = ast.parse(sys.modules[package].__loader__.get_source(package))  # type: ignore[union-attr]
    checked = next(node for node in source.body if isinstance(node, ast.If))
    found = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


def find(package: str, name: str) -> object:
    """An attribute of a package that it has not yet: ``__all__``, or one of `names_of`, which may be modules."""
    names = names_of(package)
    if name == "__all__":
        return sorted(names)
    if name not in names:
        has = ", ".join(sorted(names))
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {has}", name=name)
    module = importlib.import_module(names[name])
    # Not getattr: the package's own would ask here again.
    value = vars(module)[name] if name in vars(module) else importlib.import_module(f"{names[name]}.{name}")
    vars(sys.modules[package])[name] = value
    return value
