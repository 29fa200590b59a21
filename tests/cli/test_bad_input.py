"""Bad input ends in one message with the value, the rule and the way out, exit code 2, and nothing written."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sealed_files

from posenc_jax.cli import main
from posenc_jax.config import config_hash, to_json

ROOT = Path(__file__).parents[2]
RUN = """
'''A run.'''
import dataclasses
from posenc_jax import Evaluation, Run, Training, parse, tasks

config = Run(
    task=tasks.Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10),
    posenc=parse("rope"),
    training=Training(steps=100, batch_size=4, steps_per_call=50),
    evaluation=Evaluation(lengths=(4, 16), num_examples=10),
    seeds=(0, 1),
)
"""
FILES = {
    "run.py": RUN,
    "ablation.py": RUN + "from posenc_jax import Ablation\n"
    "config = Ablation(name='small', runs=(config, dataclasses.replace(config, posenc=(), label='')))\n",
    "pairs.py": "from posenc_jax import Run, tasks\nconfig = Run(task=tasks.EvenPairs())\n",
    "scan.py": "from posenc_jax import Run, tasks\nconfig = Run(task=tasks.Scan(model='encoder_decoder'))\n",
    "foreign.py": RUN.replace("tasks.Copying(", "Foreign(").replace(
        "config =",
        "@dataclasses.dataclass(frozen=True)\n"
        "class Foreign(tasks.Copying):\n"
        "    name = 'foreign'\n"
        "    def example(self, *args):\n"
        "        example = super().example(*args)\n"
        "        return dataclasses.replace(example, inputs=example.inputs + 90)\n\n"
        "config =",
    ),
    "no_config.py": "settings = 1\n",
    "number.py": "config = 1\n",
    "syntax.py": "x = 1\nconfig = Run(\n",
    "typo.py": RUN.replace("batch_size", "batchsize"),
    "wrong.py": RUN.replace("steps=100", "steps=0"),
    "floats.py": RUN.replace("steps=100", "steps=100.0"),
    "bools.py": RUN.replace("seeds=(0, 1)", "seeds=(True, False)"),
    "exits.py": "import sys\nsys.exit(0)\n",
    "escaped.py": RUN + "from posenc_jax import Ablation\nconfig = Ablation(name='../../escaped', runs=(config,))\n",
    "gone.py": "import posenc_jax.nothing\n",
    "notes.txt": "no config\n",
    "plain": "a file\n",
}

TRAIN = ("train", "run.py")
# name: (command line, what the message must contain)
REFUSED = {
    "unknown command": (["trian", "run.py"], ["'trian'", "did you mean 'train'"]),
    "no config": (["train"], ["usage: posenc train CONFIG"]),
    "unknown config file": (["train", "rum.py"], ["rum.py", "did you mean run.py"]),
    "not Python": (["train", "notes.txt"], ["notes.txt", "a config is a Python file"]),
    "option before config": (["train", "--seeds", "1"], ["--seeds", "comes first"]),
    "no variable": (["train", "no_config.py"], ["no_config.py has no variable called config", "assign"]),
    "wrong kind of config": (["train", "number.py"], ["number.py holds an int", "needs a Run"]),
    "syntax error": (["train", "syntax.py"], ["syntax.py, line 2", "never closed"]),
    "missing module": (["train", "gone.py"], ["gone.py, line 1", "posenc_jax.nothing"]),
    "unknown field in file": (
        ["train", "typo.py"],
        ["typo.py, line 9", "Training has no field 'batchsize'", "did you mean 'batch_size'"],
    ),
    "bad value in file": (["train", "wrong.py"], ["wrong.py, line 9", "training.steps = 0 must be at least 1"]),
    "train an ablation": (["train", "ablation.py"], ["holds an Ablation", "use `posenc ablate ablation.py`"]),
    "ablate a run": (["ablate", "run.py"], ["holds a Run", "use `posenc train run.py`"]),
    "unknown option": ([*TRAIN, "--training.stesp", "3"], ["--training.stesp", "--training.steps"]),
    "no number": ([*TRAIN, "--training.steps", "many"], ["--training.steps", "many"]),
    "no choice": ([*TRAIN, "--model.norm", "pro"], ["'pro'", "--model.norm", "'pre', 'post'"]),
    "unknown encoding": ([*TRAIN, "--posenc", "rop"], ["--posenc: ", "'rop'", "did you mean 'rope'"]),
    "unknown field": ([*TRAIN, "--posenc", "rope(bas=3)"], ["'bas'", "did you mean 'base'"]),
    "unreadable encoding": ([*TRAIN, "--posenc", "rope("], ["--posenc: ", "'rope('", "write calls joined by |"]),
    "odd rotary dimension": ([*TRAIN, "--posenc", "rope(rotary_dim=3)"], ["3 of head_dim = 16", "even"]),
    "length of nothing": ([*TRAIN, "--evaluation.lengths", "0", "8"], ["length 0", "start at 1"]),
    "repeated seeds": ([*TRAIN, "--seeds", "3", "1", "3"], ["seeds: 3 is given twice", "name each once"]),
    "pooling": ([*TRAIN, "--model.pooling", "mean"], ["pooling = 'mean'", "set pooling to None"]),
    "tied output": (["train", "pairs.py", "--model.tie-output"], ["one class per token", "set tie_output to False"]),
    "table per layer": (
        [*TRAIN, "--posenc", "rope/sinusoidal"],
        ["before the first layer", "first tuple"],
    ),
    "what an ablation varies": (["ablate", "ablation.py", "--posenc", "rope"], ["--posenc", "change its config"]),
    "file in the way": ([*TRAIN, "--directory", "plain/here"], ["plain is a file", "choose another directory"]),
    "ablation on a file": (["ablate", "ablation.py", "--directory", "plain"], ["is a file", "another directory"]),
    "another config there": (
        [*TRAIN, "--directory", "taken", "--training.batch-size", "8"],
        [
            "taken holds a run with other settings",
            "training.batch_size: 4 -> 8",
            "posenc: ",
            "choose another directory",
        ],
    ),
    "an ablation there": ([*TRAIN, "--directory", "compared"], ["compared", "choose another directory"]),
    "a run there": (["ablate", "ablation.py", "--directory", "taken"], ["single run", "choose another"]),
    "another ablation there": (
        ["ablate", "ablation.py", "--directory", "compared", "--model.d-model", "32"],
        ["compared holds an ablation", "[rsc rope].model.d_model: 64 -> 32", "choose another directory"],
    ),
    "damaged config": ([*TRAIN, "--directory", "broken"], ["broken/config.json is damaged", "move"]),
    "no such source": ([*TRAIN, "--init-from", "nowhere"], ["init_from = 'nowhere'", "no such directory"]),
    "unfinished source": ([*TRAIN, "--init-from", "taken"], ["taken", "is not finished"]),
    "source of other seeds": (
        [*TRAIN, "--init-from", "finished"],
        ["no finished replica of seed 0 that did not diverge", "it has 1, 7", "choose among them"],
    ),
    "evaluate nothing": (["evaluate", "nowhere"], ["nowhere is no run", "config.json"]),
    "evaluate an ablation": (["evaluate", "compared"], ["compared is no run", "each of whose cells is a directory"]),
    "evaluate what is not here": (
        ["evaluate", "elsewhere"],
        [
            "'gone_away.config:Run' is neither a class of posenc_jax nor",
            "read it with the version, or from the run, that",
        ],
    ),
    "evaluate unfinished": (["evaluate", "taken"], ["taken", "not finished"]),
    "evaluate unknown encoding": (["evaluate", "taken", "--posenc", "alib"], ["--posenc: ", "did you mean 'alibi'"]),
    "evaluate out of order": (
        ["evaluate", "taken", "--lengths", "9", "3"],
        ["lengths 9, 3 are out of order", "ascending"],
    ),
    "report on nothing": (["report", "nowhere"], ["nowhere", "ablation.json"]),
    "more steps than are counted": (
        [*TRAIN, "--training.steps", "1" + 18 * "0"],
        ["Training.steps = 1000", "2147483647"],
    ),
    "a number of thousands of digits": ([*TRAIN, "--training.steps", 5000 * "9"], ["--training.steps"]),
    "a float for a count": ([*TRAIN, "--training.steps", "100.0"], ["--training.steps", "'100.0'"]),
    "floats for counts in a file": (
        ["train", "floats.py"],
        ["floats.py, line 9", "Training.steps = 100.0", "type int"],
    ),
    "bools for seeds in a file": (
        ["train", "bools.py"],
        ["bools.py, line 6", "Run.seeds[0] = True must be of type int"],
    ),
    "a warm-up beyond any step": (
        [*TRAIN, "--optimizer.warmup-steps", "1" + 12 * "0"],
        ["Optimizer.warmup_steps", "2147483647"],
    ),
    "a task of endless length": (
        [*TRAIN, "--task.max-length", "1000000000"],
        ["max_length = 1000000000 must be at most 1048576"],
    ),
    "a task of endless symbols": (
        [*TRAIN, "--task.num-symbols", "1000000000"],
        ["num_symbols = 1000000000 must be at most 1048576"],
    ),
    "an endless width": ([*TRAIN, "--model.d-model", "1000000000"], ["d_model = 1000000000 must be at most 1048576"]),
    "endless layers": ([*TRAIN, "--model.num-layers", "1000000"], ["num_layers = 1000000 must be at most 1024"]),
    "an endless hidden width": ([*TRAIN, "--model.mlp-dim", "1" + 12 * "0"], ["mlp_dim = 1000", "2147483647"]),
    "an endless length": ([*TRAIN, "--evaluation.lengths", "1000000000"], ["length 1000000000 is above 1048576"]),
    "endless examples": ([*TRAIN, "--evaluation.num-examples", "1" + 12 * "0"], ["num_examples = 1000", "2147483647"]),
    "positions beyond int32": (
        [*TRAIN, "--posenc", "randomized(max_position=2147483648)|rope"],
        ["--posenc: ", "Randomized.max_position = 2147483648", "2147483647"],
    ),
    "a moment of 1 in float32": ([*TRAIN, "--optimizer.b2", "0.999999999"], ["optimizer.b2 = 0.999999999", "float32"]),
    "no place": ([*TRAIN, "--directory", ""], ["--directory: '' is no path", "`.` for this one"]),
    "no place for an ablation": (["ablate", "ablation.py", "--directory="], ["--directory: '' is no path"]),
    "no run to evaluate": (["evaluate", ""], ["'' is no path"]),
    "no ablation to report": (["report", ""], ["'' is no path"]),
    "no place for data": (["data", "list", "--directory", ""], ["'' is no path"]),
    "a config that ends the program": (
        ["train", "exits.py"],
        ["exits.py, line 2: it ends the program (SystemExit: 0)", "assigns `config`"],
    ),
    # Its place is one in runs/, where a run lies already.
    "an ablation that names another place": (
        ["ablate", "escaped.py"],
        ["runs/escaped-ea03bc47 holds a single run, not an ablation"],
    ),
    "list nothing": (["list", "rop"], ["'rop'", "did you mean 'rope'"]),
}
# These ask the devices, or run a task: they come last, since a backend starts in the process and stays.
REFUSED_BY_DEVICES = {
    "a batch beyond memory": (
        [*TRAIN, "--training.batch-size", "1000000000"],
        ["rsc rope takes about ", "and this machine has ", ": lower training.batch_size or the lengths of the task"],
    ),
    "a length of training beyond memory": (
        [*TRAIN, "--task.max-length", "1048576", "--model.attention", "dense"],
        ["(attention: ", ": lower training.batch_size or the lengths of the task"],
    ),
    "a vocabulary beyond memory": (
        [*TRAIN, "--task.num-symbols", "1048576", "--model.d-model", "65536"],
        ["rsc rope takes about ", ": lower "],
    ),
    "a width beyond memory": (
        [*TRAIN, "--model.d-model", "1048576"],
        [": lower the sizes of the model and its encodings, or execution.group_size"],
    ),
    "a length beyond memory": (
        [*TRAIN, "--evaluation.lengths", "4", "1000000", "--model.attention", "dense"],
        ["(evaluation: ", ": lower evaluation.lengths or evaluation.memory_budget_mb"],
    ),
    "a table beyond memory": (
        [*TRAIN, "--posenc", "learned(1000000000)"],
        [": lower the sizes of the model and its encodings, or execution.group_size"],
    ),
    "draws beyond memory": (
        [*TRAIN, "--posenc", "randomized(max_position=2147483647, per='example')|rope"],
        ["and this machine has ", ": lower evaluation.lengths or evaluation.memory_budget_mb"],
    ),
    "devices": (
        [*TRAIN, "--execution.mode", "vmap", "--execution.data", "64", "--training.batch-size", "64"],
        ["= 64 devices are asked for"],
    ),
    "token beyond the vocabulary": (
        ["train", "foreign.py"],
        ["task 'foreign' makes token 1", "vocab_size = 17 allows 0 to 16", "correct its example"],
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Config files, a directory of another run, one of an ablation, a damaged one; nothing in them was trained."""
    folder = tmp_path_factory.mktemp("bad_input")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name, text in {
        "taken": to_json(config_of(folder / "run.py")),
        "compared": to_json(config_of(folder / "ablation.py")),
        "runs/escaped-ea03bc47": to_json(config_of(folder / "run.py")),
        "elsewhere": {"type": "gone_away.config:Run"},
    }.items():
        sealed_files.write_config(folder / name, text)
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    group = folder / "finished" / "group-000"
    shutil.copytree(folder / "taken", group.parent)
    group.mkdir()
    diverged = {(0, 1e-3): 50, (1, 1e-3): None, (7, 1e-3): None}
    config = config_of(folder / "run.py")
    own = {"replicas": list(diverged), "group_size": 3, "config_hash": config_hash(config)}
    sealed_files.write_config(group, to_json(config), **own)
    replicas = [{"seed": seed, "learning_rate": rate, "diverged_at": at} for (seed, rate), at in diverged.items()]
    texts = dict.fromkeys(("posenc", "mode", "device_kind", "label", "table", "metrics_sha256"), "")
    counts = ("num_parameters", "num_posenc_parameters", "group_size")
    result = (
        dict.fromkeys(texts, "")
        | {"config_hash": own["config_hash"]}
        | dict.fromkeys((*counts, "device_count", "threads"), 1)
        | {"bit_exact": True}
    )
    measured = [replica | {"validation": {}, "evaluation": [], "parameters_sha256": ""} for replica in replicas]
    sealed_files.write(group / "result.json", result | {"replicas": measured})
    return folder


def config_of(path):
    return runpy.run_path(str(path))["config"]


@pytest.fixture(scope="module")
def refused(folder):
    """What every command line of `REFUSED` gave, in one process."""
    return run_all(folder, REFUSED | REFUSED_BY_DEVICES)


def run_all(folder, cases):
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("batch.py"))],
        input=json.dumps([argv for argv, _ in cases.values()]),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(cases, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("name", [*REFUSED, *REFUSED_BY_DEVICES])
def test_one_clear_message_and_nothing_written(refused, name):
    got, (_, expected) = refused[name], (REFUSED | REFUSED_BY_DEVICES)[name]
    # tyro draws boxes and breaks lines to the width of the terminal.
    message = " ".join((got["out"] + got["err"]).replace("─", " ").replace("│", " ").split())
    for part in expected:
        assert part in message
    assert got["code"] == 2
    assert "Traceback" not in message
    assert got["made"] == []
    assert got["calls"] < 8_000_000, "a refusal does no work that grows with the numbers"
    assert not got["backend"] or name in REFUSED_BY_DEVICES


def test_as_a_process(folder):
    command = [sys.executable, "-m", "posenc_jax", "train", "run.py", "--seeds", "1", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "posenc: seeds: 1 is given twice: name each once\n"


@pytest.mark.parametrize("number", ["100000", "two", "0", "-1", "1e3", "2 "])
def test_an_impossible_number_of_threads(folder, monkeypatch, capsys, number):
    monkeypatch.setenv("NPROC", number)
    monkeypatch.chdir(folder)
    assert main(["train", "run.py"]) == 2
    said = f"posenc: NPROC = {number!r} must be a number of threads, from 1 to 1024: set it, or unset it\n"
    assert capsys.readouterr().err == said


@pytest.mark.slow
def test_a_damaged_checkpoint(folder):
    """The only good step is set aside, named, and nothing is trained anew without being asked."""
    config = config_of(folder / "run.py")
    group = folder / "taken" / "group-000"
    (group / "checkpoints" / "50").mkdir(parents=True)
    (group / "checkpoints" / "50" / "_CHECKPOINT_METADATA").write_text("{}")
    own = {"replicas": config.replicas, "group_size": 2, "config_hash": config_hash(config)}
    sealed_files.write_config(group, to_json(config), **own)
    got = run_all(folder, {"damaged": ([*TRAIN, "--directory", "taken"], [])})["damaged"]
    assert got["code"] == 2
    assert "Traceback" not in got["err"]
    assert "no valid checkpoint in" in got["err"]
    assert "checkpoints/50 is damaged" in got["err"]
    assert "To start this group over, move" in got["err"]
    assert (group / "checkpoints" / "50.bad").is_dir()
    assert not (group / "metrics.jsonl").exists()
