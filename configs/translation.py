"""A small translator, English to German, on the help pages of LibreOffice: 1.2 million parameters, RoPE.

    python -m experiments.corpora.make help-en-de
    posenc train configs/translation.py --directory runs/translator
    posenc translate runs/translator "Opens the dialog to format the selected cells."

As a cell of experiments/translation it had chrF 40.0 at 5-8 tokens, 39.2 at 9-16, 35.1 at 17-32, and 25.6 at 33-64,
longer than any in training.
"""

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Translation
from posenc_jax.encodings import RoPE

config = Run(
    task=Translation(data=Data(name="own/help-en-de", vocab_size=2000), max_length=32, row=64),
    model=Transformer(d_model=128, num_layers=2, num_heads=4, tie_output=True),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=600, batch_size=24, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(8, 16, 32, 64), num_examples=256, decoded_examples=96),
    seeds=(0, 1),
    learning_rates=(2e-3,),
)
