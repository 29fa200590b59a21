"""What do positions buy where the target's word order differs? Translation from SVO into SVO, SOV, VSO and OSV.

    posenc ablate experiments/word_order/orders.py

Exact match of clauses within the training lengths 0.986 to 0.999 (sinusoidal, by the order) and 0.158 to 0.161 (none).
What was expected: directions.md.
"""

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import WordOrder

ORDERS = ("svo", "sov", "vso", "osv")
ENCODINGS = {
    "sinusoidal": "sinusoidal",
    "nope": "nope",
    "learned": "learned(beyond='clamp')",  # rows of the longest sentences; clamped is only a place of padding
    "shaw": "shaw",
    "t5": "t5",
    "alibi": "alibi",
    "rope": "rope",
}


def cell(label: str, order: str) -> Run:
    """One encoding and one order of the target, all else equal."""
    return Run(
        table=order,
        label=label,
        task=WordOrder(order=order),
        model=Transformer(d_model=64, num_layers=2, num_heads=4),
        posenc=parse(ENCODINGS[label]),
        optimizer=Optimizer(schedule="cosine", warmup_steps=50),
        training=Training(steps=600, batch_size=32, microbatches=2, steps_per_call=50, log_every=50),
        evaluation=Evaluation(lengths=(1, 2, 4, 5, 6, 8), num_examples=512),
        seeds=(4, 5, 6, 7, 8, 9, 10, 11),
        learning_rates=(2e-3,),
    )


config = Ablation(
    name="word_orders",
    title="Between word orders: what do positions buy?",
    description="Sentences of a small grammar, word for word into another order of subject, verb and object.",
    runs=tuple(cell(label, order) for order in ORDERS for label in ENCODINGS),
    baseline="sinusoidal",
)
