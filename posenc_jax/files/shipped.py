"""The files that come with the package: in an installed one beside its modules, in a checkout beside the package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(name: Path) -> Path | None:
    """The file of the package that has this name in its repository; None where there is none."""
    return next((path for home in (_PACKAGE, _PACKAGE.parent) if (path := home / name).is_file()), None)


def shipped_config(text: str) -> Path | None:
    """The file of the package that ``configs/NAME.py`` stands for; None where it has none of that name."""
    name = Path(text)
    return shipped(name) if name.parent == Path("configs") else None
