"""First parameters: what each array is drawn from, and that no two are of one draw. Their shapes are golden values."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, parse

DIMS = Dims(d_model=512, num_heads=8, num_kv_heads=4, head_dim=64, num_layers=1, max_len=400, vocab_size=16)


@dataclasses.dataclass
class Normal:
    deviation: float

    def check(self, x):
        assert abs(np.std(x) / self.deviation - 1) < 4 / math.sqrt(2 * x.size)
        assert abs(np.mean(x)) < 4 * self.deviation / math.sqrt(x.size)


@dataclasses.dataclass
class Uniform:
    low: float
    high: float

    def check(self, x):
        assert self.low <= np.min(x) < np.max(x) <= self.high
        assert np.ptp(x) > (self.high - self.low) * (1 - 8 / max(x.size, 16))


@dataclasses.dataclass
class Constant:
    value: float

    def check(self, x):
        np.testing.assert_allclose(x, self.value, rtol=1e-6)


def within(limit):
    return Uniform(-limit, limit)


USUAL, ZEROS, ONES = Normal(0.02), Constant(0), Constant(1)
INITIAL = {
    "conditional_position": {"weight": Normal((2 / 9) ** 0.5), "bias": ZEROS},
    "conv_position(kernel=8)": {"v": Normal(2 / math.sqrt(8 * 512)), "bias": ZEROS},
    "cope": {"table": ZEROS},
    "dape": {"weight_0": within(1 / 4), "bias_0": within(1 / 4), "weight_1": within(32**-0.5)},
    "dape(kernel_size=3, with_bias=False)": {"weight_0": within(24**-0.5), "bias_1": within(96**-0.5)},
    "deberta": {"table": USUAL, "key_projection": USUAL, "query_projection": USUAL, "query_offset": ZEROS},
    "deberta('v2')": {"table": USUAL, "norm_scale": ONES, "norm_offset": ZEROS, "key_offset": ZEROS},
    "decomposed": {"axis_0": USUAL, "axis_1": USUAL},
    "fire": {"c": Constant(0.1), "multiplier": ONES},
    "floater": {"start": within((6 / (4 * 512)) ** 0.5), "w_1": Normal((2 / (513 + 512)) ** 0.5)},
    "fox": {"weight": USUAL, "bias": ZEROS},
    "random_fourier(scale=3.0)": {"matrix": Normal(3)},
    "grape_ap": {"weight": Normal(0.5 / 512**0.5)},
    "grape_m_context": {"weight": Normal(0.5 / 512**0.5)},
    "linear_positions(axes=3)": {"weight": within((6 / 515) ** 0.5), "offset": ZEROS},
    "huang": {"table": USUAL},
    "kerple('nemo')": {"a": ONES, "p": ONES},
    "learned(init_scale=0.5)": {"table": Normal(0.5)},
    "learned_axes(sizes=(14, 14))": {"axis_0": USUAL, "axis_1": USUAL},
    "learned_fourier(gamma=4.0)": {"w_r": Normal(1 / 4), "b_1": ZEROS, "b_2": ZEROS},
    "log_cpb": {"weight_0": USUAL, "bias_0": ZEROS, "weight_1": USUAL},
    "liere": {"generators": Uniform(0, 2 * math.pi)},
    "comrope": {"generators": Normal(1)},
    "music_transformer(values=True)": {"keys": Normal(1 / 8), "values": Normal(1 / 8)},
    "path": dict.fromkeys(("down", "up", "kernel", "beta_weight"), USUAL) | {"beta_bias": ZEROS},
    "pope": {"delta": ZEROS},
    "pope(delta_init='uniform')": {"delta": Uniform(-2 * math.pi, 0)},
    "repo(width=64)": {"gate": USUAL},
    "selective_rope": {"down": USUAL},
    "cayley_string": {"skew": USUAL},
    "circulant_string": {"coefficients": Normal(1 / 8)},
    "shaw": {"keys": within((6 / 97) ** 0.5), "values": within((6 / 97) ** 0.5)},
    "ssmax(offset=True)": {"scale": Constant(0.168), "offset": ZEROS},
    "t5": {"table": within((6 / 40) ** 0.5)},
    "time2vec": {"phases": Uniform(0, 2 * math.pi)},
    "transformer_xl": dict.fromkeys(("u", "v", "projection"), USUAL),
    "tree_positions": {"rates": Uniform(0.7, 0.999)},
    "tupe(relative=True)": dict.fromkeys(("table", "projections", "buckets"), USUAL) | {"norm_scale": ONES},
    "window_bias": {"table": USUAL},
    "xlnet": dict.fromkeys(("u", "v", "w", "projection", "segments"), USUAL),
}


@pytest.mark.parametrize("spec", INITIAL)
def test_parameters_start_as_the_papers_or_their_code_have_them(spec):
    (element,) = parse(spec)
    params = initial(element, DIMS)
    for name, rule in INITIAL[spec].items():
        rule.check(params[name])
    drawn = [a.ravel() for a in params.values() if a.size >= 16 and np.std(a) > 0]
    for a, b in itertools.combinations(drawn, 2):
        size = min(a.size, b.size)
        assert abs(np.corrcoef(a[:size], b[:size])[0, 1]) < 0.99
