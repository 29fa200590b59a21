import dataclasses
from pathlib import Path
from typing import Literal

import pytest

from posenc_jax.drawing.bibtex import prose
from posenc_jax.encodings import (
    ENCODINGS,
    REGISTERED,
    SCALINGS,
    Learned,
    PositionalEncoding,
    PositionInterpolation,
    Randomized,
    RoPE,
    Sinusoidal,
    Value,
    parse,
    spec,
)
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.method import Method

ROOT = Path(__file__).parent.parent.parent


@dataclasses.dataclass(frozen=True)
class Stretch(Value):
    factor: float = 1.0
    kind: Literal["linear", "log"] = "linear"


@dataclasses.dataclass(frozen=True)
class Nested(PositionalEncoding):
    scaling: Stretch | None = None
    stages: tuple[Stretch, ...] = ()
    sizes: tuple[int, ...] = ()
    label: str = ""
    flag: bool = False
    needed: int | None = 0

    name = "nested"


KNOWN = {**ENCODINGS, "nested": Nested}

SLOTS = [
    ("", ()),
    ("nope", ()),
    ("rope", (RoPE(),)),
    ("rope(base=5e5)", (RoPE(base=500000.0),)),
    ("rope(5e5, 'half')", (RoPE(base=500000.0, layout="half"),)),
    (" randomized( max_position = 512 ) | rope ", (Randomized(512), RoPE())),
    ("sinusoidal|nope|learned(max_len=None)", (Sinusoidal(), Learned())),
    ("rope/rope/rope/nope", ((RoPE(),), (RoPE(),), (RoPE(),), ())),
    ("nope/nope", ((), ())),
    ("randomized|rope/learned|rope", ((Randomized(), RoPE()), (Learned(), RoPE()))),
    ("rope/randomized|rope/nope", ((RoPE(),), (Randomized(), RoPE()), ())),
    ("RoPE|Sinusoidal|LEARNED", (RoPE(), Sinusoidal(), Learned())),
    ("nested(scaling=stretch(factor=8, kind='log'))", (Nested(scaling=Stretch(8, "log")),)),
    ("nested(stages=(stretch, Stretch(2),), sizes=[1, -2])", (Nested(stages=(Stretch(), Stretch(2)), sizes=(1, -2)),)),
    ("nested(label='a|b/c(', flag=True)", (Nested(label="a|b/c(", flag=True),)),
]


@pytest.mark.parametrize(("text", "slot"), SLOTS)
def test_parse_and_back(text, slot):
    assert parse(text, KNOWN) == slot
    assert parse(spec(slot), KNOWN) == slot


def test_spec_is_the_shortest_string():
    assert spec(()) == "nope"
    assert spec(RoPE()) == "rope"
    assert spec((Randomized(max_position=512), RoPE(base=5e5, layout="interleaved"))) == (
        "randomized(max_position=512)|rope(base=500000.0)"
    )
    assert spec(((RoPE(),), ())) == "rope/nope"
    assert spec(RoPE(base=0.1 + 0.2)) == "rope(base=0.30000000000000004)"
    assert spec(Nested(Stretch(2, "log"), (Stretch(),), (1,), "it's", True, None)) == (
        "nested(scaling=stretch(factor=2.0, kind='log'), stages=(stretch,), sizes=(1,), "
        'label="it\'s", flag=True, needed=None)'
    )


def test_a_line_of_the_registry_is_all_that_it_takes():
    folder = ROOT / "posenc_jax" / "encodings"
    lines = [
        line
        for path in folder.rglob("__init__.py")
        for line in path.read_text().partition("# isort: off\n")[2].partition("# isort: on\n")[0].splitlines()
        if not line.endswith(" import *")
    ]
    wanted = [f"from {cls.__module__} import {cls.__name__} as {cls.__name__}" for cls in REGISTERED]
    assert sorted(lines) == sorted(wanted)
    assert len(ENCODINGS) + len(SCALINGS) == len(REGISTERED)  # no two have one word


def test_fields_of_a_base_class_take_every_registered_scaling():
    for name in SCALINGS:
        with pytest.raises(ValueError, match=rf"unknown value of RoPE.scaling 'zzz' \(it takes .*\b{name}\b"):
            parse("rope(scaling=zzz())")
    own = dataclasses.make_dataclass("Own", [], bases=(PositionInterpolation,), frozen=True)
    assert RoPE(scaling=own()).scaling == own()
    with pytest.raises(ValueError, match=r"Sinusoidal.frequencies 'yarn' \(it takes low_side_lobes, cosine_density"):
        parse("sinusoidal(frequencies=yarn(8, 16))")


def test_a_row_of_the_catalogue_is_of_a_family():
    with pytest.raises(ValueError, match="the family of A is 'additve': choose one of none, absolute, rotary"):
        Method("additve", "A", "rope", "Author 2026", "arXiv:2601.00001")
    with pytest.raises(ValueError, match="paper is empty: a row of the catalogue has its name, spec and paper"):
        Method("additive", "A", "rope", "", "arXiv:2601.00001")


def test_every_encoding_is_registered_by_its_name_and_reads_back():
    for name, cls in ENCODINGS.items():
        assert cls.name == name
        assert cls.paper.startswith(("arXiv:", "https://"))
        assert prose(cls.citation).count(cls.paper) == 1
        required = [field for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING]
        if required:
            with pytest.raises(ValueError, match=f"{cls.__name__} needs {required[0].name}.*: write {name}\\("):
                parse(name)
        else:
            assert parse(name) == parse(cls.__name__) == (cls(),)
            assert spec(cls()) == name


def test_the_catalogue_reads_back():
    methods = [method for family in CATALOGUE.values() for method in family]
    for method in methods:
        slot = parse(method.spec)
        assert parse(spec(slot)) == slot
        assert method.link.startswith(("arXiv:", "https://")) or (ROOT / method.link).is_file()
    names = [method.name for method in methods]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ropee", r"unknown encoding 'ropee': did you mean 'rope'\? \(`posenc list` shows all\)"),
        ("zzz", r"unknown encoding 'zzz' \(`posenc list` shows all\)"),
        ("rope(bse=2)", r"RoPE has no field 'bse': did you mean 'base'\? \(it has base, layout, rotary_dim, scaling\)"),
        ("rope(**x)", r"RoPE has no field '\*\*'"),
        ("rope(1, 'half', 4, None, 5)", r"has 5 arguments, but RoPE has base, layout, rotary_dim"),
        ("rope(2.0, base=3.0)", r"gives the field 'base' twice: leave one out"),
        ("rope(layout=half)", r"RoPE.layout = half must be a literal: .*; write 'half' if a string is meant"),
        ("rope(base=open('x'))", r"unknown value of RoPE.base 'open' \(it takes no calls\)"),
        ("nested(scaling=strech(2))", r"Nested.scaling 'strech': did you mean 'stretch'\? \(it takes stretch\)"),
        ("rope(base=1", r"cannot read the encoding 'rope\(base=1' \(.*\): write calls joined by \| in a layer"),
        ("rope + learned", r"join the elements of a layer by \| and layers by /"),
        ("rope, learned", r"'\(rope, learned\)' is not an encoding: write a name with arguments"),
        ("__import__('os').system('true')", r"is not an encoding: write a name"),
    ],
)
def test_errors_say_what_is_wrong_and_what_is_near(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text, KNOWN)


def test_long_patterns_and_brackets_of_elements_are_read():
    assert parse("/".join(["rope|alibi"] * 250)) == (parse("rope|alibi"),) * 250
    assert parse("(rope|alibi)/(rope/nope)|alibi") == (parse("rope|alibi"), parse("rope"), parse("alibi"))
