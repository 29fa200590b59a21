"""``posenc show``: files made, numbers printed, and what is refused in one line."""

import subprocess
import sys

import pytest
from trained_runs import copy_of_the_run

from posenc_jax.cli import main
from posenc_jax.files.names import file_name
from posenc_jax.show.presets import PRESETS

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "show: name an encoding, as in `posenc show sinusoidal`, or a finished run with --run DIR"),
        (["sinusodal"], "'sinusodal' is neither a name of the catalogue nor a spec; did you mean 'Sinusoidal'?"),
        (["rope", "--length", "0"], "--length: 0 is no whole number from 3 to 1024: choose one"),
        (["rope", "--d-model", "100000"], "--d-model: 100000 is no whole number from 2 to 2048"),
        (["rope", "--num-heads", "3"], "--num-heads 3: the number of heads must divide --d-model 128"),
        (["rope", "--view", "beauty"], "show: argument --view: invalid choice: 'beauty'"),
        (["sinusoidal", "--positions", "50"], "--positions 50: the positions shown are 0 to 49; raise --length, or"),
        (["sinusoidal", "--d-model", "7"], "sinusoidal: sinusoidal vectors pair a sine with a cosine, but"),
        (["alibi", "--view", "heatmap"], "no heatmap (heat map of positions) to draw: alibi has bias, attention"),
        (
            ["rope", "nope", "--view", "bias"],
            "to draw: rope has frequencies, wavelengths, exp, kernel, attention; nope has contents",
        ),
        (["sinusoidal(base=-1)"], "nor a spec: Sinusoidal.base = -1.0 must be positive: the paper has"),
        (["sinusoidal(base=nan)"], "nor a spec: Sinusoidal.base = nan must be a literal"),
        (["sinusoidal", *SMALL[:3], "12", "--view", "tsne"], "t-SNE needs more positions than 12: raise --length, 50"),
        (["rope", "--output", "x.PNG"], "--output x.PNG: a file ends in .html, .png, .pdf; anything else is a"),
        (["rope", "--output", "~nobody-here/x"], "~nobody-here/x: there is no home directory of '~nobody-here': write"),
        (["--run", "~nobody-here/x"], "~nobody-here/x: there is no home directory of '~nobody-here': write the path"),
        (["learned(max_len=40)"], "learned(max_len=40): a learned table shorter than an evaluated length:"),
        (["axial_rope"], "axial_rope: AxialRoPE"),
        (["rope", "--seed", "1"], "show: --text, --file, --stack and --seed are about a finished run: add"),
        (
            ["rope", "--file", "a.md"],
            "show: --text, --file, --stack and --seed are about a finished run: add",
        ),
        (
            ["rope", "--stack", "encoder"],
            "show: --text, --file, --stack and --seed are about a finished run: add --run",
        ),
        (["--run", "r", "--file", "a.md", "--text", "a"], "show: --text and --file are both the input: give one"),
        (["--run", "."], "is no run: it has no config.json"),
        (
            ["rope", "--figures", "png", "--output", "x.html"],
            "--figures: --output x.html is one file; name a directory, or leave --figures out",
        ),
        (["rope", "--figures", "svg"], "show: argument --figures: invalid choice: 'svg'"),
        (["rope", "--output", "x.svg"], "--output x.svg: a file ends in .html, .png, .pdf; anything else is a"),
        (["rope", "--output", "file/x"], "/file is no directory: name another directory"),
        (["rope", "--output", "/proc/x.png"], "--output /proc/x.png: no file can be made in /proc ("),
        (["--preset", "heatmap-128x8", "--output", "/proc/x/y"], "--output /proc/x/y: no file can be made in /proc ("),
        (["rope", *SMALL, "--output", "x.png"], "--output x.png holds one figure, and these are 5 (frequencies, wave"),
        (["--preset", "heatmap-128x9"], "--preset: there is no preset 'heatmap-128x9': did you mean 'heatmap-128x8'?"),
        (["--preset", "?"], "--preset: there is no preset '?': there are flow, heatmap-20x32, "),
        (
            ["learned", "--preset", "exp-8", "--length", "9"],
            "--preset exp-8 sets --view, --d-model, --length: leave out --length, or the preset",
        ),
        (["--run", "r", "--preset", "flow"], "--preset flow draws encodings by their names: leave out --run"),
        (["rope", "--preset", "flow"], "no flow (from words to the encoder) to draw: rope has frequencies"),
        (["rope", "--text", "a b"], "show: --text, --file, --stack and --seed are about a finished run: add"),
        (
            ["sinusoidal", "--view", "flow", "--text", "a " * 13],
            "--text: --view flow draws 1 to 12 words, and these are",
        ),
        (["sinusoidal", "--view", "flow", "--text", " "], "--text: --view flow draws 1 to 12 words, and these are 0"),
        (
            ["sinusoidal", "--d-model", "8", "--dimensions", "8"],
            "--dimensions 8: the dimensions are 0 to 7: name others",
        ),
    ],
)
def test_what_is_refused(home, refusal, arguments, message):
    (home / "file").write_text("")
    assert message in refusal("show", *arguments)
    assert list(made(home)) == ["file"]


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
    for preset in PRESETS:
        assert f"  {preset} " in found.stdout
    for view in ("heatmap", "tsne", "shift"):
        assert f"{view} (" in found.stdout or f"{view}," in found.stdout


def test_figures_of_an_earlier_call_are_counted(home, capsys):
    view = ["--view", "bias", "--length", "16", "--d-model", "16", "--figures", "png", "pdf", "--output", "shown"]
    assert main(["show", "alibi", *view]) == 0
    assert "other calls" not in capsys.readouterr().err
    assert main(["show", "rope", "--view", "kernel", *view[2:]]) == 0
    found = capsys.readouterr().err
    assert "posenc: shown also holds 2 files of other calls: use --output DIR to keep them apart\n" in found


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
