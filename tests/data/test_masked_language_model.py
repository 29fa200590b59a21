"""Windows of masked tokens: where they lie, what is hidden, and what stands in its place."""

import jax
import numpy as np
import pytest

from posenc_jax.data.text import Data, MaskedLanguageModel
from posenc_jax.data.tokenizer import BOS, EOS, UNK, ByteTokenizer

TASK = MaskedLanguageModel(data=Data(name="own/python-docs", tokenizer="bytes"), max_length=6, row=6)
ROWS = [{"text": "abcdef"}, {"text": "ghi"}]
TEXT = [*(5 + byte for byte in b"abcdef"), EOS, *(5 + byte for byte in b"ghi"), EOS]


def records(*, training):
    return TASK.encode(ByteTokenizer(), ROWS, training=training).records


def test_windows_of_training_have_both_ends_and_all_text():
    found = records(training=True)
    assert found.sizes().tolist() == [6, 6]
    rows = np.asarray(found.inputs.tokens).reshape(-1, 6)
    assert (rows[:, 0] == BOS).all()
    assert (rows[:, -1] == EOS).all()
    assert rows[:, 1:-1].reshape(-1).tolist() == TEXT[:8]


@pytest.mark.parametrize("length", [3, 5, 6])
def test_windows_of_a_tested_length(length):
    """Each once, padded, in another order; what is beyond the last is empty."""
    count = len(TEXT) // (length - 2)
    data = {"test": records(training=False)}
    found = TASK.test_batch(data, None, np.int32(length), np.arange(count + 1), 8)
    wanted = {(BOS, *TEXT[i * (length - 2) : (i + 1) * (length - 2)], EOS, *[0] * (8 - length)) for i in range(count)}
    assert {tuple(row) for row in np.asarray(found.targets)[:count].tolist()} == wanted
    assert found.length.tolist() == [length] * count + [0]
    assert np.asarray(found.segment_ids).sum(1).tolist() == [length] * count + [0]
    assert not np.asarray(found.weights)[count:].any()
    assert not np.asarray(found.targets)[count:].any()
    hidden = np.asarray(found.weights) > 0
    np.testing.assert_array_equal(found.inputs, np.where(hidden, UNK, found.targets))
    alone = TASK.test_batch(data, None, np.int32(length), np.arange(1), 6)  # whatever the batch and the room
    np.testing.assert_array_equal(alone.inputs[0], found.inputs[0, :6])


def test_what_is_hidden():
    """15 % of the text's own tokens; in training four fifths masked, a tenth foreign, a tenth as they were."""
    task = MaskedLanguageModel(data=TASK.data, max_length=512, row=512)
    rows = [{"text": "the cat sees a dog " * 30}] * 400
    found = {"train": task.encode(ByteTokenizer(), rows, training=True).records}
    ids = np.arange(len(found["train"]))[:, None]
    batch = task.train_batch(found, ids, jax.random.key(1), len(ids))
    inputs, targets, hidden = (np.asarray(x) for x in (batch.inputs, batch.targets, batch.weights > 0))
    own = (targets != EOS) & (targets != BOS)
    count = hidden.sum()
    assert not hidden[~own].any()
    assert count / own.sum() == pytest.approx(0.15, abs=0.003)
    np.testing.assert_array_equal(inputs[~hidden], targets[~hidden])
    masked, same = inputs[hidden] == UNK, inputs[hidden] == targets[hidden]
    assert masked.mean() == pytest.approx(0.8, abs=0.01)  # one of 261 foreign ones is the mask, or the same
    assert same.mean() == pytest.approx(0.1, abs=0.01)
    foreign = inputs[hidden][~masked & ~same]
    assert (foreign.min(), foreign.max()) == (0, 260)
    other = task.train_batch(found, ids, jax.random.key(2), len(ids))
    assert (np.asarray(other.weights > 0) != hidden).any()

    held = {"validation": found["train"], "validation_ids": ids}
    again = [task.validation_batch(held, jax.random.key(seed), np.int32(1), 8) for seed in (0, 1)]
    np.testing.assert_array_equal(again[0].inputs, again[1].inputs)
    np.testing.assert_array_equal(again[0].inputs, np.where(again[0].weights > 0, UNK, again[0].targets))
    np.testing.assert_array_equal(again[0].targets, targets[8:16])
    beyond = task.validation_batch(held, None, np.int32(len(ids)), 8)
    assert not np.asarray(beyond.weights).any()


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"max_length": 2, "row": 2}, r"task.max_length = 2 must be at least 3: BOS, a token and EOS"),
        ({"share": 0.0}, r"task.share = 0.0 must be above 0, and at most 1"),
        ({"mask": 4000}, r"task.mask = 4000 must be a token of the 4,000 that there are"),
        ({"data": Data(name="own/python-docs", in_memory=False)}, r"are read into memory; set it to True"),
    ],
)
def test_what_is_refused(fields, match):
    with pytest.raises(ValueError, match=match) as error:
        MaskedLanguageModel(**fields)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="length 2: lengths of masked_language_model start at 3"):
        TASK.check_length(2)
