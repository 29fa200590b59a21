"""Tokenizers: nothing is lost, special ids are never made of text, equal training gives equal bytes."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from posenc_jax.data.checkpoint_tokenizers import tokenizer_from_bytes
from posenc_jax.data.tokenizer import (
    BOS,
    EOS,
    PAD,
    SEP,
    SPECIAL_TOKENS,
    UNK,
    ByteTokenizer,
    SentencePieceTokenizer,
    train_sentencepiece,
)

VOCAB_SIZE = 400
SYLLABLES = ["ka", "to", "Mi", "ru", "sché", "ñor", "pla", "zen", "日本", "ing"]
# What texts of programs and people may hold, and what a tokenizer may take for its own.
SPECIAL_TEXTS = ["<s>", "</s>", "<sep>", "<pad>", "<unk>", "<0x41>", "\u2581"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\0", "\x85", "\u3000", "\u00a0", "\u200b", "\ufeff"]
RARE = ["\ue000", "\ue001", "\ufffd", "e\u0301", "é", "ﬁ", "Ａ", "😀", "👩\u200d💻", "ß", "字"]
HARD = SPECIAL_TEXTS + SPACES + RARE


def corpus(seed, n=400):
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(SYLLABLES, rng.integers(1, 4))) for _ in range(60)]
    return ["    " * rng.integers(0, 3) + " ".join(rng.choice(words, rng.integers(1, 9))) + "." for _ in range(n)]


def hard_texts(seed, n=3000):
    rng = np.random.default_rng(seed)
    return ["", *HARD, *("".join(rng.choice(HARD + SYLLABLES, rng.integers(1, 10))) for _ in range(n))]


@pytest.fixture(scope="module")
def pieces():
    return train_sentencepiece(corpus(0), VOCAB_SIZE)


@pytest.fixture(params=["bytes", "pieces"])
def tokenizer(request):
    return ByteTokenizer() if request.param == "bytes" else request.getfixturevalue("pieces")


def test_every_text_comes_back_and_none_makes_a_special_id(tokenizer):
    texts = hard_texts(1) + corpus(0) + corpus(7)
    encoded = tokenizer.encode_all(texts)
    for text, ids in zip(texts, encoded, strict=True):
        assert tokenizer.encode(text) == ids
        assert all(SEP < token < tokenizer.vocab_size for token in ids), text
        assert tokenizer.decode(ids) == text
    assert encoded[0] == []
    assert tokenizer.encode_all([]) == []


def test_decoding_drops_special_ids_and_stops_at_the_first_eos(tokenizer):
    first, second = tokenizer.encode("kato"), tokenizer.encode("日本 ")
    assert (PAD, BOS, EOS, UNK, SEP) == (0, 1, 2, 3, 4)
    assert tokenizer.decode([BOS, *first, UNK, EOS, *second, EOS, PAD]) == "kato"
    assert tokenizer.decode([PAD, BOS, PAD, *first]) == "kato"
    assert tokenizer.decode(np.asarray([EOS, *first], np.int32)) == ""
    assert tokenizer.decode([]) == ""
    parts = tokenizer.decode([*first, SEP, *second])
    assert parts == ("kato日本 " if isinstance(tokenizer, ByteTokenizer) else "kato 日本 ")  # its space before a text


def test_ids_out_of_the_vocabulary_are_refused_wherever_they_stand(tokenizer):
    size = tokenizer.vocab_size
    for ids, wrong in (([size], size), ([-1], -1), ([EOS, size + 3], size + 3)):
        message = rf"token id {wrong} is not in the vocabulary \(0 to {size - 1}\): decode with the tokenizer"
        with pytest.raises(ValueError, match=message):
            tokenizer.decode(ids)
    tokenizer.decode(range(size))  # and none in it


def test_broken_utf8_is_marked_not_an_error(tokenizer):
    ids = [token for token in range(tokenizer.vocab_size) if tokenizer.decode([token]) == "\ufffd"]
    assert len(ids) >= 128  # the bytes above ASCII alone
    assert "\ufffd" in tokenizer.decode([*tokenizer.encode("ka"), ids[-1], *tokenizer.encode("to")])


def test_byte_ids_are_five_more_than_the_bytes():
    assert ByteTokenizer().encode("aé") == [5 + 0x61, 5 + 0xC3, 5 + 0xA9]
    assert ByteTokenizer().vocab_size == 261


def test_pieces_are_learned_with_a_word_the_same_at_the_beginning_as_elsewhere(pieces):
    lines = corpus(0)
    assert pieces.vocab_size == VOCAB_SIZE
    assert sum(map(len, pieces.encode_all(lines))) < 0.4 * sum(map(len, ByteTokenizer().encode_all(lines)))
    word = max(lines[0].strip(" .").split(), key=len)
    assert pieces.encode(f"{word} {word}") == 2 * pieces.encode(word)
    assert len(pieces.encode("        ka")) < len(pieces.encode("a a a a ka"))  # indentation has pieces of its own


def test_training_twice_gives_equal_bytes_in_another_process_too(pieces):
    again = train_sentencepiece(iter(corpus(0)), VOCAB_SIZE)
    assert again.to_bytes() == pieces.to_bytes()
    assert train_sentencepiece(corpus(1), VOCAB_SIZE).sha256 != pieces.sha256
    program = (
        "import json, sys; from posenc_jax.data.tokenizer import train_sentencepiece as train; "
        "print(train(json.load(sys.stdin), 400).sha256)"
    )
    run = subprocess.run([sys.executable, "-c", program], input=json.dumps(corpus(0)), text=True, capture_output=True)
    assert run.stdout.strip() == pieces.sha256, run.stderr
    assert run.stderr == ""  # the trainer's log is kept quiet


def test_bytes_make_the_same_tokenizer_again(tokenizer):
    again = tokenizer_from_bytes(tokenizer.to_bytes())
    assert type(again) is type(tokenizer)
    assert again.sha256 == tokenizer.sha256
    assert len(again.sha256) == 64
    assert again.encode_all(corpus(2)) == tokenizer.encode_all(corpus(2))


def test_sizes_that_the_text_cannot_give_are_refused():
    lines = corpus(0)
    with pytest.raises(ValueError, match=r"vocab_size 100000 is too large .* at most \d+ pieces: set vocab_size") as e:
        train_sentencepiece(lines, 100000)
    largest = int(str(e.value).split("at most ")[1].split()[0])
    assert train_sentencepiece(lines, largest).vocab_size == largest
    for text, size, message in (
        (lines, 262, r"vocab_size 262 is too small: .* set vocab_size to \d+ or more, or us"),
        (lines, 0, "vocab_size 0 is too small: special ids and bytes alone are 261; "),
        (["", ""], 400, "cannot be trained on no text: give it the lines of the train split"),
    ):
        with pytest.raises(ValueError, match=message):
            train_sentencepiece(text, size)


def other_model(**options):
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus(0)), model_writer=model, model_type="bpe", minloglevel=2, **options
    )
    return model.getvalue()


def test_other_models_are_refused(pieces):
    for data in (b"", b"no model", pieces.to_bytes()[:50]):
        with pytest.raises(ValueError, match=f"{len(data)} bytes are not a SentencePiece model"):
            tokenizer_from_bytes(data)
    with pytest.raises(ValueError, match=r"ids 0 to 4 are \('<unk>', .* must be \('<pad>', .*; train one with train_"):
        SentencePieceTokenizer(other_model(vocab_size=200))
    ids = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "control_symbols": [SPECIAL_TOKENS[SEP]]}
    with pytest.raises(ValueError, match=r"without byte fallback will not do: .*; train one with train_sentencepiece"):
        SentencePieceTokenizer(other_model(vocab_size=200, **ids))
