"""Sentences of a small grammar, English with German, and reports made of them with their headlines.

Not real text: about 130 English words and what the rules below make of them. A small model learns it in minutes and
then writes what reads well, also for sentences that no training text has. German asks for what a translator has to
know: who does what to whom stands in cases (`den Hund`, `dem Hund`), the verb is second in a main clause, also behind
`gestern`, and last behind `obwohl` and `weil`.
"""

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from posenc_jax.data.corpora.corpus import Row, Rows, split_rows

SENTENCES, REPORTS = 24_000, 12_000
# Numbers of sentences of a report between its first and its last.
MIDDLE = (2, 3, 4, 5)

_PEOPLE = """
girl Mädchen n|boy Junge m|teacher Lehrer m|child Kind n|farmer Bauer m|woman Frau f|man Mann m|queen Königin f"""
_ANIMALS = """
cat Katze f|mouse Maus f|dog Hund m|bird Vogel m|fox Fuchs m|rabbit Hase m|horse Pferd n|cow Kuh f|eagle Adler m"""
_THINGS = """
mat Matte f|tree Baum m|house Haus n|table Tisch m|roof Dach n|bridge Brücke f|chair Stuhl m|car Auto n|bed Bett n
box Kiste f"""
_PLACES = "garden Garten m|park Park m|kitchen Küche f|forest Wald m|school Schule f|village Dorf n"
_WEAK = ("Junge", "Hase", "Bauer")  # with -n in all cases but the nominative
_NAMES = ("John", "Mary", "Anna", "Paul", "Tom", "Lisa")
_PRONOUNS = {"he": ("er", "him", "ihn", "ihm"), "she": ("sie", "her", "sie", "ihr")}
_SIZES = "old alt|small klein|big groß"
_MOODS = f"{_SIZES}|young jung|happy glücklich|quick schnell|lazy faul|tired müd"
_COLOURS = "brown braun|white weiß|black schwarz|grey grau"
_ADJECTIVES = {_PEOPLE: (_MOODS,), _ANIMALS: (_MOODS, _COLOURS), _THINGS: (_SIZES, _COLOURS), _PLACES: ()}

# English past, present and infinitive; German past, present, infinitive; the case of the object.
_VERBS = """
chased chases chase jagte jagt jagen acc|loved loves love liebte liebt lieben acc
heard hears hear hörte hört hören acc|visited visits visit besuchte besucht besuchen acc
saw sees see sah sieht sehen acc|found finds find fand findet finden acc|helped helps help half hilft helfen dat
followed follows follow folgte folgt folgen dat|thanked thanks thank dankte dankt danken dat"""
_WORKS = """
saw sees see sah sieht sehen acc|found finds find fand findet finden acc
painted paints paint malte malt malen acc|cleaned cleans clean putzte putzt putzen acc"""
_STAYS = """
sat sits sit saß sitzt sitzen|slept sleeps sleep schlief schläft schlafen|stood stands stand stand steht stehen
waited waits wait wartete wartet warten|lay lies lie lag liegt liegen"""
_WHERE = {"on": "auf", "under": "unter", "beside": "neben", "behind": "hinter"}
_TIMES = {"past": {"yesterday": "gestern", "in the evening": "am Abend", "on Monday": "am Montag"}}
_TIMES["present"] = {"now": "jetzt", "today": "heute"}
_TIMES["future"] = {"tomorrow": "morgen", "soon": "bald"}
_BECAUSE = {"although": "obwohl", "because": "weil"}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_CASES = ("nom", "acc", "dat")
_ARTICLES = {
    "the": {"m": ("der", "den", "dem"), "f": ("die", "die", "der"), "n": ("das", "das", "dem")},
    "a": {"m": ("ein", "einen", "einem"), "f": ("eine", "eine", "einer"), "n": ("ein", "ein", "einem")},
}
_ENDINGS = {
    "the": {"m": ("e", "en", "en"), "f": ("e", "e", "en"), "n": ("e", "e", "en")},
    "a": {"m": ("er", "en", "en"), "f": ("e", "e", "en"), "n": ("es", "es", "en")},
}

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]


class Phrase(NamedTuple):
    """Who or what: in English as a subject and as an object, and in German in the three cases."""

    subject: str
    object: str
    german: tuple[str, str, str]

    def case(self, name: str) -> str:
        """The German of "nom", "acc" or "dat"."""
        return self.german[_CASES.index(name)]


class Clause(NamedTuple):
    """English, and the parts of its German: subject, finite verb, what follows it, an infinitive, what follows that."""

    english: str
    subject: str
    finite: str
    rest: str
    infinitive: str = ""
    behind: str = ""

    def second(self, front: str = "") -> str:
        """The German with its verb second, behind the subject or behind ``front``."""
        first = (front, self.finite, self.subject) if front else (self.subject, self.finite)
        return _words(*first, self.rest, self.infinitive) + self.behind

    def last(self) -> str:
        """The German with its verb last."""
        return _words(self.subject, self.rest, self.infinitive, self.finite) + self.behind


def translation() -> Rows:
    """Sentences with their translations; each is a document of its own, in one split."""
    rows = ({"en": english, "de": german, "doc": english} for english, german in _sentences(_picking("sentences")))
    return _some(rows, SENTENCES)


def reports() -> Rows:
    """Reports with their headlines: of what the first sentence says, and of what came of it, which the last says.

    What stands between could as well be the first sentence: only its place tells what a report is about.
    """
    pick = _picking("reports")
    return _some((_report(pick) for _ in iter(int, 1)), REPORTS)


def _some(rows: Iterator[Row], count: int) -> Rows:
    found: dict[str, Row] = {}
    while len(found) < count:
        row = next(rows)
        found.setdefault(row["doc"], row)
    return split_rows(list(found.values()))


def _picking(seed: str) -> Pick:
    drawn = random.Random(seed).random  # the same numbers in every version of Python, which its other methods are not
    return lambda among: among[int(drawn() * len(among))]


def _sentences(pick: Pick) -> Iterator[tuple[str, str]]:
    while True:
        tense = pick(("past", "past", "present", "future"))
        clause, kind = _clause(pick, tense), pick(("plain", "plain", "time", "because", "and"))
        if kind == "time":
            english, german = pick(list(_TIMES[tense].items()))
            pair = f"{english} {clause.english}", clause.second(german)
        elif kind == "because":
            english, german = pick(list(_BECAUSE.items()))
            main = _clause(pick, tense)
            pair = f"{english} {clause.english}, {main.english}", f"{main.second(f'{german} {clause.last()},')}"
        elif kind == "and":
            other = _clause(pick, tense)
            comma = "," if clause.behind else ""
            pair = f"{clause.english} and {other.english}", f"{clause.second()}{comma} und {other.second()}"
        else:
            pair = clause.english, clause.second()
        end = pick((".", ".", ".", ""))
        yield _capital(pair[0]) + end, _capital(pair[1]) + end


def _clause(pick: Pick, tense: str) -> Clause:
    kind = pick(("verb", "verb", "verb", "work", "stay", "stay", "stay", "jump", "rain", "walk"))
    if kind == "rain" and tense == "past":
        much, viel = pick((("", ""), ("heavily", "stark")))
        return Clause(_words("it was raining", much), "es", "regnete", viel)
    subject = _somebody(pick)
    if kind == "walk" and tense == "past":
        english = _words(subject.subject, "decided to go for a walk")
        return Clause(english, subject.case("nom"), "beschloss", "", behind=", spazieren zu gehen")
    if kind == "jump":
        what, over = _phrase(pick, pick((_ANIMALS, _THINGS))), "jumped jumps jump sprang springt springen"
        return _with(subject, over, tense, f"over {what.object}", f"über {what.case('acc')}")
    if kind == "stay":
        english, german = _place(pick)
        subject = pick((subject, subject, subject, _phrase(pick, _THINGS)))
        return _with(subject, pick(_of(_STAYS)), tense, english, german)
    if kind == "work":
        verb, what = pick(_of(_WORKS)), _phrase(pick, _THINGS)
    else:
        verb, what = pick(_of(_VERBS)), _other(pick, subject)
    verb, _, case = verb.rpartition(" ")
    return _with(subject, verb, tense, what.object, what.case(case))


def _with(subject: Phrase, verb: str, tense: str, english: str, german: str) -> Clause:
    past, present, infinitive, past_de, present_de, infinitive_de = verb.split()
    said = {"past": past, "present": present, "future": f"will {infinitive}"}[tense]
    finite = {"past": past_de, "present": present_de, "future": "wird"}[tense]
    later = infinitive_de if tense == "future" else ""
    return Clause(_words(subject.subject, said, english), subject.case("nom"), finite, german, later)


def _somebody(pick: Pick) -> Phrase:
    kind = pick((_PEOPLE, _PEOPLE, _ANIMALS, _ANIMALS, "name", "name", "pronoun"))
    if kind in _ADJECTIVES:
        return _phrase(pick, kind)
    if kind == "name":
        name = pick(_NAMES)
        return Phrase(name, name, (name,) * 3)
    pronoun = pick(list(_PRONOUNS))
    german, him, ihn, ihm = _PRONOUNS[pronoun]
    return Phrase(pronoun, him, (german, ihn, ihm))


def _other(pick: Pick, subject: Phrase) -> Phrase:
    while (found := _somebody(pick)) == subject:
        pass
    return found


def _place(pick: Pick) -> tuple[str, str]:
    """A place in both languages: `in` a park, `on` or `under` anything else."""
    if pick((True, False, False)):
        where = _phrase(pick, _PLACES, article="the")
        return f"in {where.object}", f"in {where.case('dat')}".replace("in dem ", "im ")
    english, german = pick(list(_WHERE.items()))
    what = _phrase(pick, pick((_THINGS, _THINGS, _ANIMALS)))
    return f"{english} {what.object}", f"{german} {what.case('dat')}"


def _phrase(pick: Pick, nouns: str, article: str = "") -> Phrase:
    """A noun of a table with its article, drawn if none is given, and perhaps an adjective of each suitable kind."""
    noun, german, gender = pick(_of(nouns)).split()
    article = article or pick(("the", "the", "the", "a"))
    adjectives = [pick(_of(kind)).split() for kind in _ADJECTIVES[nouns] if pick((True, False, False))]
    words = _words(*(word for word, _ in adjectives), noun)
    english = f"{'an' if article == 'a' and words[0] in 'aeiou' else article} {words}"
    return Phrase(
        english,
        english,
        tuple(  # type: ignore[arg-type]
            _words(
                _ARTICLES[article][gender][i],
                *(stem + _ENDINGS[article][gender][i] for _, stem in adjectives),
                german + ("n" if german in _WEAK and i else ""),
            )
            for i in range(len(_CASES))
        ),
    )


def _report(pick: Pick) -> Row:
    first, *others, last = (_event(pick) for _ in range(2 + pick(MIDDLE)))
    said = [pick((f"on {pick(_DAYS)} {event.past}", event.past, event.past)) for event in (first, *others)]
    document = " ".join(f"{_capital(line)}." for line in (*said, f"in the end {last.past}"))
    return {"document": document, "summary": _capital(f"{first.headline}, then {last.headline}"), "doc": document}


class Event(NamedTuple):
    """A clause in the past, and as headlines have it: in the present and without articles."""

    past: str
    headline: str


def _event(pick: Pick) -> Event:
    subject = _named(pick, _somebody)
    if pick((True, False)):
        verb, rest = pick(_of(_STAYS)), _place(pick)[0]
    else:
        verb, rest = pick(_of(_VERBS)), _named(pick, functools.partial(_other, subject=subject)).object
    past, present = verb.split()[:2]
    words = (word for word in f"{subject.subject} {present} {rest}".split() if word not in ("the", "a", "an"))
    return Event(f"{subject.subject} {past} {rest}", " ".join(words))


def _named(pick: Pick, who: Callable[[Pick], Phrase]) -> Phrase:
    """Somebody who is no "he" or "she", of whom nobody would know who that is."""
    while (found := who(pick)).subject in _PRONOUNS:
        pass
    return found


@functools.cache
def _of(table: str) -> tuple[str, ...]:
    return tuple(entry for line in table.strip().splitlines() for entry in line.split("|"))


def _words(*words: str) -> str:
    return " ".join(word for word in words if word)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
