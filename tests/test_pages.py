"""The Python of the README, the start and the guides runs, but for blocks whose comment says why they do not."""

import ast
import dataclasses
import importlib
import re
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import processes
import pytest
from documenting import printed
from flax import nnx
from registry_slots import reads_attributes

import posenc_jax
from posenc_jax.analysis import check_contract
from posenc_jax.encodings import Sinusoidal, elements, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.golden.sequences import reference
from posenc_jax.huggingface import from_hf
from posenc_jax.models import Slots, Transformer, build
from posenc_jax.models.torch_weights import to_torch

ROOT = Path(__file__).parent.parent


class Block(NamedTuple):
    """A Python block, and why it does not run ("" if it does)."""

    code: str
    excuse: str


def blocks(text):
    """The Python blocks of a Markdown text."""
    found = re.finditer(r"(?:<!-- not run: (.*) -->\n)?^( *)```python\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [Block(textwrap.dedent(block[3]), block[1] or "") for block in found]


PAGES = [ROOT / "README.md", ROOT / "scripts" / "docs" / "index.md", *sorted(ROOT.glob("scripts/docs/*/*.md"))]
PRINTED = [page for page in PAGES if printed.is_printed(page.read_text())]  # run as a whole
BLOCKS = [block for page in PAGES if page not in PRINTED for block in blocks(page.read_text())]
OWN_MODEL = ROOT / "scripts" / "docs" / "guides" / "in-your-own-model.md"  # tests/test_own_model_page.py runs its cells
CELLS = blocks(OWN_MODEL.read_text().replace("```{code-cell}", "```python"))


def the(word, namespace):
    """Runs the one block that holds ``word``; gives the value of its last line, if that is an expression."""
    (block,) = [block for block in BLOCKS if word in block.code]
    assert not block.excuse
    tree = ast.parse(block.code)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "a page", "exec"), namespace)
    return eval(compile(last, "a page", "eval"), namespace) if last else None


WORDS = {  # a word that only this block holds -> the test that runs it
    "np.arange(50)": "test_vectors_of_fifty_positions",
    "posenc_jax.ablate": "test_a_comparison_from_python",
    "posenc_jax.sweep(": "test_a_sweep",
    "def my_attention(params": "test_attention_of_ones_own_model",
    "jax.shard_map(": "test_attention_split_over_devices",
    "from_torch(": "test_weights_from_torch",
    "golden.check(": "test_the_checker_of_golden_values",
    "my_yarn(": "test_golden_values_of_another_implementation",
    "mine(row": "test_positions_of_an_engine",
    "reference.Engine(": "test_golden_sequences_of_an_engine",
    "document_parts(": "test_a_document_in_sentences",
    "class TitleForAll": "test_a_mask_of_ones_own",
    "class GaussianWindow": "test_an_encoding_of_ones_own",
}


def test_every_block_is_run_or_says_why_not():
    run = [block for block in BLOCKS if not block.excuse]
    assert [sum(word in block.code for block in run) for word in WORDS] == [1] * len(run) == [1] * len(WORDS)
    assert all(name in globals() for name in WORDS.values())
    excused = [block for page in PAGES for block in blocks(page.read_text()) if block.excuse]
    assert len(excused) <= 2
    for block in excused:
        ast.parse(block.code)


def test_vectors_of_fifty_positions(capsys):
    the("np.arange(50)", {})
    assert capsys.readouterr().out == "(50, 128)\n"


def test_blocks_are_found():
    first = "```python\na = 1\n```\n```sh\nls\n```\n"
    second = "<!-- not run: it needs b -->\n   ```python\n   if b:\n       c()\n   ```\n"
    assert blocks(first + second) == [Block("a = 1\n", ""), Block("if b:\n    c()\n", "it needs b")]


@pytest.mark.parametrize("page", PRINTED, ids=lambda page: page.stem)
def test_a_page_shows_what_its_code_prints(page):
    assert printed.refilled(page.read_text()) == page.read_text(), "run scripts/quote"


def test_what_a_block_prints_replaces_what_stood_after_it():
    page = f"{printed.MARKER}\n```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n```text\n2\n```\n\nB.\n"
    excused = "<!-- not run: it needs b -->\n```python\nb()\n```\n"
    assert printed.refilled(page + excused) == page.replace("2\n", "1\n") + excused
    silent = page.replace("print(a)", "a")
    assert printed.refilled(silent) == silent.replace("\n```text\n2\n```\n", "")
    assert printed.refilled("```python\n1 / 0\n```\n") == "```python\n1 / 0\n```\n"


def test_the_tests_for_positions_tell_wrong_models_from_right_ones(wrong_models):
    """In NumPy alone; the page has the models of this library beside them."""
    of, tokens = SimpleNamespace(**wrong_models), wrong_models["sentences"]
    assert of.order_matters(of.right, tokens) > 0.5 > 1e-9 > of.order_matters(of.along_the_batch, tokens)
    assert of.rows_are_mixed(of.right, tokens) < 1e-9 < 0.5 < of.rows_are_mixed(of.along_the_batch, tokens)
    right, wrong = map(of.classifier, (of.right, of.along_the_documents))
    assert of.words_meet(right, tokens) > 0.5 > 1e-9 > of.words_meet(wrong, tokens)
    assert of.rows_are_mixed(right, tokens) < 1e-9 < 0.1 < of.rows_are_mixed(wrong, tokens)
    alone = tokens[:1]
    assert of.words_meet(right, alone) > 0.5 > 1e-9 > of.words_meet(wrong, alone)

    def decoder(tokens):  # the word after w is 3 w + its place, whatever stands before
        return np.eye(of.WORDS)[(3 * tokens + np.arange(tokens.shape[1])) % of.WORDS]

    prompt = np.array([3, 1, 4, 5, 9, 2])
    assert of.follows_its_choices(of.step_by_step, decoder, prompt, 6) == 6
    assert of.follows_its_choices(of.one_pass, decoder, prompt, 6) < 3
    assert of.standing_still(of.doubled(np.arange(512), 64)) > of.standing_still(of.sinusoidal(np.arange(512), 64))


@pytest.fixture
def wrong_models():
    """The functions of the page and the numbers of its small models; nothing that it prints."""
    page = (ROOT / "scripts" / "docs" / "guides" / "does-it-reach-your-model.md").read_text()
    trees = [ast.parse(block.code) for block in blocks(page) if not block.excuse]
    kept, names = [ast.FunctionDef, ast.Import, ast.ImportFrom], {}
    for tree in trees:
        small = any(getattr(node, "name", "") == "along_the_batch" for node in tree.body)
        tree.body = [node for node in tree.body if isinstance(node, (*kept, *([ast.Assign] if small else [])))]
        exec(compile(tree, "a page", "exec"), names)
    return names


def test_a_comparison_from_python(tmp_path, monkeypatch):
    """The block's ablation, made small before it runs: a cell, a layer, a seed, a call, a length."""
    ablate, given = posenc_jax.ablate, []

    def small(ablation, directory):
        given.append(ablation)
        (first, *_) = ablation.runs
        training = dataclasses.replace(first.training, steps=first.training.steps_per_call, validation_batches=1)
        model = dataclasses.replace(first.model, num_layers=1)
        evaluation = dataclasses.replace(first.evaluation, lengths=first.evaluation.lengths[:1], num_examples=8)
        small = {"training": training, "model": model, "evaluation": evaluation, "seeds": (0,)}
        first = dataclasses.replace(first, **small)
        return ablate(dataclasses.replace(ablation, runs=(first,)), directory)

    monkeypatch.setattr(posenc_jax, "ablate", small)
    monkeypatch.chdir(tmp_path)
    the("posenc_jax.ablate", {})
    (ablation,) = given
    assert len({run.posenc for run in ablation.runs}) == 4
    assert (tmp_path / "runs" / "mine" / "results.jsonl").stat().st_size


def test_a_sweep():
    copying = "Run(task=Copying(kind='rsc', max_length=8))"
    names = {"posenc_jax": posenc_jax}
    exec(f"from posenc_jax import Ablation, Run\nfrom posenc_jax.data.tasks import Copying\nbase = {copying}", names)
    the("posenc_jax.sweep(", names)
    labels = [run.label for run in names["config"].runs]
    assert len(labels) == 3 * (2 + 1)
    assert "rope, d_model=64, base=100" in labels
    assert {run.learning_rates for run in names["config"].runs} == {(5e-4, 1e-3)}


def test_attention_of_ones_own_model():
    """The README's function is that of the guide."""
    names = {}
    the("def my_attention(params", names)
    exec(CELLS[0].code, names)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(2, 6, 64)), jnp.float32)
    q, k, v = jnp.asarray(rng.normal(size=(3, 2, 4, 6, 16)), jnp.float32)
    plain = names["attention"](names["params"], names["embeddings"](names["params"], x), q, k, v)
    np.testing.assert_allclose(names["my_attention"](names["params"], x, q, k, v), plain, rtol=1e-5, atol=1e-6)


NEEDS = (  # what the refusals say that rows of the catalogue meet on these pages
    r"acts on embeddings, not in attention: call embed\(.*\) before the first layer, and say embedded=True",
    r"LongRoPE.short_factors has 4 factors, but RoPE turns 8 planes .* give one factor per plane",
    r"Randomized draws random positions: pass key=",
    r"by token ids, and the sequence has none: pass tokens=",
    r"tells (sections|(images|films) from text) by token types, and the sequence has none: pass token_types= ",
    r"MRoPE.sections = \(1, 1, 1, 1\) are 4 planes of two dimensions, but 16 of head_dim = 16 dimensions turn",
    r"reads \d+ attributes of each (token|pair of tokens), and .* has 0: pass (attributes|pairs)= ",
)
SPECS = list(dict.fromkeys(method.spec for methods in CATALOGUE.values() for method in methods))
OF_DATA = {spec for spec in SPECS if reads_attributes(parse(spec))}


def outcome(word, spec, call):
    """The index in `NEEDS` of what a row of the catalogue is refused for on a page, or None where it runs."""
    (block,) = [block for block in (*BLOCKS, *CELLS[:1]) if word in block.code]
    written = 'parse("rope|t5")' if 'slot = parse("rope|t5")' in block.code else "(RoPE(), ALiBi())"
    code = block.code.replace(f"slot = {written}", f"slot = parse({spec!r})")
    assert code != block.code or spec == "rope|t5"
    names = {"parse": parse}

    def run():
        exec(code, names)
        return call(names)

    try:
        assert jax.eval_shape(run).shape in {(1, 4, 6, 16), (1, 6, 64)}
    except ValueError as error:
        (met,) = [number for number, need in enumerate(NEEDS) if re.search(need, str(error))] or [str(error)]
        return met
    return None


ONES = [np.ones((1, 6, 64), np.float32), *(np.ones((1, 4, 6, 16), np.float32) for _ in range(3))]


def test_every_row_of_the_catalogue_runs_as_the_readme_has_it_or_is_told_what_it_needs():
    found = {
        spec: outcome("def my_attention(params", spec, lambda names: names["my_attention"](names["params"], *ONES))
        for spec in SPECS
    }
    adding = {spec for spec in SPECS if any("embed" in element.acts_on for element in elements(parse(spec)))}
    assert {spec for spec, met in found.items() if met == 0} == adding
    read_types = {(name, 4) for name in ("media", "circle_positions", "film_with_sound", "v2pe")}
    assert {(spec.partition("(")[0], met) for spec, met in found.items() if met} == {
        ("rope", 1),
        ("randomized|rope", 2),
        ("media", 5),
        *read_types,
        *((spec.partition("(")[0], 6) for spec in OF_DATA - adding),
    }


def test_attention_split_over_devices():
    """The same function as in one piece, in a process with four devices."""
    blocks = [CELLS[0].code, *(block.code for block in BLOCKS if "jax.shard_map(" in block.code)]
    compare = """
import json
x, *heads = (jax.random.normal(jax.random.key(i), (2, 6, 64)) for i in range(4))
x = embeddings(params, x)
q, k, v = (y.reshape(2, 6, 4, 16).swapaxes(1, 2) for y in heads)
found, whole = split(params, x, q, k, v), attention(params, x, q, k, v)
print(json.dumps([len(found.sharding.device_set), float(abs(found - whole).max())]))
"""
    devices, error = processes.python("".join([*blocks, compare]), devices=4)
    assert devices == 4
    assert error < 1e-5


def test_weights_from_torch(tmp_path, monkeypatch):
    from safetensors.numpy import save_file

    monkeypatch.chdir(tmp_path)
    config, slots = Transformer(d_model=8, num_layers=1, num_heads=2), Slots((Sinusoidal(),), (Sinusoidal(),))
    key = jax.random.key(0)
    sizes = {"vocab_size": 5, "num_classes": 5, "max_len": 1, "key": key, "posenc_key": key}
    shapes = nnx.to_pure_dict(nnx.state(nnx.eval_shape(lambda: build("encoder_decoder", config, Slots(), **sizes))))
    shapes.pop("posenc", None)
    rng = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), shapes)
    save_file(to_torch(params, config), "torch.safetensors")
    names = {"config": config, "slots": slots, "V": 5}
    the("from_torch(", names)
    np.testing.assert_array_equal(names["model"].embedding.table[...], params["embedding"]["table"])


def test_golden_values_of_another_implementation(monkeypatch):
    monkeypatch.chdir(ROOT)
    yarn = parse("rope(scaling=yarn(factor=8, original_length=512))")[0]
    with jax.enable_x64(True):
        row = lambda array: jnp.asarray(array)[None]  # noqa: E731
        names = {
            "my_yarn": lambda q, positions: yarn.encode_queries({}, row(q), row(positions), row(len(positions)))[0]
        }
        the("my_yarn(", names)
    assert parse(names["row"]["spec"]) == (yarn,)


def test_the_checker_of_golden_values():
    names = {}
    the("golden.check(", names)
    assert names["row"]["spec"] == "rope(scaling=yarn(factor=8, original_length=512))"


def test_positions_of_an_engine(capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "posenc_jax" / "golden" / "rope")
    check = importlib.import_module("check")
    monkeypatch.delitem(sys.modules, "check")
    monkeypatch.setitem(sys.modules, "check", check)
    few = check.rows()[::50]
    monkeypatch.setattr(check, "rows", lambda: few)

    def mine(config, layer, length):
        """Of planes that turn."""
        return np.trim_zeros(from_hf(config).layers[layer].inverse_frequencies(length))

    the("mine(row", {"mine": mine})
    assert capsys.readouterr().out == "\n"
    the("mine(row", {"mine": lambda *asked: 2 * mine(*asked)})
    assert "must be" in capsys.readouterr().out


def test_golden_sequences_of_an_engine(capsys, monkeypatch):
    the("reference.Engine(", {})
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(reference.Engine, "slopes", lambda self, heads: np.ones(heads))
    the("reference.Engine(", {})
    assert capsys.readouterr().out.startswith("alibi_with_padding, layer0.bias[0, 1, 11, 0]: -11 is not -0.0")


def test_a_document_in_sentences(capsys):
    the("document_parts(", {})
    page = (ROOT / "scripts" / "docs" / "guides" / "documents.md").read_text()
    assert textwrap.indent(capsys.readouterr().out, "    ") in page


def test_a_mask_of_ones_own():
    names = {}
    the("class TitleForAll", names)
    types = np.array([[1, 2, 3]])
    sides = SimpleNamespace(types=types[:, :, None]), SimpleNamespace(types=types[:, None, :])
    np.testing.assert_array_equal(names["TitleForAll"]().sees(*sides)[0], [[1, 0, 0], [1, 1, 0], [1, 0, 1]])


def test_an_encoding_of_ones_own():
    namespace = {}
    the("class GaussianWindow", namespace)
    clauses = check_contract(namespace["GaussianWindow"]())
    assert clauses
    assert {clause.name for clause in clauses if clause.status != "passed"} == {"fused"}  # it promises nothing there
