"""The README's table of encodings says what the code and the committed audit say."""

import importlib.util
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from posenc_jax.analysis.audit import DIMS, MODEL, rows
from posenc_jax.encodings import check_slot, elements, init_slot, parse

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_catalogue_table", ROOT / "scripts" / "make_catalogue_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def committed():
    audit = json.loads((ROOT / "scripts" / "catalogue_audit.json").read_text())
    return {(record["name"], record["spec"]): record for record in audit["encodings"]}


@pytest.fixture(scope="module")
def lines(script):
    """The cells of every row in the README."""
    text = (ROOT / "README.md").read_text()
    shown = text.split(script.BEGIN)[1].split(script.END)[0].strip().splitlines()
    assert shown[0] == "| " + " | ".join(script.COLUMNS) + " |"
    # A bar inside a spec is written as backslash and bar.
    cells = [[c.strip().replace("\0", "|") for c in line.replace("\\|", "\0").strip("|").split("|")] for line in shown]
    return cells[2:]


def test_every_row_of_the_catalogue_is_there(lines):
    wanted = [[m.name, f"`{m.spec}`", family] for family, m in rows()]
    assert [cells[:3] for cells in lines] == wanted


def test_what_the_code_says(lines):
    for cells, (_, method) in zip(lines, rows(), strict=True):
        encodings = elements(parse(method.spec))
        assert method.paper in cells[3]
        assert method.link.removeprefix("arXiv:") in cells[3]
        acts_on = frozenset().union(*(e.acts_on for e in encodings))
        words = [] if cells[4] == "-" else cells[4].split(", ")
        assert len(words) == len(acts_on - {"token_terms"})
        for hook, word in (
            ("embed", "input embeddings"),
            ("bias", "logits (by position)"),
            ("map_positions", "positions"),
        ):
            assert (word in words) == (hook in acts_on)
        assert cells[5] == ("yes" if all(e.extrapolates for e in encodings) else "no")


def test_the_audit_is_of_these_encodings(lines, committed):
    """Whoever changes a hook or a parameter makes the audit anew."""
    assert list(committed) == [(m.name, m.spec) for _, m in rows()]
    for cells, (_, method) in zip(lines, rows(), strict=True):
        record = committed[method.name, method.spec]
        encodings = elements(parse(method.spec))
        assert cells[7] == record["verdict"]
        assert cells[7] in ("nothing to keep",) or cells[7].startswith("kept (")
        assert record["problems"] == []
        assert set(record["acts_on"]) == frozenset().union(*(e.acts_on for e in encodings))
        assert cells[6] == f"{record['parameters']['learned']:,}"
        assert record["shift_invariant"] == all(e.shift_invariant for e in encodings)


def test_learned_parameters(lines):
    for cells, (_, method) in zip(lines, rows(), strict=True):
        encodings = elements(parse(method.spec))
        try:
            check_slot(encodings, MODEL)
            dims = MODEL
        except ValueError:
            dims = DIMS
        total = 0
        for e, params in zip(encodings, jax.eval_shape(lambda e=encodings, d=dims: init_slot(jax.random.key(0), e, d))):
            layers = params if e.per_layer else (params,)
            total += sum(
                int(np.prod(a.shape))
                for layer in layers
                for name, value in layer.items()
                if name not in e.frozen
                for a in jax.tree.leaves(value)
            )
        assert cells[6] == f"{total:,}", method.name


def test_the_script_writes_what_is_there(script):
    readme, audit = (ROOT / "README.md").read_text(), json.loads(script.AUDIT.read_text())
    assert script.replaced(readme, script.table(audit)) == readme
    assert script.replaced("no place", "table") is None
