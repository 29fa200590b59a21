"""Runs that `posenc_jax.sweep` makes of values, and what tells the cells of an ablation apart in progress."""

import dataclasses
import itertools

import pytest

from posenc_jax import Ablation, Run, Transformer, sweep
from posenc_jax.config import config_hash, to_json, type_name
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import SCALINGS, PositionalEncoding, RoPE
from posenc_jax.files.fields import in_words, varying

BASE = Run(task=Copying(kind="rsc", max_length=8), model=Transformer(d_model=16, num_layers=1, num_heads=2))


def test_there_is_a_run_for_each_combination_and_it_is_what_replace_makes():
    runs = sweep(BASE, {"model.d_model": (16, 32), "rope.base": (1e2, 1e4), "posenc": ("rope", "nope")})
    by_hand = {
        f"rope, d_model={width}, base={base:g}": dataclasses.replace(
            BASE, posenc=(RoPE(base=base),), model=dataclasses.replace(BASE.model, d_model=width)
        )
        for width, base in itertools.product((16, 32), (1e2, 1e4))
    }
    by_hand |= {
        f"nope, d_model={width}": dataclasses.replace(BASE, model=dataclasses.replace(BASE.model, d_model=width))
        for width in (16, 32)
    }
    assert {run.label: config_hash(run) for run in runs} == {name: config_hash(run) for name, run in by_hand.items()}
    assert {run.table for run in runs} == {"rsc"}
    Ablation(name="a", runs=runs, baseline="nope, d_model=16")


def test_labels_layers_tasks_and_rates():
    model = dataclasses.replace(BASE.model, num_layers=2)
    mine = dataclasses.replace(BASE, label="mine", model=model, posenc=((RoPE(),), ()))
    runs = sweep(mine, {"rope.base": (1e2, 1e3), "task.max_length": (8, 10), "learning_rate": (1e-3, 2e-3)})
    assert {(run.table, run.label) for run in runs} == {
        (f"rsc, max_length={longest}", f"mine, base={base}") for longest in (8, 10) for base in (100, 1000)
    }
    assert {run.posenc[0][0].base for run in runs} == {1e2, 1e3}
    assert {run.posenc[1] for run in runs} == {()}
    assert {run.learning_rates for run in runs} == {(1e-3, 2e-3)}
    Ablation(name="a", runs=runs)


@dataclasses.dataclass(frozen=True)
class Window(PositionalEncoding):
    name = "window"
    width: int = 4

    def map_positions(self, positions, **_):
        return positions


def test_fields_of_own_encodings_and_of_values_in_them():
    own = type_name(Window)
    run = dataclasses.replace(BASE, posenc=(Window(), RoPE(scaling=SCALINGS["linear"](factor=2.0))), label="mine")
    runs = sweep(run, {f"{own}.width": (4, 8), "rope.scaling.factor": (2.0, 4.0)})
    assert [run.label for run in runs][:2] == ["mine, width=4, factor=2", "mine, width=4, factor=4"]
    assert [(run.posenc[0].width, run.posenc[1].scaling.factor) for run in runs] == [(4, 2), (4, 4), (8, 2), (8, 4)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model.d_modle": (16, 32)}, "no run of the sweep has a field 'model.d_modle': did you mean 'model.d_model'?"),
        ({"rope.base": (1e2, 1e4)}, "no run of the sweep has a field 'rope.base': name it as in model.d_model"),
        ({"learning_rates": (1e-3, 2e-3)}, "did you mean 'learning_rate'?"),
        ({"model.d_model": (16,)}, r"model.d_model = \(16,\) is no sweep: give two values at least"),
        ({"posenc": "rope"}, "posenc = 'rope' is no sweep"),
        ({"model.d_model": (16, 32, 16)}, "model.d_model: 16 is given twice"),
        ({"model.d_model": (16, 17)}, "d_model = 17 is not divisible by num_heads = 2"),
        ({"posenc": ("rope", Window())}, r"posenc = Window\(width=4\) must be a tuple: write \(Window\(width=4\),\)$"),
        ({"posenc": ("rope", "roep")}, "unknown encoding 'roep': did you mean 'rope'?"),
    ],
)
def test_what_is_no_sweep_is_refused_in_a_line(fields, said):
    with pytest.raises(ValueError, match=said) as refused:
        sweep(BASE, fields)
    assert "\n" not in str(refused.value)


def test_only_fields_in_which_cells_of_a_table_differ_are_told():
    wide = dataclasses.replace(BASE, label="wide", model=dataclasses.replace(BASE.model, d_model=32))
    rope = dataclasses.replace(BASE, posenc=(RoPE(),), learning_rates=(5e-4, 1e-3))
    other = dataclasses.replace(rope, table="other", posenc=(RoPE(base=100.0),))
    told = varying([to_json(run) for run in (BASE, wide, rope, other)])
    assert list(map(in_words, told)) == [
        "model.d_model 16, learning_rate 0.001",
        "model.d_model 32, learning_rate 0.001",
        "model.d_model 16, learning_rate 0.0005 0.001",
        "",
    ]


def test_several_runs_are_swept_together_and_one_without_the_field_stays():
    rope, nope = sweep(BASE, {"posenc": ("rope", "nope")})
    found = [(run.label, run.posenc) for run in sweep((rope, nope), {"rope.base": (1e2, 1e4)})]
    assert found == [
        ("rope, base=100", (RoPE(base=100.0),)),
        ("rope, base=10000", (RoPE(),)),
        ("nope", ()),
    ]
