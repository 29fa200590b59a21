"""Sentences of the grammar: the German that is right, what reports are made of, and that they stay the same."""

import re

import pytest

from posenc_jax.data.corpora import CORPORA
from posenc_jax.data.corpora.store import rows_sha256

SHA256 = {
    "grammar/en-de": "43da7d18510936c04e6047cf92903520427afae8c24c6a96d0e978839411917c",
    "grammar/reports": "16fc060eb8bd11f32adf42b86438d5fbcc5601c9090a5b2c241c5f8eeaefbf7b",
}


@pytest.fixture(scope="module")
def rows():
    return {name: corpus.rows() for name, corpus in CORPORA.items()}


def test_the_texts_are_those_that_were_written_down(rows):
    for name, found in rows.items():
        assert rows_sha256(found, CORPORA[name].columns)[0] == SHA256[name]
        documents = [row["doc"] for part in found.values() for row in part]
        assert len(documents) == len(set(documents))


DATIVE = ("dem", "der", "einem", "einer")
FORMS = {  # accusative, dative and nominative, of "the" and "a"
    "m": {"der": "", "den": "n", "dem": "n", "ein": "", "einen": "n", "einem": "n"},
    "f": {"die": "", "der": "", "eine": "", "einer": ""},
    "n": {"das": "", "dem": "", "ein": "", "einem": ""},
}
GENDERS = {
    "m": "Junge Lehrer Bauer Mann Hund Vogel Fuchs Hase Adler Baum Tisch Stuhl",
    "f": "Frau Königin Katze Maus Kuh Matte Brücke Kiste Küche Schule",
    "n": "Mädchen Kind Pferd Haus Dach Auto Bett Dorf",
}


def test_german_articles_go_with_their_nouns_and_prepositions(rows):
    """By the tables of a school grammar, not by the generator's."""
    gender = {noun: kind for kind, nouns in GENDERS.items() for noun in nouns.split()}
    german = [row["de"] for part in rows["grammar/en-de"].values() for row in part]
    phrase = re.compile(
        r"(?:(\w+) )?\b([Dd](?:er|ie|as|en|em)|[Ee]in(?:e|en|em|er)?) (?:([a-zß]\w+e[rns]?|müde\w?) )*([A-ZÄÖÜ]\w+)"
    )
    found = 0
    for text in german:
        for before, article, _, noun in phrase.findall(text):
            weak = noun not in gender
            kind = gender[noun.removesuffix("n") if weak else noun]
            forms = FORMS[kind]
            assert article.lower() in forms, text
            if noun.rstrip("n") in ("Junge", "Hase", "Bauer"):
                assert weak == bool(forms[article.lower()]), text
            assert (before in ("auf", "unter", "neben", "hinter")) <= (article in DATIVE), text
            assert (before == "über") <= (article in ("den", "die", "das", "einen", "eine", "ein")), text
            found += 1
    assert found > len(german)
