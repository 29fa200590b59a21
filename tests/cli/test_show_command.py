"""``posenc show``: files made, numbers printed, and what is refused in one line."""

import subprocess
import sys

import pytest
from trained_runs import copy_of_the_run

from posenc_jax.cli import main
from posenc_jax.files.names import file_name
from posenc_jax.show.presets import PRESETS
from posenc_jax.show.views import VIEWS

SMALL = ["--d-model", "8", "--length", "16"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def made(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_figures_a_page_and_properties_twice_the_same(home, capsys):
    views = ["--view", "heatmap", "kernel", "--figures", "png", "pdf"]
    for folder in ("one", "two"):
        assert main(["show", "Sinusoidal", "learned", *SMALL, *views, "--output", f"{folder}/in"]) == 0
    text, err = capsys.readouterr()
    assert err.count("draw: 7 files in ") == 2
    assert max(map(len, text.splitlines())) <= 100
    assert "constant norm       yes    2 = sqrt(8 / 2)" in text
    assert "linear shift        no" in text
    figures = (f"{file_name('Sinusoidal')}-heatmap", "learned-heatmap", "kernel")
    names = {f"in/{figure}.{kind}" for figure in figures for kind in ("png", "pdf")}
    assert set(made(home / "one")) == {*names, "in/show.html"}
    assert made(home / "one") == made(home / "two")


def test_one_file(home, capsys):
    assert main(["show", "alibi", *SMALL, "--view", "bias", "--output", "bias.pdf"]) == 0
    assert list(made(home)) == ["bias.pdf"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "wrote bias.pdf"
    assert max(map(len, lines)) <= 100
    assert main(["show", "alibi", "rope", *SMALL, "--output", "page.html"]) == 0
    assert list(made(home)) == ["bias.pdf", "page.html"]


def test_a_directory_has_the_page_and_the_figures_that_are_asked_for(home, capsys):
    arguments = ["show", "alibi", *SMALL, "--view", "bias"]
    assert main([*arguments, "--output", "out"]) == 0
    assert list(made(home)) == ["out/show.html"]
    assert capsys.readouterr().out.splitlines()[-1] == "wrote out/show.html"
    assert main([*arguments, "--figures", "png", "--output", "out"]) == 0
    assert list(made(home)) == ["out/bias.png", "out/show.html"]


def test_a_view_that_one_of_two_has(home, capsys):
    assert main(["show", "rope", "alibi", *SMALL, "--view", "bias", "--output", "bias.png"]) == 0
    assert list(made(home)) == ["bias.png"]
    assert "posenc: rope has no bias: drawn without it" in capsys.readouterr().err


def test_nothing_is_left_half_written(home, capsys):
    (home / "out").mkdir()
    (home / "out" / "bias.png").mkdir()
    assert main(["show", "alibi", *SMALL, "--view", "bias", "--figures", "png", "--output", "out"]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert made(home) == {}


@pytest.mark.slow
def test_a_run_as_trained_and_its_attention(home, capsys, refusal):
    run = copy_of_the_run(home / "run")
    assert main(["show", "--run", str(run), "--length", "9", "--figures", "png", "--output", "pictures"]) == 0
    text = capsys.readouterr().out
    assert "trained rope|learned" in text
    assert f"{file_name('trained rope|learned')}-attention-of-the-decoder.png" in made(home / "pictures")
    arguments = ["show", "--run", str(run), "--view", "attention", "--output", "one.png", "--stack"]
    assert main([*arguments, "decoder"]) == 0
    assert (home / "one.png").is_file()
    capsys.readouterr()
    assert "posenc: --stack encoder: of the run there is decoder\n" in refusal(*arguments, "encoder")
    said = refusal("show", "--run", str(run), "--length", "200", "--output", "more")
    assert "is outside the learned table of" in said
    err = refusal("show", "--run", str(run), "--text", "Hello.", "--output", "more")
    assert err.startswith("posenc: --text: ")
    assert "which has inputs of its own: leave the text out" in err
    assert not (home / "more").exists()


def test_help_needs_no_jax():
    code = "import sys; from posenc_jax.cli import main; main(['show', '--help']); assert 'jax' not in sys.modules"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert max(map(len, found.stdout.splitlines())) <= 100
    assert [name for name in (*PRESETS, *VIEWS) if name not in found.stdout] == []


def test_what_differs_by_layer_is_of_the_first(home, capsys):
    assert main(["show", "fire/alibi", *SMALL, "--view", "bias", "--output", "x.html"]) == 0
    assert "fire/alibi, layer 1" in capsys.readouterr().out


def test_a_preset_is_one_picture_and_says_how_to_read_it(home, capsys):
    assert main(["show", "--preset", "exp-8", "--output", "exp.png"]) == 0
    assert list(made(home)) == ["exp.png"]
    out = capsys.readouterr().out
    assert "The four dots are what div_term holds" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100
    # The reading is of the sinusoid; another encoding has the picture alone.
    assert main(["show", "rope", "--preset", "exp-8", "--output", "rope.png"]) == 0
    assert "div_term" not in capsys.readouterr().out


def test_words_of_ones_own_flow_into_the_encoder(home, capsys):
    flow = ["--view", "flow", "--d-model", "4", "--length", "4", "--text", "red sun"]
    assert main(["show", "sinusoidal", *flow, "--output", "flow.html"]) == 0
    assert "What an encoder reads of “red sun”" in (home / "flow.html").read_text()


@pytest.mark.parametrize(
    ("package", "arguments", "message"),
    [
        ("matplotlib", ["--output", "x.png"], "a figure for a paper needs matplotlib, which is not installed: pip"),
        (
            "plotly",
            ["--output", "x.html"],
            "the HTML report needs plotly, which is not installed: pip",
        ),
        (
            "sklearn",
            ["--output", "x.html"],
            "t-SNE needs scikit-learn, which is not installed: pip install",
        ),
    ],
)
def test_a_package_that_lacks_is_named_before_anything_is_measured(
    home, refusal, monkeypatch, package, arguments, message
):
    monkeypatch.setattr("posenc_jax.extras.is_there", lambda module: module != package)
    monkeypatch.setattr("posenc_jax.show.measure.measure", None)
    assert message in refusal("show", "sinusoidal", "--view", "tsne", *SMALL, *arguments)
    assert made(home) == {}
