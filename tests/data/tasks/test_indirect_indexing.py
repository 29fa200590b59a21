"""Strings of different letters, a source and a shift, against indexing in plain Python."""

import collections

from task_examples import assert_uniform, rows

from posenc_jax.data.tasks import IndirectIndexing

TASK = IndirectIndexing(min_length=4, max_length=8, max_shift=3, num_letters=10)
LENGTHS = (4, 5, 8, 10)


def test_the_answer_is_the_letter_so_far_from_the_source():
    seen = collections.defaultdict(list)
    for n, tokens, asked, answers in rows(TASK, LENGTHS, 800):
        bos, *rest, sep = [TASK.token_names[token] for token in tokens[: n + 4]]
        string, (source, shift) = rest[:n], rest[n:]
        assert (bos, sep) == ("BOS", "SEP")
        assert len(set(string)) == n
        assert set(string) <= set(map(str, range(10)))
        place = string.index(source) + int(shift)
        assert 0 <= place < n
        assert [TASK.class_names[answer] for answer in answers] == [string[place], "EOS"]
        assert asked == [n + 3, n + 4]
        assert tokens[n + 4 :] == answers[:1]
        seen[n].append((int(shift), string.index(source), int(string[0])))
    for n, questions in seen.items():
        shifts, _, letters = zip(*questions)
        assert_uniform(shifts, range(-3, 4))
        assert_uniform(letters, range(10))
        for d in (-3, 0, 2):
            assert_uniform([s for shift, s, _ in questions if shift == d], range(max(0, -d), n - max(0, d)))
