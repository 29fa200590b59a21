"""``posenc --completion SHELL``: a script by which a shell completes commands and their options; tyro writes it."""

import contextlib
import dataclasses
import importlib
import io
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from posenc_jax.cli import COMMANDS
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:[.-][a-z0-9]+)*)")


def _completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print a script with which your shell completes commands and their options. Save it where your shell
    looks for completions, as in the examples. This takes a few seconds, once.

    Args:
      shell: your shell

    Examples:
      posenc --completion bash > ~/.local/share/bash-completion/completions/posenc
          install for bash
      posenc --completion zsh > ~/.zfunc/_posenc
          install for zsh, if ~/.zfunc is in fpath
    """
    show(script(shell, {name: options_of(name) for name in COMMANDS}))


def options_of(name: str) -> list[str]:
    """The long options that the help of a command names, without their hyphens, each once."""
    module = importlib.import_module(f"posenc_jax.cli.{name}")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        module.main(["--help"])
    return list(dict.fromkeys(_OPTION.findall(shown.getvalue())))


def script(shell: str, options: dict[str, list[str]]) -> str:
    """The script for a shell; ``options`` of each command."""
    import tyro

    commands = {name: _as_function(COMMANDS[name], listed) for name, listed in options.items()}
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.suppress(SystemExit):  # by which tyro ends
        tyro.extras.subcommand_cli_from_dict(commands, prog="posenc", args=["--tyro-print-completion", shell])
    return written.getvalue()


def _as_function(about: str, options: list[str]) -> Callable[..., Any]:
    """A command as tyro takes it: a class with a field for each option."""
    import tyro

    names = {option.replace(".", "__").replace("-", "_"): option for option in options if option != "help"}
    fields = [(name, Annotated[str, tyro.conf.arg(name=option)], "") for name, option in names.items()]
    made = dataclasses.make_dataclass("Command", fields)
    made.__doc__ = about
    return made


main = command(_completion, name="--completion")
