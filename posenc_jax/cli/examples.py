"""Examples of every command, which ``posenc COMMAND --help`` ends with. RUN is the directory of a finished run."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (
        ("posenc demo", "compare four encodings, with results in runs/demo"),
        ("posenc demo --seeds 0 1 2 3 4 5", "add two seeds; only these are run"),
    ),
    "lesson": (
        ("posenc lesson", "list the lessons with their claims and verdicts"),
        ("posenc lesson 1", "run the first lesson"),
        ("posenc lesson clusters --output pictures", "run a lesson by name and save its pictures"),
        ("posenc lesson aliases --answer", "run a lesson and show the answer to its exercise"),
    ),
    "rope": (
        ("posenc rope Gemma-3-1b", "show a released model by name: two bases and windows"),
        ("posenc rope Phi-3.5-mini --output phi.html", "draw factors that switch at a length"),
    ),
    "vectors": (
        ("posenc vectors sinusoidal --positions 0 5 68", "print three vectors of d_model 8, and their cosines"),
        ("posenc vectors sinusoidal --d-model 32 --positions 0 1 2 --dimensions 32", "print wider vectors in full"),
        (
            'posenc vectors sinusoidal --d-model 512 --text "Eagles soar above the clouds" --words soar clouds',
            "compare two words before and after positions are added",
        ),
    ),
    "list": (
        ("posenc list", "list everything in brief"),
        ("posenc list --use W --since 2024", "list encodings in released models, from papers of 2024 or later"),
        ("posenc list yarn", "describe an encoding, value or task: its fields, formula and paper"),
    ),
    "show": (
        ("posenc show sinusoidal rope alibi", "write a page of pictures and properties to shown/"),
        ("posenc show rope --figures png pdf", "also write every figure, for a paper"),
        ("posenc show rope --view kernel --output rope.png", "write a single figure"),
        ("posenc show --preset tsne-128x8 --output tsne.png", "draw a preset, and print how to read it"),
        ("posenc show --run RUN", "draw the trained encodings of a run"),
    ),
    "aliases": (
        ("posenc aliases sinusoidal", "show which positions look alike at d_model 8"),
        ("posenc aliases rope --d-model 64 --length 4096 --pair 5 68", "mark positions 5 and 68, at another size"),
    ),
    "explore": (("posenc explore rope --d-model 16", "write the page explorer.html"),),
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
    "evaluate": (
        ("posenc evaluate RUN --lengths 8 16 32", "evaluate at other lengths"),
        ("posenc evaluate RUN --posenc nope", "evaluate the same parameters without positions"),
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
        ("posenc verdict fire --against rope nope --on own/plays --hours 2", "compare on your own texts, in two hours"),
        ("posenc verdict --on runs/demo --tables rsc", "judge every encoding of a finished ablation"),
        ("posenc verdict pope --quick --json", "print the card as JSON, for a script"),
        ("posenc verdict --check card.json", "check whether a card follows from its scores"),
    ),
    "new": (
        ("posenc new encoding my_window", "write my_window.py and its test"),
        ("posenc new config --on own/plays", "write plays.py, the run of `posenc train --on own/plays`, to edit"),
    ),
    "audit": (
        ("posenc audit rope", "check the contract and measure one encoding"),
        ('posenc audit "fox|rope(base=5e5)" YaRN --no-timing', "measure several encodings, without timing"),
    ),
    "data": (
        ("posenc data list", "list corpora, and which are prepared"),
        (
            "posenc data add plays --text hamlet.txt othello.txt --validation macbeth.txt --test lear.txt",
            "add your own texts",
        ),
    ),
    "import": (
        ("posenc import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2", "import a GGUF file"),
        ("posenc import opus-mt-en-de -o runs/opus", "import a translator, for `posenc translate`"),
    ),
    "export": (("posenc export RUN --to smollm2-again", "write config.json, model.safetensors and tokenizer.json"),),
    "context": (
        (
            "posenc context RUN --text book.txt --lengths 1x 2x --change none ntk yarn",
            "compare changes at 1 and 2 times the trained length",
        ),
        ('posenc context RUN --change none "yarn(2)" --text book.txt --measure perplexity', "read your own text"),
        (
            "posenc context RUN --text book.txt --change none nope --recalibrate 100",
            "drop positions, and train for 100 more steps",
        ),
    ),
    "weights": (
        ("posenc weights export RUN model.safetensors", "export the parameters of its first seed"),
        ("posenc weights inspect model.safetensors", "show what the file holds"),
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
