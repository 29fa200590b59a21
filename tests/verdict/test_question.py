"""A card keeps its questions whole, so that anybody checks it who has nothing else."""

import dataclasses
import json

from measured_cells import measured

from posenc_jax.cli import main
from posenc_jax.files.checksums import seal
from posenc_jax.verdict.card import Card, judged, record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.measuring import of_lengths
from posenc_jax.verdict.question import KeptQuestion
from posenc_jax.verdict.tables import tables

OWN = KeptQuestion(
    question="words that were inflected",
    source="mine.py",
    metric="accuracy",
    chance=0.25,
    trained_lengths=(4, 8),
    score_lengths=(12, 16),
    writes_text=True,
    length_unit="letters",
    length_names={12: "9-12", 16: "13-16"},
    steps=100,
)


def card(asked):
    def arm(label, mean):
        means = {n: 0.95 if n <= 8 else mean for n in (4, 8, 12, 16)}
        by_length = {n: {seed: own + 0.01 * (seed % 3) for seed in range(8)} for n, own in means.items()}
        return of_lengths(asked, measured({}, label, table="own", by_length=by_length, seeds=tuple(range(8))))

    found = Card(
        labels=("mine",),
        baselines=("rope",),
        tables={"own": asked},
        measured={"mine": {"own": arm("mine", 0.9)}, "rope": {"own": arm("rope", 0.3)}},
        findings=(),
        otherwise=(),
        seeds=tuple(range(8)),
        environments=(),
        seconds=0.0,
    )
    return judged(found)


def test_a_question_is_read_back_whole():
    assert KeptQuestion.of_record(json.loads(json.dumps(OWN.record))) == OWN
    for table in tables().values():
        assert KeptQuestion.of_record(json.loads(json.dumps(table.asked.record))) == table.asked


def test_scores_without_a_best_are_not_compared_with_guessing():
    kept = dataclasses.replace(OWN, metric="perplexity", writes_text=False).record
    assert (kept["best"], kept["chance"]) == (None, None)
    assert OWN.record["chance"] == OWN.chance > 0


def test_a_card_of_an_own_question_is_checked_by_its_file_alone(tmp_path, capsys):
    kept = json.loads(json.dumps(record(card(OWN))))
    assert markdown_card(card_of(kept)) == markdown_card(card(OWN))
    assert "token accuracy on words that were inflected (mine.py); an answer that does not look" in markdown_card(
        card(OWN)
    )
    path = tmp_path / "card.json"
    path.write_text(json.dumps(seal(kept)))
    assert main(["verdict", "--check", str(path)]) == 0
    printed = capsys.readouterr()
    assert any(line.split()[:2] == ["own", "better"] for line in printed.out.splitlines())
    assert "its 1 word and every number behind them follow from its scores" in printed.err
    kept["measured"]["mine"]["own"]["by_length"]["12"]["3"] = 0.1
    path.write_text(json.dumps(seal(kept)))
    assert main(["verdict", "--check", str(path)]) == 1
    assert "measured: mine: own: scores: 3: the scores give 0.5, the card says 0.9" in capsys.readouterr().err
