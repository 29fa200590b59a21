"""``posenc aliases``: its numbers, and what it refuses."""

import re

import pytest


def shown(printed, *arguments):
    """What the command prints: the lines as they are, and each as its words."""
    text = printed("aliases", *arguments)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    return text, [line.split() for line in lines]


def test_position_5_and_68_of_width_8(printed):
    text, rows = shown(printed, "sinusoidal")
    assert ["1", "0.883814", "0.964100", "6"] in [row[:4] for row in rows]
    (marked,) = (row for row in rows if row[4:] and " ".join(row[5:]) == "5 and 68, peak side lobe")
    assert marked[:4] == ["63", "0.947950", "0.645292", "68"]
    assert "nearest neighbour of position 5 is position 68 (0.947950), not 4 or 6 beside it (0.883814)." in text
    for row in (
        "0.1 62.8319 1.0027 0.999859",  # why
        "0.99 6,283 0.995676569",  # beyond
        "1000 0.881004 0.430205 4 6 0.856109 4, 6 0.881004",
        "100000 0.884679 0.511361 4 113 0.982339 118 0.982339",
        "8 * 0.883814 0.947950 4 63 0.947950 68 0.947950",
        "512 0.973055 0.487598 44 44 0.526447 4, 6 0.973055",
        "vaswani * 0.883814 0.947950 4 63 0.947950 68 0.947950",
        "tensor2tensor 0.884806 0.500054 4 132 0.986537 137 0.986537",
        "6.283 to 62.83 0.767653 0.992878 4 377 0.999980",  # heads
    ):
        assert row in [" ".join(words[: len(row.split())]) for words in rows], row
    (rounded,) = (row for row in rows if row[:1] == ["bfloat16"])
    assert abs(float(rounded[2]) - 0.947950) < 2e-3
    assert rounded[2] != "0.947950"


def test_a_level_lists_all_that_reach_it(printed):
    text, _ = shown(printed, "Sinusoidal", "--level", "0.9", "--pair", "7", "13")
    table = text.partition("Main lobe: up to offset 4,")[0]
    rows = re.findall(r"^ +(\d+) +(0\.\d{6}) +\S+ +(\d+) +\S+ *(.*)$", table, re.MULTILINE)
    assert rows == [
        ("1", "0.883814", "8", "neighbours"),
        ("6", "0.945922", "13", "7 and 13"),
        ("63", "0.947950", "70", "peak side lobe"),
    ]


def test_rope_and_what_is_measured(printed, monkeypatch):
    monkeypatch.setattr("posenc_jax.analysis.alias_changes.WIDTHS", (8, 16))
    _, rows = shown(printed, "rope", "--d-model", "4", "--length", "80")
    assert ["63", "0.896962", "68"] in [row[:3] for row in rows]  # (cos 63 + cos 0.63) / 2
    text, rows = shown(printed, "learned", "--length", "70")
    assert "Measured, with parameters as initialised." in text
    assert ["float64", "*"] in [row[:2] for row in rows]
    text, rows = shown(printed, "alibi", "--length", "70")
    assert ["0", "0.000000", "-0.250000", "-15.750000", "never", "none"] in rows
    assert "What changes it" not in text


def test_longer_than_what_can_be_measured(printed, monkeypatch):
    monkeypatch.setattr("posenc_jax.analysis.alias_changes.WIDTHS", (8, 16))
    text, rows = shown(printed, "sinusoidal", "--length", "2100", "--level", "0.3")
    assert "What a head sees if it keeps" in text  # the last table
    assert ["float64", "*"] in [row[:2] for row in rows]
    assert not [row for row in rows if row[:1] == ["bfloat16"]]
    assert re.search(r"and \d+ weaker side lobes; 40 are listed\.", text)


@pytest.mark.parametrize(
    "spec",
    ["sinusoidal(frequencies=(1.0, 0.1, 0.01, 0.001))", pytest.param("sinusoidal(base=1e-3)", marks=pytest.mark.slow)],
)
def test_what_other_bases_and_designs_cannot_have_is_left_out(printed, monkeypatch, spec):
    monkeypatch.setattr("posenc_jax.analysis.alias_changes.WIDTHS", (8,))
    text, rows = shown(printed, spec, "--length", "70")
    assert "What a head sees if it keeps" in text  # the last table
    assert ["resonance"] in [row[:1] for row in rows] or "1e-3" in spec


@pytest.mark.parametrize("command", ["aliases", "explore", "show"])
def test_help_fits_in_100_columns(printed, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    assert max(map(len, printed(command, "--help").splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ["sinusoidall"],
            ["'sinusoidall' is neither a name of the catalogue nor a spec", "did you mean 'sinusoidal'?"],
        ),
        (
            ["sinusoidal", "--d-model", "1"],
            ["--d-model: 1 is no whole number from 2 to 8192: choose one; `posenc aliases --help` explains"],
        ),
        (["sinusoidal", "--d-model", "9"], ["sinusoidal: ", "the dimension is 9", "odd='pad'"]),
        (["sinusoidal", "--length", "1"], ["--length: 1 is no whole number from 2 to 100000"]),
        (["sinusoidal", "--num-heads", "3"], ["--num-heads 3 must divide --d-model 8"]),
        (["sinusoidal", "--level", "2"], ["--level 2.0 must lie in -1 .. 1"]),
        (["sinusoidal", "--length", "50", "--pair", "5", "68"], ["position 68 is outside 0 .. 49"]),
        (["sinusoidal", "--pair", "5", "5"], ["name two different positions"]),
        (["sinusoidal", "--pair", "5"], ["--pair", "`posenc aliases --help`"]),
        (["learned(64)"], ["a learned table shorter than an evaluated length", "raise max_len to 512"]),
        (["learned", "--length", "5000"], ["length = 5000 must be at most 2048"]),
        (["nope"], ["posenc: nope: no two positions can be compared", "no encoding at all"]),
        ([""], ["posenc: '' names no encoding: write nope for none"]),
        (["nope/rope"], ["nothing to show: its first layer, which is shown, has no encoding"]),
        (
            ["sinusoidal(base=1e400)"],
            ["Sinusoidal.base = inf must be finite: 0 or from 1.2e-38 to 3.4e+38 in size, as in float32\n"],
        ),
        (["shaw"], ["no two positions can be compared", "without contents"]),
        ([], ["ENCODING", "`posenc aliases --help`"]),
    ],
)
def test_bad_input_is_one_line(refusal, arguments, parts):
    said = refusal("aliases", *arguments)
    for part in parts:
        assert part in said
