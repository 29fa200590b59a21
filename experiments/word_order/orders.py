"""What do positions buy where the target's word order differs? Translation from SVO into SVO, SOV, VSO and OSV.

    posenc ablate experiments/word_order/orders.py

Not run yet, but for the pilots that directions.md names; what is expected stands there too.
"""

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import WordOrder

ORDERS = ("svo", "sov", "vso", "osv")
ENCODINGS = ("sinusoidal", "nope", "learned", "shaw", "t5", "alibi", "rope")


def cell(posenc: str, order: str) -> Run:
    """One encoding and one order of the target, all else equal."""
    return Run(
        table=order,
        label=posenc,
        task=WordOrder(order=order),
        model=Transformer(d_model=64, num_layers=2, num_heads=4),
        posenc=parse(posenc),
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
    runs=tuple(cell(posenc, order) for order in ORDERS for posenc in ENCODINGS),
    baseline="sinusoidal",
)
