"""A light install: what each extra brings, and one line wherever one is missing, before anything is written."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from posenc_jax import extras
from posenc_jax.data import checks
from posenc_jax.data.metrics import chrf
from posenc_jax.data.text import Data, LanguageModel, Translation
from posenc_jax.data.tokenizer import JsonTokenizer, train_sentencepiece
from posenc_jax.runs.weights import read_shapes

LOCKS = ("requirements.lock", "requirements-3.12.lock")
ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements):
    return {re.split(r"[<>=\[ ]", one)[0] for one in requirements}


def test_the_table_is_that_of_the_project():
    assert set(extras.PLAIN.values()) == names(PROJECT["dependencies"])
    optional = PROJECT["optional-dependencies"]
    for extra, modules in extras.EXTRAS.items():
        assert set(modules.values()) == names(optional[extra])
    (everything,) = optional["all"]
    assert set(re.findall(r"\w+", everything.partition("[")[2])) == set(extras.EXTRAS)


@pytest.mark.parametrize("lock", LOCKS)
def test_the_tests_have_every_extra(lock):
    """A lock brings all, so that no test of an optional part is skipped after scripts/test has set itself up."""
    locked = names((ROOT / lock).read_text().splitlines())
    assert {name for modules in extras.EXTRAS.values() for name in modules.values()} <= locked


@pytest.fixture
def without(monkeypatch):
    """Makes packages impossible to import."""

    def block(*modules):
        for name in [name for name in sys.modules if name.partition(".")[0] in modules]:
            monkeypatch.delitem(sys.modules, name)
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)

    return block


TEXT = re.escape(extras.install_command("text")) + "$"


@pytest.mark.parametrize(
    ("module", "use", "what"),
    [
        ("sentencepiece", lambda: train_sentencepiece(["a b"], 300), "a vocabulary of pieces .* needs sentencepiece"),
        ("tokenizers", lambda: JsonTokenizer(b"{}"), "a tokenizer.json .* needs tokenizers"),
        ("sacrebleu", lambda: chrf(["a"], ["a"]), "chrF needs sacrebleu"),
        ("safetensors", lambda: read_shapes(Path(__file__)), "a safetensors file needs safetensors"),
    ],
)
def test_one_line_where_it_is_met(without, module, use, what):
    without(module)
    with pytest.raises(extras.MissingExtraError, match=f"^{what}, which is not installed: {TEXT}") as caught:
        use()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "task", "what"),
    [
        ("sentencepiece", Translation(), "a vocabulary of pieces (data.tokenizer = 'bpe') needs sentencepiece"),
        (
            "tokenizers",
            LanguageModel(data=Data(tokenizer="x.json")),
            "a tokenizer.json (data.tokenizer) needs tokenizers",
        ),
        ("grain", LanguageModel(data=Data(in_memory=False)), "is read in turn (data.in_memory = False) needs grain"),
        ("sacrebleu", Translation(data=Data(tokenizer="bytes")), "scores of translation needs sacrebleu"),
    ],
)
def test_a_task_on_text_is_refused_before_it_begins(without, module, task, what):
    without(module)
    with pytest.raises(extras.MissingExtraError, match=re.escape(what)):
        checks.check_task(task)


def test_what_a_task_does_not_need_is_not_asked_for(without):
    without("tokenizers", "grain", "sacrebleu")
    checks.check_packages(LanguageModel())
    without("sentencepiece")
    checks.check_packages(LanguageModel(data=Data(tokenizer="bytes")))


@pytest.mark.parametrize(
    ("arguments", "modules", "said"),
    [
        (["show", "rope", "--output", "x.html"], ["plotly"], "the HTML report needs plotly"),
        (
            ["show", "rope", "--output", "x.png", "--view", "kernel"],
            ["matplotlib"],
            "a figure for a paper needs matplotlib",
        ),
        (["weights", "inspect", "a.parquet"], ["safetensors"], "a safetensors file needs safetensors"),
        (["weights", "import", "a.parquet", "-o", "run"], ["gguf"], "a GGUF file needs gguf"),
        (["data", "add", "a", "--parquet", "a.parquet", "--field", "x"], ["pyarrow"], "a Parquet file needs pyarrow"),
    ],
)
def test_commands_say_which_extra_they_lack(without, tmp_path, monkeypatch, refusal, arguments, modules, said):
    (tmp_path / "a.parquet").write_bytes(b"x")
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    without(*modules)
    assert f"posenc: {said}, which is not installed: pip install -e '{ROOT}[" in refusal(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("flax", ["train", str(ROOT / "configs" / "copy_rope.py")]),
        ("tyro", ["train", str(ROOT / "configs" / "copy_rope.py"), "--training.steps", "100"]),
        ("tyro", ["--completion", "bash"]),
    ],
)
def test_an_install_without_dependencies_says_what_it_lacks(tmp_path, module, arguments):
    """``pip install --no-deps``: encodings work, and training names what it needs."""
    code = f"import sys; sys.modules[{module!r}] = None; from posenc_jax.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr == f"posenc: this needs {module}, which is not installed: pip install {ROOT}, without --no-deps\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", ["file:///a/my%20clone", "file:///a/posenc_jax-0.1.0-py3-none-any.whl", None])
def test_the_way_out_names_what_this_copy_was_installed_from(tmp_path, monkeypatch, url):
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "posenc_jax" / "extras.py"))

    class Installed:
        def read_text(self, name):
            return None if url is None else json.dumps({"url": url.replace("/a/", f"{tmp_path}/")})

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert extras.install_command("cluster") == "pip install submitit"  # what it was installed from is gone
    if url is not None:
        source = tmp_path / url.rpartition("/")[2].replace("%20", " ")
        source.touch()
        assert extras.install_command("text") == f"pip install '{source}[text]'"
