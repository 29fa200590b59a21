"""Every command line of a page, a docstring, a help or a message is one that the command's own parser takes."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import io
import pkgutil
import re
from pathlib import Path

import command_lines
import pytest
from script_modules import loaded

import posenc_jax.cli
import posenc_jax.runs
import posenc_jax.show
import posenc_jax.verdict
from posenc_jax.cli import COMMANDS, main
from posenc_jax.cli.completion import options_of
from posenc_jax.cli.errors import Parser, UsageError
from posenc_jax.cli.own_files import named
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation, Run
from posenc_jax.verdict.tables import tables

TABLES = tables()

ROOT = Path(__file__).parent.parent
FOLDERS = ("posenc_jax", "configs", "experiments", "scripts", ".github")
TEXTS = [
    ROOT / "README.md",
    *sorted(path for folder in FOLDERS for kind in ("*.md", "*.py") for path in (ROOT / folder).rglob(kind)),
    ROOT / "scripts" / "bench",
]
FOUND = {path: lines for path in TEXTS if (lines := command_lines.in_file(path))}

CONFIGS = {"ablate": "configs/demo.py", "plan": "configs/demo.py"}
CONFIGS |= {"train": "configs/copy_rope.py"}
STAND_INS = {"N": "2", "I": "0", "P": "1", "Q": "3", "D": "8", "S": "1", "T": "h100", "U": "0.5", "TIME": "5"}
STAND_INS |= {"HOST:PORT": "localhost:1", "ENCODING": "rope", "ENCODINGS": "rope", "SHELL": "bash", "SIZE": "2"}
STAND_INS |= {"FILE.py:Class": "my_window.py:MyWindow", "METRICS": "top_k.py:TopK", "X": "rope", "WORD": "rope"}
STAND_INS |= {"CHANGE": "yarn", "MEASURE": "passkey"}
SOME = {
    "--posenc": "rope",
    "--against": "alibi",
    "--data": "own/help-en-de",
    "--lengths": "8",
    "--steps": "8",
    "--change": "yarn",
}
"""What ``...`` stands for after an option."""
INNER = ("add", "list", "import", "export", "inspect")
"""Commands of commands."""
NO_LINES = {"posenc audit 1", "posenc golden 1", "posenc positions 1"}  # formats of files
READ = "read to its end"


def stop(*_, **__):
    raise UsageError(READ)


def with_few_cells(*words):
    """A config; of an ablation the first cell and the last, as every one is overridden by itself."""
    config = load_config(*words)
    if isinstance(config, Run):
        return config
    cells = [cell for cell in config.runs if cell.init_from is None]
    return Ablation(config.name, tuple(dict.fromkeys((cells[0], cells[-1]))))


def and_stop(parse):
    """A method of a parser that looks up the names that it read, and ends the command, but for `posenc list`."""

    def read(self, words):
        options = parse(self, words)
        if self.prog == "posenc list":
            return options
        found = vars(options)
        for name in (found.get("encoding"), *(found.get("encodings") or ()), *(found.get("against") or ())):
            if name is not None:
                named(name)
        if self.prog == "posenc verdict" and found["on"] is None:
            assert set(found["tables"] or ()) <= set(TABLES)
        stop()

    return read


@pytest.fixture(scope="module")
def _home(tmp_path_factory):
    """A folder with the configs of the project, the files that `posenc new` writes and those that pages write, where
    every command ends when it has read its line.
    """
    # A module that is first imported while a function is replaced would keep the replacement.
    for package in (posenc_jax.cli, posenc_jax.runs, posenc_jax.show, posenc_jax.verdict):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not module.ispkg:
                importlib.import_module(module.name)
    place = tmp_path_factory.mktemp("home")
    for name in ("configs", "experiments"):
        (place / name).symlink_to(ROOT / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for words in ("encoding my_window", "task middle", "metric top_k"):
            assert main(["new", *words.split()]) == 0
        for page in (ROOT / "scripts" / "docs").rglob("*.md"):
            for name, text in re.findall(r"^%%writefile (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
                with (place / name).open("a") as file:
                    file.write(text)
        for parse in ("parse_args", "parse_intermixed_args"):
            patch.setattr(Parser, parse, and_stop(getattr(Parser, parse)))
        patch.setattr(argparse.ArgumentParser, "parse_args", and_stop(argparse.ArgumentParser.parse_args))
        sized = load_config("configs/sentences.py", Run, "train")
        for name, other in {
            "cli.session.load_config": with_few_cells,
            "cli.session.on_corpus": lambda name: sized,
            "cli.sized_to_corpus.on_corpus": lambda name: sized,
            "cli.train.refuse_unusable": stop,
            "cli.ablate.refuse_unusable": stop,
            "runs.plan.plan_of": stop,
            "runs.directory.load_config": stop,
            "report.build": stop,
            "cli.train.join": lambda together: None,
            "cli.session.trust": lambda directory: None,
            "cli.evaluate.bring_along": lambda directory, **_: None,
        }.items():
            patch.setattr(f"posenc_jax.{name}", other)
        yield


@pytest.mark.parametrize("path", FOUND, ids=lambda path: str(path.relative_to(ROOT)))
@pytest.mark.usefixtures("_home")
def test_lines_are_read(path):
    problems = {" ".join(line.words): problem(line) for line in FOUND[path]}
    assert {line: said for line, said in problems.items() if said} == {}


def problem(line):
    """Why a line is none; "" if it is one, or within a sentence only a part of one."""
    command, *rest = line.words
    if command != "posenc":
        return script_says(line.words)
    if " ".join(line.words) in NO_LINES or (rest and rest[0].isupper()):  # posenc COMMAND
        return ""
    said = says(completed(rest))
    return "" if said and is_part(line, said) else said


def completed(words):
    """A line that can be read: values for its placeholders, and another config for one that is not here."""
    full = []
    for before, word in zip(["", *words], words):
        if word.startswith("..."):
            full += [SOME[before]] if before in SOME else []
        elif before in CONFIGS and (word in ("CONFIG", "X") or (word.endswith(".py") and not Path(word).exists())):
            full.append(CONFIGS[before])
        elif (before, word) == ("list", "NAME"):
            full.append("rope")
        else:
            full.append(STAND_INS.get(word, word))
    return tuple(full)


@functools.cache
def says(words):
    """What `posenc` has against a line."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(list(words))
    return "" if code == 0 or said.getvalue().endswith(f"posenc: {READ}\n") else said.getvalue()


def is_part(line, said):
    """Whether a command is only named, or told with some of its options and without what it needs."""
    _, command, *rest = line.words
    rest = rest[1:] if rest and rest[0] in INNER else rest
    options = {word.partition("=")[0].removeprefix("--") for word in rest if word.startswith("--")}
    lacks = "required" in said or not rest or rest[0].startswith("--") or rest[-1].startswith("--")
    told = line.told or not rest or any(word.startswith("...") for word in rest)
    return command in COMMANDS and told and lacks and options <= set(options_of(command))


@functools.cache
def script_says(words):
    """What a script has against its arguments, where it is in Python; those of the demo are of `posenc`."""
    name, *rest = words
    if name == "scripts/demo":
        return says(("demo", *rest))
    if not (ROOT / name).exists():
        return "there is no such file"
    file = next((path for path in (ROOT / f"{name}.py", ROOT / name) if path.is_file()), None)
    if not rest or file is None or not file.read_text().startswith('"""'):
        return ""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said):
        patch.syspath_prepend(str(ROOT / "scripts"))
        module = loaded(file)
        with contextlib.suppress(UsageError):
            patch.setattr(argparse.ArgumentParser, "error", lambda _, message: said.write(message) and stop())
            module.main(list(rest))
    return said.getvalue()


@pytest.mark.usefixtures("_home")
def test_what_cannot_be_read_is_found():
    lines = command_lines.in_text(
        "```sh\nposenc train configs/demo.py\nposenc list ropee # a\n```\n`posenc plan --targt h100`"
    )
    assert [bool(problem(line)) for line in lines] == [True, True, True]
