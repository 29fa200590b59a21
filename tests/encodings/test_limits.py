"""Limits of fields: of all classes that strings can name, and of settings."""

import dataclasses
import re

import pytest

from posenc_jax.config import Evaluation, Execution, Optimizer, Training
from posenc_jax.encodings import REGISTERED, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.value import Value, above, limited
from posenc_jax.models.decoding_config import Beam, Sampling

SETTINGS = (Beam(), Sampling(), Optimizer(), Training(), Evaluation(), Execution())
CLASSES = (*REGISTERED, *map(type, SETTINGS))
LIMITS = """
Sinusoidal base > 0
Learned max_len >= 1, offset >= 0
SinusoidalAxes axes >= 1, base > 0
LayoutTables size >= 1
Attributes first >= 0 <= 4095, count >= 1 <= 4096
LinearPositions axes >= 1 <= 4096
TreePositions depth >= 1 <= 4096, degree >= 1 <= 4096
FoNE number >= 0, before >= 1 <= 38, after >= 0 <= 38, column >= 0 <= 4095
XVal number >= 0, column >= 0 <= 4095
RandomFourier axes >= 1, scale > 0
FourierBands axes >= 1, bands >= 1 <= 64, resolution >= 2
LearnedFourier axes >= 1, features >= 1, hidden >= 1, gamma > 0
ConvPosition kernel >= 1, groups >= 1
ConditionalPosition kernel >= 1 <= 31
FLOATER step > 0, substeps >= 1 <= 1000, max_len >= 1
RoPE base > 0
PositionInterpolation factor >= 1
NTK factor >= 1
DynamicNTK factor >= 1, original_length >= 2
NTKByParts factor >= 1, original_length >= 2
YaRN factor >= 1, original_length >= 2, attention_factor > 0
LongRoPE factor >= 1, original_length >= 2, attention_factor > 0
Llama3 factor >= 1, original_length >= 2
HoPE original_length >= 2
ClippedRoPE planes >= 2
MrRoPE factor >= 1, original_length >= 2
RIFLEx repeats_at > 0, length >= 1
MLARoPE base > 0
LeRoPE base > 0
CLEX base > 0, original_length >= 1, max_factor >= 1 <= 1024, width >= 1 <= 64, substeps >= 1 <= 1000
MsPoE least > 0, most >= 1, base > 0
BlendedRoPE strength >= 0 <= 1
FoPE base > 1, original_length >= 7, gain >= 0
XPos base > 0, scale_base > 0, gamma > 0
ReRoPE window >= 1, factor >= 1
SelfExtend group_size >= 1, window >= 1
LMInfinite window >= 1, first >= 0, limit >= 1
String attention_factor > 0
DualChunk chunk >= 2, window >= 0
LogScaling training_length > 1
QueryTemperature scale >= 0, floor >= 1, offset >= 0 <= 1
PoPE base > 0
TAPA alpha > 0
AxialRoPE axes >= 1, base > 0
MixedRoPE base > 0
MRoPE base > 0
SpiralRoPE directions >= 2, base > 0, scale > 0
GoldenGateRoPE lowest > 0, zero_fraction >= 0 <= 1
LieRE axes >= 1, block >= 2
ComRoPE axes >= 1, block >= 2
CayleyString base > 0
CirculantString axes >= 1
Media width >= 1, height >= 1, stride > 0
CirclePositions width >= 1 <= 1024, height >= 1 <= 1024, radius > 0, alpha >= 0 <= 1
FilmWithSound width >= 1, height >= 1, stride > 0
V2PE increment > 0
GRAPEM base > 0, scale > 0
GRAPEMPlanes base > 1, planes >= 1
GRAPEMContext base > 0, scale > 0
ALiBi largest_exponent > 0
Sandwich base > 0
FIRE threshold > 0, width >= 1
DynamicBias depth >= 1 <= 64
LogCPB width >= 1
SpatialALiBi axes >= 1, largest_exponent > 0
LayoutBias axes >= 1 <= 16
PairTable rows >= 1, column >= 0 <= 4095
PairLinear count >= 1 <= 4096, first >= 0 <= 4095
DAPE width >= 1
ScaleInvariant length_scale > 0
Shaw max_distance >= 1
Wavelet scales >= 1 <= 32
MusicTransformer max_distance >= 1
Huang max_distance >= 1
TransformerXL base > 0
XLNet clamp_len >= 1
DeBERTa max_distance >= 1
IRPE ratio >= 1 <= 1024
GPSA locality_strength > 0
TUPE max_len >= 1
CoPE num_positions >= 2
PaTH rank >= 1, kernel_size >= 1
CARoPE base > 1
SelectiveRoPE rank >= 1, kernel_size >= 1, base > 0
RePo base > 0, width >= 1 <= 65536
Randomized max_position >= 1
SHAPE max_shift >= 1
CAPE max_global_shift >= 0, max_local_shift >= 0, max_global_scaling >= 1
Interpolated factor > 0
PoSE target_length >= 1
Grid width >= 1, height >= 1
ImagePositions shift >= 0, jitter >= 1, rescale >= 1
Abacus max_offset >= 0
PositionCoupling max_position >= 2
NumberIndex max_position >= 1
WithinSegment max_length >= 1
SectionIndex token_types >= 1
Beam size >= 1 <= 65536
Sampling temperature >= 1e-06, top_k >= 1, num_samples >= 1 <= 65536
Optimizer warmup_steps >= 0, final_fraction >= 0 <= 1, weight_decay >= 0, eps > 0, clip_norm > 0
Training steps >= 1, batch_size >= 1, microbatches >= 1, log_every >= 1, averaged_checkpoints >= 1, \
steps_per_call >= 1 <= 1000000, validation_batches >= 1 <= 1000000, checkpoint_every >= 0, keep_every >= 0, \
validate_every >= 0, length_strata >= 1 <= 64, curriculum_every >= 0
Evaluation num_examples >= 1 <= 10000000, draws >= 1, memory_budget_mb >= 1, decoded_examples >= 0 <= 10000000
Execution group_size >= 1 <= 65536, data >= 1 <= 65536, model >= 1 <= 65536
"""


def values_in(value):
    """A setting and all in its fields."""
    if isinstance(value, tuple):
        return {one for inner in value for one in values_in(inner)}
    if not isinstance(value, Value):
        return set()
    return {value} | values_in(tuple(getattr(value, field.name) for field in dataclasses.fields(value)))


@pytest.fixture(scope="module")
def examples():
    """One of each class, from the catalogue."""
    rows = (parse(method.spec) for methods in CATALOGUE.values() for method in methods)
    return {type(one): one for row in (*rows, SETTINGS) for one in values_in(row)}


def test_the_limits_are_these():
    def said(field, limit):
        most = "" if limit.most is None else f" <= {limit.most}"
        return f"{field} {'>' if limit.strict else '>='} {limit.least}{most}"

    found = {cls.__name__: ", ".join(said(*item) for item in cls.limits.items()) for cls in CLASSES if cls.limits}
    assert found == dict(line.split(" ", 1) for line in LIMITS.split("\n")[1:-1])


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls.limits], ids=lambda cls: cls.__name__)
def test_what_is_beyond_is_refused_in_one_line(cls, examples):
    example = examples[cls]
    name = cls.part_of_run or cls.__name__
    for field, limit in cls.limits.items():
        below = limit.least if limit.strict else limit.least - 1
        with pytest.raises(ValueError, match=rf"^{name}\.{field} = {below:g}.* must {re.escape(limit.rule)}$"):
            dataclasses.replace(example, **{field: below})
        if limit.most is not None:
            with pytest.raises(ValueError, match=rf"^{name}\.{field} = [\d.]+ must be at most {limit.most}$"):
                dataclasses.replace(example, **{field: limit.most + 1})


@pytest.mark.parametrize("name", ["limits", "part_of_run"])
def test_a_field_called_like_a_fact_of_the_class_is_refused(name):
    taken = dataclasses.make_dataclass("Mine", [(name, int, 3)], bases=(Value,), frozen=True)
    with pytest.raises(ValueError, match=rf"Mine\.{name} is a fact of the class, and no field: give the field another"):
        taken()


def test_a_limit_needs_no_reason():
    """As in the steps for an encoding."""

    @dataclasses.dataclass(frozen=True)
    class Wide(Value):
        width: float = 1.0

        limits = limited(width=above(0))

    with pytest.raises(ValueError, match=r"^Wide.width = 0.0 must be positive$"):
        Wide(0)
