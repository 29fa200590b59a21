"""The parts of scripts/bench: each is a generator of lines of Markdown, its sizes are arguments."""
