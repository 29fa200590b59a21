"""The page of an ablation in a browser: its tables can be taken along, it is dark where that is asked for, it fits a
narrow screen.
"""

import csv
import io

import pytest
import sealed_files
from browser import CHROMIUM, Browser
from synthetic_ablation import begin_group, write_ablation

from posenc_jax.drawing.style import DARK, INK, PAPER
from posenc_jax.results import read_record, report, summarise
from posenc_jax.results.report import tables

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: chromium)")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    found = write_ablation(tmp_path_factory.mktemp("page"))
    rows = [{"step": step, "seed": 0, "learning_rate": 1e-3, "loss": 2.0 / step} for step in (1, 2, 4)]
    begin_group(found / "rsc-nope" / "group-000")
    sealed_files.write_rows(found / "rsc-nope" / "group-000" / "metrics.jsonl", rows)
    report.build(found)
    return found


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def browser(running, directory):
    running.call("Emulation.setEmulatedMedia", features=[])
    running.open((directory / "report.html").as_uri())
    running.evaluate("dispatchEvent(new Event('beforeprint')); 0")
    running.until("!document.querySelector('.figure:not(.js-plotly-plot)')")  # plotly is unpacked first
    return running


def test_a_table_can_be_taken_along(browser, directory):
    browser.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return 'blob:none'; }; 0")
    browser.evaluate("document.querySelectorAll('.tools button')[1].click()")
    text = browser.evaluate("window.saved.text()")
    lines = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    table = tables.main_table(summarise(read_record(directory)).tasks[0])
    assert lines[0] == list(table.columns)
    assert lines[1:] == [list(line) for line in table.entries]
    browser.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }; 0")
    browser.evaluate("document.querySelector('.tools button').click()")
    browser.until("document.querySelector('.tools button').textContent === 'Copied'")
    assert browser.evaluate("window.copied").splitlines()[0] == "\t".join(table.columns)


def test_it_is_dark_where_that_is_asked_for(browser):
    colours = "[getComputedStyle(document.body).color, document.querySelector('.figure').layout.paper_bgcolor]"
    assert browser.evaluate(colours) == [_computed(INK), PAPER]
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.until(f"document.querySelector('.figure').layout.paper_bgcolor === '{DARK[PAPER]}'")
    assert browser.evaluate(colours) == [_computed(DARK[INK]), DARK[PAPER]]
    assert browser.evaluate("document.getElementById('learning-rsc').data.length") == 2


def test_nothing_sticks_out_of_a_narrow_screen(browser, directory):
    browser.open((directory / "report.html").as_uri(), width=420)
    assert browser.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")


def test_figures_are_drawn_when_they_are_about_to_be_seen(running, directory):
    running.call("Emulation.setEmulatedMedia", features=[])
    running.open((directory / "report.html").as_uri(), height=300)
    places = "Array.from(document.querySelectorAll('.figure'), (f) => [f.id, f.getBoundingClientRect().top, !!f.data])"
    running.until(f"{places}.some(([id, top, drawn]) => drawn)")
    for _, top, drawn in running.evaluate(places):
        assert drawn == (top < 600), "one screen below"
    before = running.evaluate("document.body.scrollHeight")
    last = running.evaluate(places)[-1][0]
    running.evaluate(f"document.getElementById('{last}').scrollIntoView(); 0")
    running.until(f"document.getElementById('{last}').data")
    assert running.evaluate("document.body.scrollHeight") == before, "each has its room before"
    assert not running.complaints()


def _computed(colour):
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))
