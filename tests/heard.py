"""A reporter that keeps what it is told."""

from posenc_jax.runs.reporter import Reporter


class Heard(Reporter):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)
