"""Fields are set from the training lengths, for every arm by one rule."""

import contextlib
import dataclasses
import re

import numpy as np
import pytest

from posenc_jax.cli import main
from posenc_jax.encodings import ALiBi, RoPE, Shaw, T5Bias, parse, spec, t5_buckets
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.runs.errors import RefusedError
from posenc_jax.verdict import deciding
from posenc_jax.verdict.fields import fitted
from posenc_jax.verdict.tables import tables

TABLES = tables()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", [name for name in TABLES if name != "arrow_grid"])
def test_every_bucket_of_t5_is_trained(name, full):
    """Every bucket that any distance has begins in the nearer half of the longest row of training."""
    table = TABLES[name].at_full_size if full else TABLES[name]
    task, (bias,) = table.run.task, table.cell(parse("t5"), "T5 bias", (0, 1)).posenc
    width, both = task.width(task.train_lengths[-1]), task.model_kind == "encoder_only"

    def buckets(positions):
        relative = np.arange(1 - positions, positions)
        return t5_buckets(relative, bias.num_buckets, bias.max_distance, bidirectional=both)

    assert set(np.unique(buckets(width // 2 + 1))) == set(np.unique(buckets(20 * width)))


@pytest.mark.parametrize("kind", ["encoder_only", "decoder_only", "encoder_decoder"])
@pytest.mark.parametrize("asked", ["t5", "tupe(relative=True)", "deberta(version='v2')", "shaw", "cope", "dual_chunk"])
def test_rows_of_any_length_have_fields(asked, kind):
    for positions in range(3, 13):
        assert fitted(parse(asked), positions, kind), "no field is refused"


@pytest.mark.parametrize("asked", ["t5", "tupe(relative=True)"])
def test_the_past_has_all_buckets_in_a_decoder_and_half_in_an_encoder(asked):
    kinds = ("encoder_only", "decoder_only", "encoder_decoder")
    found = [fitted(parse(asked), 20, kind)[0] for kind in kinds]
    assert [(own.num_buckets, own.max_distance) for own in found] == [(8, 32), (8, 13), (8, 13)]


def test_an_encoding_of_other_positions_stays():
    slot = parse("shaw|randomized|t5|rerope")
    assert spec(fitted(slot, 12, "decoder_only")) == "shaw(max_distance=11)|randomized|t5|rerope"


def test_what_somebody_set_is_theirs_and_others_stay():
    slot = (RoPE(), T5Bias(num_buckets=16), ALiBi(), Shaw(max_distance=30))
    assert fitted(slot, 11, "encoder_only") == slot
    assert fitted((Shaw(),), 11, "encoder_only") == (Shaw(max_distance=10),)
    pattern = ((T5Bias(),), (RoPE(),))
    assert fitted(pattern, 20, "encoder_only") == ((T5Bias(num_buckets=8, max_distance=32),), (RoPE(),))


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """The specs that ``posenc verdict`` would train on even_pairs, by their labels."""

    def of(*words):
        found = {}

        def decide(ours, baselines, tables, *_, **__):
            arms = {**ours, **baselines}
            table = tables["even_pairs"]
            found.update({label: spec(table.cell(slot, label, (0,)).posenc) for label, slot in arms.items()})
            raise RefusedError("enough is known")

        monkeypatch.setattr(deciding, "decide", decide)
        monkeypatch.setattr(
            "posenc_jax.cli.verdict._check", lambda *encoding: None
        )  # the contract, which takes seconds
        main(["verdict", *words, "--tables", "even_pairs", "--directory", str(tmp_path)])
        return found

    return of


def test_a_spec_that_gives_a_field_is_taken_as_it_is(asked):
    fitted, papers = "t5(num_buckets=8, max_distance=12)", "t5(num_buckets=32, max_distance=128)"
    assert asked("t5", papers) == {"T5 bias": fitted, papers: "t5", "RoPE": "rope"}
    assert asked("T5 bias", "--against", "t5(num_buckets=32,max_distance=128)") == {"T5 bias": fitted, papers: "t5"}
    assert asked("t5(num_buckets=16)", "shaw")["t5(num_buckets=16)"] == "t5(num_buckets=16)"
    wider = asked("transformer_xl", "--against", papers, "--matched")
    assert (wider[papers], wider[f"wider {papers}"]) == ("t5", "t5")


@pytest.mark.parametrize("positions", [8, 17, 40, 512, 4096])
def test_every_row_of_deberta_v2_is_trained(positions):
    """The last row begins in the nearer half of the longest row of training."""
    (own,) = fitted(parse("deberta(version='v2')"), positions, "encoder_only")
    rows = own.rows(np.arange(2 * own.max_distance))
    assert set(rows[: positions // 2 + 1]) == set(rows)


@pytest.mark.parametrize(
    ("asked", "at_20"),
    [
        ("cope", "cope(num_positions=21)"),
        ("log_scaling", "log_scaling(training_length=20)"),
        ("rope(scaling=llama3)", "rope(scaling=llama3(original_length=20))"),
        ("dual_chunk", "dual_chunk(chunk=15, window=1)"),
        ("rerope", "rerope(window=5)"),
        ("query_temperature|rope", "query_temperature(floor=20)|rope"),
        ("log_scaling(100)|rerope(window=7)", "log_scaling(training_length=100)|rerope(window=7)"),
    ],
)
def test_fields_about_the_training_length_are_about_ours(asked, at_20):
    assert spec(fitted(parse(asked), 20, "decoder_only")) == at_20


LEFT = {
    **dict.fromkeys(("Learned", "TUPE", "Huang", "MusicTransformer", "XLNet"), "None, the longest that occurs"),
    **dict.fromkeys(("WindowBias", "LogCPB", "LayoutBias"), "of images and pages"),
    "DeBERTa": "of the version that is not chosen",
    "LowSideLobes": "only 128 and 512 were searched",
    "FIRE": "learned, and at first 512 at every training length of the paper",
    "Inkling": "None, the released models begin at 8192 and later",
    "FLOATER": "the unit of time of its equation",
    "WithinSegment": "a limit that is refused beyond",
}


def test_no_field_about_lengths_is_forgotten():
    """Such a field of a class of the catalogue that has its default is set for short rows, or is left for a reason."""
    about = re.compile("length$|distance$|buckets|window|chunk|num_positions|clamp_len|max_len|threshold|floor")
    found = set()

    def walk(own, at_20):
        if isinstance(own, tuple):
            for pair in zip(own, at_20, strict=True):
                walk(*pair)
        elif dataclasses.is_dataclass(own):
            for field in dataclasses.fields(own):
                value, set_to = getattr(own, field.name), getattr(at_20, field.name)
                if about.search(field.name) and value == field.default == set_to and not isinstance(value, str | bool):
                    found.add(type(own).__name__)
                walk(value, set_to)

    specs = [method.spec for family in CATALOGUE.values() for method in family]
    without = (re.sub(r"\([^()]*\)", "", own) for own in specs)
    for own in (*specs, *without):
        with contextlib.suppress(ValueError):  # a field has no default
            walk(parse(own), fitted(parse(own), 12, "decoder_only"))
    assert found == set(LEFT)
