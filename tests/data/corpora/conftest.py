"""An empty folder for tests of corpora."""

from __future__ import annotations

import pytest
from own_corpora import pairs, sentence, write_jsonl


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "play.txt").write_text("".join(f"{sentence(i, 12)}\n" for i in range(3000)))
    write_jsonl(tmp_path / "chat.jsonl", pairs(200))
    for kind in ("bad", "good"):
        (tmp_path / "reviews" / kind).mkdir(parents=True)
        for i in range(30):
            (tmp_path / "reviews" / kind / f"{i}.txt").write_text(f"{kind} {sentence(i)}\n")
    return tmp_path
