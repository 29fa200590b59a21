"""What ``posenc evaluate`` prints of earlier checkpoints."""

from trained_runs import copy_of_the_run


def test_a_table_for_each_checkpoint(tmp_path, printed):
    run = copy_of_the_run(tmp_path / "run")
    out = printed("evaluate", str(run), "--lengths", "2", "--steps", "10", "20")
    first, second = out.partition("after step 20:")[::2]
    assert first.startswith("after step 10:\n")
    assert first.count("seed") == second.count("seed") > 0
