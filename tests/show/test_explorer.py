"""The explorer: its numbers against the library's, and the page at work in headless Chromium."""

import dataclasses
import hashlib
import json
import re
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from browser import CHROMIUM

from posenc_jax.analysis.kernels import lobes
from posenc_jax.encodings import ALiBi, Geometry, Resonance, T5Bias, tensor2tensor_frequencies, vaswani_frequencies
from posenc_jax.show.explorer import ARTICLE, DESIGNS, PRESETS, ExplorerState, page

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the page cannot be run")
RESULT = "document.getElementById('result').dataset"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(page(), encoding="utf-8")
    return path.as_uri()


def shown(browser, fragment):
    """The numbers in the document once it shows the view of a fragment."""
    browser.until(f"{RESULT}.fragment === {fragment!r}")
    return browser.evaluate(f"({{...{RESULT}}})")


def go(browser, fragment):
    browser.evaluate(f"void (location.hash = {fragment!r})")
    return shown(browser, fragment)


def frequencies(view):
    by_name = {
        "vaswani": lambda: vaswani_frequencies(view.d, view.base),
        "tensor2tensor": lambda: tensor2tensor_frequencies(view.d, 1.0, view.base),
        "resonance": lambda: Resonance().frequencies(view.base, view.d),
    }
    return by_name[view.frequencies]() if view.frequencies in by_name else DESIGNS[view.frequencies].frequencies[view.d]


def table(view):
    """Sines and cosines of every position, one by one."""
    return np.array([[f(p * w) for w in frequencies(view) for f in (np.sin, np.cos)] for p in range(view.length)])


def mixed(x):
    """The page's hash, in Python's integers."""
    x = (x ^ x >> 16) * 0x7FEB352D % 2**32
    x = (x ^ x >> 15) * 0x846CA68B % 2**32
    return x ^ x >> 16


def random_table(view):
    rows = np.zeros((view.length, view.d))
    start = mixed(view.seed + 1)
    for p in range(view.length):
        for i in range(0, view.d, 2):
            u, v = ((mixed(start ^ mixed(1024 * p + i + j)) + (j == 0)) / 2**32 for j in (0, 1))
            radius = 0.02 * np.sqrt(-2 * np.log(u))
            rows[p, i : i + 2] = radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)
    return rows


def counted(values, view):
    """How many positions are nearer to a than b is, how many as near, and the nearest (the first of several)."""
    others = [p for p in range(view.length) if p != view.a]
    nearer = sum(values[p] > values[view.b] + 1e-12 for p in others)
    tied = sum(abs(values[p] - values[view.b]) <= 1e-12 for p in others if p != view.b)
    return nearer, tied, next(p for p in others if values[p] >= max(values[q] for q in others) - 1e-12)


VIEWS = [
    *PRESETS.values(),
    ExplorerState("sinusoidal", d=2, length=16, a=3, b=15),
    ExplorerState("sinusoidal", d=62, base=1e6, length=200, a=100, b=1),
    ExplorerState("sinusoidal", d=512, base=333.0, frequencies="tensor2tensor", length=2048, a=2047, b=2046),
    ExplorerState("rope", d=64, length=700, a=20, b=26),
    ExplorerState("rope", frequencies="resonance", base=100.0, a=1, b=1),
    *(ExplorerState("sinusoidal", frequencies=name, d=max(design.frequencies)) for name, design in DESIGNS.items()),
    ExplorerState("learned", d=6, length=128, seed=3),
]


@needs_chromium
def test_similarities_are_those_of_the_library(browser, address):
    browser.open(address)
    for view in VIEWS:
        found = go(browser, view.fragment())
        rows = random_table(view) if view.encoding == "learned" else table(view)
        a, b = rows[view.a], rows[view.b]
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        values = unit @ unit[view.a]
        distance = np.linalg.norm(unit[view.a] - unit[view.b] if view.encoding == "rope" else a - b)
        assert abs(float(found["cosine"]) - values[view.b]) < 1e-12, view
        assert abs(float(found["pair"]) - values[view.b]) < 1e-12, view
        assert abs(float(found["distance"]) - distance) < 1e-11, view
        assert (int(found["nearer"]), int(found["tied"]), int(found["nearest"])) == counted(values, view), view
        aliases = json.loads(found["aliases"])
        if view.encoding == "learned":
            best = sorted((p for p in range(view.length) if p != view.a), key=lambda p: -values[p])[:8]
            assert [offset for offset, _ in aliases] == [p - view.a for p in best]
            continue
        kernel = np.array([np.mean(np.cos(k * np.array(frequencies(view)))) for k in range(view.length)])
        expected = lobes(kernel)
        assert found["mainLobe"] == ("" if expected.main_lobe is None else str(expected.main_lobe)), view
        best = sorted(expected.maxima, key=lambda k: (-kernel[k].round(12), k))[:8]
        assert [offset for offset, _ in aliases] == best, view
        np.testing.assert_allclose([s for _, s in aliases], kernel[best], rtol=0, atol=1e-12)
    assert browser.complaints() == []


@needs_chromium
def test_the_numbers_of_the_question(browser, address):
    browser.open(address)
    shown(browser, ExplorerState().fragment())
    found = go(browser, ARTICLE.fragment())
    assert (f"{float(found['cosine']):.6f}", found["nearer"], found["nearest"]) == ("0.947950", "0", "68")
    assert "0.947950" in browser.evaluate("document.getElementById('line').textContent")
    other = go(browser, PRESETS["tensor2tensor: no alias at 63"].fragment())
    assert f"{float(other['cosine']):.6f}" == "0.500054"
    exact = go(browser, PRESETS["Resonance: exact aliases"].fragment())
    assert abs(float(exact["cosine"]) - 1) < 1e-14
    assert float(exact["distance"]) < 1e-12


@needs_chromium
@pytest.mark.parametrize("encoding", ["alibi", "t5"])
def test_biases_are_those_of_the_library(browser, address, encoding):
    browser.open(address)
    for view in (ExplorerState(encoding, head=3, length=256), ExplorerState(encoding, head=8, length=256, a=255, b=17)):
        found = go(browser, view.fragment())
        geometry = Geometry.of_length(view.length, num_heads=8)
        if encoding == "alibi":
            rows = ALiBi().bias({}, geometry)
        else:
            embedded = json.loads(re.search(r'id="data">(.*?)</script>', page()).group(1))["t5"]["table"]
            rows = T5Bias().bias({"table": jnp.array(embedded, jnp.float32)}, geometry)
        values = np.asarray(rows, np.float64)[0, view.head - 1, view.a]
        assert abs(float(found["pair"]) - values[view.b]) < 1e-6
        assert (int(found["nearer"]), int(found["tied"]), int(found["nearest"])) == counted(values, view)
        assert found["cosine"] == ""


@needs_chromium
def test_controls_change_the_figures_and_back_returns(browser, address):
    first = ARTICLE.fragment()
    browser.open(f"{address}#{first}")
    shown(browser, first)
    drawn = "document.querySelector('#kernel path').getAttribute('d')"
    before, images = browser.evaluate(drawn), browser.evaluate("document.querySelector('#heat canvas').toDataURL()")
    browser.evaluate("document.getElementById('base-slider').focus()")
    for kind in ("rawKeyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Home", code="Home", windowsVirtualKeyCode=36)
    lowest = dataclasses.replace(ARTICLE, base=100.0).fragment()
    found = shown(browser, lowest)
    assert abs(float(found["cosine"]) - np.mean(np.cos(63 * vaswani_frequencies(8, 100.0)))) < 1e-12
    assert browser.evaluate(drawn) != before
    assert browser.evaluate("document.querySelector('#heat canvas').toDataURL()") != images
    browser.until(f"location.hash === {'#' + lowest!r}")
    browser.evaluate("history.back()")
    shown(browser, first)
    assert browser.evaluate(drawn) == before
    assert browser.evaluate("document.getElementById('base').value") == "10000"

    browser.evaluate("document.querySelector('[data-b=\"11\"]').click()")
    assert shown(browser, dataclasses.replace(ARTICLE, b=11).fragment())["nearer"] == "1"
    label = "[...document.querySelectorAll('#kernel .strong')].find((text) => text.textContent === '126')"
    x, y, width = browser.evaluate(f"(({{x, y, width}}) => [x, y, width])({label}.getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x + width / 2, y=y, button="left", clickCount=1)
    other = dataclasses.replace(ARTICLE, b=131).fragment()
    shown(browser, other)
    browser.until(f"location.hash === {'#' + other!r}")
    browser.evaluate("document.querySelectorAll('.presets a')[0].click()")
    shown(browser, PRESETS["the article’s d 8: 5 and 68"].fragment())
    current = browser.evaluate("document.querySelector('.presets [aria-current]').textContent")
    assert current == "the article’s d 8: 5 and 68"
    assert browser.complaints() == []


@needs_chromium
@pytest.mark.parametrize(
    ("fragment", "becomes", "said"),
    [
        ("d=9", ExplorerState(d=8), "d “9” becomes 8"),
        ("d=4000&base=1", ExplorerState(d=512, base=100.0), "d “4000” becomes 512; base “1” becomes 100"),
        ("encoding=toString&%E0%A4%A&d=16", ExplorerState(d=16), "encoding “toString” becomes sinusoidal"),
        ("encoding=alibi&head=<b>x</b>", ExplorerState("alibi"), "head “<b>x</b>” becomes 1"),
        ("frequencies=cosine_density&d=10", ExplorerState(d=8, frequencies="cosine_density"), "d “10” becomes 8"),
    ],
)
def test_impossible_fragments_become_possible_and_say_so(browser, address, fragment, becomes, said):
    browser.open(f"{address}#{fragment}")
    shown(browser, becomes.fragment())
    note = browser.evaluate("document.getElementById('note').hidden ? '' : document.getElementById('note').textContent")
    assert said in note
    assert browser.evaluate("location.hash") == "#" + becomes.fragment()
    assert browser.complaints() == []


@needs_chromium
@pytest.mark.parametrize("width", [1200, 390])
def test_every_view_fits_and_asks_for_nothing(browser, address, width):
    browser.open(address, width=width, height=844)
    views = [
        *PRESETS.values(),
        ExplorerState("alibi"),
        ExplorerState("t5"),
        ExplorerState("rope", d=512, length=2048),
        VIEWS[-1],
    ]
    for view in views:
        go(browser, view.fragment())
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, view
        unnamed = """[...document.querySelectorAll("input, select")].filter((field) => field.checkVisibility()
          && !field.labels.length && !document.getElementById(field.getAttribute("aria-labelledby"))).length"""
        assert browser.evaluate(unnamed) == 0
    assert browser.requests() == [address]
    assert browser.complaints() == []


def test_the_page_names_no_other_file():
    text = page()
    assert re.search(r'\b(src|srcset)\s*=|\burl\(|@import|\bimport\b\s*[\w({"]', text) is None
    assert {link[0] for link in re.findall(r'href="([^"]*)"', text)} == {"#"}
    assert "default-src 'none'; script-src 'unsafe-inline'" in text
    assert "{{" not in text
    assert len(text.encode()) < 200_000


def test_the_start_is_in_the_page_and_bytes_repeat():
    start = ExplorerState("rope", d=64, a=1, b=7)
    embedded = json.loads(re.search(r'id="data">(.*?)</script>', page(start)).group(1))
    assert embedded["start"] == dataclasses.asdict(start)
    code = "import hashlib\nfrom posenc_jax.show.explorer import page\n"
    code += "print(hashlib.sha256(page().encode()).hexdigest(), hashlib.sha256(page().encode()).hexdigest())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(done) == {hashlib.sha256(page().encode()).hexdigest()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frequencies": "x"}, r"frequencies 'x' is not known: use vaswani, tensor2tensor"),
        ({"d": 514}, r"d_model = 514 must lie in 2 \.\. 512"),
        ({"base": float("nan")}, r"base = nan must lie in 100 \.\. 1e\+06"),
        ({"a": 512}, r"position a = 512 must lie in 0 \.\. 511: raise the length of 512 or choose another position"),
        ({"frequencies": "cosine_density", "d": 10}, r"cosine_density has frequencies for d_model 8, .*, not for 10"),
    ],
)
def test_impossible_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        ExplorerState(**change)
