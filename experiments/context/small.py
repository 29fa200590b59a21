"""A small language model with RoPE, to be read beyond its 128 tokens: the documentation of Python, for 2 cores.

    posenc data prepare python_docs
    posenc train experiments/context/small.py --directory runs/context-small

With so few steps it is no good model; what changes of positions do to it can be seen all the same. Perplexities are on
the page beside this file.
"""

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, LanguageModel
from posenc_jax.encodings import RoPE

config = Run(
    table="python docs",
    label="rope",
    task=LanguageModel(data=Data(name="python_docs", vocab_size=2000), max_length=128, row=128),
    model=Transformer(d_model=128, num_layers=2, num_heads=4, tie_output=True),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=50),
    training=Training(steps=400, batch_size=16, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(128,), num_examples=64),
    seeds=(0,),
    learning_rates=(2e-3,),
)
