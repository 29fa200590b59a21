"""Sentences in other word orders, agreement over a distance, and which mark is earlier, against plain Python."""

import itertools

import jax
import numpy as np
import pytest
from task_examples import assert_padding_changes_nothing, assert_share, assert_uniform, drawn, rows

from posenc_jax.data.tasks import Agreement, Earlier, WordOrder
from posenc_jax.data.tasks.agreement import PEOPLE, PRONOUNS, TENSES
from posenc_jax.data.tasks.word_order import NAMES, NOUNS, OBJECTS_ONLY, VERBS, clauses

ORDERS = ("svo", "sov", "vso", "osv")
CLAUSES = (1, 2, 4, 6)


def parsed(words):
    """The clauses of a source sentence as lists of words: subject, verb, object; and who does what to whom."""
    found, at = [], 0
    while at < len(words):
        at += words[at] == "and" if found else 0
        parts = []
        for _ in range(2):
            end = at + 1
            if words[at] == "the":
                while words[end - 1] not in NOUNS:
                    end += 1
            else:
                assert words[at] in NAMES
            parts.append(words[at:end])
            at = end
            if len(parts) == 1:
                verb, at = [words[at]], at + 1
                assert verb[0] in VERBS
        found.append((parts[0], verb, parts[1]))
    return found


@pytest.mark.parametrize("order", ORDERS)
def test_a_translation_is_the_sentence_in_the_other_order(order):
    task = WordOrder(order=order)
    example, lengths = drawn(task, CLAUSES, 200)
    adjectives = []
    for row, n in enumerate(lengths.tolist()):
        source = [task.token_names[token] for token in example.inputs[row, : example.length[row]]]
        target = [task.token_names[token] for token in example.targets[row][example.weights[row] > 0]]
        assert (source[0], source[-1], target[-1]) == ("BOS", "EOS", "EOS")
        read = parsed(source[1:-1])
        assert len(read) == n
        parts = [dict(zip("svo", clause)) for clause in read]
        wanted = [list(itertools.chain(*(clause[part] for part in order))) for clause in parts]
        joined = list(itertools.chain(*([["and"], words] for words in wanted)))[1:]
        assert target[:-1] == [word.upper() for words in joined for word in words]
        given = [task.token_names[token] for token in example.decoder_inputs[row, : example.decoder_length[row]]]
        assert given == ["BOS", *target[:-1]]
        for subject, _, object_ in read:
            assert subject[-1] != object_[-1]
            assert (subject[-1] in OBJECTS_ONLY) == (example.group[row] == 1)
            adjectives += [len(phrase) == 3 for phrase in (subject, object_) if phrase[0] == "the"]
    assert_share(adjectives, 0.5)
    assert example.group.tolist() == [row % 2 for row in range(len(lengths))]


def test_clauses_of_tests_are_in_no_training_sentence():
    of_kind = {kind: {tuple(clause) for clause in clauses(kind).tolist()} for kind in ("train", "test", "new_role")}
    assert sum(map(len, of_kind.values())) == len(set().union(*of_kind.values())) == 10 * 9 * len(VERBS)
    people = NAMES + NOUNS
    subjects = {kind: {people[s] for s, _, _ in found} for kind, found in of_kind.items()}
    assert subjects["new_role"] == set(OBJECTS_ONLY)
    assert subjects["train"] == subjects["test"] == set(people) - set(OBJECTS_ONLY)
    assert {people[o] for _, _, o in of_kind["train"]} == set(people)
    task = WordOrder(max_length=1)
    make = jax.jit(jax.vmap(lambda key: task.example(key, 1, 1, "train")))
    example = jax.tree.map(np.asarray, make(jax.random.split(jax.random.key(1), 2000)))
    seen = []
    for tokens, length in zip(example.inputs, example.length):
        ((subject, verb, object_),) = parsed([task.token_names[token] for token in tokens[1 : length - 1]])
        seen.append((people.index(subject[-1]), VERBS.index(verb[0]), people.index(object_[-1])))
    assert_uniform([sorted(of_kind["train"]).index(clause) for clause in seen], range(len(of_kind["train"])))


def test_exact_matches_are_those_of_loops():
    task = WordOrder()
    assert_padding_changes_nothing(task, (1, 2), 100)
    example, _ = drawn(task, (1, 2), 100)
    logits = np.array(jax.nn.one_hot(example.targets, task.num_classes))
    wrong = np.random.default_rng(0).random(len(logits)) < 0.3
    logits[wrong, 1] = np.nan
    found = task.results({"loss": 0.1} | jax.tree.map(np.asarray, task.extra_sums(logits, example)))
    assert found == {
        "loss": 0.1,
        "exact_match_of_clauses": pytest.approx(1 - wrong[::2].mean()),
        "new_role_exact_match": pytest.approx(1 - wrong[1::2].mean()),
    }
    assert task.results({"right_sentences": np.zeros(2), "sentences": np.array([3.0, 0.0])}) == {
        "exact_match_of_clauses": 0.0,
        "new_role_exact_match": None,
    }


def test_the_main_clause_agrees_with_the_first():
    task, subjects, tenses, starts = Agreement(before=3), [], [], []
    for n, tokens, asked, answers in rows(task, (1, 3, 12), 400):
        words = [task.token_names[token] for token in tokens]
        starts.append(words.index("although"))
        assert not set(words[: starts[-1]]) & {"although", ",", *PRONOUNS}
        words = words[starts[-1] :]
        assert len(words) == n + 5
        assert words[n + 3] == ","
        assert not set(words[3 : n + 3]) & {"although", ",", *PRONOUNS}
        assert asked == [starts[-1] + n + 3, starts[-1] + n + 4]
        assert [task.class_names[answer] for answer in answers] == [PEOPLE[words[1]], TENSES[words[2]]]
        assert words[n + 4] == PEOPLE[words[1]]
        subjects.append(PEOPLE[words[1]])
        tenses.append(words[2])
    assert_uniform(starts, range(4))
    for pronoun in PRONOUNS:
        assert_share([subject == pronoun for subject in subjects], 0.25)
    assert_share([tense == "is" for tense in tenses], 0.5)


def test_the_earlier_of_two_marks():
    task = Earlier(length=20, num_symbols=5, near=4, far=9)
    apart, groups, earlier = [], [], []
    example, _ = drawn(task, (20,), 1500)
    for row, (_, tokens, asked, answers) in enumerate(rows(task, (20,), 1500)):
        words = [task.token_names[token] for token in tokens]
        assert (words.count("a"), words.count("b")) == (1, 1)
        first, second = words.index("a"), words.index("b")
        assert asked == [first]
        assert answers == [int(second < first)]
        earlier += answers
        apart.append(abs(first - second))
        groups.append(int(example.group[row]))
        assert groups[-1] == (apart[-1] >= 9)
    assert_share(earlier, 0.5)
    assert_share(groups, 0.5)
    assert_uniform([a for a, group in zip(apart, groups) if not group], range(1, 5))
    assert_uniform([a for a, group in zip(apart, groups) if group], range(9, 20))
    logits = np.array(jax.nn.one_hot(example.targets, 2))
    logits[np.array(groups) == 1] = [0.0, 1.0]
    found = task.results(jax.tree.map(np.asarray, task.extra_sums(logits, example)))
    of_far = [answer for answer, group in zip(earlier, groups) if group]
    assert found == {"near_accuracy": 1.0, "far_accuracy": pytest.approx(np.mean(of_far))}
