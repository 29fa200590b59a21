"""What is read of the config of every type of decoder, against the record of what the classes of transformers do."""

import json

import declared_parity
import pytest

from posenc_jax.huggingface.dialects import DIALECTS, REFUSED

RECORD = json.loads(declared_parity.RECORD.read_text())
MEASURED = {kind: row for kind, row in RECORD["types"].items() if "cases" in row}
FEW = list(MEASURED)[::6]


def test_the_counts_of_the_page_are_those_of_the_record():
    for path, text in declared_parity.pages().items():
        assert path.read_text() == text, "scripts/regenerate writes it"


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in FEW else pytest.mark.slow) for kind in MEASURED]
)
def test_what_is_read_is_what_was_recorded(kind):
    for name, config in declared_parity.configs(MEASURED[kind]).items():
        case = MEASURED[kind]["cases"][name]
        found = declared_parity.verdict(config, case)
        assert found.partition(":")[0] == case["found"].partition(":")[0], (name, found)  # messages may be reworded


def test_nothing_is_wrong_and_every_type_is_known():
    found = declared_parity.counts(RECORD)
    assert found["types"]["wrong"] == found["configs"]["wrong"] == 0
    for kind, row in MEASURED.items():
        assert {kind, row["config"]["model_type"]} & (DIALECTS.keys() | REFUSED.keys()), kind


def test_what_a_class_does_otherwise_is_seen():
    """A record with another angle, pairing, factor, window, layer or table is not called right."""

    def changed(kind, change):
        config, case = MEASURED[kind]["config"], json.loads(json.dumps(MEASURED[kind]["cases"]["default"]))
        assert declared_parity.verdict(config, case) == "right"
        change(case)
        return declared_parity.verdict(config, case)

    def turn(name, value):
        return lambda case: case["turns"][0]["at"][1].__setitem__(name, value)

    assert "angles" in changed("llama", lambda case: case["turns"][0]["at"][1]["angles"].__setitem__(2, 0.5))
    assert "planes for 7" in changed("llama", turn("count", 7))
    assert "factor 1.000000 for 1.2" in changed("llama", turn("factor", 1.2))
    assert "pairs halves" in changed("llama", turn("steps", [1]))
    assert "pairs neighbours" in changed("cohere", turn("steps", [64]))
    assert "window of 4096 for 9" in changed("mistral", lambda case: case["kinds"][0].__setitem__("mask", ["s", 9]))
    assert "in the class does not" in changed("llama", lambda case: case["kinds"][0].pop("turn"))
    assert "multiplies logits" in changed("deepseek_v3", lambda case: case["kinds"][0].__setitem__("scaling", 1))
    assert "tables of [512]" in changed("bert", lambda case: case["tables"][0].__setitem__(1, 9))
