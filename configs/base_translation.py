"""The base model of "Attention is all you need" on WMT14 English to German, with four kinds of positions.

    posenc ablate configs/base_translation.py
    posenc plan configs/base_translation.py --target h100:8

6 + 6 layers, d_model 512, one vocabulary of 37,000 pieces, label smoothing 0.1, dropout 0.1, 99,000 steps (the paper:
100,000) of about 25,000 source and 25,000 target tokens, the schedule of the paper, the mean of the last five
checkpoints, a beam of 4 with alpha 0.6 (Vaswani et al. 2017, sections 5 and 6.1, table 3). The paper has BLEU 27.3 on
newstest2014; its checkpoints were ten minutes apart, and ours are 1,500 steps, about as many as its base model took in
that time.

Price by `posenc plan`: 63 million parameters, 10.4 TFLOP a step, 30.9 hours of one H100 or 3.9 of
eight, at 30 % of their peak for all 32 replicas, compiling apart.

Not run: it needs accelerators. Its small version, experiments/translation/small.py,
has the scores of a real run.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Translation
from posenc_jax.encodings import Learned, RoPE, Shaw, Sinusoidal
from posenc_jax.models.decoding_config import Beam

sinusoidal = Run(
    table="wmt14 en-de",
    label="sinusoidal",
    task=Translation(
        data=Data(name="wmt14_translate/de-en", vocab_size=37000, in_memory=False), max_length=160, row=256
    ),
    model=Transformer.attention_is_all_you_need(dtype="bfloat16"),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="noam", warmup_steps=4000, b2=0.98, eps=1e-9, clip_norm=None),
    training=Training(
        steps=99_000,
        batch_size=100,
        steps_per_call=100,
        log_every=500,
        checkpoint_every=1500,
        label_smoothing=0.1,
        averaged_checkpoints=5,
    ),
    evaluation=Evaluation(
        lengths=(16, 32, 64, 128), num_examples=2048, decoded_examples=1024, decoding=Beam(size=4, alpha=0.6)
    ),
    seeds=tuple(range(8)),
    learning_rates=(7e-4,),
)

config = Ablation(
    name="base-translation",
    title="Transformer base on WMT14: which positions?",
    description="English to German, trained on sentences of up to 160 pieces, tested by length with a beam of 4.",
    runs=(
        sinusoidal,
        dataclasses.replace(sinusoidal, label="learned", posenc=(Learned(),)),
        dataclasses.replace(sinusoidal, label="relative", posenc=(Shaw(),)),
        dataclasses.replace(sinusoidal, label="rotary", posenc=(RoPE(),)),
    ),
    baseline="sinusoidal",
    size_note="The published model: 6 + 6 layers, d_model 512, 65 million parameters, 100,000 steps on 8 P100 in 12 "
    "hours. Our pieces are of our own BPE, and rows are packed.",
)
