"""``posenc ablate``: results first, then the report; whatever happens to it, what became of the cells is told."""

import signal
from types import SimpleNamespace

import pytest
from synthetic_ablation import write_ablation

from posenc_jax import Evaluation, Run, sweep, tasks
from posenc_jax.cli import main, progress
from posenc_jax.results import report
from posenc_jax.results.timing import read_commands
from posenc_jax.runs import ablation, cell
from posenc_jax.runs.errors import FailedCellsError, StoppedError

CONFIG = """
from posenc_jax import Ablation, Evaluation, Run, tasks

config = Ablation(name="small", runs=(Run(task=tasks.Copying(max_length=8), evaluation=Evaluation(lengths=(8,))),))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A place where the cells of `CONFIG` have the results of the synthetic ablation."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.py").write_text(CONFIG)
    monkeypatch.setattr(ablation, "ablate", lambda config, directory, **_: write_ablation(directory))
    return tmp_path


def _some_fail(config, directory, **_):
    write_ablation(directory)
    raise FailedCellsError("1 of 2 cells failed (run the same command again):\n  copying rope: this cell is broken")


def _stopped(config, directory, **_):
    raise StoppedError(signal.SIGTERM, "stopped at step 4 of 80, saved in here")


def _no_space(directory):
    raise OSError(28, "No space left on device")


def test_the_report_is_written_each_time(home, capsys):
    assert main(["ablate", "config.py", "--directory", "out"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith(f"complete: {home / 'out'}\n")
    assert "rsc: " in out
    assert f"wrote in {home / 'out'}: report.html, tables.md" in err
    (home / "out" / "tables.md").unlink()
    assert main(["ablate", "config.py", "--directory", "out"]) == 0
    assert (home / "out" / "tables.md").exists()
    assert read_commands(home / "out")[0] == ("posenc ablate config.py --directory out",)


def test_failed_cells_come_after_their_report(home, capsys, monkeypatch):
    monkeypatch.setattr(ablation, "ablate", _some_fail)
    assert main(["ablate", "config.py", "--directory", "out"]) == 1
    out, err = capsys.readouterr()
    assert (home / "out" / "report.html").exists()
    assert err.index("wrote in") < err.index("posenc: 1 of 2 cells failed")
    assert err.endswith("this cell is broken\n")
    assert "complete" not in out


def test_a_signal_is_told_with_the_way_on(home, capsys, monkeypatch):
    monkeypatch.setattr(ablation, "ablate", _stopped)
    assert main(["ablate", "config.py", "--directory", "out"]) == 128 + signal.SIGTERM
    assert (
        capsys.readouterr().err
        == "posenc: stopped at step 4 of 80, saved in here. Run the same command again to go on.\n"
    )


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_a_setting_without_an_effect_is_said_once_before_anything_is_computed(tmp_path, capsys, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.py").write_text(
        "import dataclasses\nfrom posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, parse, tasks\n"
        "config = Run(task=tasks.Copying(max_length=8), evaluation=Evaluation(lengths=(8,)),\n"
        "    optimizer=Optimizer(warmup_steps=100), training=Training(steps=40, log_every=20))\n"
        + "config = Ablation('a', (config, dataclasses.replace(config, label='b')))\n"
        * (command == "ablate")
    )
    monkeypatch.setattr(cell.Engine, "run_group", _stopped)
    assert main([command, "config.py"]) == 128 + signal.SIGTERM
    said = "optimizer.warmup_steps = 100 is more than training.steps = 40: the learning rate gets to 40% of its peak"
    assert capsys.readouterr().err.count(said) == 1


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_what_takes_longer_than_a_minute_is_foretold(tmp_path, capsys, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.py").write_text(CONFIG if command == "ablate" else CONFIG + "config = config.runs[0]\n")
    monkeypatch.setattr(cell.Engine, "run_group", _stopped)
    assert main([command, "config.py"]) == 128 + signal.SIGTERM
    assert "estimate" in (err := capsys.readouterr().err)
    assert "seeds, training.steps or evaluation.lengths take less" in err
    monkeypatch.setattr("posenc_jax.runs.targets.CPU_PEAK", 1e18)
    assert main([command, "config.py"]) == 128 + signal.SIGTERM
    assert "estimate" not in capsys.readouterr().err


def test_an_error_in_the_report_hides_no_failed_cell(home, capsys, monkeypatch):
    monkeypatch.setattr(ablation, "ablate", _some_fail)
    monkeypatch.setattr(report, "build", _no_space)
    assert main(["ablate", "config.py", "--directory", "out"]) == 1
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == (
        "posenc: the report could not be written (OSError: [Errno 28] No space left on device); the results are in "
        f"{home / 'out' / 'results.jsonl'}: write it again with `posenc report {home / 'out'}`"
    )
    assert rest[0].startswith("posenc: 1 of 2 cells failed")


def test_an_error_in_the_report_alone_is_one_line_and_no_success(home, capsys, monkeypatch):
    monkeypatch.setattr(report, "build", _no_space)
    assert main(["ablate", "config.py", "--directory", "out"]) == 1
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "the results are in" in err
    assert "complete:" not in out


def test_without_a_single_result_there_is_no_report(home, capsys, monkeypatch):

    def all_fail(config, directory, **_):
        directory.mkdir()
        (directory / "results.jsonl").write_text("")
        raise FailedCellsError("1 of 1 cells failed")

    monkeypatch.setattr(ablation, "ablate", all_fail)
    assert main(["ablate", "config.py", "--directory", "out"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "posenc: 1 of 1 cells failed\n"


def test_a_report_that_cannot_be_written_is_one_line(home, refusal, monkeypatch):
    monkeypatch.setattr(report, "build", _no_space)
    err = refusal("report", str(write_ablation(home / "out")), code=1)
    assert err.startswith("posenc: a file cannot be read or written (No space left on device): make room")


def test_the_page_is_written_as_cells_end_when_it_is_worth_its_time(tmp_path, capsys, monkeypatch):
    clock, written = [100.0], []

    def page(directory):
        written.append(clock[0])
        clock[0] += 2  # seconds that it takes
        return directory / "report.html"

    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(report, "build_page", page)
    reporter = progress.AblationReporter()
    for clock[0] in (110.0, 120.0, 151.0, 153.0, 194.9, 195.0):
        reporter.recorded(tmp_path)
    assert written == [110.0, 153.0, 195.0]
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"{tmp_path}/report.html: the first curves; it is rewritten as cells finish"


def test_a_page_before_the_last_one_that_fails_is_told_and_not_tried_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report, "build_page", _no_space)
    reporter = progress.AblationReporter()
    for _ in range(2):
        reporter.recorded(tmp_path)
    assert capsys.readouterr().err == "no report yet: [Errno 28] No space left on device\n"


def test_the_page_alone_is_that_of_the_report(tmp_path):
    directory = write_ablation(tmp_path / "out")
    assert report.build_page(directory) == directory / "report.html"
    page = (directory / "report.html").read_bytes()
    report.build(directory)
    assert (directory / "report.html").read_bytes() == page


def test_a_sweep_on_the_command_line_is_that_of_python(home, monkeypatch):
    asked = []
    monkeypatch.setattr(ablation, "ablate", lambda config, directory, **_: asked.append(config))
    words = ["--sweep", "posenc=nope,log_scaling(training_length=4)|rope", "rope.base=1e2,1e4", "--seeds", "0"]
    main(["ablate", "config.py", "--directory", "out", *words])
    fields = {"posenc": ("nope", "log_scaling(training_length=4)|rope"), "rope.base": (1e2, 1e4)}
    base = Run(task=tasks.Copying(max_length=8), evaluation=Evaluation(lengths=(8,)), seeds=(0,))
    assert asked[0].runs == sweep(base, fields)
    (home / "one.py").write_text(CONFIG.replace('Ablation(name="small", runs=(', "(").replace("),))", "),)[0]"))
    main(["ablate", "one.py", "--directory", "one", *words])
    assert asked[1].runs == asked[0].runs
    assert asked[1].name == "one"


def test_a_sweep_of_a_field_that_no_run_has_is_refused(home, refusal):
    assert "--sweep: no run of the sweep has a field 'alibi.slopes'" in refusal(
        "ablate", "config.py", "--sweep", "alibi.slopes=alibi,nape"
    )
    said = refusal("ablate", "config.py", "--sweep", "rope.base")
    assert "--sweep rope.base has no values: write rope.base=A,B" in said
    assert "--sweep: seeds = (0,) is no sweep: give two values at least" in refusal(
        "ablate", "config.py", "--sweep", "seeds=0"
    )
