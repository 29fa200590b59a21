"""Texts from outside as tokens: pieces that fit and lose nothing, and what is refused."""

import itertools

import pytest

from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.text import Classification
from posenc_jax.data.text.pieces import document_pieces, text_pieces, windows
from posenc_jax.data.tokenizer import ByteTokenizer

TEXTS = {
    "sentences": 'One two. "Three?" Four! Five six seven.\nEight nine',
    "words": "a " * 30 + "bb ccc",
    "one word": "x" * 37,
    "Japanese": "保存します。「開く」を選びます。終わり",
    "spaces": "  \n\n first.   \n  second  ",
}


@pytest.mark.parametrize("size", [4, 9, 20, 200])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_windows_fit_are_as_long_as_they_can_be_and_lose_no_character(text, size):
    asked = []

    def fits(piece):
        asked.append(piece)
        return len(piece.encode()) <= size

    found = windows(text, fits)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(0 < len(piece.encode()) <= size for piece in found)
    assert len(asked) <= 15 * (len(found) + 1)
    for piece, following in itertools.pairwise(found):
        assert len(f"{piece}{following}".encode()) > size or piece[-1] in '.!?。"' or "\n" in text


def test_windows_end_with_sentences_then_words_then_anywhere():
    text = "Save the file. Open it again, at once! Supercalifragilistic."
    assert windows(text, lambda piece: len(piece) <= 24) == [
        "Save the file.",
        "Open it again, at once!",
        "Supercalifragilistic.",
    ]
    assert windows(text, lambda piece: len(piece) <= 14) == [
        "Save the file.",
        "Open it again,",
        "at once!",
        "Supercalifragi",
        "listic.",
    ]
    assert windows("é", lambda piece: len(piece.encode()) <= 1) == []


def ids(text):
    return ByteTokenizer().encode(text)


def pieces(text, too_long="refuse", limit=10):
    notes = []
    return text_pieces(text, "text 1", too_long, tokenizer=ByteTokenizer(), limit=limit, note=notes.append), notes


def document(parts, too_long="refuse", limit=10, sections=("header", "body", "footer")):
    notes = []
    task = Classification(sections=sections)
    found = document_pieces(
        parts, "document 1", too_long, task=task, tokenizer=ByteTokenizer(), limit=limit, note=notes.append
    )
    return [
        {
            name: bytes(token - 5 for token, own in zip(piece.tokens, piece.types, strict=True) if own == kind).decode()
            for name, kind in task.types.items()
        }
        for piece in found
    ], notes


def test_a_text_whole_cut_or_in_windows():
    assert pieces("0123456789") == ([ids("0123456789")], [])
    assert pieces("0123456789ab", "truncate") == (
        [ids("0123456789")],
        ["text 1: 2 of its 12 tokens are cut, 10 are left"],
    )
    assert pieces("One two. Three.", "window") == (
        [ids("One two."), ids("Three.")],
        ["text 1 is read in 2 windows of at most 10 tokens"],
    )


def test_a_document_whole_cut_or_in_windows():
    parts = {"header": "H1", "body": "one two three", "footer": "F"}
    assert document(parts, limit=16) == ([parts], [])
    assert document({"body": "one"}) == ([{"header": "", "body": "one", "footer": ""}], [])
    assert document(parts, sections=("body",), limit=13)[0] == [{"body": "one two three"}]
    assert document(parts, "truncate", limit=8) == (
        [{"header": "H1", "body": "one t", "footer": "F"}],
        ["document 1: 8 of its 16 tokens are cut, 8 are left"],
    )
    assert document(parts, "window", limit=10) == (
        [{"header": "H1", "body": "one two", "footer": "F"}, {"header": "H1", "body": "three", "footer": "F"}],
        ["the body of document 1 is read in 2 windows of at most 7 tokens"],
    )
    # Header and footer leave half of the room to the body.
    assert document({**parts, "header": "a long header"}, "window", limit=10)[0] == [
        {"header": "a lo", "body": body, "footer": "F"} for body in ("one", "two", "three")
    ]
    assert document({"header": "a long header"}, "window", limit=4)[0] == [{"header": "a lo", "body": "", "footer": ""}]


def test_without_a_body_the_section_with_the_most_text_is_read_in_windows():
    parts = {"title": "T1", "method": "one two three", "end": "F"}
    found, notes = document(parts, "window", limit=10, sections=tuple(parts))
    assert found == [{**parts, "method": "one two"}, {**parts, "method": "three"}]
    assert notes == ["the method of document 1 is read in 2 windows of at most 7 tokens"]
    assert document({"header": "one two three"}, "window", limit=8, sections=("header", "footer"))[0] == [
        {"header": "one two", "footer": ""},
        {"header": "three", "footer": ""},
    ]
    parts = {"title": "a title", "body": "short", "method": "one two three"}
    found, notes = document(parts, "window", limit=12, sections=tuple(parts))
    assert "".join(part["method"] for part in found) == "onetwothree"
    assert {(part["title"], part["body"]) for part in found} == {("a t", "sho")}
    assert notes[0] == "document 1 without its method: 6 of its 12 tokens are cut, 6 are left"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: pieces("01234567890"), "text 1 has 11 tokens, .* at most 10: .* too_long = 'truncate' .* 'window'"),
        (lambda: pieces("ab\udce9"), r"character 2 is the lone surrogate U\+DCE9; give it in UTF-8"),
        (lambda: pieces("ab\0"), "text 1 has a NUL character at 2, and text has none: leave it out"),
        (lambda: pieces("é" * 9, "window", limit=1), "windows of 1 tokens are too small .* too_long = 'truncate'"),
        (lambda: document({"header": " ", "body": ""}), "document 1 is empty: this run reads its header, body, footer"),
        (lambda: document({"title": "t"}), "section 'title': the sections are header, body, footer"),
    ],
)
def test_refused(ask, message):
    with pytest.raises(DataError, match=message):
        ask()


def test_no_such_policy():
    with pytest.raises(ValueError, match="too_long = 'cut' must be 'refuse', 'truncate' or 'window'"):
        pieces("text", "cut")
