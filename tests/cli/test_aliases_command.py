"""``posenc aliases``: its numbers, and what it refuses."""

import pytest


def shown(printed, *arguments):
    """What the command prints: the lines as they are, and each as its words."""
    text = printed("aliases", *arguments)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    return text, [line.split() for line in lines]


def test_position_5_and_68_of_width_8(printed):
    text, rows = shown(printed, "sinusoidal")
    assert ["1", "0.883814", "6"] in [row[:3] for row in rows]
    (marked,) = (row for row in rows if row[4:] and " ".join(row[4:]) == "5 and 68, peak side lobe")
    assert marked[:3] == ["63", "0.947950", "68"]
    assert "nearest neighbour of position 5 is position 68 (0.947950), not 4 or 6 beside it (0.883814)." in text
    assert ["0.1", "62.8319", "1.0027", "0.999859"] in [row[:4] for row in rows], "why"
    assert ["0.99", "6,283", "0.995676569"] in rows, "far away"


def test_rope_and_what_is_measured(printed):
    _, rows = shown(printed, "rope", "--d-model", "4", "--length", "80")
    assert ["63", "0.896962", "68"] in [row[:3] for row in rows]  # (cos 63 + cos 0.63) / 2
    assert "with parameters as initialised." in shown(printed, "learned", "--length", "70")[0].replace("\n", " ")
    _, rows = shown(printed, "alibi", "--length", "70")
    assert ["0", "0.000000", "-0.250000", "-15.750000", "never", "none"] in rows


def test_inversions_of_encodings_and_of_released_models(printed, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("posenc_jax.show.inversion_tables.ERROR", 0.01)  # a quarter of the draws
    words = ["alibi", "rope/nope", "Gemma-3-1b", "--length", "1048576"]
    text, rows = shown(printed, "--inversions", *words)
    assert ["alibi", *["0.000"] * 7, "-"] in rows
    assert ["nope", *["0.500"] * 7, "512"] in rows
    (rope,) = (row[1:] for row in rows if row[:1] == ["rope"])
    assert [abs(float(rope[i]) - theirs) < 0.02 for i, theirs in ((0, 0.246), (4, 0.501), (6, 0.503))] == [True] * 3
    assert rope[-1] == "32K"
    lines = text.splitlines()
    assert lines[2].split() == ["512", "2K", "8K", "32K", "128K", "512K", "1M", "above", "0.4"]
    (sliding,) = (place for place, line in enumerate(lines) if line.startswith("Gemma-3-1b, 22 of 26"))
    assert lines[sliding + 1] == "layers, window 512"
    assert lines[sliding + 2].startswith("Gemma-3-1b, 4 of 26")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(
        '{"model_type": "llama", "num_hidden_layers": 2, "head_dim": 64, "rope_theta": 10000.0}'
    )
    _, rows = shown(printed, "--inversions", "./config.json", "--length", "512")
    assert any(0.2 < float(row[-2]) < 0.35 for row in rows if row[-1:] == ["-"] and len(row) > 2)


def test_a_length_beyond_a_hundred_thousand_is_searched(printed):
    text, _ = shown(printed, "sinusoidal", "--length", "200000")
    assert "positions 0 to 199999" in text
    assert "Peak side lobe: 0.999999 at 169646." in text


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
        (["sinusoidal", "--num-heads", "3"], ["--num-heads 3 must divide --d-model 8"]),
        (["sinusoidal", "--length", "50", "--pair", "5", "68"], ["position 68 is outside 0 .. 49"]),
        (["sinusoidal", "--pair", "5", "5"], ["name two different positions"]),
        (["learned(64)"], ["a learned table shorter than an evaluated length", "raise max_len to 512"]),
        (["learned", "--length", "5000"], ["length = 5000 must be at most 2048"]),
        (["nope"], ["posenc: nope: no two positions can be compared", "no encoding at all"]),
        ([""], ["posenc: '' names no encoding: write nope for none"]),
        ([], ["name one encoding, as in `posenc aliases rope`, or some after --inversions"]),
        (["rope", "--inversions", "alibi"], ["name one encoding", "or some after --inversions"]),
        (["--inversions", "stick_breaking"], ["weighs two keys by the tokens around them, not by two distances"]),
        (["--inversions", "Llama-3"], ["'Llama-3' is neither a name of the catalogue nor a spec"]),
        (["shaw"], ["no two positions can be compared", "without contents"]),
    ],
)
def test_bad_input_is_one_line(refusal, arguments, parts):
    said = refusal("aliases", *arguments)
    for part in parts:
        assert part in said
