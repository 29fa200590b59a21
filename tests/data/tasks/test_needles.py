"""Needles, passkeys and phone books against dictionaries in plain Python."""

import collections

import numpy as np
from task_examples import assert_share, assert_uniform, rows

from posenc_jax.data.tasks import Needles, Passkey, PhoneBook

MANY = Needles(12, 24, num_keys=3, num_values=2, num_queries=2, value_digits=1, num_key_names=5, num_fillers=7)
KEY = Passkey(min_length=8, max_length=20, value_digits=2, num_fillers=3)
BOOK = PhoneBook(max_length=6, num_first_names=3, num_last_names=4, number_digits=3)


def parts(task, lengths, repeats):
    """Length, the words before SEP (without BOS), and the words of the answer (without EOS)."""
    for n, tokens, asked, answers in rows(task, lengths, repeats):
        words = [task.token_names[token] for token in tokens]
        end = words.index("SEP")
        assert words[0] == "BOS"
        assert asked == list(range(end, end + len(answers)))
        assert tokens[end + 1 :] == answers[:-1]
        answer = [task.class_names[token] for token in answers]
        assert answer.pop() == "EOS"
        yield n, words[1:end], answer


def needles_in(haystack, digits):
    """(place, key, value) of each needle, by going through the haystack."""
    found, place = [], 0
    while place < len(haystack):
        if haystack[place].startswith("k"):
            found.append((place, haystack[place], haystack[place + 1 : place + 1 + digits]))
            assert all(word.isdigit() for word in found[-1][2])
            place += digits
        else:
            assert haystack[place].startswith(".")
        place += 1
    return found


def test_all_values_of_the_keys_that_are_asked_for():
    layouts, digits, keys, fillers = collections.Counter(), [], [], []
    for n, words, answer in parts(MANY, (12, 13, 24), 600):
        haystack, asked = words[:n], words[n:]
        values = collections.defaultdict(list)
        found = needles_in(haystack, 1)
        for _, key, value in found:
            values[key] += value
        assert {key: len(of) for key, of in values.items()} == dict.fromkeys(values, 2)
        assert len(values) == 3
        assert len(asked) == len(set(asked)) == 2
        assert answer == [value for key in asked for value in values[key]]
        digits += map(int, answer)
        keys.append(int(asked[0][1:]))
        fillers += [int(word[1:]) for word in haystack if word.startswith(".")]
        if n == 13:  # one filler, before, after or between the six needles
            layouts[haystack.index(next(word for word in haystack if word.startswith(".")))] += 1
    assert_uniform(digits, range(10))
    assert_uniform(keys, range(5))
    assert_uniform(fillers, range(7))
    assert set(layouts) == set(range(0, 13, 2))
    for place in layouts:
        assert_share(np.arange(600) < layouts[place], 1 / 7)


def test_the_passkey_lies_anywhere_in_what_is_repeated():
    places = []
    for n, words, answer in parts(KEY, (8, 20), 600):
        haystack, asked = words[:n], words[n:]
        ((place, key, value),) = needles_in(haystack, 2)
        assert (asked, answer) == (["k0"], value)
        assert key == "k0"
        assert all(word == f".{i % 3}" for i, word in enumerate(haystack) if not place <= i < place + 3)
        places += [place] if n == 20 else []
    assert_uniform(places, range(18))


def test_the_number_beside_the_name():
    asked_entries, names, digits = [], [], []
    for n, words, answer in parts(BOOK, (1, 2, 6), 600):
        assert len(words) == 5 * n + 2
        entries = [words[5 * i : 5 * i + 5] for i in range(n)]
        book = {tuple(entry[:2]): entry[2:] for entry in entries}
        assert len(book) == n
        assert answer == book[tuple(words[-2:])]
        asked_entries += [list(book).index(tuple(words[-2:]))] if n == 6 else []
        names.append(4 * int(entries[0][0][1:]) + int(entries[0][1][1:]))
        digits += map(int, answer)
    assert_uniform(asked_entries, range(6))
    assert_uniform(names, range(12))
    assert_uniform(digits, range(10))
