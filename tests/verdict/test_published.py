"""What a table's folder says, and what is refused in it."""

from pathlib import Path

import pytest

from posenc_jax.verdict.published import Selection, folders, read_folder

ROOT = Path("experiments/tables")


def test_what_was_published_and_is_expected(table):
    assert folders(ROOT) == ["small"]
    found = read_folder(ROOT, "small")
    assert (found.name, found.title, found.setting) == ("small", "A small table", "A larger model.")
    copying, scan = found.columns
    assert copying.values == {"nope": 98.6, "rope": 0.0, "shaw": None}, "an empty one is not known, it is not 0"
    assert (copying.scale, scan.scale) == (0.01, 1.0)
    assert copying.selection == Selection("rsc")
    (direction,) = found.directions
    assert (direction.better, direction.worse, direction.selection) == ("nope", "rope", Selection("rsc"))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "published.toml",
            '"nope" = 98.6',
            '"nope" = "98.6"',
            "nope = '98.6' must be a number, or '' where none is known",
        ),
        ("published.toml", 'theirs = "% right"\nscale', "scala = 1\nscale", "scores[0] lacks 'theirs'"),
        (
            "published.toml",
            "scale = 0.01",
            "scala = 0.01",
            "scores[0] has 'scala', and may have table, metric, where",
        ),
        ("published.toml", 'title = "A small table"', "title =", "is no TOML (Invalid value"),
        ("directions.toml", 'rule = "The one', 'rules = "The one', "it lacks 'rule'"),
        (
            "directions.toml",
            'better = "nope"',
            'better = "nope"\nwhere = "byond"',
            "where = 'byond' must be 'beyond', ",
        ),
        (
            "directions.toml",
            'better = "nope"',
            'better = "nope"\nwhere = 2.5',
            "direction[0].where is a number, not a text",
        ),
    ],
)
def test_what_is_refused(table, file, old, new, message):
    path = table / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError) as caught:
        read_folder(ROOT, "small")
    assert message in str(caught.value)
    assert file in str(caught.value)


def test_arms_that_are_expected_to_be_alike(table):
    path = table / "directions.toml"
    text = path.read_text()
    path.write_text(text.replace('better = "nope"\nworse = "rope"', 'alike = ["nope", "rope"]'))
    (direction,) = read_folder(ROOT, "small").directions
    assert (direction.better, direction.worse, direction.alike) == ("nope", "rope", True)
    assert str(direction) == "nope like rope"
    for wrong, message in {
        'alike = ["nope"]': "alike = ['nope'] must be two labels",
        'alike = ["nope", "rope"]\nworse = "rope"': "a direction has either better and worse, or alike",
        'better = "nope"': "a direction has either better and worse, or alike",
    }.items():
        path.write_text(text.replace('better = "nope"\nworse = "rope"', wrong))
        with pytest.raises(ValueError) as caught:
            read_folder(ROOT, "small")
        assert message in str(caught.value)


def test_a_missing_file_and_an_unknown_name(table):
    with pytest.raises(ValueError, match=r"there is no table 'smal' in .*: did you mean 'small'\?"):
        read_folder(ROOT, "smal")
    with pytest.raises(ValueError, match=r"there is no table 'x' in .*: choose among small"):
        read_folder(ROOT, "x")
    (table / "directions.toml").unlink()
    with pytest.raises(ValueError, match=r"directions\.toml is missing: a table has it"):
        read_folder(ROOT, "small")
