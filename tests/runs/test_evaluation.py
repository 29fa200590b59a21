"""Measuring: every length against a plain evaluation example by example, and finished runs measured again."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trained_runs import CONFIG, contents

from posenc_jax.config import Evaluation, Run, Training
from posenc_jax.data.tasks import Task
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.encodings import Learned, Randomized, RoPE, parse
from posenc_jax.models import Streams, Transformer, greedy
from posenc_jax.runs import preflight
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import finished_in, read_stored
from posenc_jax.runs.errors import RefusedError, StoppedError
from posenc_jax.runs.evaluation import changed_config, evaluate, states_of
from posenc_jax.runs.state import load_group_state, state_at
from posenc_jax.training.batches import CACHED_MB, Bucket, buckets
from posenc_jax.training.layout import Devices
from posenc_jax.training.operations import of_length
from posenc_jax.training.step import evaluate_length, forward, init_params, model_of
from posenc_jax.training.streams import stream

# Trained to copy some strings and not others.
COPIER = Run(
    task=Copying(kind="cmc", max_length=3, num_symbols=3),
    model=Transformer(d_model=32, num_layers=1, num_heads=2),
    posenc=(Randomized(max_position=16), RoPE()),
    training=Training(steps=300, batch_size=32, steps_per_call=50, log_every=50, validation_batches=2),
    evaluation=Evaluation(lengths=(3, 4), num_examples=18, draws=3),
    seeds=(3,),
    learning_rates=(1e-2,),
)


@pytest.fixture(scope="module")
def copier(tmp_path_factory):
    """Parameters of the copier and its own scores by length."""
    directory = tmp_path_factory.mktemp("copier") / "run"
    (result,) = run(COPIER, directory)
    _, state = load_group_state(COPIER, directory / "group-000")
    scores = {row["length"]: row for row in result["replicas"][0]["evaluation"]}
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), state["params"]), scores


def plain_scores(config: Run, params, seed: int, length: int) -> dict[str, float]:
    """One example at a time, without padding, in NumPy float64: what an evaluation means.

    Every draw of random positions serves ``num_examples / draws`` consecutive examples.
    """
    key = jax.random.fold_in(stream(seed, "evaluation"), length)
    position_key = jax.random.fold_in(stream(seed, "evaluation_positions"), length)
    share = config.evaluation.num_examples // config.evaluation.draws
    logits_of = jax.jit(functools.partial(forward, config, params, train=False))
    numbers = np.arange(config.evaluation.num_examples)
    batch = jax.jit(Task.test_batch, static_argnums=(0, 5))(config.task, None, key, length, numbers, length)
    batch = jax.tree.map(np.asarray, batch)
    loss = right = weight = exact = count = 0.0
    for number in range(config.evaluation.num_examples):
        example = jax.tree.map(lambda leaf: leaf[number : number + 1], batch)  # noqa: B023
        positions = jax.random.fold_in(position_key, number // share)
        ids = np.asarray([number])
        logits = np.asarray(logits_of(example, streams=Streams(positions=positions), example_ids=ids), np.float64)[0]
        places = np.flatnonzero(example.weights[0])
        targets = np.asarray(example.targets[0])
        hits = [logits[p].argmax() == targets[p] for p in places]
        loss += sum(
            np.log(np.exp(logits[p] - logits[p].max()).sum()) - (logits[p, targets[p]] - logits[p].max())
            for p in places
        )
        right, weight = right + sum(hits), weight + len(places)
        exact, count = exact + (bool(hits) and all(hits)), count + bool(hits)
    return {"loss": loss / weight, "accuracy": right / weight, "exact_match": exact / count, "count": count}


def close(got, wanted):
    assert got["count"] == wanted["count"]
    for name in ("accuracy", "exact_match"):
        assert got[name] == pytest.approx(wanted[name], abs=1e-6), name
    assert got["loss"] == pytest.approx(wanted["loss"], rel=1e-5)


def test_scores_are_those_of_a_plain_evaluation(copier):
    """Padding, chunks and replicas are no part of a score; positions are drawn once for each third of the examples."""
    params, scores = copier
    assert [row["count"] for row in scores.values()] == [18, 18]
    assert 0 < scores[3]["exact_match"] < 1 or 0 < scores[4]["exact_match"] < 1, "too easy or too hard to show anything"
    for length in (3, 4):
        close(scores[length], plain_scores(COPIER, params, 3, length))


def test_chunks_change_results_by_rounding_only(copier):
    """Also chunks that do not divide a draw's share."""
    params, scores = copier
    bucket = Bucket((3,), 3, 4, 3, 6)
    found = jax.jit(functools.partial(evaluate_length, COPIER, bucket))(params, np.int32(3), np.int32(3))
    close({name: float(value) for name, value in found.items()}, scores[3])


def test_exact_match_is_what_greedy_decoding_scores(copier):
    """Decoded from the prompt alone, with the same drawn positions, the same examples are right."""
    params, scores = copier
    task = COPIER.task
    model = model_of(COPIER, params)
    length, first = 3, 4  # the first target is predicted after BOS, three symbols and SEP
    key = jax.random.fold_in(stream(3, "evaluation"), length)
    position_key = jax.random.fold_in(stream(3, "evaluation_positions"), length)

    @jax.jit
    def right(draw):
        numbers = draw * 6 + jnp.arange(6)
        batch = task.test_batch(None, key, length, numbers, length)
        decoded = greedy(
            model,
            batch.inputs[:, : first + 1],
            max_new_tokens=length + 1,
            length=batch.length,
            example_ids=numbers,
            streams=Streams(positions=jax.random.fold_in(position_key, draw)),
        )
        return (decoded == batch.targets[:, first:]).all(axis=1).sum()

    assert 0 < scores[length]["exact_match"] < 1, "too easy or too hard to show anything"
    assert sum(int(right(draw)) for draw in range(3)) == round(18 * scores[length]["exact_match"])


def test_a_finite_test_set_is_scored_once():
    """More examples are asked for than there are: each counts once, the rest not at all."""
    task, length, existing = Copying(kind="rsc", max_length=3, num_symbols=5), 2, 5
    config = dataclasses.replace(
        COPIER, task=task, posenc=(), evaluation=Evaluation((length,), num_examples=12, draws=3)
    )
    params = init_params(config, 0)
    (bucket,) = buckets(config, (length,))
    found = jax.jit(functools.partial(evaluate_length, config, bucket))(params, np.int32(0), np.int32(length))
    assert found["count"] == existing
    close({name: float(value) for name, value in found.items()}, plain_scores(config, params, 0, length))


def test_buckets_hold_every_length_once_and_fit_the_budget():
    lengths = (1, 2, 5, 20, 40, 41, 80, 160, 400)

    def made(budget=512, replicas=1, backend="gpu"):
        evaluation = Evaluation(lengths, num_examples=4096, draws=2, memory_budget_mb=budget)
        config = dataclasses.replace(COPIER, posenc=(), evaluation=evaluation)
        found = buckets(config, lengths, replicas, backend)
        assert sorted(n for bucket in found for n in bucket.lengths) == sorted(lengths)
        assert all({bucket.max_length} == {config.task.padded_length(n) for n in bucket.lengths} for bucket in found)
        return [bucket.chunk for bucket in found]

    whole = made()
    assert all(chunk & (chunk - 1) == 0 for chunk in whole)
    assert whole[-1] < whole[-2] < whole[-3]
    assert (made(budget=128)[-1], made(replicas=2)[-1]) == (whole[-1] // 4, whole[-1] // 2)
    assert made(backend="cpu") == made(budget=128, backend="cpu") == made(budget=CACHED_MB)


# A finished run measured again.


def by_replica(rows):
    return [{k: v for k, v in row.items() if k not in ("seed", "learning_rate")} for row in rows]


def test_the_same_question_gives_the_same_answer(finished):
    before = contents(finished)
    path, rows = evaluate(finished)
    assert path.parent == finished / "evaluations"
    assert [(row["seed"], row["length"]) for row in rows] == [(s, n) for s in (0, 1) for n in (2, 3, 5)]
    result = json.loads((finished / "group-000" / "result.json").read_text())
    assert by_replica(rows) == [row for replica in result["replicas"] for row in replica["evaluation"]]
    written = path.read_bytes()
    assert evaluate(finished)[0] == path
    assert path.read_bytes() == written
    after = contents(finished)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"group-000/timing.jsonl"}, "a run is not changed by being measured"
    # A group of the run can be named, too; its answer lies there.
    path, of_group = evaluate(finished / "group-000", (2,))
    assert path.parent == finished / "group-000" / "evaluations"
    assert of_group == [row for row in rows if row["length"] == 2]


def test_a_long_evaluation_takes_calls_that_return_and_gives_the_same_bits(finished, monkeypatch):
    monkeypatch.setattr("posenc_jax.training.batches.examples_within", lambda *_: 1)
    whole = evaluate(finished, (2, 5))[1]
    asked = []
    for operations in (1, of_length(CONFIG, 5, 1).operations // 2):  # a chunk a call, and two calls of which one is cut
        monkeypatch.setattr("posenc_jax.training.operations._OF_A_CALL", operations)
        assert evaluate(finished, (2, 5), stop=lambda: asked.append(None))[1] == whole
    assert len(asked) > CONFIG.evaluation.num_examples
    with pytest.raises(StoppedError, match="stopped during evaluation"):
        evaluate(finished, (2, 5), stop=iter([None, 2]).__next__)


@pytest.mark.parametrize(
    ("text", "lengths", "trained"),
    [
        ("rope(base=50)|learned", (2, 5), (None, 1)),
        pytest.param("learned(14, beyond='clamp')", (2, 9), (1,), marks=pytest.mark.slow),
    ],
)
def test_other_positions_with_the_same_parameters(finished, text, lengths, trained):
    """Another base of RoPE, or longer lengths where the slot allows them: the trained parameters, scored so."""
    _, state = load_group_state(CONFIG, finished / "group-000")
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf[1]), state["params"])
    encodings = tuple({} if index is None else params["posenc"]["decoder"][index] for index in trained)
    path, rows = evaluate(finished, lengths, parse(text))
    assert parse(json.loads(path.read_text())["posenc"]) == parse(text)
    config = changed_config(CONFIG, lengths, parse(text))
    row = rows[-1]
    assert (row["seed"], row["length"]) == (1, lengths[-1])
    close(row, plain_scores(config, {**params, "posenc": {"decoder": encodings}}, 1, lengths[-1]))
    assert row["loss"] != evaluate(finished, (5,))[1][-1]["loss"]


def test_earlier_checkpoints_are_measured_too(finished):
    """Each step with the parameters of its checkpoint; the last one is what the result is of."""
    path, rows = evaluate(finished, (2, 5), steps=(10, 20))
    assert [(row["step"], row["seed"], row["length"]) for row in rows] == [
        (step, seed, length) for step in (10, 20) for seed in (0, 1) for length in (2, 5)
    ]
    assert json.loads(path.read_text())["steps"] == [10, 20]
    last = [{**row, "step": 20} for row in evaluate(finished, (2, 5))[1]]
    assert [row for row in rows if row["step"] == 20] == last
    groups = finished_in(read_stored(finished))
    state = state_at(CONFIG, groups[0][0], 10)
    assert state["step"].tolist() == [10, 10]
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf[1]), state["params"])
    close(rows[3], plain_scores(changed_config(CONFIG, (2, 5), CONFIG.posenc), params, 1, 5))
    assert [step for step, *_ in states_of(CONFIG, groups, (20,), (1, 7), print)] == [20]
    assert list(states_of(CONFIG, groups, (20,), (7,), print)) == []


def test_a_checkpoint_that_was_not_kept(finished):
    with pytest.raises(
        RefusedError, match=r"no checkpoint of step 15, but of 10, 20: choose among them, or train with"
    ):
        evaluate(finished, (2,), steps=(10, 15))
    log = finished / "group-000" / "metrics.jsonl"
    kept = log.read_bytes()
    log.write_bytes(kept.replace(b'"loss": ', b'"loss": 1', 1))
    with pytest.raises(RefusedError, match=r"checkpoints/10 is not of the training that .*metrics.jsonl tells of"):
        evaluate(finished, (2,), steps=(10,))
    log.write_bytes(kept)
    assert not (finished / "evaluations").exists()


def test_shorter_lengths_are_measured_with_the_tables_as_they_were_trained(finished):
    """The learned table is as long as the longest length of the run: what is asked for does not change it."""
    together = {(row["seed"], row["length"]): row for row in evaluate(finished, (5, 4, 3, 2))[1]}
    for row in evaluate(finished, (3, 4))[1]:
        assert row == together[row["seed"], row["length"]]


def test_the_state_that_was_measured_or_none(finished):
    """A finished run whose last checkpoint is damaged or gone is not measured with an earlier one."""
    shutil.rmtree(finished / "group-000" / "checkpoints" / "20")
    with pytest.raises(RefusedError, match=r"checkpoints/10 is not what .*result\.json was measured with: restore it"):
        evaluate(finished)


def test_what_was_not_trained_is_refused(finished):
    before = contents(finished)
    with pytest.raises(RefusedError) as error:
        evaluate(finished, (2, 9))
    assert "learned needs parameters of shape {'table': (26, 16)} here" in str(error.value)
    assert "the trained ones of learned are {'table': (14, 16)}" in str(error.value)
    assert "choose lengths and settings that keep the shapes" in str(error.value)
    with pytest.raises(ValueError, match=r"Learned.max_len = 12, but 26 positions occur: raise max_len to 26, or name"):
        evaluate(finished, (2, 9), (Learned(12),))
    with pytest.raises(RefusedError, match=r"t5 has parameters, and the run was trained with rope\|learned: choose an"):
        evaluate(finished, (2,), parse("t5"))
    with pytest.raises(RefusedError, match=r"is no run: it has no config\.json"):
        evaluate(finished.parent)
    assert contents(finished) == before, "nothing was compiled, nothing was written"
    (finished / "group-000" / "result.json").unlink()
    with pytest.raises(RefusedError, match="is not finished: run it to the end first"):
        evaluate(finished)


def test_lengths_beyond_memory_are_refused(finished, monkeypatch):
    before = contents(finished)
    monkeypatch.setattr(preflight, "devices_with_memory", lambda: Devices(1, "cpu", 2**28))
    with pytest.raises(RefusedError, match=r" \(evaluation: .*: lower evaluation.lengths"):
        evaluate(finished, lengths=(2, 1_000_000), posenc=parse("rope"))
    assert contents(finished) == before
