"""The golden values in the package are what the encodings give, and mean what the file says."""

import importlib.resources
import json

import golden
import jax
import numpy as np
import pytest
from registry_slots import REGENERATE

from posenc_jax import golden as checker
from posenc_jax.encodings import parse

FILE = json.loads((importlib.resources.files("posenc_jax") / "golden" / "encodings-v1.json").read_text())
ROWS = {(row["name"], row["spec"]): row for row in FILE["rows"]}
METHODS = golden.methods()


# Angles that are products of positions with learned numbers, or of positions that are fractions, are rounded before
# they are taken modulo a turn: at position 300, or in the tenth octave, a thousand radians, float32 ends at 6e-5.
ROUNDED = (
    *("GRAPE-M, general planes", "CLEX", "Ms-PoE, heads in a fixed order"),
    *("Fourier features in octaves (NeRF)", "Fourier features in linear bands (Perceiver)"),
)


def flat(values):
    """Nested lists as float64, null as NaN."""
    return np.array(values, np.float64)


def test_the_file_has_every_row_of_the_catalogue():
    assert FILE["format"] == "posenc golden 1"
    facts = [(family, m.name, m.spec, m.paper, m.link) for family, m in METHODS]
    there = [tuple(row[name] for name in ("family", "name", "spec", "paper", "link")) for row in FILE["rows"]]
    assert there == facts, REGENERATE
    assert FILE["conventions"] == golden.CONVENTIONS, REGENERATE
    assert all(row["outputs"] for row in FILE["rows"])


@pytest.mark.parametrize("method", [m for _, m in METHODS], ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_values(method, dtype):
    assert (method.name, method.spec) in ROWS, REGENERATE
    wanted = ROWS[method.name, method.spec]
    meant = (
        f"a changed golden value is a changed encoding; if it is meant: scripts/regenerate --changed {method.name!r}"
    )
    tolerance = 1e-9 if dtype == "float64" else 2e-4 if method.name in ROUNDED else 2e-5
    with jax.enable_x64(dtype == "float64"):
        found = golden.record(parse(method.spec), np.dtype(dtype))
    assert found["parameters"] == wanted["parameters"], meant
    assert found["outputs"].keys() == wanted["outputs"].keys(), meant
    if wanted["positions_seen"] is None:
        assert found["positions_seen"] is None
    else:
        for a, b in zip(found["positions_seen"], wanted["positions_seen"], strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()), err_msg=meant)
    for name, values in wanted["outputs"].items():
        a, b = flat(found["outputs"][name]), flat(values)
        scale = max(1.0, np.nanmax(np.abs(b)))
        assert scale < 1e4, f"{name}: the tolerance is a share of the largest value"
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=f"{name}: {meant}")


# Read as another implementation would: from the file alone, in plain NumPy.


def parameter(row, name):
    (j,) = (j for j, known in enumerate(row["parameters"]) if known == name)
    shape = row["parameters"][name]
    return (((37 * np.arange(np.prod(shape)) + 11 * j) % 101 - 50) / 100).reshape(shape)


def by_name(name):
    (row,) = (row for row in FILE["rows"] if row["name"] == name)
    return row


def test_conventions_of_rows():
    positions, dim = FILE["inputs"]["positions"], FILE["dims"]["d_model"]
    got = flat(by_name("Sinusoidal")["outputs"]["rows"])
    for i, p in enumerate(positions):
        for k in range(dim // 2):
            angle = p / 10000 ** (2 * k / dim)
            np.testing.assert_allclose(got[i, 2 * k : 2 * k + 2], [np.sin(angle), np.cos(angle)], atol=1e-9)
    learned = by_name("Learned absolute")
    table = parameter(learned, "0.learned.table")
    np.testing.assert_array_equal(flat(learned["outputs"]["rows"]), table[positions])


def test_conventions_of_rotations():
    positions, dim = FILE["inputs"]["positions"], FILE["dims"]["head_dim"]
    got = by_name("RoPE")["outputs"]
    for which in ("q", "k"):
        x = flat(FILE["inputs"][which])
        for i, p in enumerate(positions):
            for k in range(dim // 2):
                turn = np.exp(1j * p / 10000 ** (2 * k / dim))
                turned = (x[:, i, 2 * k] + 1j * x[:, i, 2 * k + 1]) * turn
                np.testing.assert_allclose(flat(got[which])[:, i, 2 * k], turned.real, atol=1e-9)
                np.testing.assert_allclose(flat(got[which])[:, i, 2 * k + 1], turned.imag, atol=1e-9)


def test_conventions_of_biases():
    positions, heads = FILE["inputs"]["positions"], FILE["dims"]["num_heads"]
    got = by_name("ALiBi")["outputs"]
    causal, both = flat(got["bias_causal"]), flat(got["bias"])
    for h in range(heads):
        for i, p in enumerate(positions):
            for j, other in enumerate(positions):
                wanted = -(2.0 ** (-8 * (h + 1) / heads)) * abs(p - other)
                assert both[h, i, j] == pytest.approx(wanted, abs=1e-12)
                assert np.isnan(causal[h, i, j]) if j > i else causal[h, i, j] == both[h, i, j]


def test_conventions_of_logits():
    inputs, dims = FILE["inputs"], FILE["dims"]
    q, k, v = (flat(inputs[name]) for name in "qkv")
    nope = by_name("NoPE")["outputs"]
    logits = np.einsum("hqd,hkd->hqk", q, k) / dims["head_dim"] ** 0.5
    np.testing.assert_allclose(flat(nope["logits"]), logits, atol=1e-9)
    weights = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(flat(nope["output"]), weights @ v, atol=1e-9)
    past = np.tri(len(inputs["positions"]))
    weights = past * np.exp(logits) / (past * np.exp(logits)).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(flat(nope["output_causal"]), weights @ v, atol=1e-9)
    np.testing.assert_array_equal(np.isnan(flat(nope["logits_causal"])), np.broadcast_to(past == 0, logits.shape))
    shaw = by_name("Shaw")
    keys = parameter(shaw, "0.shaw.keys")
    reach = (len(keys) - 1) // 2
    relative = np.array(inputs["positions"])[None, :] - np.array(inputs["positions"])[:, None]
    rows = keys[np.clip(relative, -reach, reach) + reach]
    logits = logits + np.einsum("hqd,qkd->hqk", q, rows) / dims["head_dim"] ** 0.5
    np.testing.assert_allclose(flat(shaw["outputs"]["logits"]), logits, atol=1e-9)


def test_the_checker_of_other_implementations():
    """Of each row as the file has it, and with a wrong value, shape or name."""
    for wanted in FILE["rows"]:
        checker.check(wanted["name"], wanted["outputs"])
    rows = flat(checker.row("Sinusoidal")["outputs"]["rows"])
    rows[2, 3] += 1e-6
    with pytest.raises(ValueError, match=r"^Sinusoidal, rows\[2, 3\]: .* is not .*; it differs by 1e-06, and 1e-09 is"):
        checker.check("Sinusoidal", {"rows": rows})
    checker.check("Sinusoidal", {"rows": rows}, tolerance=1e-5)
    rows[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"^Sinusoidal, rows\[0, 0\]: nan is not"):
        checker.check("Sinusoidal", {"rows": rows}, tolerance=1e-5)
    for name, arrays, message in (
        ("Sinusoidal", {"rows": rows[1:]}, r"the shape is \(7, 32\), and must be \(8, 32\)"),
        ("Sinusoidal", {"q": rows}, "Sinusoidal has no array 'q': it has rows"),
        ("Sinusoidl", {}, "'Sinusoidl' is no row of the golden values: did you mean 'Sinusoidal'"),
        ("Sinusoidal", {}, "nothing to compare with Sinusoidal: give some of"),
    ):
        with pytest.raises(ValueError, match=message):
            checker.check(name, arrays)


def test_the_checker_passes_over_what_a_mask_hides():
    """null in the file: a causal mask hides the key."""
    bias = checker.row("ALiBi")["outputs"]["bias_causal"]
    filled = np.nan_to_num(flat(bias), nan=-1e9)
    assert np.isnan(flat(bias)).any()
    checker.check("ALiBi", {"bias_causal": filled})
