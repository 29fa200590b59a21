"""Commands as typed functions: the signature names the options, the docstring has their help and examples."""

import argparse
import dataclasses
import functools
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.errors import Parser, UsageError, as_path, guarded
from posenc_jax.cli.screen import columns, show

Command = Callable[[list[str]], int]


@dataclasses.dataclass(frozen=True)
class Overrides:
    """The words of a command line, and those that are no options of its command.

    Attributes:
      given: all words after the name of the command.
      left: those that are no options of the command.
    """

    given: list[str]
    left: list[str]

    @property
    def help(self) -> bool:
        """True if the help is asked for."""
        return not {"-h", "--help"}.isdisjoint(self.left)


_ENTRY = re.compile(r"^  (\w+): (.*(?:\n {3,}.*)*)", re.MULTILINE)
_METAVARS = {int: "N", float: "X", Path: "FILE"}


def command(work: Callable[..., int | None], name: str = "", *, computes: bool = False) -> Command:
    """The command line of a function: takes the words after the command's name, and gives the exit code (`guarded`).

    Parameters before ``*`` are arguments by their place, those after it options, of which a bool has no value; the
    fields of a dataclass are likewise. ``Annotated`` has a metavar (a string), choices (a tuple) or a reader of words
    (a function). A tuple holds each value once, a Sequence any. `Overrides` takes the words that are no options, which
    other parsers read; an argument by its place is then the first word or none. The docstring is the help: ``Args:``,
    or ``Attributes:`` of a dataclass, has a line for each; ``Examples:`` come last.

    Args:
      name: default that of the module.
      computes: JAX is prepared, before files of the user's are read: one that computes would fix the devices.
    """
    name = name or work.__module__.rpartition(".")[2]

    @functools.wraps(work)
    def main(arguments: list[str]) -> int:
        def run() -> int | None:
            given = _read(work, _parser(work, name), arguments)
            if computes:
                from posenc_jax.cli.session import prepare_jax

                prepare_jax()
            return work(**given)

        return guarded(run)

    return main


def commands(
    name: str, about: str, inner: Mapping[str, Callable[..., int | None]], *, computes: bool = False
) -> Command:
    """A command that has commands, which are functions; ``about``: its description."""

    def none(arguments: list[str]) -> None:
        if arguments[:1] not in (["-h"], ["--help"]):
            known = f"{', '.join(inner)}: `posenc {name} --help` shows their options"
            raise UsageError(f"posenc {name} needs one of {known}")
        helps = [_parser(work, f"{name} {word}").format_help() for word, work in inner.items()]
        show("\n\n".join([f"usage: posenc {name} {'|'.join(inner)} ...", _filled(about), *helps]), end="")

    def main(arguments: list[str]) -> int:
        if arguments and arguments[0] in inner:
            return command(inner[arguments[0]], name=f"{name} {arguments[0]}", computes=computes)(arguments[1:])
        return guarded(lambda: none(arguments))

    return main


def sections(owner: Any) -> tuple[str, str, str]:
    """Description, entries and examples of a docstring."""
    text, _, rest = (inspect.getdoc(owner) or "").partition("\n\nExamples:\n")
    about, _, entries = re.sub("\nAttributes:", "\nArgs:", text).partition("\n\nArgs:\n")
    return about, entries, rest


def _filled(text: str) -> str:
    return textwrap.fill(text, min(columns(), 100))


def _parser(work: Callable[..., Any], name: str) -> Parser:
    text, entries, examples = sections(work)
    filled = (part if re.search("^ ", part, re.MULTILINE) else _filled(part) for part in text.split("\n\n"))
    own: dict[str, Any] = {"add_help": False, "allow_abbrev": False} if _overrides(work) else {}
    parser = Parser(
        f"posenc {name}", description="\n\n".join(filled), epilog=examples and f"examples:\n{examples}", **own
    )
    _add(parser, work, entries)
    parser.usage = f"{parser.format_usage().strip().removeprefix('usage: ')}\n       [overrides]" if own else None
    return parser


def _add(parser: argparse.ArgumentParser, owner: Any, entries: str) -> None:
    """Adds what the parameters of a function or the fields of a dataclass are on a command line."""
    texts = {name: " ".join(text.split()).replace("%", "%%") for name, text in _ENTRY.findall(entries)}
    hints = typing.get_type_hints(owner, include_extras=True)
    for name, parameter in inspect.signature(owner).parameters.items():
        if hints[name] is Overrides:
            continue
        if dataclasses.is_dataclass(hints[name]):
            _add(parser, hints[name], sections(hints[name])[1])
            continue
        required, default = parameter.default is parameter.empty, parameter.default
        more = _of_type(hints[name]) | {"help": texts[name]}
        if "choices" in more and more.get("metavar"):
            more["help"] += f": {', '.join(more['choices'])}"
        if not required:
            more["default"] = list(default) if more.get("action") == "extend" else default
        if "nargs" in more and not more["metavar"]:
            more["metavar"] = name.upper().removesuffix("S")
        if parameter.kind is parameter.KEYWORD_ONLY:
            flags = (*["-o"] * (name == "output"), f"--{name.removesuffix('_').replace('_', '-')}")
            parser.add_argument(*flags, dest=name, required=required, **more)
            continue
        said = next((said for said in getattr(hints[name], "__metadata__", ()) if isinstance(said, str)), None)
        if "nargs" in more:
            more["nargs"] = "+" if required else "*"
        else:
            more |= {"metavar": said or (None if "choices" in more else name.upper())}
            more |= {} if required else {"nargs": "?"}
        parser.add_argument(name, **more)


def _of_type(kind: Any) -> dict[str, Any]:
    """The settings of argparse for values of a type."""
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if kind is bool:
        return {"action": "store_true"}
    if origin is Annotated:
        found = _of_type(members[0])
        for said in kind.__metadata__:
            found["metavar" if isinstance(said, str) else "choices" if isinstance(said, tuple) else "type"] = said
        return found
    if origin in (typing.Union, types.UnionType):
        return _of_type(members[0])
    if origin is typing.Literal:
        return {"choices": members}
    if origin is tuple:
        return _of_type(members[0]) | {"nargs": "+" if Ellipsis in members else len(members)}
    if origin is Sequence:
        return _of_type(members[0]) | {"nargs": "+", "action": "extend"}
    return {"type": as_path if kind is Path else kind, "metavar": _METAVARS.get(kind)}


def _overrides(work: Callable[..., Any]) -> str | None:
    """The parameter of a function that takes `Overrides`."""
    return next((name for name, kind in typing.get_type_hints(work).items() if kind is Overrides), None)


def _read(work: Callable[..., Any], parser: Parser, arguments: list[str]) -> dict[str, Any]:
    """The values of a function's parameters."""
    if overrides := _overrides(work):
        places = any(own.kind is own.POSITIONAL_OR_KEYWORD for own in inspect.signature(work).parameters.values())
        none = [""] * (places and (not arguments or arguments[0].startswith("-")))
        options, left = parser.parse_known_args([*none, *arguments])
        read = Overrides(arguments, left)
        if read.help:
            show(parser.format_help())
    else:
        options = parser.parse_intermixed_args(arguments)
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in vars(options).items()}
    given |= {overrides: read} if overrides else {}
    for name, kind in typing.get_type_hints(work).items():
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind is not Overrides:
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
    return given
