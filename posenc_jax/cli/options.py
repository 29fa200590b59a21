"""Commands as typed functions: the signature names the options, the docstring has their help and examples."""

import argparse
import dataclasses
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.errors import Parser, as_path, guarded

Command = Callable[[list[str]], int]
_ENTRY = re.compile(r"^  (\w+): (.*(?:\n {3,}.*)*)", re.MULTILINE)
_METAVARS = {int: "N", float: "X", Path: "FILE"}


def command(work: Callable[..., int | None], about: Callable[[], str] | None = None, name: str = "") -> Command:
    """The command line of a function: takes the words after the command's name, and gives the exit code (`guarded`).

    Parameters before ``*`` are arguments by their place, those after it options; a bool is an option without a value,
    and the fields of a dataclass are options. ``Annotated`` has a metavar (a string) or a reader of words (a function).
    A tuple holds each value once, a Sequence any. The docstring is the help: ``Args:``, or ``Attributes:`` of a
    dataclass, has a line for each; ``Examples:`` come last.

    Args:
      about: what the description ends with, where it is computed.
      name: default that of the module.
    """
    name = name or work.__module__.rpartition(".")[2]

    @functools.wraps(work)
    def main(arguments: list[str]) -> int:
        return guarded(lambda: work(**_read(work, _parser(work, name, about), arguments)))

    return main


def commands(about: str, **inner: Command) -> Command:
    """A command that has commands, by their names; ``about``: its description."""
    wrapped: Mapping[str, Any] = inner
    name = next(iter(wrapped.values())).__module__.rpartition(".")[2]

    def main(arguments: list[str]) -> int:
        if arguments[:1] and arguments[0] in inner:
            return inner[arguments[0]](arguments[1:])
        summaries = [f"  {word:<8} {(own.__doc__ or '').partition('.')[0]}" for word, own in wrapped.items()]
        parser = Parser(f"posenc {name}", description="\n".join((about, "", *summaries)))
        parser.add_argument("command", choices=tuple(inner), help=f"`posenc {name} COMMAND --help` shows its options")
        return guarded(lambda: parser.parse_args(arguments[:1]) and None)

    return main


def _parser(work: Callable[..., Any], name: str, about: Callable[[], str] | None) -> Parser:
    text, _, rest = (inspect.getdoc(work) or "").partition("\n\nArgs:\n")
    entries, _, examples = rest.partition("\n\nExamples:\n")
    parser = Parser(
        f"posenc {name}",
        description=text if about is None else f"{text}\n{about()}",
        epilog=examples and f"examples:\n{examples}",
    )
    _add(parser, work, entries)
    return parser


def _add(parser: argparse.ArgumentParser, owner: Any, entries: str) -> None:
    """Adds what the parameters of a function or the fields of a dataclass are on a command line."""
    texts = {name: " ".join(text.split()).replace("%", "%%") for name, text in _ENTRY.findall(entries)}
    hints = typing.get_type_hints(owner, include_extras=True)
    for name, parameter in inspect.signature(owner).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            _add(parser, hints[name], (inspect.getdoc(hints[name]) or "").partition("\n\nAttributes:\n")[2])
            continue
        required, default = parameter.default is parameter.empty, parameter.default
        more = _of_type(hints[name]) | {"help": texts[name]}
        if not required:
            more["default"] = list(default) if more.get("action") == "extend" else default
        if parameter.kind is parameter.KEYWORD_ONLY or inspect.isclass(owner):
            flags = (*["-o"] * (name == "output"), f"--{name.replace('_', '-')}")
            parser.add_argument(*flags, dest=name, required=required, **more)
            continue
        more["metavar"] = None if "choices" in more else name.upper()
        if "nargs" in more:
            more |= {"metavar": name.upper().removesuffix("S"), "nargs": "+" if required else "*"}
        elif not required:
            more["nargs"] = "?"
        parser.add_argument(name, **more)


def _of_type(kind: Any) -> dict[str, Any]:
    """What argparse is told of the values of a type."""
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if kind is bool:
        return {"action": "store_true"}
    if origin is Annotated:
        (said,) = kind.__metadata__
        return _of_type(members[0]) | ({"metavar": said} if isinstance(said, str) else {"type": said})
    if origin in (typing.Union, types.UnionType):
        return _of_type(members[0])
    if origin is typing.Literal:
        return {"choices": members}
    if origin is tuple:
        return _of_type(members[0]) | {"nargs": "+" if Ellipsis in members else len(members)}
    if origin is Sequence:
        return _of_type(members[0]) | {"nargs": "+", "action": "extend"}
    return {"type": as_path if kind is Path else kind, "metavar": _METAVARS.get(kind)}


def _read(work: Callable[..., Any], parser: Parser, arguments: list[str]) -> dict[str, Any]:
    """The values of a function's parameters."""
    options = parser.parse_intermixed_args(arguments)
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in vars(options).items()}
    for name, kind in typing.get_type_hints(work).items():
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
    return given
