"""Translation at the size of "Attention is all you need", for an accelerator: which positions, and in which attention?

    python -m experiments.corpora.make help-en-de
    posenc ablate experiments/translation/full.py
    posenc ablate experiments/translation/full.py --data.name wmt14_translate/de-en    # with a network

Not run: it needs an accelerator. Its small version, experiments/translation/small.py,
has the scores of a real run.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Translation
from posenc_jax.encodings import ALiBi, Learned, RoPE, Shaw, Sinusoidal, T5Bias
from posenc_jax.models.decoding_config import Beam

base = Run(
    table="help en-de",
    label="sinusoidal",
    task=Translation(data=Data(name="own/help-en-de", vocab_size=8000), max_length=64, row=128),
    model=Transformer.attention_is_all_you_need(dropout=0.3, dtype="bfloat16"),
    posenc=(Sinusoidal(),),
    # Vaswani et al. 2017, section 5.3; the peak of their schedule at d_model 512 and 4000 steps of warm-up is 7e-4.
    optimizer=Optimizer(schedule="inverse_sqrt", warmup_steps=4000, b2=0.98, eps=1e-9),
    training=Training(steps=20000, batch_size=128, steps_per_call=100, log_every=500, checkpoint_every=2000),
    evaluation=Evaluation(
        lengths=(8, 16, 32, 64, 128), num_examples=1024, decoded_examples=256, decoding=Beam(size=4, alpha=0.6)
    ),
    seeds=(0, 1, 2, 3),
    learning_rates=(7e-4,),
)


def with_positions(label: str, *posenc, **changes) -> Run:
    """The same run with other encodings in both self-attentions."""
    return dataclasses.replace(base, label=label, posenc=posenc, **changes)


config = Ablation(
    name="translation-full",
    title="Translation at base size: which positions, and where?",
    description="English to German, trained on sentences of up to 64 tokens, tested by length with a beam of 4.",
    runs=(
        base,
        with_positions("nope"),
        with_positions("learned", Learned()),
        with_positions("rope", RoPE()),
        with_positions("alibi, symmetric", ALiBi()),
        with_positions("t5", T5Bias()),
        with_positions("shaw", Shaw()),
        # In which attention it matters.
        with_positions("rope, encoder only", posenc_encoder=(RoPE(),)),
        with_positions("rope, decoder only", RoPE(), posenc_encoder=()),
        with_positions("rope, cross-attention too", RoPE(), posenc_cross=(RoPE(),)),
        with_positions("t5, cross-attention too", T5Bias(), posenc_cross=(T5Bias(),)),
    ),
    baseline="sinusoidal",
)
