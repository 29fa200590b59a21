"""A vector for each position, as an array: `sinusoidal(np.arange(50), 128)`."""

import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table


def _body() -> str:
    small = sinusoidal(np.arange(20), 32, dtype=np.float64)
    rows = [(p, *(number(x) for x in small[p, :8])) for p in range(3)]
    return f"""## What comes out
The array has a row for each position and a column for each dimension of the model. d_model must be even, since sines
and cosines come in pairs (for an odd one, the error names two options). NumPy positions give a NumPy array, JAX
positions a JAX array, in float32 unless `dtype` says otherwise.

The chapter uses 20 positions and d_model 32. The first eight dimensions of its first rows are:

{table(["position", *range(8)], rows)}

`posenc vectors sinusoidal --d-model 32 --positions 0 1 2` prints them, and the cosine of every two positions.

## What it is added to
Word embeddings have the same width, so the sum takes one line, for a batch of sentences too:

```python
import numpy as np
from posenc_jax.encodings import sinusoidal

words = np.random.default_rng(0).normal(size=(32, 20, 512))  # 32 sentences of 20 tokens
print((words + sinusoidal(np.arange(20), 512)).shape)
```

Nothing is stored, and there is no longest sequence; a table of 5,000 rows, as a PyTorch module keeps in a buffer, would
be `sinusoidal(np.arange(5000), 512)`. A model of this library selects the encoding by name, `--posenc sinusoidal`.
[From PyTorch](file:scripts/docs/guides/from-pytorch.md) shows what corresponds to the other parts of a module:
buffers, dropout, `(seq, batch, d)`."""


def _answer() -> str:
    vectors = sinusoidal(np.arange(50), 128, dtype=np.float64)
    value = float(np.abs(vectors[:, 127] - 1).max())
    return f"""The last one, 127, the cosine of the slowest pair: it changes by {value:.1e} in 50 positions. The columns
to the right of the middle hardly change within a sentence; [fast and slow dimensions](lesson:frequencies) has their
wavelengths."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

vectors = sinusoidal(np.arange(50), 128)
print(vectors.shape, vectors.dtype)
print(vectors[1, :4])
"""
LESSON = Lesson(
    name="vectors",
    title="A vector for each position",
    where="The chapter, 4.3.2 and its NumPy function; the course: 50 positions, d_model 128",
    claim="A function of the position alone gives every token of a sequence a vector as wide as its embedding.",
    verdict="confirmed",
    because="One call returns all of them as an array.",
    code=CODE,
    body=_body,
    question="Which column of the 50 x 128 array changes least from the first row to the last?",
    answer=_answer,
    seconds=2,
)
