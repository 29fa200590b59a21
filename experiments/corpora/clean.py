"""Pairs that look like a sentence and its translation."""


def clean(english: str, other: str, language: str) -> bool:
    """True if a pair looks like two sentences: words, letters, and lengths that go together.

    3 to 80 English words and 2 to 100 in the other language; 0.4 to 2.5 times as many characters; at least 60 %
    letters on both sides; not the same text twice. Japanese has no spaces: its words are not counted, and it has 0.15
    to 1.5 times as many characters.
    """
    if english == other or not 3 <= len(english.split()) <= 80:
        return False
    if language != "ja" and not 2 <= len(other.split()) <= 100:
        return False
    low, high = (0.15, 1.5) if language == "ja" else (0.4, 2.5)
    return low <= len(other) / len(english) <= high and min(_letters(english), _letters(other)) >= 0.6


def _letters(text: str) -> float:
    return sum(map(str.isalpha, text)) / len(text) if text else 0.0
