"""Whatever a command is given: one line with the value, the rule and the way out, and nothing written."""

import re
import runpy
import shlex
import shutil

import pytest
import sealed_files
from effort import counted
from own_source import own_modules
from trained_runs import copy_of_the_run

from posenc_jax.cli import GONE, main
from posenc_jax.config import config_hash, to_json

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
    "exits.py": "import sys\nsys.exit(0)\n",
    "escaped.py": RUN + "from posenc_jax import Ablation\nconfig = Ablation(name='../../escaped', runs=(config,))\n",
    "gone.py": "import posenc_jax.nothing\n",
    "optax.py": RUN,
    "notes.txt": "no config\n",
    "plain": "a file\n",
    "there.py": "mine",
    "test_tested.py": "mine",
    "gpt2.json": '{"model_type": "gpt2", "n_layer": 2, "n_positions": 64}',
}
LEFT, CHOOSE = "leave one of them out", "neither a name of the catalogue nor a spec"
COMMANDS = {
    "trian run.py": "there is no command 'trian': did you mean 'train'?",
    "weights fetch": "posenc weights needs one of import, export, inspect",
    **{f"{command} --help": f"no command {command!r} any more: {way}\n" for command, way in GONE.items()},
}
CONFIGS = {
    "train": "train: one config file or one corpus comes first, as in posenc train CONFIG [overrides]",
    "plan --target h100": "plan: one config file or one corpus comes first",
    "train rum.py": "there is no config file rum.py; did you mean 'run.py'?",
    "train notes.txt": "there is no config file notes.txt; a config is a Python file",
    "train no_config.py": "no_config.py has no variable called config, and posenc train needs one of type Run: assign",
    "train number.py": "number.py holds a value of type int",
    "train syntax.py": "syntax.py, line 2: SyntaxError: '(' was never closed",
    "train gone.py": "gone.py, line 1: ModuleNotFoundError: No module named 'posenc_jax.nothing'",
    "train typo.py": "typo.py, line 9: TypeError: Training.__init__() got an unexpected keyword argument 'batchsize'",
    "train wrong.py": "wrong.py, line 9: training.steps = 0 must be at least 1",
    "train floats.py": "floats.py, line 9: Training.steps = 100.0 must be of type int",
    "train exits.py": "exits.py, line 2: SystemExit: 0",
    "train optax.py": "optax.py is called like an installed module, which it would hide: rename it",
    "train ablation.py": "posenc train needs one of type Run: use `posenc ablate ablation.py`",
    "ablate run.py": "use `posenc train run.py`",
    "train foreign.py": "task 'foreign' makes token 106, and its vocab_size = 17 allows 0 to 16: correct its example",
}
OVERRIDES = {
    "--posenc rop": "unknown encoding 'rop': did you mean 'rope'?",
    "--posenc 'rope('": "cannot read the encoding 'rope(' ('(' was never closed at character 5): write calls",
    "--posenc 'rope(rotary_dim=3)'": "3 of head_dim = 16",
    "--posenc rope/sinusoidal": "before the first layer",
    "--posenc 'randomized(max_position=2147483648)|rope'": "Randomized.max_position = 2147483648",
    "--seeds 3 1 3": "seeds: 3 is given twice: name each once",
    "--model.pooling mean": "pooling = 'mean'",
    "--training.steps 1000000000000000000": "Training.steps = 1000000000000000000",
    "--optimizer.b2 0.999999999": "optimizer.b2 = 0.999999999",
    "--task.max-length 1000000000": "max_length = 1000000000 must be at most 1048576",
    "--task.num-symbols 1000000000": "num_symbols = 1000000000 must be at most 1048576",
    "--model.d-model 1000000000": "d_model = 1000000000 must be at most 1048576",
    "--model.num-layers 1000000": "num_layers = 1000000 must be at most 1024",
    "--evaluation.lengths 1000000000": "length 1000000000 is above 1048576",
    "--seeds 0 --seeds 5": "--seeds is given twice, and only one of the two would count",
    "--training.log_every=5 --training.log-every 5": "--training.log-every is given twice",
    "--model.tie-output --model.no-tie-output": "--model.tie-output is given twice",
    "--task": "--task",
    "--directory ''": "'' is no path",
    "--directory plain/here": "plain is no directory): choose another directory",
    "--directory taken --training.batch-size 8": "training.batch_size: 4 -> 8",
    "--directory compared": "compared",
    "--directory broken": "broken/config.json is damaged",
    f"--directory {'d/' * 2500}": "too long): choose a shorter name",
    "--init-from nowhere": "init_from = 'nowhere'",
    "--init-from taken": "is not finished",
    "--init-from finished": "no finished replica of seed 0 that did not diverge",
    "--track mlflow": "argument --track: invalid choice: 'mlflow'",
    "--process 1": "--coordinator, --processes and --process are said together, or --distributed alone",
    "--coordinator x --processes 2 --process 0": "--coordinator x must be HOST:PORT",
    "--coordinator x:1 --processes 2 --process 2": "--process 2 must be from 0 to --processes 2 - 1",
    "--training.batch-size 1000000000": ": lower training.batch_size or the lengths of the task",
    "--model.d-model 1048576": ": lower the sizes of the model and its encodings, or execution.group_size",
    "--evaluation.lengths 4 1000000 --model.attention dense": ": lower evaluation.lengths or evaluation.memory_budget",
    "--execution.mode vmap --execution.data 64 --training.batch-size 64": "= 64 devices are asked for",
}
OVERRIDES = {f"train run.py {words}": said for words, said in OVERRIDES.items()}
OTHERS = {
    "ablate ablation.py --posenc rope": "with these overrides two cells of this ablation are one run",
    "ablate ablation.py --directory plain": "is no directory",
    "ablate ablation.py --directory taken": "single run",
    "ablate ablation.py --directory compared --model.d-model 32": "[rsc rope].model.d_model: 64 -> 32",
    "ablate escaped.py": "runs/escaped-ea03bc47 holds a single run, not an ablation",
    "ablate ablation.py --executor local --parallel 0": "--parallel: 0 is no whole number from 1 to 65536: choose one",
    "ablate ablation.py --gpus 1": "--gpus, --cpus, --time needs --executor slurm",
    "ablate ablation.py --executor local --time 5": "--time needs --executor slurm",
    "ablate ablation.py --parallel 2": "--parallel needs --executor local or slurm",
    "ablate ablation.py --executor local --executor slurm": "--executor is given twice",
    "evaluate nowhere": "nowhere is no run: it has no config.json",
    "evaluate compared": "compared is no run",
    "evaluate elsewhere": "'gone_away.config:Run' is neither a class of posenc_jax nor",
    "evaluate taken": "not finished",
    "evaluate run --posenc alib": "--posenc: unknown encoding 'alib': did you mean 'alibi'?",
    "evaluate run --lengths 9 3": "lengths 9, 3 are out of order",
    "evaluate run --trust nowhere": "--trust nowhere: there is no run, for it has no config.json",
    "report nowhere": "nowhere does not exist: name the directory of an ablation",
    "report a b": "--output NEW is the directory that takes the results of several DIR: give both, or neither",
    "plan run.py --target h10": "there is no target 'h10'; did you mean 'h100'?",
    "plan run.py --target h100 --target=v5e": "--target is given twice",
    "plan run.py --utilisation 30": "--utilisation 30.0 must be a part of the peak, above 0",
    "plan run.py --target h100 --model.attention cudnn": "h100: attention = 'cudnn' cannot serve this call",
    "demo --seeds 1 1": "seeds: 1 is given twice",
    "list rop": "there is no encoding or task 'rop'; did you mean 'rope'?",
    "list 'Partial Rope!'": "did you mean 'Partial RoPE'?",
    "list rope extra": "unrecognized arguments: extra",
    f"list {'-' * 20_000}": "list: unrecognized arguments: --",
    "list --use w": "--use: invalid choice: 'w' (choose from",
    "list --since soon": "--since: soon is no whole number from 1900 to 9999",
    "list --axes 3 --family relative": "no encoding of the catalogue is of --family relative --axes 3",
    "list rope --use W": f"rope beside options that choose encodings: {LEFT}",
    "audit rop": f"'rop' is {CHOOSE}: did you mean 'rope'?",
    "audit zzzzzz": f"'zzzzzz' is {CHOOSE}: unknown encoding 'zzzzzz'",
    "audit 'rope(bas=3)'": "RoPE has no field 'bas': did you mean 'base'?",
    "audit alibi 'learned(64)'": "raise max_len to 1024",
    "audit nope --json broken": "--json broken: it is a directory: name another file",
    "audit nope --json nowhere/a.json": "--json nowhere/a.json: there is no directory: name another file",
    "audit nope --markdown /proc/a.md": "--markdown /proc/a.md: no file can be made in /proc (",
    "audit alibi --jsn x": "audit: unrecognized arguments: --jsn x; `posenc audit --help` explains the options",
    "audit rope rope": "ENCODING: rope is given twice: name each once",
    "report a ./a --output c": "DIR: a is given twice: name each once",
    "verdict alibi --directory ''": "'' is no path",
    "data": "posenc data needs one of add, list",
    "data list --directory ''": "'' is no path",
    "data add x": "data add: give the texts as one of --text --jsonl",
    "aliases sinusoidal --num-heads 3": "--num-heads 3 must divide --d-model 8",
    "aliases sinusoidal --pair 5": "--pair: expected 2 arguments; `posenc aliases --help`",
    "explore fire": "explore: encoding 'fire' is not known: use sinusoidal, rope, alibi, t5, learned",
    "explore --d-model 9": "explore: d_model = 9 must be even",
    "explore --length 4096": "explore: length = 4096 must lie in 16 .. 2048",
    "explore --base x": "explore: argument --base: invalid float value: 'x'",
    "explore --output broken": "broken",
    "explore --output missing/x.html": "missing",
    "rope gemma-3": "did you mean 'Gemma-3-1b'?",
    "rope nothing": "known are Llama-2-7b",
    "rope no/config.json": "there is no file",
    "rope gpt2.json --output x.png": "no layer rotates",
    "new encoding there": "there.py is there already, and nothing is overwritten: choose another name",
    "new encoding tested": "test_tested.py is there already",
    "new encoding json": "json is the name of an installed module, which it would hide",
    "new task my-task": "'my-task' is no name of a Python module: letters, digits and _, as in my_window",
    "new task _3": "'_3' is no name of a Python module",
    "new encoding t5bias": "'t5bias', which is an encoding of posenc_jax",
    "new metric TopK": "'TopK', and a name is an identifier of Python in lower case",
    "new thing mine": "argument kind: invalid choice: 'thing'",
    "new encoding": "encoding needs a name, as in posenc new encoding my_encoding",
    "new encoding mine --on own/notes": "a config is written on a corpus, and nothing else is",
    "weights export run": "weights export: the following arguments are required: FILE|DIR; `posenc weights export --",
    "weights export nowhere file.safetensors": "nowhere is no run: it has no config.json",
    "weights export run folder": "run",
    "weights inspect nowhere": "there is no file nowhere: name a safetensors file",
    "weights inspect plain": "is no whole safetensors file",
    "lesson formulae": "lesson: there is no lesson 'formulae': did you mean 'formula'?",
    "lesson 99": "by number or by name",
    "lesson heatmap --output /proc/pictures": "--output /proc/pictures: no file can be made in /proc (",
    "translate nowhere text --random-seed 2147483648": "2147483648 is no whole number from 0 to 2147483647: choose one",
    "doctor now": "doctor: unrecognized arguments: now; `posenc doctor --help` explains the options",
    "--completion csh": "invalid choice: 'csh' (choose from 'bash', 'zsh', 'fish')",
}
SHOW = {
    "": "show: name encodings, as in `posenc show rope`, or a run with --run DIR",
    "rope --length 0": "--length: 0 is no whole number from 3 to 1024: choose one",
    "rope --num-heads 3": "--num-heads 3 must divide --d-model 128",
    "rope --view beauty": "show: argument --view: invalid choice: 'beauty'",
    "sinusoidal --positions 50": "--positions 50: the positions are 0 to 49: name others",
    "sinusoidal --d-model 8 --dimensions 8": "--dimensions 8: the dimensions are 0 to 7: name others",
    "sinusoidal --d-model 7": "sinusoidal: sinusoidal vectors pair a sine with a cosine, but",
    "alibi --view heatmap": "no heatmap (heat map of positions) to draw: alibi has bias, attention",
    "'sinusoidal(base=-1)'": "nor a spec: Sinusoidal.base = -1.0 must be positive: the paper has",
    "'sinusoidal(base=1e400)'": "Sinusoidal.base = inf must be finite",
    f"'rope(base={'-' * 9000}1)'": "levels of nesting",
    "rope --output x.PNG": "--output x.PNG: a file ends in .html, .png, .pdf; anything else is a",
    "rope --output plain/x": "/plain is no directory: name another directory",
    "rope --output /proc/x.png": "--output /proc/x.png: no file can be made in /proc (",
    "rope --output x.png --length 16 --d-model 8": "--output x.png holds one figure, and these are 5",
    "rope --figures png --output x.html": "show: --figures go into a directory, and --output is a file",
    "axial_rope": "axial_rope: AxialRoPE",
    "rope --seed 1": "show: --text, --file, --stack and --seed are about a finished run: add --run DIR",
    "--run r --file a.md --text a": "show: --text and --file are both the input: give one",
    "--run r --d-model 8": "show: --d-model and --num-heads are those of the run",
    "--run .": "is no run: it has no config.json",
    "--preset heatmap-128x9": "argument --preset: invalid choice: 'heatmap-128x9'",
    "learned --preset exp-8 --length 9": "--preset exp-8 sets --view, --d-model, --length and draws no --run: leave",
    "sinusoidal --view flow --text ' '": "show: --view flow draws 1 to 12 words of --text, not 0",
    "sinusoidal --view vectors pca": "show: --view vectors draws nothing: ask for it alone",
    "rope --view vectors": "vectors added to the embeddings",
    "sinusoidal --view vectors --text 'a b'": "give both",
    "sinusoidal --view vectors --text 'a b' --words a a": "--words: a does not stand 2 times in the text",
}
OTHERS |= {f"show {words}": said for words, said in SHOW.items()}
TYRO = {
    "--training.stesp 3": "--training.steps",
    "--training.steps many": "--training.steps: invalid",
    "--model.norm pro": "'pro'",
    f"--training.steps {5000 * '9'}": "--training.steps",
    "--training.steps 100.0": "'100.0'",
}
"""Refused by tyro, which draws boxes and breaks lines to the width of the terminal."""
LONG = {
    "has 15,000 characters, and 10,000 are allowed: write it shorter": ["train", "run.py", "--posenc", "rope|" * 3000],
    "1,500 elements, and 500": ["train", "run.py", "--posenc", "|".join(["rope"] * 1500)],
    "5,001 elements, and 500 are allowed": ["train", "run.py", "--posenc", "/" * 5000],
    "there is no command": ["-" * 20_000],
    "too long): choose a shorter name": ["train", "c" * 5000 + ".py"],
    "a\\udcff.py has bytes that are no text in UTF-8": ["train", "a\udcff.py"],
    "there is no config file \\x1b[2Jx.py": ["train", "\x1b[2Jx.py"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Config files, a run, and directories of another run, of an ablation, and a damaged one."""
    folder = tmp_path_factory.mktemp("refused")
    with own_modules(folder):
        yield filled(folder)


def filled(folder):
    copy_of_the_run(folder / "run")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    config, ablation = (runpy.run_path(str(folder / name))["config"] for name in ("run.py", "ablation.py"))
    for name, content in {
        "taken": to_json(config),
        "compared": to_json(ablation),
        "runs/escaped-ea03bc47": to_json(config),
        "elsewhere": {"type": "gone_away.config:Run"},
    }.items():
        sealed_files.write_config(folder / name, content)
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    group = folder / "finished" / "group-000"
    shutil.copytree(folder / "taken", group.parent)
    group.mkdir()
    diverged = {(0, 1e-3): 50, (1, 1e-3): None, (7, 1e-3): None}
    own = {"replicas": list(diverged), "group_size": 3, "config_hash": config_hash(config)}
    sealed_files.write_config(group, to_json(config), **own)
    replicas = [{"seed": seed, "learning_rate": rate, "diverged_at": at} for (seed, rate), at in diverged.items()]
    texts = dict.fromkeys(("posenc", "mode", "device_kind", "label", "table", "metrics_sha256"), "")
    counts = dict.fromkeys(("num_parameters", "num_posenc_parameters", "group_size", "device_count", "threads"), 1)
    more = {"validation": {"exact_match": 1.0}, "evaluation": [], "parameters_sha256": ""}
    measured = [replica | more for replica in replicas]
    result = texts | counts | {"config_hash": own["config_hash"], "bit_exact": True, "replicas": measured}
    sealed_files.write(group / "result.json", result)
    return folder


@pytest.fixture
def refused(folder, monkeypatch, capsys):
    """What is said of a command line that is refused, with a bounded number of calls."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    files = sorted(folder.rglob("*"))

    def said(words):
        with counted() as effort:
            assert main(words) == 2
        assert effort.calls < 8_000_000, "a refusal does no work that grows with the numbers"
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        assert [path for path in sorted(folder.rglob("*")) if "__pycache__" not in str(path)] == files
        return err

    return said


TABLE = COMMANDS | CONFIGS | OVERRIDES | OTHERS


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line[:80])
def test_a_command_line(refused, line):
    said = refused(shlex.split(line))
    assert TABLE[line] in said
    assert said.startswith("posenc: ")
    assert said.count("\n") == 1 or "Differences:\n" in said
    assert len(said) < 1000


@pytest.mark.parametrize("message", LONG)
def test_words_that_are_long_or_command_a_terminal(refused, message):
    said = refused(LONG[message])
    assert message in said
    assert said.count("\n") == 1
    assert len(said) < 900


@pytest.mark.parametrize("words", TYRO)
def test_what_tyro_refuses(refused, words):
    assert TYRO[words] in re.sub(r"[\s│─]+", " ", refused(["train", "run.py", *words.split()]))
