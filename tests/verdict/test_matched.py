"""A baseline with as many parameters as ours: wider feed-forward layers and nothing else."""

import dataclasses

import pytest

from posenc_jax import Evaluation, Run, Training, Transformer
from posenc_jax.cli import main
from posenc_jax.config import source_of
from posenc_jax.data.tasks import Copying, EvenPairs
from posenc_jax.encodings import parse
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.memory import parameters_of
from posenc_jax.verdict.matched import with_wider
from posenc_jax.verdict.own_questions import own_table

SMALL = Run(
    task=Copying(min_length=2, max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=2, num_heads=2),
    training=Training(steps=4, batch_size=2, steps_per_call=2, log_every=2),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
)
DEEP = dataclasses.replace(
    SMALL, task=EvenPairs(max_length=9), model=Transformer(d_model=8, num_layers=4, num_heads=2, mlp_dim=20)
)
TABLES = {"copies": own_table("copies", SMALL, "", ""), "pairs": own_table("pairs", DEEP, "", "")}
ROPE = {"rope": parse("rope")}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a config, small.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.py").write_text(source_of(SMALL, "A small run."))
    return tmp_path


@pytest.mark.parametrize("specs", [["t5"], ["learned"], ["t5", "learned", "nope"]])
def test_a_wider_baseline_has_as_many_parameters_as_the_largest(specs):
    ours = {text: parse(text) for text in specs}
    arms, tables = with_wider(ours, ROPE, TABLES)
    assert list(arms) == ["rope", "wider rope"]
    assert arms["wider rope"] == arms["rope"]
    for name, table in tables.items():
        most = max(parameters_of(table.cell(slot, label, (0,))) for label, slot in ours.items())
        plain, wide = (table.cell(arms[label], label, (0,)) for label in arms)
        a_width = sum(2 * plain.model.d_model + 1 for _ in range(plain.model.num_layers))  # its row, column and bias
        assert most <= parameters_of(wide) < most + a_width, name
        assert parameters_of(plain) < most
        assert dataclasses.replace(wide, label="rope", model=plain.model) == plain
        assert plain == TABLES[name].cell(ROPE["rope"], "rope", (0,))


def test_nothing_to_match_is_refused():
    ours = {"nope": (), "alibi": parse("alibi")}
    said = "nope, alibi: no more parameters than rope on copies, pairs, so there is nothing to match: leave --matched"
    with pytest.raises(RefusedError, match=said):
        with_wider(ours, ROPE, TABLES)


@pytest.mark.usefixtures("home")
def test_the_command_adds_it(monkeypatch):
    asked = {}

    def decide(ours, baselines, tables, directory, **more):
        asked.update(baselines=list(baselines), widened=tables["rsc"].widened)
        raise KeyboardInterrupt

    monkeypatch.setattr("posenc_jax.verdict.deciding.decide", decide)
    monkeypatch.setattr("posenc_jax.cli.verdict._check", lambda *encoding: None)
    main(["verdict", "t5", "--matched", "--on", "small.py"])
    assert asked["baselines"] == ["RoPE", "wider RoPE"]
    ((label, width),) = asked["widened"]
    assert (label, width > 32) == ("wider RoPE", True)


def test_the_command_refuses_it(home, refusal):
    assert "NoPE: no more parameters than RoPE on rsc" in refusal("verdict", "nope", "--matched", "--on", "small.py")
    (home / "done").mkdir()
    said = "--on done trains nothing, and --matched is about training: leave it out"
    assert said in refusal("verdict", "--matched", "--on", "done")
