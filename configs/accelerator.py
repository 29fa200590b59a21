"""The two tables of configs/longer.py at the size of an accelerator.

    posenc ablate configs/accelerator.py

`rsc` (copy one repeated token, Kazemnejad et al. 2023): 4 layers, d_model 256, trained on lengths 2..20 as in the
authors' files (the paper says 1 to 20), exact match at 21..40. `even_pairs`: the model of Ruoss et al. 2023 (5 layers,
d_model 64), trained on lengths 1..40, accuracy at 50..500.

Not run as it stands: it needs an accelerator. Its small version, configs/longer.py, has the scores of a real run.

This file was run shortened, 100 steps of 8 sequences, one seed and rate, 16 test examples a length, `--execution.mode
map --execution.group-size 1`: exact match 0.000 and accuracy 0.512 beyond the training lengths. That says that it runs
to its end, and nothing of positions.
"""

from configs.longer import two_tables
from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Copying, EvenPairs
from posenc_jax.encodings import Sinusoidal, T5Bias

rsc = Run(
    table="rsc",
    label="nope",
    task=Copying(kind="rsc", min_length=2, max_length=20, num_symbols=100),
    model=Transformer(d_model=256, num_layers=4, num_heads=8, norm_type="rms", dropout=0.1),
    optimizer=Optimizer(schedule="linear", warmup_steps=600, weight_decay=0.05),
    training=Training(steps=10_000, batch_size=64, steps_per_call=100, log_every=500, checkpoint_every=2500),
    evaluation=Evaluation(lengths=(2, 5, 10, 15, *range(20, 41)), num_examples=100, memory_budget_mb=8192),
    seeds=tuple(range(10)),
    learning_rates=(3e-4,),
)

even_pairs = Run(
    table="even_pairs",
    label="sinusoidal",
    task=EvenPairs(max_length=40),
    model=Transformer(
        d_model=64,
        num_layers=5,
        num_heads=8,
        mlp_dim=256,
        norm="post",
        activation="relu",
        dropout=0.1,
        attention_bias=False,
    ),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="constant"),
    training=Training(steps=10_000, batch_size=128, steps_per_call=100, log_every=500, checkpoint_every=2500),
    evaluation=Evaluation(
        lengths=(5, 10, 20, 40, 50, *range(100, 501, 50)), num_examples=512, draws=8, memory_budget_mb=8192
    ),
    seeds=tuple(range(10)),
    learning_rates=(1e-4, 3e-4, 5e-4),
)

config = two_tables(
    rsc,
    even_pairs,
    t5=T5Bias(),
    t5_note="32 buckets up to distance 128, as in the paper",
    max_position=2048,
    name="accelerator",
    title="Which positions generalise to longer sequences? (accelerator size)",
    size_note="Ours, rsc: 4 layers, d_model 256, 3 million parameters, 10,000 steps of 64 sequences. "
    "Published: 12 layers, d_model 768, 107 million parameters, 40,000 steps. "
    "Ours, even_pairs: the published model, 10,000 steps of 128 sequences; published: 2 million steps, the best of "
    "10 seeds and 3 learning rates.",
)
