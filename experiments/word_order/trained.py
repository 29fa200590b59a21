"""Do trained translators tell a sentence from the same words with two of them swapped?

    python experiments/word_order/trained.py runs/translation

For every cell of an ablation (its first seed): what the encoder hands to the decoder for each word, between the two
sentences; and what the decoder writes.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.cli.session import prepare_jax
from posenc_jax.data.tokenizer import EOS
from posenc_jax.runs.files import read_json
from posenc_jax.runs.inference import load_run, translate
from posenc_jax.training.step import model_of

PAIRS = (
    ("John loves Mary", "Mary loves John", (2, 1, 0)),
    ("The cat sat on the mat", "The mat sat on the cat", (0, 5, 2, 3, 4, 1)),
)


def difference(loaded, first, second, order):
    """The largest difference of a word's values between the sentences, in standard deviations of the values.

    ``order``: where in the first sentence each word of the second stands.
    """
    words = [[loaded.tokenizer.encode(word) for word in sentence.split()] for sentence in (first, second)]
    rows = [[*(token for word in sentence for token in word), EOS] for sentence in words]
    model = model_of(loaded.config, loaded.params)
    memory = jax.jit(lambda tokens: model.encode(tokens).keys_values[0].values)(jnp.asarray(rows))
    one, other = np.moveaxis(np.asarray(memory), 2, 1).reshape(2, len(rows[0]), -1)
    starts = np.cumsum([0, *map(len, words[0])])
    places = [place for word in order for place in range(starts[word], starts[word + 1])]
    return np.abs(one[places] - other[:-1]).max() / one.std()


def main(ablation: Path) -> None:
    """Prints a Markdown table."""
    prepare_jax()
    print("| encoding | sentence | with two words swapped | largest difference | translations |")
    print("|---|---|---|---|---|")
    for cell in read_json(ablation / "ablation.json")["cells"]:
        loaded = load_run(ablation / cell["directory"])
        for first, second, order in PAIRS:
            found = difference(loaded, first, second, order)
            written = " / ".join(output.text for output in translate(loaded, [first, second]))
            print(f"| {cell['label']} | {first} | {second} | {found:.2g} | {written} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
