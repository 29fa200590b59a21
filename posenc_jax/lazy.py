"""Names of a package that are imported when they are first used: those that it imports for type checkers only.

A name that went answers for one minor version, by a table.
"""

# Nothing is imported here that Python has not: `python -m posenc_jax` comes by with the current folder on the path.
import importlib
import sys

GONE: dict[str, str] = {}
"""Public names of the last minor version, such as ``posenc_jax.encodings.Name``, and the full names of today."""


def names_of(package: str) -> dict[str, str]:
    """The names imported under ``if TYPE_CHECKING:`` in a package's source, and the module that has each."""
    import ast

    source = ast.parse(sys.modules[package].__loader__.get_source(package))  # type: ignore[union-attr]
    checked = next(node for node in source.body if isinstance(node, ast.If))
    found = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


def find(package: str, name: str) -> object:
    """An attribute of a package that it has not yet: ``__all__``, or one of `names_of` (also a module) or `GONE`."""
    names = names_of(package)
    if name == "__all__" and names:
        return sorted(names)
    if now := GONE.get(f"{package}.{name}"):
        import pkgutil
        import warnings

        warnings.warn(
            f"{package}.{name} goes with the next minor version: write {now}", DeprecationWarning, stacklevel=3
        )
        return pkgutil.resolve_name(now)
    if name not in names:
        has = f"; it has {', '.join(sorted(names))}" if names else ""
        raise AttributeError(f"module {package!r} has no attribute {name!r}{has}", name=name, obj=sys.modules[package])
    module = importlib.import_module(names[name])
    # Not getattr: the package's own would ask here again.
    value = vars(module)[name] if name in vars(module) else importlib.import_module(f"{names[name]}.{name}")
    vars(sys.modules[package])[name] = value
    return value
