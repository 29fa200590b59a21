"""``posenc merge``: joined, and its report written; refused in one line."""

import shlex
import shutil

from trained_runs import CONFIG, copy_of_the_run

from posenc_jax.cli import main
from posenc_jax.config import Ablation
from posenc_jax.results.timing import read_commands
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.files import append_rows
from posenc_jax.runs.reporter import Reporter


def test_the_command(tmp_path, capsys, refusal):
    copy_of_the_run(tmp_path / "a" / CONFIG.directory_name)
    ablate(Ablation("tiny", (CONFIG,)), tmp_path / "a", reporter=Reporter())
    append_rows(tmp_path / "a" / "timing.jsonl", [{"command": "posenc ablate a.py"}])
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    command = ["merge", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path / "c")]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.endswith(f"merged: {tmp_path / 'c'}\n")
    assert "cmc: " in out
    assert f"wrote in {tmp_path / 'c'}: report.html" in err
    assert read_commands(tmp_path / "c")[0] == ("posenc ablate a.py", shlex.join(("posenc", *command)))
    assert "is not empty, and a merge begins a directory: choose another" in refusal(*command)
    assert "posenc: merge: the following arguments are required: -o/--output" in refusal("merge", str(tmp_path / "a"))
