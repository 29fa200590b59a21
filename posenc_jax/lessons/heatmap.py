"""The heat map of 50 positions and 128 dimensions, and the lines of positions 0, 10 and 25, read."""

import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal
from posenc_jax.lessons.frequencies import sign_changes
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

LENGTH, D_MODEL = 50, 128
COLUMNS = (0, 2, 8, 16, 32, 64, 96, 126)
POSITIONS = (0, 10, 25)


def _body() -> str:
    vectors, changes = sinusoidal(np.arange(LENGTH), D_MODEL, dtype=np.float64), sign_changes(D_MODEL, LENGTH)
    spans = np.ptp(vectors, axis=0)
    columns = [(c, changes[c // 2], number(spans[c]), number(spans[c + 1])) for c in COLUMNS]
    lines = vectors[list(POSITIONS)]
    apart = [
        (f"{p} and {q}", number(np.linalg.norm(lines[i] - lines[j]), 2), int((abs(lines[i] - lines[j]) > 0.1).sum()))
        for (i, p), (j, q) in (((0, 0), (1, 10)), ((0, 0), (2, 25)), ((1, 10), (2, 25)))
        for p, q in [(p, q)]
    ]
    return f"""## How to read the heat map
A row is the vector of one position; a column is one dimension at all positions. Even columns are sines and begin at 0,
odd ones are cosines and begin at 1, so the first row alternates. Each column is a wave, fast on the left and slow on
the right: the stripes get longer, and from about the middle on, a column has a single colour. The table shows how
often the even column of a pair changes sign, and the span from the smallest to the largest value of this column
and of the odd column beside it:

{table(["column", "changes of sign", "span of the sine", "span of the cosine"], columns)}

## How to read the lines
There is one line for each of the positions {", ".join(map(str, POSITIONS[:-1]))} and {POSITIONS[-1]}, over all
dimensions. The lines differ on the left and meet on the right, where all three are 0, 1, 0, 1, ... Sines and cosines
are drawn separately: a line through both would be a zigzag.

{table(["positions", "distance", f"dimensions that differ by more than 0.1, of {D_MODEL}"], apart)}

So the lines are distinct in their left half. They are often said to vary smoothly across dimensions. Over all
dimensions they do not, since neighbouring dimensions are a sine and a cosine; the sines alone do, and so do the cosines
alone."""


def _answer() -> str:
    spans = np.ptp(sinusoidal(np.arange(LENGTH), D_MODEL, dtype=np.float64), axis=0)
    still = int((spans < 0.1).sum())
    return f"""\
{still} of {D_MODEL}: all cosines from column {int(np.flatnonzero(spans < 0.1)[0])} on, and the sines from
column {2 * int(np.flatnonzero(spans[0::2] < 0.1)[0])} on. They are not useless: in a text of thousands of tokens they
change, and in a short one they say little about the position and leave room for the word."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

heat = sinusoidal(np.arange(50), 128)
print("first column", heat[:8, 0].round(1), "last column", heat[:8, -1].round(1))
"""
LESSON = Lesson(
    name="heatmap",
    title="The heat map of 50 x 128, and three lines",
    where="The course: its heat map, and its lines of positions 0, 10 and 25; Herath's article, on plots",
    claim="The heat map shows a distinct pattern for each position, made of waves that get longer across dimensions.",
    verdict="confirmed",
    because="The left half shows all of it; the right half hardly changes within 50 positions.",
    code=CODE,
    pictures=("heatmap-50x128", "lines-50x128"),
    body=_body,
    question="How many of the 128 columns change by less than 0.1 over the 50 positions, and which are they?",
    answer=_answer,
    seconds=4,
)
