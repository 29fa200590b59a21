"""Positions that are two real numbers: which encodings find the nearest point in the plane?

    posenc ablate experiments/points_in_the_plane/plane.py

Accuracy at 16 points 0.067 (none), 0.642 (2-D sinusoidal), 0.419 (random Fourier), 0.828 (axial RoPE), 0.852
(RoPE-Mixed), 0.828 (LieRE-8). What was expected: directions.md.
"""

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import NearestPoint
from posenc_jax.encodings import AxialRoPE, ImagePositions, LieRE, MixedRoPE, RandomFourier, SinusoidalAxes
from posenc_jax.encodings.interface.slots import Slot

# Points of training lie in 0 .. 8: for what reads fractions of an image, that is one of 9 x 9 cells.
ENCODINGS: dict[str, Slot] = {
    "none": (),
    "2-D sinusoidal": (SinusoidalAxes(),),
    "random Fourier": (ImagePositions((9, 9), to="corners"), RandomFourier(scale=1, sines_first=True)),
    "axial RoPE": (AxialRoPE(),),
    "RoPE-Mixed": (MixedRoPE(),),
    "LieRE-8": (ImagePositions((9, 9), to="unit"), LieRE(block=8)),
}
config = Ablation(
    name="points-in-the-plane",
    runs=tuple(
        Run(
            table="nearest point",
            label=label,
            task=NearestPoint(),
            model=Transformer(d_model=64, num_layers=2, num_heads=4),
            posenc=slot,
            optimizer=Optimizer(schedule="cosine", warmup_steps=20),
            training=Training(steps=300, batch_size=32, steps_per_call=50, log_every=50),
            evaluation=Evaluation(lengths=(16, 32), num_examples=256),
            seeds=tuple(range(8)),
            learning_rates=(3e-3,),
        )
        for label, slot in ENCODINGS.items()
    ),
    baseline="axial RoPE",
)
