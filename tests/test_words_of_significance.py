"""Pages say "significant" or "excludes 0", or give a p, only where they say what that is corrected for, or that it is
of a row by itself.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(ROOT / "scripts" / "docs").rglob("*.md"),
    *(ROOT / "experiments").rglob("*.md"),
    *(ROOT / "posenc_jax" / "show" / "lessons").rglob("*.md"),
]
WORD = re.compile(r"significan|\bexclud\w* 0\b", re.IGNORECASE)
P = re.compile(r"\bp (?:(?:=|<|is|of|below|at least|at most|from) )?0\.\d")
CORRECTED = re.compile(r"\b(?:un)?correct(?:ed|ion)|\bHolm|\bby itself\b|\bby themselves\b", re.IGNORECASE)


def uncorrected(text):
    """The claims of a page: words without a correction in the same paragraph or table, p without one in the section."""
    parts = [(WORD, text.split("\n\n")), (P, re.split(r"^#+ ", text, flags=re.MULTILINE))]
    found = ((own, pattern.search(own)) for pattern, every in parts for own in every if not CORRECTED.search(own))
    return [own[max(0, match.start() - 100) : match.end() + 60] for own, match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_claim_of_a_difference_names_its_correction(page):
    assert uncorrected(page.read_text()) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("p is corrected by Holm's method.\n\nLeads of another sign at d128, both significant.", 1),
        ("the interval excludes 0", 1),
        ("the intervals exclude 0, but are not corrected", 0),
        ("Both directions held (p 0.045)", 1),
        ("# Verdict, with p corrected\n\n- worse (p below 0.001)\n# Next\n\np = 0.92", 1),
        ("PE(p + k) is linear in PE(p)", 0),
    ],
)
def test_what_a_claim_is(text, claims):
    assert len(uncorrected(text)) == claims
