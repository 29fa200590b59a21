"""The card: every form of it says the same."""

import dataclasses
import json
import re

import pytest
from measured_cells import measured

from posenc_jax.cli.verdict import _named
from posenc_jax.drawing import markdown
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.runs.environment import environment
from posenc_jax.verdict import card_files
from posenc_jax.verdict.card import Card, record
from posenc_jax.verdict.card_files import card_of, page
from posenc_jax.verdict.card_tables import latex_card, markdown_card, table, text_card
from posenc_jax.verdict.figure import render
from posenc_jax.verdict.finding import BestCase
from posenc_jax.verdict.other_scores import WAYS
from posenc_jax.verdict.rule import findings
from posenc_jax.verdict.tables import tables as all_tables

TABLES = all_tables()

NAMES = ("copy", "even_pairs")
RATES = {seed: 5e-4 if seed < 3 else 1e-3 for seed in range(8)}
MEANS = {"mine": {"copy": 0.7, "even_pairs": 0.501}, "rope": {"copy": 0.2, "even_pairs": 0.5}}


def arm(label, name):
    lengths = TABLES[name].run.evaluation.lengths
    order = range(8) if label == "mine" else reversed(range(8))
    own = {seed: MEANS[label][name] + 0.001 * (place - 3.5) for seed, place in enumerate(order)}
    by_length = {n: {seed: min(1.0, score + (n <= 8) * 0.6) for seed, score in own.items()} for n in lengths}
    others = {way: {seed: score + 0.1 * (label == "rope") for seed, score in own.items()} for way in WAYS}
    return measured(
        own,
        label,
        spec=label,
        learning_rates=RATES,
        tried={1e-3: {0: 0.9}},
        by_length=by_length,
        in_range=dict.fromkeys(own, 1.0),
        otherwise=others,
        milliseconds_per_step=2.5,
        time_spread=1.1,
        seconds=60.0,
        num_parameters=1000,
        num_posenc_parameters=10,
        memory="O(T)",
    )


@pytest.fixture(scope="module")
def card():
    tables = {name: TABLES[name].asked for name in NAMES}
    found = {label: {name: arm(label, name) for name in NAMES} for label in MEANS}
    ours, theirs = {"mine": found["mine"]}, {"rope": found["rope"]}
    return Card(
        labels=("mine",),
        baselines=("rope",),
        tables=tables,
        measured=found,
        findings=findings(tables, ours, theirs),
        otherwise=tuple(own for way in WAYS for own in findings(tables, ours, theirs, way)),
        seeds=tuple(range(8)),
        environments=(environment(), {**environment(), "commit": "0123456789"}),
        seconds=240.0,
    )


SENTENCE = "mine against rope, 2 tables: better on copy; not measurable here on even_pairs."
LINES = (
    "mine against rope, 2 tables (p corrected for 2 rows): better on copy (p < 0.001); not measurable here on "
    "even_pairs.",
    "Smallest p: < 0.001, for copy: +0.500 [0.496, 0.504].",
    "Paired seeds: 8.",
    "Cost: mine: 10 parameters of the encoding (rope: 10).",
)


def test_text(card):
    said = text_card(card, 100)
    assert " ".join(said.partition("\n\n")[0].split()) == " ".join(LINES)
    assert max(map(len, said.splitlines())) <= 100
    assert re.search(r"table +result +mine +rope +difference \[95 %\] +p \(2 rows\)\n", said)
    assert re.search(r"copy +better +0\.700 +0\.200 +\+0\.500 \[0\.496, 0\.504\] +< 0\.001\n", said)
    row, reason = said.rpartition("even_pairs  not measurable here")[2].split("\n\n")
    assert row == "  0.501  0.500                 +0.001           -"
    assert reason.startswith("not measurable here: both are at chance, or both near the best score, or")


@pytest.mark.parametrize(("milliseconds", "said"), [(2.5, "-"), (3.0, "×1.20"), (1.0, "×0.40"), (None, "-")])
def test_each_row_has_its_costs(card, milliseconds, said):
    cells = {
        name: dataclasses.replace(own, milliseconds_per_step=milliseconds, num_parameters=1020)
        for name, own in card.measured["mine"].items()
    }
    found = table(dataclasses.replace(card, measured=card.measured | {"mine": cells}))
    assert {row[-2:] for row in found.entries} == {(said, "+20")}
    assert found.columns[-2:] == ("time", "parameters")


def test_a_card_is_read_back_from_its_record(card):
    again = card_of(json.loads(json.dumps(record(card))))
    assert (again.headline, again.findings, again.otherwise) == (card.headline, card.findings, card.otherwise)
    assert markdown_card(again) == markdown_card(card)
    assert record(again) == record(card)


def test_a_label_is_text_in_every_form(card):
    label = "50% [a](javascript:b) <b> x}\\input{/etc/hostname}\\label{y\nposenc: done"
    found = dataclasses.replace(card, labels=(label,), measured={label: card.measured["mine"], **card.measured})
    assert markdown_card(found).splitlines()[0] == f"# {markdown.escaped(label)}"
    (line,) = (line.strip() for line in latex_card(found).splitlines() if r"\label" in line)
    assert line == r"\label{tab:verdict-50-a-javascript:b-b-x-input-etc-hostname-label-y-posenc:-done}"
    assert "<b>" not in page(found, None)
    assert not re.search("^posenc: done", text_card(found, 100), re.MULTILINE)


def test_every_form_says_the_same(card):
    data = json.loads(json.dumps(record(card)))
    assert data["verdict"] == [SENTENCE]
    assert data["findings"][0]["comparison"]["difference"] == pytest.approx(0.5)
    assert [(own["table"], own["way"]) for own in data["otherwise"]] == [(name, way) for way in WAYS for name in NAMES]
    assert data["otherwise"][0]["comparison"]["difference"] == pytest.approx(0.4)
    assert data["measured"]["mine"]["copy"]["scores"]["0"] == arm("mine", "copy").scores[0]
    assert data["measured"]["mine"]["copy"]["learning_rates"]["7"] == 1e-3
    assert "\n".join(f"- {line}" for line in LINES) in re.sub(r"\\([_<])", r"\1", markdown_card(card))
    assert r"\caption{mine against rope" in latex_card(card)
    html = page(card, b"\x89PNG" + bytes(12) + (600).to_bytes(4, "big"))
    plain = html.replace("\u00a0", " ").replace("−", "-")
    assert all(f'<p class="lead">{escaped(line)}</p>' in plain for line in LINES)
    assert plain.index(escaped(LINES[-1])) < plain.index("<details open><summary>Scores by length, and the differences")
    assert html.count("<table") == 1
    assert html.index("</h1>") < html.index("<details") < html.index("<table")
    assert "width: min(100%, 288px); min-width: 192px" in html, "two inches on paper, three on a screen"
    assert html.count("<script") == 1, "copies tables"
    assert not re.search(r'(src|href)="(?!data:)', html)


def test_a_row_that_lost_seeds_makes_a_hint_of_the_card(card):
    last = card.findings[-1]
    few = dataclasses.replace(last, comparison=last.comparison._replace(pairs=2))
    lost = dataclasses.replace(card, findings=(*card.findings[:-1], few))
    assert (card.needs_more_seeds, lost.needs_more_seeds) == (False, True)
    assert lost.seeds_needed == 14, "if six of them diverge again"
    assert lost.sentences == (f"{SENTENCE[:-1]} (2 seeds: a hint).",)


def test_more_seeds_are_needed_only_where_they_would_do(card):
    def with_case(enough):
        case = BestCase(0.2, 0.2, enough)
        first = dataclasses.replace(card.findings[0], word="cannot be told", best_case=case)
        return dataclasses.replace(card, findings=(first, *card.findings[1:]))

    assert (with_case(12).needs_more_seeds, with_case(None).needs_more_seeds) == (True, False)
    assert (with_case(12).seeds_needed, with_case(None).seeds_needed) == (12, None)


def with_arm(card, **changes):
    """The card with other cells of the encoding that is judged."""
    arms = {name: dataclasses.replace(own, **changes) for name, own in card.measured["mine"].items()}
    return dataclasses.replace(card, measured={**card.measured, "mine": arms})


RATES_TRIED = {1e-3: {0: 0.9}, 2e-3: {0: 0.8}}
BLIND = "mine on even_pairs: an encoder without positions does not see the order of tokens"


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({}, "Learning rate: 0.001, which may suit one arm better than another."),
        (
            {"tried": RATES_TRIED},
            "Learning rates from 0.001 to 0.002; every seed keeps the one that is best in",
        ),
        ({"tried": RATES_TRIED}, "at an end of the grid: mine on copy; mine on even_pairs."),
        ({"spec": "t5(num_buckets=8)"}, "mine is t5(num_buckets=8) on copy, even_pairs."),
        ({"spec": "nope"}, BLIND),
        ({"diverged": (3,)}, "Diverged seeds: mine on copy (3); mine on even_pairs (3)."),
        ({"untimed": ("group 0",)}, "Not included, since they are not known: the times of group 0; group 0."),
    ],
)
def test_notes_on_what_was_run(card, change, note):
    said = table(with_arm(card, **change)).notes
    assert any(note in own for own in said)
    assert not change or not any(note in own for own in table(card).notes)


def test_pictures_are_the_same_when_made_again(card):
    first = render(card)
    assert first["png"].startswith(b"\x89PNG")
    assert first["pdf"].startswith(b"%PDF")
    assert render(card) == first


def test_every_question_has_a_folder_of_its_own(card):
    def folder(**changes):
        return card_files._name(dataclasses.replace(card, **changes))

    def other(name, **changes):
        inner = {own: dict(by_table) for own, by_table in card.measured.items()}
        inner[name]["copy"] = dataclasses.replace(inner[name]["copy"], **changes)
        return inner

    first = folder()
    assert folder(seconds=card.seconds + 1) == first, "the same question, measured again"
    assert first.startswith(f"{card.label}-against-rope-")
    one = {"copy": card.tables["copy"]}
    found = [first, folder(seeds=(0, 1, 2)), folder(tables=one)]
    found += [folder(measured=other(name, question="another")) for name in card.measured]  # a size, a spec, own code
    assert len(set(found)) == len(found)
    assert "-copy-8-seeds-" in found[2]
    assert "-3-seeds-" in found[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alibi", "--against", "alibi"], "is compared with itself: name another encoding"),
        (["alibi", "--against", "rope", "rope()"], "names an encoding twice: name each once"),
        (["alibi", "--tables", "cpoy"], "there is no table 'cpoy': choose among copy, "),
        (["alibi", "--seeds", "1"], "--seeds: 1 is no whole number from 2 to 1000: choose one"),
        (["alibi", "--quick", "--tables", "copy"], "--quick and --tables both choose tables"),
        (["alibi", "--quick", "--full"], "--quick and --full are two sizes: choose one of them"),
        (
            ["axial_rope", "--tables", "copy", "arrow_grid"],
            "axial_rope cannot be measured on copy (axial_rope reads positions of 2 axes, and those of task 'copying' "
            "have 1): choose other --tables, or leave it out",
        ),
        (
            ["rope", "--against", "stick_breaking", "--quick"],
            "Stick-breaking attention cannot be measured on even_pairs, bucket",
        ),
    ],
)
def test_refused_in_one_line(refusal, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refusal("verdict", *arguments)
    assert not list(tmp_path.iterdir())


def test_a_broken_encoding_gets_no_verdict(refusal, tmp_path, monkeypatch):
    """Before anything is trained."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leak.py").write_text(
        "import dataclasses\nimport jax.numpy as jnp\nfrom posenc_jax.encodings import PositionalEncoding\n\n"
        "@dataclasses.dataclass(frozen=True)\nclass Leak(PositionalEncoding):\n"
        "    def encode_keys(self, params, k, positions, length):\n"
        "        return k * (1 + jnp.mean(k, axis=2, keepdims=True))\n"
    )
    for asked, audit in {
        "leak.py:Leak": "`posenc audit leak.py:Leak`",
        "rope / leak.py:Leak": "`posenc audit 'rope / leak.py:Leak'`",
    }.items():
        err = refusal("verdict", asked, "--tables", "copy", "--directory", "runs")
        assert re.fullmatch(
            r"posenc: (rope/)?leak gets no verdict, as it breaks its contract "
            rf"\(jit: failed by \S+ \(causal\), with 4 others\): {audit} shows all, and the way out of each\n",
            err,
        )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("t5", "T5 bias"),
        ("T5 bias", "T5 bias"),
        ("rope( )", "RoPE"),
        ("nope", "NoPE"),
        ("rope(base=7)", "rope(base=7.0)"),
    ],
)
def test_an_encoding_has_the_name_of_its_row(text, label):
    """However it is written, or evidence would not find its row."""
    assert _named(text)[0] == label
