"""What evaluated lengths stand for, how far examples are padded, and which positions occur."""

import jax
import pytest

from posenc_jax.config import Evaluation, Run
from posenc_jax.data import tasks
from posenc_jax.data.tasks import Copying, PositionOf
from posenc_jax.data.text import Classification, Data, LanguageModel, Summarization, Translation
from posenc_jax.encodings import Learned, parse

COPYING = Copying(kind="rsc", min_length=3, max_length=20, num_symbols=4)
TEXT = {"data": Data(tokenizer="bytes"), "max_length": 48}


@pytest.mark.parametrize(
    ("task", "length", "name", "wanted"),
    [
        (COPYING, 2, "2", "beyond"),
        (COPYING, 3, "3", "within"),
        (COPYING, 20, "20", "within"),
        (COPYING, 21, "21", "beyond"),
        (Translation(**TEXT), 48, "25-48", "within"),
        (Translation(**TEXT), 64, "33-64", "mixed"),
        (Translation(**TEXT), 95, "48-95", "mixed"),
        (Translation(**TEXT), 96, "49-96", "beyond"),
        (Translation(**TEXT), 1, "1", "within"),
        (LanguageModel(max_length=48, row=48), 64, "64", "beyond"),
    ],
)
def test_a_bucket_is_within_training_or_beyond_only_as_a_whole(task, length, name, wanted):
    assert (task.length_name(length), task.range_of(length)) == (name, wanted)


def test_padding_is_a_function_of_the_length_alone():
    """Halves of the longest training length down to 32 places, and its doubles."""
    padded = {n: COPYING.padded_length(n) for n in range(1, 100)}
    assert sorted(set(padded.values())) == [20, 40, 80, 160]  # 10 would take 22 places
    assert all(n <= p and (p < 2 * n or p == 20) for n, p in padded.items())
    text = LanguageModel(max_length=500, row=500)
    assert sorted({text.padded_length(n) for n in range(1, 501)}) == [32, 63, 125, 250, 500]
    assert PositionOf(length=9).padded_length(9) == 9


@pytest.mark.parametrize(
    "kind", [kind for name, kind in vars(tasks).items() if hasattr(kind, "test_example") and name != "Task"]
)
def test_widths_are_those_of_the_arrays(kind):
    """A learned table has a row for each position up to the width, padding included."""
    task = kind()
    longest = task.train_lengths[-1]
    example = jax.eval_shape(lambda: task.test_example(jax.random.key(0), 0, longest, longest))
    assert example.inputs.shape == (task.width(longest),)
    if example.decoder_inputs is not None:
        assert example.decoder_inputs.shape == (task.decoder_width(longest),)


@pytest.mark.parametrize(
    ("task", "places"),
    [
        (Translation(**TEXT, row=128), 80),  # the widest target of a pair; a packed row's positions begin anew
        (Translation(**TEXT, row=128, batching="plain"), 128),
        (Translation(**TEXT, row=128, batching="buckets"), 128),
        (Summarization(**TEXT, row=256, batching="plain"), 256),
        (Classification(max_length=48, row=64), 64),
        (LanguageModel(max_length=48, row=48), 48),
    ],
)
def test_positions_of_padding_count(task, places):
    """Rows of one example each are padded to ``row``: a learned table must hold that, or the config refuses it."""
    assert Run(task=task).max_len == places
    Run(task=task, posenc=(Learned(max_len=places),))
    with pytest.raises(ValueError, match=f"but {places} positions occur: raise max_len to {places}"):
        Run(task=task, posenc=(Learned(max_len=places - 1),))
    encoder = "posenc_encoder" if task.model_kind == "encoder_decoder" else "posenc"
    with pytest.raises(ValueError, match=f"TUPE.max_len = {places - 1}, but {places} positions occur"):
        Run(task=task, **{encoder: parse(f"tupe(max_len={places - 1})")})


def test_positions_of_evaluated_lengths_count():
    assert Run(task=COPYING, evaluation=Evaluation(lengths=(5, 30))).max_len == COPYING.width(40)
    assert Run(task=COPYING, evaluation=Evaluation(lengths=(5,))).max_len == COPYING.width(20)
