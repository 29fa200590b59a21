"""The pictures of the front page, each of them a link, and the explorer that it shows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from documenting.encodings import FAMILIES, cards
from documenting.pages import anchor

ROOT = Path(__file__).resolve().parent.parent.parent
FIRST = {
    "absolute": "sinusoidal",
    "rotary": "rope",
    "additive": "alibi",
    "relative": "t5-bias",
    "data-dependent": "path",
    "positions": "randomized-positions",
}
"""The encoding whose picture stands for a family."""
FOUND = (
    ("periodicity", "periodicity/position-of-d-model-8.png", (0, 60, 640, 440), "Do models take position 68 for 5?"),
    (
        "length_generalisation",
        "length_generalisation/rsc.png",
        (0, 0, 1390, 870),
        "Which encodings reach new lengths?",
    ),
    ("context", "context/loss.png", (40, 65, 540, 370), "How does a trained model read twice as far?"),
    ("verdicts", "verdicts/together/means.png", None, "Which encoding scores highest on three tasks?"),
    ("translation", "translation/help-en-de.png", (0, 0, 1390, 870), "Which encoding translates best?"),
    ("position_or_token", "position_or_token/errors.png", (0, 0, 600, 400), "Can token and position be taken apart?"),
)
"""Page, picture, the box of its panel that is shown (None: all), and question of the experiments that are shown."""
EXPLORER = "explorer.html"
DOORS = (
    (
        "start/lessons.html",
        "scripts/docs/pictures/heatmap-50x128.png",
        "Lessons",
        "what is taught, tested step by step",
    ),
    (EXPLORER, "experiments/periodicity/explorer-desktop.png", "Explorer", "move positions and watch"),
    ("encodings/index.html", "scripts/docs/pictures/waves-128x8.png", "Catalogue", "every encoding, with its formula"),
    ("experiments/verdicts.html", "experiments/verdicts/pope-against-rope.png", "Cards", "is one better than another?"),
)
"""Address, picture, title and a line of what the page begins with."""
_FRAME = f"""<iframe class="explorer" loading="lazy" title="The explorer of encodings" src="{EXPLORER}"></iframe>
<p><a href="{EXPLORER}">The explorer alone</a>, which <code>posenc explore</code> writes as a file of your own.</p>"""
_MARK = "<!-- gallery: {} -->"


def filled(text: str, counts: Mapping[str, int], small: Path) -> str:
    """The front page with its pictures in place of its marks; files are put into ``small``, which is copied as it is.

    Args:
      counts: how many methods each family has.
    """
    from PIL import Image  # matplotlib brings it along

    from posenc_jax.show.explorer import page

    shown = small / "gallery"
    shown.mkdir(parents=True, exist_ok=True)
    for _, picture, box, _ in FOUND:
        with Image.open(ROOT / "experiments" / picture) as image:
            image.crop(box).save(shown / Path(picture).name)
    for _, picture, *_ in DOORS:
        shutil.copyfile(ROOT / picture, shown / Path(picture).name)
    (small / EXPLORER).write_text(page())
    families = [
        (
            f"encodings/index.html#{anchor(title)}",
            f"encodings/{FIRST[family]}-small.png",
            title,
            f"{counts[family]} methods",
        )
        for family, (title, _) in FAMILIES.items()
        if family in FIRST
    ]
    experiments = [
        (f"experiments/{name}.html", f"gallery/{Path(picture).name}", question, "an experiment")
        for name, picture, _, question in FOUND
    ]
    doors = [(link, f"gallery/{Path(picture).name}", title, about) for link, picture, title, about in DOORS]
    for name, own in (("doors", doors), ("encodings", families), ("experiments", experiments)):
        text = text.replace(_MARK.format(name), cards(own))
    return text.replace(_MARK.format("explorer"), _FRAME)
