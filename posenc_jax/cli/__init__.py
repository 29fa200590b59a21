"""The command line, in two stages: this table answers at once; a subcommand's module imports what it needs."""

import importlib
import io
import os
import signal
import sys
import textwrap
from types import FrameType
from typing import NoReturn

from posenc_jax import __version__
from posenc_jax.cli import screen, signals
from posenc_jax.drawing.plain import short
from posenc_jax.extras import plain_one
from posenc_jax.refusals import did_you_mean

# what people do: {command, which is the name of a module here: one help line}
GROUPS = {
    "Compare": {
        "demo": "run a first comparison, about two minutes on 2 cores: posenc demo",
        "ablate": "compare encodings: posenc ablate CONFIG [--directory DIR] [overrides]",
        "train": "train and evaluate one run: posenc train CONFIG [--directory DIR] [overrides]",
        "evaluate": "evaluate a finished run again: posenc evaluate RUN --lengths ... [--posenc ...]",
        "report": "write tables, figures and report.html of ablations: posenc report DIR [DIR ... -o NEW]",
    },
    "Look at encodings": {
        "lesson": "test what is taught about encodings, claim by claim: posenc lesson [N|NAME]",
        "list": "list encodings and tasks, or describe one: posenc list [NAME]",
        "show": "draw encodings and print their properties: posenc show ENCODING [...] [--view ...]",
        "aliases": "show which positions look alike: posenc aliases ENCODING [--d-model D] [--pair P Q]",
        "rope": "show what a model's config.json declares about positions: posenc rope FILE|FOLDER|NAME",
        "explore": "write a page for exploring kernels and aliases: posenc explore [ENCODING] [...]",
    },
    "Try your own": {
        "new": "write a file for your own encoding, task, metric or config: posenc new encoding NAME",
        "audit": "measure encodings: posenc audit [ENCODING ...] [--json FILE] [--markdown FILE]",
        "verdict": "judge an encoding against RoPE: posenc verdict ENCODING [--against ...] [--quick]",
    },
    "Text and weights": {
        "data": "manage text corpora: posenc data add NAME ... | posenc data list",
        "translate": 'translate sentences with a trained run: posenc translate RUN "A sentence." [...]',
        "summarize": "summarise a document with a trained run: posenc summarize RUN FILE",
        "classify": "classify a document with a trained run: posenc classify RUN FILE",
        "context": "test position changes on longer texts: posenc context RUN --change none yarn",
        "weights": "import, export or show weights: posenc weights import DIR|FILE -o RUN",
    },
    "This machine": {
        "doctor": "show versions, devices, caches and optional parts",
        "plan": "estimate what a run takes and whether it fits: posenc plan CONFIG [--target h100]",
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
GONE = {
    "completion": "print the script with `posenc --completion bash`, zsh or fish",
    "export": "export an imported run with `posenc weights export RUN DIR`",
    "import": "import a checkpoint with `posenc weights import DIR|FILE -o RUN`",
    "merge": "join ablations with `posenc report A B -o NEW`",
    "tables": "compare with published tables in a checkout: `python -m experiments.tables [NAME]`",
    "tune": "time settings side by side with `posenc train CONFIG --training.microbatches N`",
    "vectors": "print vectors of positions with `posenc show ENCODING --view vectors`",
}
"""Commands of the last release, and what to use now."""

_STOPPED = "posenc: stopped"
_STOPPING = "posenc: stopping when the program that runs is done; a second signal ends it at once"
FIRST = """A laboratory for positional encodings in Transformers. Six things to do:

  posenc lesson                    learn what an encoding is, in short steps
  posenc demo                      compare four encodings, in about two minutes
  posenc list                      list the encodings and tasks
  posenc ablate configs/demo.py    run the comparison in a config file
  posenc show rope alibi           see what encodings do, in pictures
  posenc new encoding my_window    start your own, for `posenc verdict` to judge

`posenc --help` lists all commands; `posenc doctor` shows what is installed."""


def console() -> NoReturn:
    """`main` as a process of its own, which ends with its exit code."""
    screen.refuse_closed()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks is no error
    code = main()
    for number in signals.NUMBERS:  # while Python ends there is nobody to catch an exception
        signal.signal(number, signal.SIG_DFL)
    sys.exit(code)


def main(argv: list[str] | None = None) -> int:
    """Runs one subcommand and returns its exit code.

    0 is done, 1 failed, 2 refused (bad input), 128 + signal stopped with everything saved, or nobody reads the output.
    """
    try:
        with signals.answered(_end, _STOPPING, patience=1.0):
            code = _run(sys.argv[1:] if argv is None else argv)
            screen.flush()  # here, where it can be said that it cannot be written, not while Python ends
    except KeyboardInterrupt as error:
        screen.tell(_STOPPED)
        return 128 + (error.args[0] if error.args else signal.SIGINT)
    except BrokenPipeError:  # whoever read our output has enough, as in `posenc list | head`
        screen.give_up()
        return 128 + signal.SIGPIPE
    except screen.OutputError as error:
        screen.give_up(str(error))
        return 1
    return code


def _run(arguments: list[str]) -> int:
    command, rest = (arguments or [""])[0], arguments[1:]
    if command in ("", "-h", "--help", "help", "--version"):
        screen.show({"": FIRST, "--version": f"posenc_jax {__version__}"}.get(command) or usage())
        return 0
    refused = ""
    if command in GONE:
        refused = f"there is no command {command!r} any more: {GONE[command]}"
    elif command not in (*COMMANDS, "--completion"):
        hint = did_you_mean(command, COMMANDS, f"known are {', '.join(COMMANDS)}")
        refused = f"there is no command {short(command)!r}: {hint}"
    else:
        try:
            module = importlib.import_module(f"posenc_jax.cli.{command.removeprefix('--')}")
        except ModuleNotFoundError as error:
            if not (refused := plain_one(error) or ""):
                raise
    if refused:
        screen.tell(f"posenc: {refused}")
        return 2
    return int(module.main(rest))


def usage() -> str:
    """The text of ``posenc --help``."""
    width = max(map(len, COMMANDS))
    lines = ["usage: posenc COMMAND ...", "", "A laboratory for positional encodings in Transformers."]
    for title, group in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<{width}}  {line}" for name, line in group.items())]
    more = "`posenc COMMAND --help` shows its options and examples; `posenc --version` shows the version, and "
    lines += ["", f"{more}`posenc --completion bash|zsh|fish` a completion script for your shell."]
    indents = (" " * (width + 4) if line.startswith(" ") else "" for line in lines)
    columns = min(screen.columns(), 100)
    return "\n".join(textwrap.fill(line, columns, subsequent_indent=own) for line, own in zip(lines, indents))


def _end(number: int, frame: FrameType | None) -> None:
    """Raises a KeyboardInterrupt with the number, so that what is under way is cleared away.

    While it trains or measures, `session.stoppable` takes signals instead.
    """
    if _importing(frame):  # it may be swallowed there, or become another error; and nothing is there to be saved
        os.write(2, f"{_STOPPED}\n".encode())
        os._exit(128 + number)
    raise KeyboardInterrupt(number)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
