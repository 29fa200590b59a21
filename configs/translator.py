"""A translator that is worth reading, English to German, on the help pages of LibreOffice: 14 epochs, for 2 cores.

    python -m experiments.corpora.make help-en-de
    posenc train configs/translator.py --directory runs/translator
    posenc translate runs/translator --beam 4 "Opens the dialog to format the selected cells."

Three layers read and two write, label smoothing, and the mean of the last five checkpoints.

34 min on 2 cores (AMD EPYC), both seeds: chrF 66.9 and 66.1 at 5-8 tokens, 63.0 and 61.5 at 9-16, 60.9 and 60.9 at
17-32, 51.7 and 51.3 at 33-64 (it was trained up to 48). Ten of its sentences, good and bad:
experiments/translation/README.md.
"""

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Translation
from posenc_jax.encodings import RoPE
from posenc_jax.models.decoding_config import Beam

config = Run(
    task=Translation(data=Data(name="own/help-en-de", vocab_size=3000), max_length=48, row=80),
    model=Transformer(d_model=128, num_layers=2, num_encoder_layers=3, num_heads=4, dropout=0.1, tie_output=True),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=200, final_fraction=0.05),
    training=Training(
        steps=5000,
        batch_size=24,
        microbatches=4,
        steps_per_call=25,
        log_every=100,
        checkpoint_every=125,
        label_smoothing=0.1,
        averaged_checkpoints=5,
    ),
    evaluation=Evaluation(
        lengths=(8, 16, 32, 64), num_examples=256, decoded_examples=256, decoding=Beam(size=4, alpha=0.6)
    ),
    seeds=(0, 1),
    learning_rates=(2e-3,),
)
