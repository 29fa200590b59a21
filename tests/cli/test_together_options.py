"""``posenc train`` in several processes: how a process ends that others have left."""

import os
import sys

import processes
import pytest

from posenc_jax.cli import together


def test_one_process_raises_what_it_raises():
    def broken():
        raise RuntimeError("Gloo all-reduce failed")

    assert together.leaving(lambda: 3) == 3
    with pytest.raises(RuntimeError, match="Gloo"):
        together.leaving(broken)


def run(code: str, *arguments: str):
    """What becomes of a process that is one of two and runs ``work`` of this code."""
    whole = (
        "import jax, sys\n"
        "from posenc_jax.cli import together\n"
        "jax.process_count, jax.distributed.is_initialized = lambda: 2, lambda: True\n"
        f"{code}\n"
        "together.leaving(work)\n"
        "print('said good-bye')"
    )
    return processes.subprocess.run(
        [sys.executable, "-c", whole, *arguments],
        env=processes.environment() | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )


def test_a_process_of_several_leaves_at_once_when_it_is_done():
    done = run("def work():\n    print('complete')\n    return 3")
    assert (done.returncode, done.stdout) == (3, "complete\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "Gloo all-reduce failed: Connection closed by peer\nmore",
            "posenc: process 0 of 2 lost the others, for one has ended (Gloo all-reduce failed: Connection closed by "
            "peer): start all again with the same commands to go on\n",
        ),
        ("a mistake", "posenc: process 0 of 2 failed (a mistake), and the others end with it\n"),
    ],
)
def test_a_process_that_others_left_ends_at_once_in_words(error, said):
    done = run("def work(): raise RuntimeError(sys.argv[1])", error)
    assert done.returncode == 1
    assert done.stderr.endswith(said)
    assert ("Traceback" in done.stderr) == (error == "a mistake")
