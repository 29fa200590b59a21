"""Examples of every command, which ``posenc COMMAND --help`` ends with. RUN is the directory of a finished run."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (
        ("posenc demo", "compare four encodings, with results in runs/demo"),
        ("posenc demo --seeds 0 1 2 3 4 5", "add two seeds; only these are run"),
    ),
    "aliases": (
        ("posenc aliases sinusoidal", "show which positions look alike at d_model 8"),
        ("posenc aliases rope --d-model 64 --length 4096 --pair 5 68", "mark positions 5 and 68, at another size"),
    ),
    "train": (
        ("posenc train configs/copy_rope.py", "train the run of a config"),
        ('posenc train configs/copy_rope.py --posenc "randomized(max_position=64)|rope"', "use other encodings"),
        ("posenc train --on own/plays --posenc alibi", "train on your own texts, sized to them and this machine"),
        ("posenc train configs/copy_rope.py --help", "list every field that can be changed"),
    ),
    "ablate": (
        ("posenc ablate configs/demo.py", "run all cells and seeds, then write the report"),
        ("posenc ablate configs/demo.py --seeds 0 1 --directory runs/two", "run two seeds, into another directory"),
        ("posenc ablate --on own/plays --posenc nope alibi t5", "compare encodings on your own texts"),
    ),
    "report": (
        ("posenc report runs/demo", "write report.html, figures and tables of the finished results"),
        ("posenc report runs/demo --csv demo.csv", "write one line per score, to read with pandas"),
        ("posenc report runs/here runs/there -o runs/both", "join cells or seeds that were run separately"),
    ),
    "tables": (
        ("posenc tables", "list the tables, and how far each has been run"),
        ("posenc tables copying", "run the reduced version of one table, in a checkout of the repository"),
    ),
    "verdict": (
        ("posenc verdict pope --quick", "compare PoPE with RoPE on three tables"),
        ("posenc verdict my_window.py:MyWindow --against rope nope --quick", "compare your own encoding"),
        ('posenc verdict --on "middle.py:Middle(max_length=8)"', "compare the usual encodings on your own task"),
        (
            "posenc verdict fire --against rope nope --on own/plays --seeds 4",
            "compare on your own texts",
        ),
        ("posenc verdict --on runs/demo --tables rsc", "judge every encoding of a finished ablation"),
        ("posenc verdict pope --quick --json", "print the card as JSON, for a script"),
        ("posenc verdict --check card.json", "check whether a card follows from its scores"),
    ),
    "plan": (
        ("posenc plan configs/demo.py", "plan for this machine"),
        ("posenc plan configs/accelerator.py --target h100:4", "plan for four H100"),
    ),
    "doctor": (("posenc doctor", "report versions, devices, caches and optional parts"),),
    "completion": (
        ("posenc completion bash > ~/.local/share/bash-completion/completions/posenc", "install for bash"),
        ("posenc completion zsh > ~/.zfunc/_posenc", "install for zsh, if ~/.zfunc is in fpath"),
    ),
}


def examples(command: str) -> str:
    """The end of a command's help."""
    lines = [f"  {line}\n      {about}" for line, about in EXAMPLES[command]]
    return "\n".join(["examples:", *lines])
