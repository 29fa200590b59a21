"""Examples of every command, which ``posenc COMMAND --help`` ends with. RUN is the directory of a finished run."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (
        ("posenc demo", "four encodings, into runs/demo"),
        ("posenc demo --seeds 0 1 2 3 4 5", "two more seeds: only these are run"),
    ),
    "lesson": (
        ("posenc lesson", "the steps: claims, and what becomes of them"),
        ("posenc lesson 1", "the first one"),
        ("posenc lesson clusters --output pictures", "one by its name, with its pictures"),
        ("posenc lesson aliases --answer", "with the answer to its exercise"),
    ),
    "rope": (
        ("posenc rope Gemma-3-1b", "two bases and windows, of a released model that is known"),
        ("posenc rope Phi-3.5-mini --output phi.html", "factors that switch at a length, drawn"),
    ),
    "vectors": (
        ("posenc vectors sinusoidal --positions 0 5 68", "three vectors of d_model 8, and their cosines"),
        ("posenc vectors sinusoidal --d-model 32 --positions 0 1 2 --dimensions 32", "whole ones, wider"),
        (
            'posenc vectors sinusoidal --d-model 512 --text "Eagles soar above the clouds" --words soar clouds',
            "two words, before and after",
        ),
    ),
    "list": (
        ("posenc list", "everything, in short"),
        ("posenc list --use W --since 2024", "encodings in released models, of papers since then"),
        ("posenc list yarn", "one encoding, value or task: its fields, formula and paper"),
    ),
    "show": (
        ("posenc show sinusoidal rope alibi", "a page of pictures and properties, in shown/"),
        ("posenc show rope --figures png pdf", "and every figure, for a paper"),
        ("posenc show rope --view kernel --output rope.png", "one figure"),
        ("posenc show --preset tsne-128x8 --output tsne.png", "one of a text, with how to read it"),
        ("posenc show --run RUN", "the encodings of a run, as trained"),
    ),
    "aliases": (
        ("posenc aliases sinusoidal", "which positions look like 5, of d_model 8"),
        ("posenc aliases rope --d-model 64 --length 4096 --pair 5 68", "others"),
    ),
    "explore": (("posenc explore rope --d-model 16", "one HTML page: explorer.html"),),
    "train": (
        ("posenc train configs/copy_rope.py", "the run of a config"),
        ('posenc train configs/copy_rope.py --posenc "randomized(max_position=64)|rope"', "with other positions"),
        ("posenc train --on own/plays --posenc alibi", "on texts of your own, sized to them and this machine"),
        ("posenc train configs/copy_rope.py --help", "every field that can be changed"),
    ),
    "ablate": (
        ("posenc ablate configs/demo.py", "all cells and seeds, then the report"),
        ("posenc ablate configs/demo.py --seeds 0 1 --directory runs/two", "two seeds, elsewhere"),
        ("posenc ablate --on own/plays --posenc nope alibi t5", "encodings on texts of your own"),
    ),
    "evaluate": (
        ("posenc evaluate RUN --lengths 8 16 32", "at other lengths"),
        ("posenc evaluate RUN --posenc nope", "the same parameters without positions"),
    ),
    "report": (
        ("posenc report runs/demo", "report.html, figures and tables of what is finished"),
        ("posenc report runs/demo --csv demo.csv", "every score in a line, to read with pandas"),
    ),
    "tables": (
        ("posenc tables", "all of them, and how far each has been run"),
        ("posenc tables copying", "the reduced version of one, from a checkout"),
    ),
    "merge": (("posenc merge runs/here runs/there -o runs/both", "cells or seeds that were run apart"),),
    "verdict": (
        ("posenc verdict pope --quick", "PoPE against RoPE on three tables"),
        ("posenc verdict my_window.py:MyWindow --against rope nope --quick", "an encoding of your own"),
        ('posenc verdict --on "middle.py:Middle(max_length=8)"', "which of the usual encodings, on a task of yours"),
        ("posenc verdict fire --against rope nope --on own/plays --hours 2", "on your texts, by a time"),
        ("posenc verdict --on runs/demo --tables rsc", "every arm of a finished ablation beside its baseline"),
        ("posenc verdict pope --quick --json", "the card as JSON, for a script"),
        ("posenc verdict --check card.json", "whether its words follow from its scores"),
    ),
    "new": (
        ("posenc new encoding my_window", "my_window.py and its test"),
        ("posenc new config --on own/plays", "plays.py, what `posenc train --on own/plays` trains, to change"),
    ),
    "audit": (
        ("posenc audit rope", "the contract and all measures of one encoding"),
        ('posenc audit "fox|rope(base=5e5)" YaRN --no-timing', "of several"),
    ),
    "data": (
        ("posenc data list", "corpora, and which are ready"),
        ("posenc data prepare help/en-de", "make one ready"),
        (
            "posenc data add plays --text hamlet.txt othello.txt --validation macbeth.txt --test lear.txt",
            "texts of your own",
        ),
    ),
    "translate": (('posenc translate RUN "Opens the dialog." --beam 4', "with beam search"),),
    "summarize": (("posenc summarize RUN article.txt", "a file"),),
    "classify": (("posenc classify RUN page.txt", "a file"),),
    "import": (
        ("posenc import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2", "a GGUF file"),
        ("posenc import opus-mt-en-de -o runs/opus", "for `posenc translate`"),
    ),
    "export": (("posenc export RUN --to smollm2-again", "config.json, model.safetensors, tokenizer.json"),),
    "context": (
        ("posenc context RUN --lengths 1x 2x --change none ntk yarn", "which of them reads twice as far"),
        ('posenc context RUN --change none "yarn(2)" --text book.txt --measure perplexity', "on a text of yours"),
        ("posenc context RUN --change none nope --recalibrate 100", "positions dropped, and 100 steps trained on"),
    ),
    "weights": (
        ("posenc weights export RUN model.safetensors", "the parameters of its first seed"),
        ("posenc weights inspect model.safetensors", "what the file holds"),
    ),
    "plan": (
        ("posenc plan configs/demo.py", "on this machine"),
        ("posenc plan configs/accelerator.py --target h100:4", "on four H100"),
    ),
    "tune": (("posenc tune configs/demo.py --seconds 5", "what trains fastest here"),),
    "doctor": (("posenc doctor", "versions, devices, caches, optional parts, what is slow"),),
    "completion": (
        ("posenc completion bash > ~/.local/share/bash-completion/completions/posenc", "for bash"),
        ("posenc completion zsh > ~/.zfunc/_posenc", "for zsh: ~/.zfunc stands in fpath"),
    ),
}


def examples(command: str) -> str:
    """The end of a command's help."""
    lines = [f"  {line}\n      {about}" for line, about in EXAMPLES[command]]
    return "\n".join(["examples:", *lines])
