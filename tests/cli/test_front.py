"""What somebody sees who types `posenc` for the first time: six things, groups, examples, the shell, the machine."""

import contextlib
import functools
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_jax import extras
from posenc_jax.cli import COMMANDS, GROUPS, main
from posenc_jax.cli.completion import options_of, script
from posenc_jax.files.shipped import shipped_config

ROOT = Path(__file__).parents[2]


def test_without_arguments_six_things(printed):
    shown = printed()
    things = re.findall(r"^  posenc (\w+)", shown, re.MULTILINE)
    assert len(things) == 6
    assert set(things) <= set(COMMANDS)
    assert "posenc --help" in shown


@pytest.mark.parametrize("words", [(), ("--help",), *((name, "--help") for name in COMMANDS)], ids=" ".join)
def test_help_has_the_width_of_the_terminal(printed, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, printed(*words).splitlines())) <= 80


def test_help_is_grouped(printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # a command has one line there
    shown = printed("--help")
    for title, group in GROUPS.items():
        part = shown.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in part.splitlines()] == list(group)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)


def test_help_imports_nothing_that_takes_long():
    code = "import sys; from posenc_jax.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert not {"jax", "numpy", "flax", "optax", "tyro", "rich", "orbax", "matplotlib"} & set(loaded)
    assert len(loaded) < 200


# No command loads all of the packages that some command needs: a process that loads them takes seconds more.
HEAVY = {"flax", "matplotlib", "optax", "orbax", "pandas", "plotly", "pyarrow", "rich", "scipy", "sklearn", "tyro"}
NEEDED = {
    ("list",): (set(), 1200),
    ("aliases", "sinusoidal"): (set(), 1200),
    ("explore", "rope"): (set(), 1000),
    ("show", "sinusoidal", "--view", "vectors"): (set(), 1200),
    ("show", "alibi", "--length", "16"): ({"plotly"}, 1300),
}


@pytest.mark.parametrize("words", NEEDED, ids=" ".join)
def test_a_command_imports_what_it_needs(words, tmp_path):
    code = "import sys; from posenc_jax.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    loaded = done.stderr.splitlines()[-1].split()
    needed, most = NEEDED[words]
    assert HEAVY & set(loaded) == needed
    assert len(loaded) < most


@functools.cache
def examples(command):
    """The examples in a command's help, each with what it is about."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert main([command, "--help"]) == 0
    return re.findall(r"^  (posenc .+)\n      +(\S.*)$", shown.getvalue(), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples_of_what_there_is(command):
    options = options_of(command)
    assert examples(command)
    for line, _ in examples(command):
        words = shlex.split(line)
        assert words[:2] == ["posenc", command]
        for word in words[2:]:
            if word.startswith("--"):
                assert word.removeprefix("--") in {*options, "seeds"}, line  # of the demo, an override
            if word.startswith("configs/"):
                assert shipped_config(word) is not None, line


ALONE = ("lesson", "list", "show", "aliases", "rope", "explore", "new", "audit", "plan", "doctor")
"""Commands that need no run."""


@pytest.mark.slow
@pytest.mark.parametrize("command", ALONE)
def test_examples_run(command, tmp_path, monkeypatch):
    for number, line in enumerate(line for line, _ in examples(command) if "RUN" not in line):
        (tmp_path / str(number)).mkdir()
        example_runs(line, tmp_path / str(number), monkeypatch)


def example_runs(line, tmp_path, monkeypatch):
    def run(line):
        command = [sys.executable, "-m", "posenc_jax", *shlex.split(line)[1:]]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    if "own/plays" in line:
        monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
        (add,) = (line for line, _ in examples("data") if "data add plays" in line)
        for name in re.findall(r"\w+\.txt", add):
            (tmp_path / name).write_text("".join(f"{name} says number {i} to {i * i}\n\n" for i in range(400)))
        added = run(add)
        assert added.returncode == 0, added.stderr
    done = run(line.partition(" > ")[0])
    assert done.returncode == 0 or (line.startswith("posenc plan") and "does not fit: " in done.stdout), done.stderr


OPTIONS = {"train": ["training.steps", "posenc"], "list": [], "verdict": ["quick"]}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_knows_commands_and_their_options(shell):
    found = script(shell, OPTIONS)
    assert all(name in found for name in (*OPTIONS, "training.steps", "quick"))


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash")
def test_bash_completes(tmp_path):
    (tmp_path / "posenc").write_text(script("bash", OPTIONS))
    asked = f"""
source {tmp_path / "posenc"}
complete -p posenc
function_of=$(complete -p posenc | sed 's/.*-F \\([^ ]*\\).*/\\1/')
try() {{
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}; COMPREPLY=()
  $function_of
  echo "${{COMPREPLY[@]}}"
}}
try posenc ver
try posenc train --tr
"""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(["/bin/bash", "-c", asked], env={"PATH": path}, capture_output=True, text=True, check=True)
    first, command, option = done.stdout.splitlines()[-3:]
    assert first.endswith(" posenc")
    assert command.split() == ["verdict"]
    assert option.split() == ["--training.steps"]


def test_options_are_those_of_the_help():
    assert {"training.steps", "posenc", "directory", "model.d-model"} <= set(options_of("train"))
    assert {"rebuild", "jsonl"} <= set(options_of("data"))


def test_the_doctor_looks_at_everything(printed):
    shown = printed("doctor")
    for word in ("Versions", "Devices", "threads", "Caches", "Optional parts", "jaxlib", "cpu", *extras.EXTRAS):
        assert word in shown


def test_a_config_of_the_package_is_found_in_any_folder(tmp_path, monkeypatch, capsys, refusal):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "configs/demo.py"]) == 2  # it is found, and is an ablation
    assert (
        "configs/demo.py holds a value of type Ablation, and posenc train needs one of type Run: use `posenc ablate"
        in capsys.readouterr().err
    )
    assert "there is no config file configs/no.py" in refusal("train", "configs/no.py")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "demo.py").write_text("config = 3\n")
    assert "configs/demo.py holds a value of type int" in refusal("ablate", "configs/demo.py")
    for name in ("configs", "configs.demo"):  # those of the folder, which other tests must not find
        sys.modules.pop(name, None)


@pytest.mark.parametrize("text", ["configs/../pyproject.toml", "/configs/demo.py", "demo.py", "configs/a/demo.py"])
def test_nothing_else_of_the_package_is_found(text):
    assert shipped_config(text) is None


@pytest.mark.slow
def test_the_demo_in_an_empty_folder(tmp_path):
    """Shortened: a seed, few steps, lengths and examples."""
    command = [sys.executable, "-m", "posenc_jax", "demo", "--seeds", "0", "--training.steps", "50"]
    command += ["--training.log-every", "50", "--evaluation.lengths", "8", "10", "--evaluation.num-examples", "16"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "runs" / "demo" / "results.jsonl").read_text().splitlines()]
    assert len({(row["task_label"], row["label"]) for row in rows}) == 4
    assert "Next: open runs/demo/report.html" in done.stderr
