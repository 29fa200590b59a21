"""The whole site, built, then read in headless Chromium at the width of a desk and of a phone."""

import importlib.util
import inspect
import re
import subprocess
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import CHROMIUM

import posenc_jax

ROOT = Path(__file__).parent.parent
HTML = ROOT / "build" / "docs" / "html"
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
PAGES = (
    "index.html",
    "encodings/index.html",
    "encodings/yarn.html",
    "encodings/shaw.html",
    "guides/idea-to-verdict.html",
    "own-text.html",
    "experiments/periodicity.html",
    "reference/posenc_jax.encodings.html",
    "reference/posenc_jax.encodings.rotary.html",
    "reference/configs.html",
    "reference/commands.html",
    "search.html",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        importlib.util.find_spec("myst_nb") is None, reason="there is no Sphinx here: install requirements.lock"
    ),
]
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the site cannot be looked at")


@pytest.fixture(scope="module")
def site():
    """The folder of the site, built by the command."""
    done = subprocess.run([ROOT / "scripts" / "build_docs"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return HTML


class Links(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag in ("img", "script") or (tag == "link" and found.get("rel") in ("stylesheet", "icon")):
            self.loaded += [address for address in (found.get("href"), found.get("src")) if address]


@pytest.fixture(scope="module")
def read(site):
    return {path: Links(path.read_text()) for path in sorted(site.rglob("*.html"))}


def test_every_page_and_public_name_is_there(site, read):
    from documenting import api
    from documenting.rows import page_name

    from posenc_jax.encodings.catalogue import CATALOGUE

    for family in CATALOGUE.values():
        for method in family:
            assert (site / "encodings" / f"{page_name(method.name)}.html").exists()
    anchors = set().union(*(page.anchors for page in read.values()))
    for name in (name for files in api.packages().values() for name in files):
        public = {n: v for n, v in vars(importlib.import_module(name)).items() if not n.startswith("_")}
        own = {n for n, v in public.items() if inspect.isfunction(v) or inspect.isclass(v) if v.__module__ == name}
        assert {f"{name}.{n}" for n in own} | {f"module-{name}"} <= anchors


def test_no_internal_link_is_broken(read):
    broken = []
    for path, page in read.items():
        for link in page.links + page.loaded:
            if urllib.parse.urlsplit(link).scheme:
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / urllib.parse.unquote(file.partition("?")[0])).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append(f"{path.relative_to(HTML)}: {link}")
            elif "=" in anchor:  # what the explorer keeps in its address
                continue
            elif anchor and target in read and urllib.parse.unquote(anchor) not in read[target].anchors:
                broken.append(f"{path.relative_to(HTML)}: {link} (no such place)")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(read):
    for path, page in read.items():
        assert [address for address in page.loaded if re.match(r"(https?:)?//", address)] == [], path


@needs_chromium
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_without_complaints(site, browser, page, size):
    browser.open((site / page).as_uri(), *SIZES[size])
    browser.until("document.querySelector('h1, #search-results')")
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(("file:", "data:"))] == []
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.evaluate("[...document.images].every(i => i.loading === 'lazy' || i.naturalWidth > 0)")


@needs_chromium
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", ["encodings/yarn.html", "reference/posenc_jax.encodings.rotary.html"])
def test_the_sidebar_shows_the_page_that_is_read(site, browser, page, size):
    browser.open((site / page).as_uri(), *SIZES[size])
    places = """(() => {
        const here = [...document.querySelectorAll(".sidebar-tree .current-page > a")].pop().getBoundingClientRect();
        const sidebar = document.querySelector(".sidebar-scroll").getBoundingClientRect();
        return [sidebar.top, here.top, here.bottom, sidebar.bottom];
    })()"""
    found = browser.evaluate(places)
    assert found == sorted(found)


@needs_chromium
@pytest.mark.parametrize("page", [*PAGES[:-1], "start/lessons/aliases.html", "start/install.html"])
def test_the_sidebar_shows_at_most_twenty_entries(site, browser, page):
    browser.open((site / page).as_uri(), *SIZES["desk"])
    shown = "[...document.querySelectorAll('.sidebar-tree :is(summary, a)')].filter(e => e.checkVisibility()).length"
    assert 10 <= browser.evaluate(shown) <= 20


@needs_chromium
def test_versions_have_folders_and_a_page_that_lists_them(site, browser):
    folders = site.with_name("site")
    assert (folders / "index.html").exists()
    browser.open((folders / "latest" / "start" / "install.html").as_uri(), *SIZES["desk"])
    versions = browser.evaluate("document.querySelector('a.version').href")
    assert browser.evaluate("document.querySelector('a.version').textContent") == f"Version {posenc_jax.__version__}"
    browser.open(versions, *SIZES["desk"])
    minor = ".".join(posenc_jax.__version__.split(".")[:2])
    links = browser.evaluate("[...document.links].map(a => a.getAttribute('href'))")
    assert {"latest/index.html", f"{minor}/index.html"} <= set(links)
    assert all((folders / link).exists() for link in links)


@needs_chromium
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("yarn", "encodings/yarn.html"),
        ("GPU", "guides/accelerators.html"),
        ("own text", "own-text.html"),
        ("PyTorch", "guides/from-pytorch.html"),
        ("SLURM", "guides/many-machines.html"),
        ("RoPE scaling", "guides/long-context.html"),
        ("NTK", "encodings/dynamic-ntk-scaling.html"),
        ("position 68", "start/lessons/aliases.html"),
    ],
)
def test_the_search_finds_first(site, browser, words, page):
    browser.open((site / "search.html").as_uri() + f"?q={urllib.parse.quote(words)}", *SIZES["desk"])
    browser.until("document.querySelectorAll('#search-results li a').length > 2")
    found = browser.evaluate("[...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'))")
    assert found[0].startswith(page)
    assert browser.complaints() == []
